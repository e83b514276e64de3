"""Rolling out against what an expert recorded: semi-online learning (UI-S1, arXiv:2509.11543).

No sandbox: while the policy does what the expert did, it is shown what the expert saw next, its own words as
its history. Where it does otherwise, the expert's action takes that turn's place, a few times; then the
episode ends. The reward of a turn is how near its action was to the expert's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deskhand_agent.ids import new_id
from deskhand_agent.types import Context, Policy, Step, StopReason, Trajectory, TrajectoryEnd
from deskhand_sandbox.types import Action, Click, Drag, MovePointer, Outcome, Scroll, Swipe, Touch, TypeText
from deskhand_trainer.unsandboxed import decided, in_order

FORMAT, KIND, EXACT = 0.1, 0.4, 0.5
"""Parts of a turn's reward: an action was said, of the expert's kind, the expert's (UI-S1 §3.3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SemiOnline:
    """How far the policy may stray."""

    patches: int = 1
    """Turns in which the expert's action may take the policy's place."""
    tolerance: float = 0.05
    """How far from the expert's a point may lie, in longer sides of the screen."""


def nearness(
    said: Sequence[Action], expert: Sequence[Action], size_px: tuple[int, int], tolerance: float
) -> float:
    """Reward of a turn, 0 to 1: .1 for any action, .4 for those of the expert's kinds, .5 for his.

    Args:
        size_px: of the screen.
        tolerance: see `SemiOnline`.
    """
    if not said:
        return 0.0
    if [type(each) for each in said] != [type(each) for each in expert]:
        return FORMAT
    near = tolerance * max(size_px)
    alike = all(_alike(mine, his, near) for mine, his in zip(said, expert, strict=True))
    return FORMAT + KIND + (EXACT if alike else 0.0)


def _alike(said: Action, expert: Action, near_px: float) -> bool:
    """Points near each other, texts but for blanks at their ends, everything else equal."""
    match said, expert:
        case ((Click() | MovePointer() | Touch()), (Click() | MovePointer() | Touch())):
            return _near((said.x, said.y), (expert.x, expert.y), near_px) and said == _moved(expert, said)
        case Scroll(), Scroll():
            return (_sign(said.dx_px), _sign(said.dy_px)) == (_sign(expert.dx_px), _sign(expert.dy_px))
        case ((Drag() | Swipe()), (Drag() | Swipe())):
            return _near(said.path[0], expert.path[0], near_px) and _near(
                said.path[-1], expert.path[-1], near_px
            )
        case TypeText(), TypeText():
            return said.text.strip() == expert.text.strip()
        case _:
            return said == expert


def _moved(
    expert: Click | MovePointer | Touch, said: Click | MovePointer | Touch
) -> Click | MovePointer | Touch:
    return replace(expert, x=said.x, y=said.y)


def _near(one: tuple[int, int], other: tuple[int, int], near_px: float) -> bool:
    return math.dist(one, other) <= near_px


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


async def beside(
    expert: Trajectory, policy: Policy, rules: SemiOnline, *, group_id: str | None, policy_update: int
) -> Trajectory:
    """One episode against a recorded one.

    Args:
        expert: with a step at least, and pictures with their bytes.

    Returns:
        A trajectory that belongs in no store. Each step's reward is `nearness`; the outcome's score is the
        share of the expert's turns that the policy took as he did, success is all of them.
    """
    start = replace(
        expert.start, id=new_id(), policy_id=policy.id, policy_update=policy_update, group_id=group_id,
        started_at_s=time.time(),
    )  # fmt: skip
    shown: list[Step] = []
    """What the policy sees of its past: patched turns as the expert's, and of all what came of his."""
    steps: list[Step] = []
    patches, ended = 0, False
    for his in expert.steps:
        context = Context(
            task=start.task,
            instruction=start.instruction,
            steps=tuple(shown),
            observation=his.observation,
        )
        step = await decided(policy, context, index=his.index)
        said, right = step.decision.actions, his.decision.actions
        reward = nearness(said, right, his.observation.size_px, rules.tolerance)
        step = replace(step, reward=reward)
        steps.append(step)
        seen = replace(step, action_error=his.action_error, answer=his.answer)
        if reward == FORMAT + KIND + EXACT:
            shown.append(seen)
            continue
        patches += 1
        if patches > rules.patches:
            ended = True
            break
        shown.append(replace(seen, decision=replace(step.decision, actions=right, error=None, fault=None)))
    share = (len(steps) - patches) / len(expert.steps)
    return Trajectory(
        start=start,
        steps=tuple(steps),
        end=TrajectoryEnd(
            final_observation=None,
            outcome=Outcome(score=share, success=not patches, detail=f"strayed in {patches} turns"),
            stop_reason=StopReason.FINISHED if not ended else StopReason.TERMINATED,
            failure=None,
            ended_at_s=time.time(),
        ),
    )


async def all_beside(
    experts: Sequence[Trajectory],
    policy: Policy,
    rules: SemiOnline,
    *,
    group_size: int,
    concurrency: int,
    policy_update: int,
) -> tuple[list[Trajectory], Mapping[str, int]]:
    """A group of episodes against each recorded one, many at a time, in order; and in how many the model
    failed, by kind.

    Raises:
        AgentError: the model failed in more than half of them.
    """

    async def one(expert: Trajectory) -> Trajectory:
        group = f"{expert.start.task.id}#{expert.id}" if group_size > 1 else None
        return await beside(expert, policy, rules, group_id=group, policy_update=policy_update)

    each = [expert for expert in experts for _ in range(group_size)]
    return await in_order(one, each, concurrency=concurrency)
