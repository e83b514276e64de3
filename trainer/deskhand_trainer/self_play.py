"""A policy against itself at games of two sides (SPIRAL, arXiv:2506.24119), each side an episode of its own.

What a side earns is compared with what that side of that game usually earns: whoever begins has it easier.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from deskhand_agent.ids import new_id
from deskhand_agent.types import (
    Context,
    Policy,
    Step,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.boards.tic_tac_toe import (
    SIDES,
    START,
    board_text,
    ended,
    instruction,
    moved,
    places,
    score_of,
    to_move,
)
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, Image, Observation, Outcome, Press, Split, Task, TypeText
from deskhand_trainer.types import Episode
from deskhand_trainer.unsandboxed import decided, in_order

GAMES = ("worlds/tic-tac-toe",)
"""Tasks that can be played by both sides."""
DECAY = 0.95
"""Of the running mean of what a side earns (SPIRAL's α)."""


async def game(task_id: str, number: int, policy: Policy, *, policy_update: int) -> list[Trajectory]:
    """One game, both sides played by the policy.

    A reply that is no move into a free place loses it.

    Returns:
        An episode for each side that had a turn, in order of beginning; none of them belongs in a store.
    """
    cells, loser = START, None
    steps: dict[str, list[Step]] = {side: [] for side in SIDES}
    while not ended(cells) and loser is None:
        side = to_move(cells)
        own = steps[side]
        context = Context(
            task=_task(task_id, side),
            instruction=instruction(side),
            steps=tuple(own),
            observation=_seen(cells),
        )
        own.append(await decided(policy, context, index=len(own)))
        key = _key(own[-1].decision.actions)
        if key in places(cells):
            cells = moved(cells, key)
        else:
            loser = side
    scores = {side: float(side != loser) if loser else score_of(cells, side) for side in SIDES}
    return [
        _episode(task_id, number, side, own, scores[side], policy, policy_update)
        for side, own in steps.items()
        if own
    ]


async def games(
    task_ids: Sequence[str], numbers: Sequence[int], policy: Policy, *, concurrency: int, policy_update: int
) -> tuple[list[Trajectory], Mapping[str, int]]:
    """Games in turn of each task, many at a time, in order; and in how many the model failed, by kind.

    Raises:
        AgentError: the model failed in more than half of them.
    """

    async def one(number: int) -> list[Trajectory]:
        return await game(task_ids[number % len(task_ids)], number, policy, policy_update=policy_update)

    played, dropped = await in_order(one, numbers, concurrency=concurrency)
    return [side for both in played for side in both], dropped


def compared(
    episodes: Sequence[Episode], usual: Mapping[str, float]
) -> tuple[list[Episode], dict[str, float]]:
    """Episodes with what their side usually earns as the baseline, and the running means with theirs.

    b ← α·b + (1 − α)·R for every game and side (role-conditioned advantage estimation); the baseline is the
    one before these episodes, so that none is compared with itself. A side not met before begins at the mean
    of these.

    Args:
        usual: by task, which names game and side.
    """
    new = dict(usual)
    for task in {e.task_id for e in episodes}:
        own = [e.outcome for e in episodes if e.task_id == task]
        new.setdefault(task, sum(own) / len(own))
    told = [replace(e, baseline=new[e.task_id]) for e in episodes]
    for episode in episodes:
        new[episode.task_id] = DECAY * new[episode.task_id] + (1 - DECAY) * episode.outcome
    return told, new


def _episode(
    task_id: str, number: int, side: str, steps: list[Step], score: float, policy: Policy, policy_update: int
) -> Trajectory:
    now = time.time()
    return Trajectory(
        start=TrajectoryStart(
            id=new_id(), task=replace(_task(task_id, side), seed=number), instruction=instruction(side),
            policy_id=policy.id, policy_update=policy_update, group_id=None, split=Split.TRAIN,
            started_at_s=now,
        ),
        steps=tuple(steps),
        end=TrajectoryEnd(
            final_observation=None, outcome=Outcome(score=score, success=score == 1.0),
            stop_reason=StopReason.TERMINATED, failure=None, ended_at_s=now,
        ),
    )  # fmt: skip


def _task(task_id: str, side: str) -> Task:
    """Named by its side too: what is usual differs."""
    return replace(_made(task_id), id=f"{task_id}:{side}")


@lru_cache
def _made(task_id: str) -> Task:
    return make_task(task_id, 0)


def _key(actions: Sequence[Action]) -> str:
    """The one key that a reply presses or types; empty where it is none."""
    match actions:
        case (Press(keys=(key,)),):
            return key
        case (TypeText(text=text),):
            return text.strip()
        case _:
            return ""


def _seen(cells: str) -> Observation:
    text = board_text(cells)
    return Observation(screenshot=_picture(text), captured_at_s=time.time(), settled_ms=0.0, terminal=text)


@lru_cache(maxsize=8192)
def _picture(text: str) -> Image:
    return encoded(draw_board(text, "marks"))
