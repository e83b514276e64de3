"""Every strategy over 500 turns at a computer that says too much: what is shown, in training too."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_agent.episode import run_episode
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import longest_prompt, tokenise_reply
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.types import Step, StopReason, Trajectory
from deskhand_flywheel.store import Store
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    DeviceAction,
    EnvironmentSpec,
    Limits,
    Observation,
    Outcome,
    Split,
    Start,
    Task,
    VerifierSpec,
)
from deskhand_trainer.sft.demonstrations import samples_from_trajectories

TURNS = (64, 500)
ALWAYS = "summary"
"""Proved over all 500 turns each time, as the others are less often."""
BOUND: dict[str, Any] = {"screens": "both", "n_screenshots": 3, "text_bytes": 4096, "action_chars": 3000}
STRATEGIES: dict[str, dict[str, Any]] = {
    "window": {},
    "summary": {"summary_after": 9},
    "episodic": {"summary_after": 4, "notes_chars": 1500},
    "constant": {},
    "operations": {"summary_after": 5, "notes_chars": 1500},
}


class Talkative(Sandbox):
    """Its output, terminal and errors have any length and any letters."""

    id, kind = "talkative", "fake"

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self._chance = random.Random(1)

    async def reset(self, task: Task) -> Start:
        return Start(instruction=self._text(3000), observation=self._observation)

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return self._observation

    async def act(self, action: DeviceAction) -> Observation:
        if self._chance.random() < 0.1:
            raise InvalidAction(self._text(6000))
        output = self._text(5000) if self._chance.random() < 0.5 else None
        return replace(self._observation, output=output, terminal=self._text(2000))

    async def close(self) -> None:
        return None

    def _text(self, longest: int) -> str:
        return "".join(self._chance.choices("ab é漢🙂\n.", k=self._chance.randrange(longest)))


class Indifferent:
    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        return Outcome(score=0.0, success=False)


class Rambler:
    """Types, thinks, says what is no action, and writes whatever it is asked for, at any length."""

    def __init__(self, bundle: ModelBundle) -> None:
        self._bundle = bundle
        self._chance = random.Random(2)
        self.requests: list[CompletionRequest] = []

    async def generate(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        ids = tokenise_reply(self._bundle, self._reply())
        return Completion(
            ids=ids,
            logprobs=(-0.5,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_id="rambler",
            policy_update=0,
        )

    def _reply(self) -> str:
        words = " ".join(
            self._chance.choices(["one", "two", "it's", "done"], k=self._chance.randrange(1, 300))
        )
        acts = f"type(content='{words.replace(chr(39), '')}')"
        return self._chance.choice(
            [acts, f"<think>{words}</think>\n{acts}", words, f"insert: {words}\ndelete 2\nupdate 1: {words}"]
        )


@pytest.fixture
def screen() -> Observation:
    return Observation(
        screenshot=encoded(Picture.new("RGB", (64, 64), "white")), captured_at_s=1.0, settled_ms=0.0
    )


async def played(bundle: ModelBundle, screen: Observation, store: Store, *, turns: int) -> Trajectory:
    task = Task(
        id="t",
        environment=EnvironmentSpec(kind="fake"),
        verifier=VerifierSpec(name="none"),
        limits=Limits(turns=turns, seconds=36_000),
    )
    policy = LocalPolicy(bundle=bundle, engine=Rambler(bundle), sampling=Sampling(max_tokens=512))
    done = await run_episode(
        task,
        sandbox=Talkative(screen),
        policy=policy,
        verifier=Indifferent(),
        sink=store,
        split=Split.TRAIN,
        void_limit=turns,
    )
    assert done.end is not None and done.end.stop_reason is StopReason.TURN_LIMIT
    return done


def lengths(trajectory: Trajectory) -> list[int]:
    requests = [step.decision.request for step in trajectory.steps]
    return [len(request.prompt_ids) for request in requests if request is not None]


@pytest.mark.parametrize(
    ("strategy", "turns"),
    [
        pytest.param(strategy, turns, marks=[pytest.mark.slow] if turns == 500 and strategy != ALWAYS else [])
        for strategy in STRATEGIES
        for turns in TURNS
    ],
)
async def test_prompts_keep_to_their_bound_and_training_shows_the_very_ids(
    strategy: Any, turns: int, tiny: ModelBundle, screen: Observation, store: Store
) -> None:
    tiny.memory = WindowMemory(strategy=strategy, **BOUND, **STRATEGIES[strategy])
    done = await played(tiny, screen, store, turns=turns)
    assert len(lengths(done)) == len(done.steps) >= turns
    assert max(lengths(done)) <= longest_prompt(tiny)
    wrote = sum(step.decision.summary is not None for step in done.steps)
    assert (wrote > turns // 10) == bool(tiny.memory.summary_after)

    (kept,) = [t async for t in store.each_trajectory([done.id], images=True)]
    shown = {step.index: step.decision.request for step in done.steps if not step.decision.void}
    foreign = replace(kept, steps=tuple(_elsewhere(step) for step in kept.steps))
    for read in (kept, foreign):  # taken as they are; and built again from what was seen, said and done
        samples = samples_from_trajectories([read], tiny)
        assert [s.turn_index for s in samples] == list(shown)
        for sample in samples:
            request = shown[sample.turn_index]
            assert request is not None and sample.prompt_ids == request.prompt_ids
            assert [i.digest for i in sample.images] == [i.digest for i in request.images]


async def test_without_a_bound_on_text_the_same_computer_breaks_it(
    tiny: ModelBundle, screen: Observation, store: Store
) -> None:
    tiny.memory = WindowMemory(**BOUND)
    most = longest_prompt(tiny)
    tiny.memory = replace(tiny.memory, text_bytes=0)
    assert max(lengths(await played(tiny, screen, store, turns=20))) > most
    with pytest.raises(ValueError, match="text_bytes is 0"):
        longest_prompt(tiny)


def _elsewhere(step: Step) -> Step:
    """The step as another processor would have sampled it."""
    assert step.decision.request is not None
    request = replace(step.decision.request, processor_hash="0")
    return replace(step, decision=replace(step.decision, request=request))
