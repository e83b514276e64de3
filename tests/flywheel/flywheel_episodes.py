"""Where tests keep a store, and episodes made up for them, with real pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as PilImage
from PIL import ImageDraw

from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.types import (
    Decision,
    Step,
    StepTimings,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel.store import Store
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Action,
    Click,
    EnvironmentSpec,
    Image,
    Observation,
    Outcome,
    Split,
    Task,
    VerifierSpec,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Urls:
    """Where a store is."""

    folder: Path
    postgresql: str | None = None
    """URL of a database; None: SQLite in the folder."""

    @property
    def database(self) -> str:
        return self.postgresql or f"sqlite+aiosqlite:///{self.folder / 'deskhand.db'}"

    @property
    def blobs(self) -> str:
        return f"file://{self.folder / 'blobs'}"


def picture(number: int, size: tuple[int, int] = (160, 210)) -> Image:
    """A page with a number on it; the same number gives the same bytes."""
    drawn = PilImage.new("RGB", size, "white")
    pen = ImageDraw.Draw(drawn)
    pen.rectangle((0, 0, size[0], size[1] // 5), fill="#ffff00")
    pen.text((8, 8), f"page {number}", fill="black")
    pen.rectangle((30, 80, 110, 104), fill="#dddddd", outline="#555555")
    pen.text((45, 86), "Submit", fill="black")
    return encoded(drawn)


def make_start(
    trajectory_id: str,
    *,
    task_id: str = "miniwob/click-test",
    seed: int = 0,
    policy_id: str = "policy-a",
    split: Split = Split.TRAIN,
    started_at_s: float = 1000.0,
    labels: Mapping[str, str] | None = None,
    instruction: str = "Click the button.",
) -> TrajectoryStart:
    return TrajectoryStart(
        id=trajectory_id,
        task=Task(
            id=task_id,
            seed=seed,
            environment=EnvironmentSpec(kind="fake"),
            verifier=VerifierSpec(name="fake"),
        ),
        instruction=instruction,
        policy_id=policy_id,
        policy_update=0,
        group_id=None,
        split=split,
        started_at_s=started_at_s,
        labels=labels or {},
    )


def make_step(
    index: int,
    *,
    actions: tuple[Action, ...] = (Click(x=70, y=92),),
    image: Image | None = None,
    reward: float = 0.0,
    prompt_ids: tuple[int, ...] = (1, 2, 3),
    **changes: Any,
) -> Step:
    image = image or picture(index)
    decision = Decision(
        actions=actions,
        text="click(point='<point>70 92</point>')",
        thought="The button says so.",
        request=CompletionRequest(
            prompt_ids=prompt_ids, images=(image,), processor_hash="none", sampling=Sampling()
        ),
        completion=Completion(
            ids=(4, 5),
            logprobs=(-0.25, -0.5),
            finish_reason=FinishReason.STOP,
            policy_id="policy-a",
            policy_update=0,
            entropy=0.7,
            value=0.4,
        ),
        trainable=True,
    )
    fields: dict[str, Any] = {
        "index": index,
        "observation": Observation(screenshot=image, captured_at_s=1000.0 + index, settled_ms=12.0),
        "decision": decision,
        "reward": reward,
        "timings": StepTimings(model_ms=21.0, act_ms=40.0, settle_ms=12.0),
        "finished_at_s": 1001.0 + index,
    }
    return Step(**{**fields, **changes})


def make_end(*, success: bool | None = True, **changes: Any) -> TrajectoryEnd:
    """`success=None` has no verdict."""
    outcome = None if success is None else Outcome(score=float(success), success=success, detail="looked")
    fields: dict[str, Any] = {
        "final_observation": Observation(screenshot=picture(99), captured_at_s=1009.0, settled_ms=3.0),
        "outcome": outcome,
        "stop_reason": StopReason.CANCELLED if success is None else StopReason.TERMINATED,
        "failure": None,
        "ended_at_s": 1010.0,
    }
    return TrajectoryEnd(**{**fields, **changes})


def make_trajectory(
    trajectory_id: str,
    *,
    steps: tuple[Step, ...] | None = None,
    end: TrajectoryEnd | None = None,
    **start: Any,
) -> Trajectory:
    if steps is None:
        steps = tuple(make_step(index) for index in range(3))
    return Trajectory(start=make_start(trajectory_id, **start), steps=steps, end=end)


async def write(store: Store, trajectory: Trajectory) -> None:
    """As the episode loop writes it."""
    await store.begin(trajectory.start)
    for step in trajectory.steps:
        await store.step(trajectory.id, step)
    if trajectory.end is not None:
        await store.end(trajectory.id, trajectory.end)
