"""Single replies to screens of demonstrations: the stages before whole episodes (CRAFT-GUI, arXiv:2508.11360;
Mobile-R1, arXiv:2506.20332 §3.3)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from deskhand_agent.ids import new_id
from deskhand_agent.types import Context, Policy, StopReason, Trajectory, TrajectoryEnd
from deskhand_sandbox.types import Outcome
from deskhand_trainer.curriculum_config import CurriculumConfig
from deskhand_trainer.semi_online import SemiOnline, nearness
from deskhand_trainer.unsandboxed import decided, in_order

Stage: TypeAlias = Literal["format", "single_step"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """One of a demonstration."""

    expert: Trajectory
    """With pictures with their bytes."""
    index: int
    """Of the step whose screen it is."""
    number: int
    """Of all the screens of a run; replies to it are a group."""


def stage_of(curriculum: CurriculumConfig, *, iteration: int) -> Stage | None:
    """What an iteration is paid for.

    Args:
        iteration: from 0.

    Returns:
        None: whole episodes are played.
    """
    if iteration < curriculum.format:
        return "format"
    return "single_step" if iteration < curriculum.iterations else None


def screen_at(expert: Trajectory, *, number: int, demonstrations: int) -> Screen:
    """The next of its screens: each time through the demonstrations it is the next step's.

    Args:
        number: counts on through the run.
        demonstrations: how many there are.
    """
    turn, place = divmod(number, demonstrations)
    return Screen(expert=expert, index=(turn + place) % len(expert.steps), number=number)


async def replied(
    screen: Screen, policy: Policy, stage: Stage, *, grouped: bool, policy_update: int
) -> Trajectory:
    """An episode of one turn: the policy sees what the expert saw, and the expert's turns as its own.

    Returns:
        A trajectory that belongs in no store. Its score is `nearness`, in the stage of format 1 for any
        action; success is the expert's action, in the stage of format any.
    """
    expert, his = screen.expert, screen.expert.steps[screen.index]
    start = replace(
        expert.start,
        id=new_id(),
        policy_id=policy.id,
        policy_update=policy_update,
        group_id=f"{expert.start.task.id}#{screen.number}" if grouped else None,
        started_at_s=time.time(),
    )
    context = Context(
        task=start.task,
        instruction=start.instruction,
        steps=expert.steps[: screen.index],
        observation=his.observation,
    )
    step = await decided(policy, context, index=0)
    said, right = step.decision.actions, his.decision.actions
    near = nearness(said, right, his.observation.size_px, SemiOnline().tolerance)
    score = near if stage == "single_step" else float(bool(said))
    return Trajectory(
        start=start,
        steps=(step,),
        end=TrajectoryEnd(
            final_observation=None,
            outcome=Outcome(score=score, success=score == 1.0, detail=f"a reply to step {screen.index}"),
            stop_reason=StopReason.FINISHED,
            failure=None,
            ended_at_s=time.time(),
        ),
    )


async def all_replied(
    screens: Sequence[Screen],
    policy: Policy,
    stage: Stage,
    *,
    group_size: int,
    concurrency: int,
    policy_update: int,
) -> tuple[list[Trajectory], Mapping[str, int]]:
    """A group of replies to each screen, many at a time, in order; and how often the model failed, by kind.

    Raises:
        AgentError: in more than half of them.
    """

    async def one(screen: Screen) -> Trajectory:
        return await replied(screen, policy, stage, grouped=group_size > 1, policy_update=policy_update)

    each = [screen for screen in screens for _ in range(group_size)]
    return await in_order(one, each, concurrency=concurrency)
