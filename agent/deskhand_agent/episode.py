"""An episode from reset to verdict, around the loop of its turns (`loop`).

Each step goes to the sink as it happens. What breaks that is not the agent's doing ends the episode with a
`Failure` and no outcome; what the agent does wrong is recorded on the step, and the episode goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from deskhand_agent.branching import Branch, Crossroads
from deskhand_agent.ending import VOID_LIMIT, StopRules, ended, failed_end
from deskhand_agent.errors import AgentError
from deskhand_agent.ids import new_id
from deskhand_agent.keeping import kept
from deskhand_agent.loop import Loop
from deskhand_agent.notebook import Notebook, place_of
from deskhand_agent.test_time.checking import TRY_AGAIN, SelfCheck, told_again
from deskhand_agent.test_time.self_checks import SelfChecks
from deskhand_agent.time_limits import TimeLimit, within
from deskhand_agent.turn import Deadlines, TurnRunner
from deskhand_agent.types import Policy, Step, StepSink, StopReason, Trajectory, TrajectoryStart, Watcher
from deskhand_agent.users import Conversation, User, by_rule
from deskhand_agent.verdicts import Verdicts
from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import SandboxError, SandboxTimeout
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import Split, Task

__all__ = ["TRY_AGAIN", "VOID_LIMIT", "run_episode", "told_again"]


async def run_episode(
    task: Task,
    *,
    sandbox: Sandbox,
    policy: Policy,
    verifier: Verifier,
    sink: StepSink,
    split: Split,
    policy_update: int = 0,
    group_id: str | None = None,
    labels: Mapping[str, str] | None = None,
    deadlines: Deadlines | None = None,
    user: User = by_rule,
    void_limit: int = VOID_LIMIT,
    watcher: Watcher | None = None,
    attempts: int = 1,
    self_check: SelfCheck | None = None,
    crossroads: Crossroads | None = None,
    branch: Branch | None = None,
    notes: str = "",
    notebook: Notebook | None = None,
) -> Trajectory:
    """Work one task in one sandbox, from reset to verdict.

    Returns the whole episode, failed ones included: `end.failure` says what broke, and such an episode is
    the agent's neither to earn nor to answer for.

    Args:
        policy_update: online updates the policy's weights have seen as the episode begins.
        user: answers `AskUser`.
        void_limit: so many replies in a row without an action end the episode: a model that has lost the
            grammar reads its own errors from then on, and does not find back.
        watcher: may end it after any step; the verdict is on the state it leaves.
        attempts: where one ends without success, the start state comes again, and the agent is told to try
            again; each has the task's turns.
        self_check: says in the verifier's place whether an attempt succeeded, and doubts "finished".
        crossroads: keeps the computer's state at turns to branch from.
        branch: begin there, its earlier turns recorded as this episode's own, and not at the task's start.
        notes: as `TrajectoryStart.notes`, where neither a branch nor a notebook has any.
        notebook: read before it begins and written when it has a verdict, in training alone: episodes of
            other splits neither see nor leave notes.

    Raises:
        asyncio.CancelledError: somebody stopped it; recorded first.
        Exception: the sink or the notebook failed, or there is a bug; nothing else.
    """
    notebook = notebook if split is Split.TRAIN and branch is None else None
    place = ""
    start = TrajectoryStart(
        id=new_id(),
        task=task,
        instruction=task.instruction,
        policy_id=policy.id,
        policy_update=policy_update,
        group_id=group_id,
        split=split,
        started_at_s=time.time(),
        labels={**(labels or {}), **({} if branch is None else branch.labels)},
        notes=notes if branch is None else branch.of.start.notes,
    )
    steps: list[Step] = []
    begun = False
    cancelled: asyncio.CancelledError | None = None
    try:
        deadlines = (deadlines or Deadlines()).of_policy(policy).of_task(task, verifier)
        late = SandboxTimeout(f"reset took more than {deadlines.reset_s:g} s")
        begin = set_up(sandbox, task) if branch is None else branch.resume(sandbox)
        ready = await within(deadlines.reset_s, begin, late)
        start = replace(start, instruction=ready.instruction)
        if notebook is not None:
            place = place_of(task, ready.observation)
            start = replace(start, notes=await asyncio.to_thread(notebook.read, place, group_id=group_id))
        await sink.begin(start)
        begun = True
        for step in () if branch is None else branch.of.steps[: branch.turn]:
            await sink.step(start.id, step)
            steps.append(step)
        limit = TimeLimit(task.limits.seconds)
        told = Conversation(user, task, start.instruction, answer_s=deadlines.answer_s, earlier=steps)
        loop = Loop(
            start=start,
            sandbox=sandbox,
            policy=policy,
            turns=TurnRunner(sandbox, verifier, policy=policy, deadlines=deadlines, limit=limit, user=told),
            rules=StopRules(turns=task.limits.turns, limit=limit, void_limit=void_limit, watcher=watcher),
            verdicts=Verdicts(verifier=verifier, sandbox=sandbox, verify_s=deadlines.verify_s),
            sink=sink,
            deadlines=deadlines,
            limit=limit,
            checks=SelfChecks(self_check, model_s=deadlines.model_s),
            attempts=attempts,
            crossroads=crossroads,
            steps=steps,
        )
        with limit.running(), kept(sandbox):
            end = await loop.work(ready.observation)
    except (SandboxError, AgentError) as error:
        end = failed_end(error, after_setup=begun)
    except asyncio.CancelledError as error:
        end, cancelled = ended(StopReason.CANCELLED), error
    trajectory = Trajectory(start=start, steps=tuple(steps), end=end)
    await asyncio.shield(_close(sink, trajectory, begun=begun))
    if cancelled is not None:
        raise cancelled
    if notebook is not None and place:
        await asyncio.to_thread(notebook.keep, place, trajectory)
    return trajectory


async def _close(sink: StepSink, trajectory: Trajectory, *, begun: bool) -> None:
    if not begun:
        await sink.begin(trajectory.start)
    if trajectory.end is not None:
        await sink.end(trajectory.id, trajectory.end)
