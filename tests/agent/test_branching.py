"""Branches of an episode from where the policy was unsure."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS, Branching, Crossroads
from deskhand_agent.inference import Completion, FinishReason
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Failure, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats, run_episodes
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, UnsupportedCapability
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Observation, Press

CHAIN = make_task("worlds/chain", 1)


def decision(entropy: float | None, key: str = "ArrowRight", **more: Any) -> Decision:
    completion = Completion(
        ids=(1,), logprobs=(-0.1,), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0,
        entropy=entropy,
    )  # fmt: skip
    return Decision(actions=(Press(keys=(key,)),), text="", completion=completion, **more)


class Keeps:
    """Counts snapshots."""

    def __init__(self) -> None:
        self.kept = 0
        self.there: list[str] = []

    async def snapshot(self) -> str:
        self.kept += 1
        self.there.append(str(self.kept))
        return str(self.kept)

    async def forget(self, snapshot_id: str) -> None:
        self.there.remove(snapshot_id)


async def left_at(entropies: Sequence[float | None], rule: Branching) -> tuple[list[int], int]:
    """Turns that branches leave, and snapshots made."""
    crossroads, sandbox = Crossroads(rule), Keeps()
    for turn, entropy in enumerate(entropies):
        await crossroads.passed(turn, decision(entropy), sandbox)  # pyright: ignore[reportArgumentType]
    trajectory: Any = None
    branches = crossroads.branches(trajectory)
    # no state is kept that no branch leaves
    assert sorted(branch.snapshot for branch in branches) == sorted(sandbox.there)
    return [branch.turn for branch in branches], sandbox.kept


@pytest.mark.parametrize(
    ("entropies", "turns", "kept"),
    [
        ([1.0, 1.2, 1.5, 1.1, 1.9, 1.5], [4, 2], 2),  # the greatest rises; the earlier of equal ones
        ([1.0, 1.4, 1.4, 1.9, 1.9, 0.5, 1.4], [1, 2], 2),  # two in a row and no more
        ([1.0, 1.9, 0.5, 1.4, 0.5, 1.4, 0.5, 1.6, 0.5, 1.5], [1, 7], 3),  # only what is among the greatest
        ([1.0, 1.4, None, 1.4, 1.9], [1, 3], 2),  # what is not measured breaks no row
        ([1.0, 1.2, 0.1], [], 0),
        ([], [], 0),
    ],
)
async def test_where_branches_leave(entropies: list[float | None], turns: list[int], kept: int) -> None:
    assert await left_at(entropies, Branching(branches=2, rise=0.35, in_a_row=2)) == (turns, kept)


async def test_a_state_that_the_sandbox_does_not_keep_is_no_crossroads() -> None:
    class Full(Keeps):
        error: Exception = InfrastructureError("a VM keeps up to 32 states")

        async def snapshot(self) -> str:
            if self.kept == 1:
                raise self.error
            return await super().snapshot()

    crossroads, sandbox = Crossroads(Branching(branches=2, rise=0.5, in_a_row=9)), Full()
    for turn, entropy in enumerate((1.0, 2.0, 3.0)):
        await crossroads.passed(turn, decision(entropy), sandbox)  # pyright: ignore[reportArgumentType]
    trajectory: Any = None
    assert [branch.turn for branch in crossroads.branches(trajectory)] == [1]
    sandbox.error = SandboxDied("gone")
    with pytest.raises(SandboxDied):
        await crossroads.passed(3, decision(4.0), sandbox)  # pyright: ignore[reportArgumentType]


async def test_a_state_that_cannot_be_let_go_of_does_not_end_the_episode() -> None:
    class Clings(Keeps):
        error: Exception = UnsupportedCapability("an older host")

        async def forget(self, snapshot_id: str) -> None:
            raise self.error

    crossroads, sandbox = Crossroads(Branching(branches=1, rise=0.5, in_a_row=9)), Clings()
    for turn, entropy in enumerate((1.0, 2.0, 3.0)):
        await crossroads.passed(turn, decision(entropy), sandbox)  # pyright: ignore[reportArgumentType]
    trajectory: Any = None
    assert [branch.turn for branch in crossroads.branches(trajectory)] == [2]
    sandbox.error = SandboxDied("gone")
    with pytest.raises(SandboxDied):
        await crossroads.passed(3, decision(4.0), sandbox)  # pyright: ignore[reportArgumentType]


async def test_a_summary_is_no_crossroads() -> None:
    crossroads, sandbox = Crossroads(Branching(branches=9, rise=0.0, in_a_row=9)), Keeps()
    for entropy in (1.0, 2.0):
        made = decision(entropy, summary="so far")
        await crossroads.passed(0, made, sandbox)  # pyright: ignore[reportArgumentType]
    assert sandbox.kept == 0


class Walks:
    """Walks right; unsure at the third place the first time it comes there, and left there in branches."""

    id = "walks"
    reads_state = False

    def __init__(self) -> None:
        self.screens: list[tuple[int, str]] = []

    async def act(self, context: Context) -> Decision:
        at, screen = len(context.steps), context.observation.terminal or ""
        again = (at, screen) in self.screens
        self.screens.append((at, screen))
        return decision(2.0 if at == 2 else 1.0, "ArrowLeft" if again and at == 2 else "ArrowRight")


class Breaks(WorldSandbox):
    async def restore(self, snapshot_id: str) -> Observation:
        raise SandboxDied("no way back")


async def played(sandbox: type[WorldSandbox]) -> tuple[list[Trajectory], WorkerStats, MemorySink, Walks]:
    class Source:
        @asynccontextmanager
        async def lease(self, kind: str, **_: Any) -> AsyncGenerator[WorldSandbox]:
            yield sandbox()

    source: Any = Source()
    sink, policy, done = MemorySink(), Walks(), list[Trajectory]()
    rule = Branching(branches=2, rise=0.5, in_a_row=1)
    stats = await run_episodes(
        [Job(task=CHAIN, group_id="g", labels={"run": "r"})], source=source, policy=policy, sink=sink,
        settings=WorkerSettings(branching=rule), concurrency=1, on_done=done.append,
    )  # fmt: skip
    return done, stats, sink, policy


async def test_a_branch_goes_on_from_the_kept_state_and_has_the_turns_before() -> None:
    done, stats, sink, _ = await played(WorldSandbox)
    trunk, branch = done
    assert (stats.episodes, stats.successes) == (2, 2)
    assert trunk.start.labels == {"run": "r"} and len(trunk.steps) == 5
    assert branch.start.labels == {"run": "r", BRANCH_OF: trunk.id, SHARED_TURNS: "2"}
    assert branch.start.group_id == trunk.start.group_id == "g" and branch.id != trunk.id
    assert branch.steps[:2] == trunk.steps[:2]
    assert branch.steps[2].observation == trunk.steps[2].observation
    assert [s.decision.actions[0] for s in branch.steps[2:4]] == [
        Press(keys=("ArrowLeft",)),
        Press(keys=("ArrowRight",)),
    ]
    assert len(branch.steps) == 7  # two lost on the way back
    assert [s.observation.terminal for s in branch.steps[2:5]] == ["--@--G", "-@---G", "--@--G"]
    assert [t.id for t in sink.trajectories] == [trunk.id, branch.id]
    assert sink.trajectories[1].steps == branch.steps


async def test_a_branch_that_breaks_leaves_the_episode_as_it_is() -> None:
    done, stats, _, _ = await played(Breaks)
    assert [t.start.labels for t in done] == [{"run": "r"}]
    assert (stats.episodes, stats.given_up, stats.failures) == (1, 0, {Failure.SANDBOX_DIED: 1})
