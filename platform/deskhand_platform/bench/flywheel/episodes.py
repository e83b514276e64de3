"""Episodes made up for the measurements: of the size that real ones have, and as many as are wanted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, TrajectoryEnd, TrajectoryStart
from deskhand_sandbox.pictures import as_image, encoded
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    Image,
    Observation,
    Outcome,
    Split,
    Task,
    VerifierSpec,
)

SIZE_PX = (1024, 768)
WORDS = tuple(f"word{number}" for number in range(3000))
_BLOCKS = 160
_MARK_BYTES = 16


def screens(seed: object) -> Iterator[Image]:
    """Pictures of the size of a desktop's, no two of the same bytes."""
    drawn, marks = _drawn(), random.Random(f"{seed}/marks")
    while True:
        # behind the picture's end, where no decoder looks
        yield as_image(drawn + marks.randbytes(_MARK_BYTES), SIZE_PX)


def start_of(trajectory_id: str, draw: random.Random, *, seed: int = 0) -> TrajectoryStart:
    """One of fifty tasks, worked by one of nine policies."""
    task = Task(
        id=f"bench/task-{seed % 50}",
        seed=seed,
        environment=EnvironmentSpec(kind="fake"),
        verifier=VerifierSpec(name="fake"),
    )
    return TrajectoryStart(
        id=trajectory_id,
        task=task,
        instruction=" ".join(draw.choices(WORDS, k=8)),
        policy_id=f"policy-{seed % 9}",
        policy_update=0,
        group_id=None,
        split=Split.TRAIN,
        started_at_s=1000.0 * seed,
        labels={"run": f"run-{seed % 20}"},
    )


def step_of(index: int, image: Image, draw: random.Random) -> Step:
    """A turn of a model that was shown the screen: 300 tokens in, 40 out."""
    decision = Decision(
        actions=(Click(x=draw.randrange(SIZE_PX[0]), y=draw.randrange(SIZE_PX[1])),),
        text="click(point='<point>70 92</point>')",
        thought=" ".join(draw.choices(WORDS, k=12)),
        request=CompletionRequest(
            prompt_ids=tuple(draw.choices(range(30_000), k=300)),
            images=(image,),
            processor_hash="none",
            sampling=Sampling(),
        ),
        completion=Completion(
            ids=tuple(draw.choices(range(30_000), k=40)),
            logprobs=tuple(-draw.random() for _ in range(40)),
            finish_reason=FinishReason.STOP,
            policy_id="policy-0",
            policy_update=0,
        ),
        trainable=True,
    )
    return Step(
        index=index,
        observation=Observation(screenshot=image, captured_at_s=float(index), settled_ms=12.0),
        decision=decision,
        reward=0.0,
        timings=StepTimings(model_ms=21.0, act_ms=40.0, settle_ms=12.0),
        finished_at_s=index + 0.5,
    )


def end_of(*, success: bool) -> TrajectoryEnd:
    """With a verdict, and no last picture."""
    return TrajectoryEnd(
        final_observation=None,
        outcome=Outcome(score=float(success), success=success),
        stop_reason=StopReason.TERMINATED,
        failure=None,
        ended_at_s=1e6,
    )


@cache
def _drawn() -> bytes:
    draw = random.Random(0)
    picture = Picture.new("RGB", SIZE_PX, "white")
    pen = ImageDraw.Draw(picture)
    for _ in range(_BLOCKS):
        x, y = draw.randrange(SIZE_PX[0]), draw.randrange(SIZE_PX[1])
        pen.rectangle((x, y, x + draw.randrange(8, 120), y + 18), fill=draw.choice(["#eee", "#cde", "#fed"]))
        pen.text((x + 2, y + 3), " ".join(draw.choices(WORDS, k=3)), fill="black")
    data = encoded(picture).data
    assert data is not None
    return data
