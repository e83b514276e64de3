"""A page with one spot to click, left or right by the seed: small enough for a tiny model to learn."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
import torch
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

from deskhand_agent.episode import run_episode
from deskhand_agent.grammar import format_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, StopReason, Trajectory
from deskhand_flywheel.store import Store
from deskhand_sandbox.backends.fake import FakeBackend
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.generated import Description, Thing
from deskhand_sandbox.tasks.layout import CharacterBox
from deskhand_sandbox.types import (
    Click,
    DeviceAction,
    EnvironmentSpec,
    JsonValue,
    Limits,
    Observation,
    Outcome,
    Split,
    Start,
    StepReward,
    Task,
    VerifierSpec,
)
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.types import Episode, TrainingSample

torch.set_num_threads(1)
WaitToTheLimit: TypeAlias = "Callable[..., Awaitable[tuple[Trajectory, LocalPolicy]]]"
SIDE = 64
SPOT = "fake/spot"


class OneReply:
    """An engine whose model says the same, whatever it is shown."""

    def __init__(self, bundle: ModelBundle, said: str) -> None:
        self._ids = tokenise_reply(bundle, said)

    async def generate(self, request: CompletionRequest) -> Completion:
        return Completion(
            ids=self._ids,
            logprobs=(-0.5,) * len(self._ids),
            finish_reason=FinishReason.STOP,
            policy_id="p",
            policy_update=0,
        )


@pytest.fixture
def one_reply() -> type[OneReply]:
    return OneReply


def spot_task(task_id: str, seed: int) -> Task:
    return Task(
        id=task_id,
        environment=EnvironmentSpec(kind="fake"),
        verifier=VerifierSpec(name="spot"),
        instruction="click it",
        seed=seed,
        limits=Limits(turns=2, seconds=600),
    )


def spot_box(seed: int) -> tuple[int, int, int, int]:
    left = 4 if random.Random(seed).random() < 0.5 else 36
    return left, 16, left + 24, 48


class SpotSandbox(Sandbox):
    kind = "fake"
    capabilities = frozenset({Capability.EVALUATE})

    def __init__(self, source: SpotSource) -> None:
        self.id, self._source = "spot", source
        self.box, self.done = (0, 0, 0, 0), False

    async def reset(self, task: Task) -> Start:
        self.box, self.done = spot_box(task.seed), False
        if self._source.breaks > 0:
            self._source.breaks -= 1
            raise SandboxDied("broken on purpose")
        return Start(instruction=task.instruction, observation=self._look())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return self._look()

    async def act(self, action: DeviceAction) -> Observation:
        left, top, right, bottom = self.box
        if isinstance(action, Click) and left <= action.x <= right and top <= action.y <= bottom:
            self.done = True
        return self._look()

    async def evaluate(self, expression: str) -> JsonValue:
        return self.done

    async def close(self) -> None:
        return None

    def _look(self) -> Observation:
        page = Picture.new("RGB", (SIDE, SIDE), "white")
        if not self.done:
            ImageDraw.Draw(page).rectangle(self.box, fill="black")
        return Observation(screenshot=encoded(page), captured_at_s=time.time(), settled_ms=0.0)


class SpotVerifier:
    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        done = bool(await sandbox.evaluate("done"))
        return Outcome(score=float(done), success=done)

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        done = bool(await sandbox.evaluate("done"))
        return StepReward(reward=float(done), terminated=done)


class SpotSource:
    """Lends spot sandboxes; `breaks` resets die first."""

    def __init__(self) -> None:
        self.breaks = 0

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Sandbox]:
        yield SpotSandbox(self)


class SpotOracle:
    """Clicks the middle of the spot."""

    id = "spot-oracle"
    reads_state = True

    async def act(self, context: Context) -> Decision:
        left, top, right, bottom = spot_box(context.task.seed)
        actions = (Click(x=(left + right) // 2, y=(top + bottom) // 2),)
        return Decision(actions=actions, text=format_reply(None, actions))


@pytest.fixture
def spot(monkeypatch: pytest.MonkeyPatch) -> SpotSource:
    monkeypatch.setattr("deskhand_trainer.rollouts.make_task", spot_task)
    monkeypatch.setattr("deskhand_agent.worker.create_verifier", lambda _: SpotVerifier())
    return SpotSource()


@pytest.fixture
def spot_oracle() -> SpotOracle:
    return SpotOracle()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    opened = await Store.open(f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs")
    async with opened:
        yield opened


@pytest.fixture
def tiny() -> ModelBundle:
    """About 40,000 parameters."""
    return build_tiny(
        TinyConfig(
            vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1, text_heads=2,
            text_mlp=64, max_side_px=SIDE, grid_px=16, patch_px=8,
        )
    )  # fmt: skip


@pytest.fixture
def wait_to_the_limit(tiny: ModelBundle) -> WaitToTheLimit:
    """Play a task that is never done, waiting in every turn; the episode, and the policy that played it."""

    async def play(turns: int, attempts: int = 1) -> tuple[Trajectory, LocalPolicy]:
        waits = tokenise_reply(tiny, "wait()")

        class Waits:
            async def generate(self, request: CompletionRequest) -> Completion:
                return Completion(
                    ids=waits, logprobs=(-0.5,) * len(waits), finish_reason=FinishReason.STOP, policy_id="p",
                    policy_update=0,
                )  # fmt: skip

        policy = LocalPolicy(bundle=tiny, engine=Waits())
        task = replace(make_task("fake/never-done", 0), limits=Limits(turns=turns, seconds=60.0))
        async with await FakeBackend({}).create() as sandbox:
            played = await run_episode(
                task, sandbox=sandbox, policy=policy, verifier=create_verifier(task.verifier),
                sink=MemorySink(), split=Split.TRAIN, attempts=attempts,
            )  # fmt: skip
        return played, policy

    return play


@pytest.fixture
def an_episode() -> Episode:
    """Of one turn, that failed."""
    sample = TrainingSample(
        trajectory_id="t", turn_index=0, prompt_ids=(1,), reply_ids=(2,), images=(),
        behaviour_logprobs=(-0.1,), reward=0.0,
    )  # fmt: skip
    return Episode(
        trajectory_id="t", task_id="t", seed=0, samples=(sample,), outcome=0.0, success=False,
        stop_reason=StopReason.TERMINATED,
    )  # fmt: skip


WORDS = ("ok", "no", "yes", "next", "back", "send")


def draw_page(seed: int) -> SeenPage:
    """Two words on white, with boxes for everything."""
    picture = Picture.new("RGB", (64, 64), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(11)
    characters: list[CharacterBox] = []
    things: list[Thing] = []
    for row in range(2):
        word = WORDS[(seed + 2 * row + row * (seed // 6)) % len(WORDS)]
        left, top = 4 + (seed * 7) % 20, 16 + 24 * row
        x = float(left)
        for letter in word:
            pen.text((x, top), letter, "black", font)
            width = font.getlength(letter)
            box = (x, float(top), x + width, float(top + 13))
            characters.append(CharacterBox(character=letter, box=box, element=None, word=row))
            x += width
        box = (float(left), float(top), x, float(top + 13))
        things.append(
            Thing(
                role="button",
                name=word,
                tone="",
                state="",
                value="",
                box=box,
                point=(round((left + x) / 2), top + 6),
                descriptions=(
                    Description(kind="text", words=f'"{word}"'),
                    Description(kind="ordinal", words=f"the {('first', 'last')[row]} button"),
                ),
            )
        )
    return SeenPage(
        task_id="drawn",
        seed=seed,
        image=encoded(picture),
        things=tuple(things),
        characters=tuple(characters),
        content_top_px=10.0,
    )


@pytest.fixture(scope="session")
def pages() -> list[SeenPage]:
    """Twelve small pages drawn with Pillow."""
    return [draw_page(seed) for seed in range(12)]


@pytest.fixture
def bundle() -> ModelBundle:
    """A model small enough to train on them."""
    return build_tiny(
        TinyConfig(
            patch_px=8,
            vision_width=16,
            vision_depth=1,
            vision_heads=2,
            text_width=32,
            text_depth=2,
            text_heads=2,
            text_mlp=48,
            max_side_px=64,
        )
    )


@pytest.fixture
def demonstrations(bundle: ModelBundle, pages: list[SeenPage]) -> list[TrainingSample]:
    """Of every page a turn that clicks its first thing, each an episode of its own."""
    made: list[TrainingSample] = []
    for page in pages:
        target = page.things[0]
        segments = (Text(text=f'Click on the "{target.name}" button.\n'), ImageSegment(image=page.image))
        prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=segments)])
        x, y = (round((a + b) / 8) * 4 for a, b in zip(target.box[:2], target.box[2:], strict=True))
        reply = tokenise_reply(bundle, f"click(point='<point>{x} {y}</point>')")
        made.append(
            TrainingSample(
                trajectory_id=str(page.seed),
                turn_index=0,
                prompt_ids=prompt.ids,
                reply_ids=reply,
                images=prompt.images,
                behaviour_logprobs=(0.0,) * len(reply),
                reward=1.0,
                last=True,
            )
        )
    return made


@pytest.fixture
def unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation plays no part in what a test looks at."""

    async def evaluate(self: PpoLoop) -> None:
        self.cursor.best = 0.0

    monkeypatch.setattr(PpoLoop, "_evaluate", evaluate)
