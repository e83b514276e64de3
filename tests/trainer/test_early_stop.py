"""Ending episodes of which nothing would come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from deskhand_agent.episode import told_again
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Step, StepTimings, StopReason, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, run_episodes
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click
from deskhand_trainer.early_stop import LowScores
from deskhand_trainer.types import TrainingSample


def decision(number: int) -> Decision:
    request = CompletionRequest(prompt_ids=(number,), images=(), processor_hash="", sampling=Sampling())
    completion = Completion(
        ids=(7,), logprobs=(-0.1,), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0
    )
    return Decision(
        actions=(Click(x=0, y=0),), text="", request=request, completion=completion, trainable=True
    )


async def a_step(number: int, made: Decision) -> Step:
    sandbox = FakeSandbox({})
    return Step(
        index=number,
        observation=(await sandbox.reset(make_task("fake/never-done", 0))).observation,
        decision=made,
        reward=0.0,
        timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0),
        finished_at_s=0.0,
    )


def scored(scores: Sequence[float]) -> Any:
    async def score(turns: Sequence[TrainingSample]) -> list[float]:
        return [scores[turn.prompt_ids[0]] for turn in turns]

    return score


@pytest.mark.parametrize(
    ("scores", "ends_at"),
    [
        ([0.1, 0.1, 0.1, 0.1], 1),
        ([0.1, 0.5, 0.1, 0.1], 3),
        ([0.1, 0.2, 0.1, 0.2], None),
        ([0.9, 0.9, 0.9, 0.9], None),
    ],
)
async def test_lost_steps_in_a_row_end_it(scores: list[float], ends_at: int | None) -> None:
    watcher = LowScores(scored(scores), below=0.2, steps=2)
    steps = [await a_step(number, decision(number)) for number in range(len(scores))]
    said = [await watcher.doomed(steps[: number + 1]) for number in range(len(scores))]
    assert (said.index(True) if True in said else None) == ends_at


async def test_a_step_without_ids_and_a_score_that_comes_too_late_say_nothing() -> None:
    watcher = LowScores(scored([0.0] * 9), below=0.5, steps=1)
    assert not await watcher.doomed([await a_step(0, Decision(actions=(), text=""))])

    async def late(turns: Sequence[TrainingSample]) -> list[float]:
        raise TimeoutError

    watcher = LowScores(late, below=0.5, steps=1)
    assert not await watcher.doomed([await a_step(0, decision(0))])


class Clicks:
    id = "clicks"
    reads_state = False

    async def act(self, context: Context) -> Decision:
        return decision(len(context.steps))


class Source:
    def lease(self, kind: str, **_: Any) -> FakeSandbox:
        return FakeSandbox({})


async def played(count: int, settings: WorkerSettings) -> tuple[Trajectory, ...]:
    """Episodes of a task that is never done."""
    source: Any = Source()
    sink = MemorySink()
    jobs = [Job(task=make_task("fake/never-done", seed)) for seed in range(count)]
    stats = await run_episodes(
        jobs, source=source, policy=Clicks(), sink=sink, settings=settings, concurrency=1
    )
    assert stats.episodes == count
    return sink.trajectories


async def test_a_doomed_episode_ends_with_a_verdict_and_says_so() -> None:
    settings = WorkerSettings(
        watcher=lambda: LowScores(scored([0.9, 0.1, 0.1, 0.1, 0.1, 0.1]), below=0.2, steps=2)
    )
    found = await played(3, settings)
    ends = [t.end for t in found]
    assert all(end is not None and end.stop_reason is StopReason.DOOMED for end in ends)
    assert all(end is not None and end.outcome is not None and not end.outcome.success for end in ends)
    assert {len(t.steps) for t in found} == {3}


async def test_lost_steps_of_one_attempt_do_not_count_against_the_next() -> None:
    settings = WorkerSettings(watcher=lambda: LowScores(scored([0.1] * 9), below=0.2, steps=3), attempts=3)
    (found,) = await played(1, settings)
    assert [s.index for s in found.steps if told_again(s)] == [2, 5]
    assert len(found.steps) == 9
    assert found.end is not None and found.end.stop_reason is StopReason.DOOMED
