"""What steps are worth by Monte-Carlo continuation: V(s_k) and Q(s_k, a_k) of a recorded episode.

From each state s_k of the episode a policy goes on N times; the share that succeeds is V(s_k). The state that
a_k led to is s_{k+1}, so Q(s_k, a_k) is V(s_{k+1}), and of the last step the episode's own success: N
episodes a step do for both. Q − V says what the step did, V alone how good its state was. Episodes from one
start share its V: each after the first costs N episodes less, one of a single step nothing.

A sandbox that keeps snapshots replays the episode once and goes back to each state, which is exact. Elsewhere
every continuation replays the recorded actions from the seeded start. Either way each screen is compared with
the recorded one, and what was found from states that looked different is marked inexact (a store that keeps
only `near_frames` recorded other screens than were seen). Chance that is part of the computer's state falls
out alike in all continuations from a snapshot: such a step is judged by how it fell out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deskhand_agent.branching import Branch, Crossroads
from deskhand_agent.episode import VOID_LIMIT, run_episode
from deskhand_agent.sinks import MemorySink
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Context, Decision, Policy, Trajectory
from deskhand_flywheel.errors import NotReplayable
from deskhand_flywheel.retracing import EveryTurn, Retracing, check_retraceable
from deskhand_flywheel.types import StepValue
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import Finish


@dataclass(frozen=True, kw_only=True, slots=True)
class Continuing:
    """How episodes are gone on from."""

    continuations: int = 8
    """From each state."""
    void_limit: int = VOID_LIMIT
    """Replies in a row without an action that end a continuation."""
    deadlines: Deadlines = field(default_factory=Deadlines)

    def __post_init__(self) -> None:
        if self.continuations < 1:
            raise ValueError(f"continuations is {self.continuations}: give 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class StateValue:
    """V of one state."""

    value: float
    error: float
    """Standard error."""
    exact: bool
    """Found from states that looked as recorded."""


async def step_values(
    trajectory: Trajectory,
    *,
    sandbox: Sandbox,
    policy: Policy,
    labeller: str,
    continuing: Continuing,
    start: StateValue | None = None,
) -> list[StepValue]:
    """Values of every step of an episode with a verdict, in order.

    Args:
        start: V of the state it began in, from another episode; None: it is found here.

    Raises:
        NotReplayable: the recorded actions end the episode sooner than recorded, or it had several attempts.
        InfrastructureError: the sandbox or the model failed.
    """
    end = trajectory.end
    if end is None or end.outcome is None:
        raise NotReplayable(f"{trajectory.id} has no verdict")
    check_retraceable(trajectory)
    player = _Player(trajectory, sandbox, policy, continuing)
    states = await player.states(start)
    values: list[StepValue] = []
    for step, before, after in zip(trajectory.steps, states, [*states[1:], None], strict=True):
        values.append(
            StepValue(
                trajectory_id=trajectory.id,
                step_index=step.index,
                labeller=labeller,
                before=before.value,
                before_error=before.error,
                after=float(end.outcome.success) if after is None else after.value,
                after_error=0.0 if after is None else after.error,
                continuations=continuing.continuations,
                exact=before.exact and (after is None or after.exact),
            )
        )
    return values


def standard_error(successes: int, count: int) -> float:
    """Standard deviation of what a success rate may be after so many of `count` succeeded.

    Of the posterior under a uniform prior, Beta(successes + 1, failures + 1): not 0 where all came out alike.
    """
    mean = (successes + 1) / (count + 2)
    return (mean * (1 - mean) / (count + 3)) ** 0.5


class _Player:
    """Goes on from the states of one episode, in one sandbox."""

    def __init__(
        self, recorded: Trajectory, sandbox: Sandbox, policy: Policy, continuing: Continuing
    ) -> None:
        self._recorded, self._sandbox = recorded, sandbox
        self._policy, self._continuing = policy, continuing

    async def states(self, start: StateValue | None = None) -> list[StateValue]:
        """V of the state that each step was decided in; of the first where it is not known."""
        known = [start] if start is not None and self._recorded.steps else []
        if len(known) == len(self._recorded.steps):
            return known
        if Capability.SNAPSHOT in self._sandbox.capabilities:
            return known + await self._from_snapshots(len(known))
        return known + await self._by_replay(len(known))

    async def _from_snapshots(self, first: int) -> list[StateValue]:
        """Of the turns from `first` on."""
        turns = len(self._recorded.steps)
        keeper, replay = EveryTurn(), Retracing(self._recorded, turns, _Done())
        again = await self._episode(replay, crossroads=keeper, void_limit=turns + 1)
        if len(keeper.snapshots) < turns:
            raise NotReplayable(
                f"{self._recorded.id} ended after {len(again.steps)} of its {turns} steps when replayed"
            )
        found: list[StateValue] = []
        for turn, snapshot in enumerate(keeper.snapshots[first:turns], start=first):
            branch = Branch(of=again, turn=turn, snapshot=snapshot)
            going_on = Retracing(self._recorded, 0, self._policy)
            won = [
                await self._episode(going_on, branch=branch) for _ in range(self._continuing.continuations)
            ]
            found.append(self._state(won, exact=replay.same_until > turn))
        return found

    async def _by_replay(self, first: int) -> list[StateValue]:
        """Of the turns from `first` on."""
        found: list[StateValue] = []
        for turn in range(first, len(self._recorded.steps)):
            won: list[Trajectory] = []
            exact = True
            for _ in range(self._continuing.continuations):
                replay = Retracing(self._recorded, turn, self._policy)
                won.append(await self._episode(replay))
                exact = exact and replay.same_until > turn
                if len(won[-1].steps) <= turn:
                    raise NotReplayable(
                        f"{self._recorded.id} ended after {len(won[-1].steps)} of {turn} steps when replayed"
                    )
            found.append(self._state(won, exact=exact))
        return found

    def _state(self, episodes: Sequence[Trajectory], *, exact: bool) -> StateValue:
        successes = sum(_succeeded(each) for each in episodes)
        count = len(episodes)
        return StateValue(value=successes / count, error=standard_error(successes, count), exact=exact)

    async def _episode(
        self,
        policy: Policy,
        *,
        crossroads: Crossroads | None = None,
        branch: Branch | None = None,
        void_limit: int | None = None,
    ) -> Trajectory:
        """An episode with a verdict.

        Raises:
            InfrastructureError: it broke; says how.
        """
        task = self._recorded.start.task
        done = await run_episode(
            task,
            sandbox=self._sandbox,
            policy=policy,
            verifier=create_verifier(task.verifier),
            sink=MemorySink(),
            split=self._recorded.start.split,
            deadlines=self._continuing.deadlines,
            void_limit=void_limit or self._continuing.void_limit,
            crossroads=crossroads,
            branch=branch,
            notes=self._recorded.start.notes,
        )
        if done.end is not None and done.end.failure is not None:
            raise InfrastructureError(f"{done.end.failure}: {done.end.failure_detail}")
        return done


class _Done:
    """Has nothing more to do."""

    id = "done"

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Finish(),), text="finished()")


def _succeeded(episode: Trajectory) -> bool:
    return episode.end is not None and episode.end.outcome is not None and episode.end.outcome.success
