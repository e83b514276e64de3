"""A policy against itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from deskhand_agent.errors import EndpointError
from deskhand_agent.types import Context, Decision
from deskhand_sandbox.boards.tic_tac_toe import best_key
from deskhand_sandbox.types import Action, Press, TypeText
from deskhand_trainer.self_play import DECAY, GAMES, compared, game, games
from deskhand_trainer.types import Episode

(GAME,) = GAMES


class Plays:
    id = "plays"
    reads_state = False

    def __init__(self, choose: Callable[[str], Action | None]) -> None:
        self.choose, self.seen = choose, list[Context]()

    async def act(self, context: Context) -> Decision:
        self.seen.append(context)
        cells = (context.observation.terminal or "").replace("\n", "")
        action = self.choose(cells)
        return Decision(actions=() if action is None else (action,), text="")


def best(cells: str) -> Action:
    return Press(keys=(best_key(cells),))


def first_free(cells: str) -> Action:
    return TypeText(text=f"{cells.index('-') + 1}\n")


async def test_at_their_best_both_sides_draw() -> None:
    policy = Plays(best)
    one, other = await game(GAME, 5, policy, policy_update=3)
    assert [t.start.task.id for t in (one, other)] == [f"{GAME}:X", f"{GAME}:O"]
    assert [len(t.steps) for t in (one, other)] == [5, 4]
    assert all(t.end and t.end.outcome and t.end.outcome.score == 0.5 for t in (one, other))
    assert all(t.start.policy_update == 3 and t.start.task.seed == 5 for t in (one, other))
    assert policy.seen[0].instruction.startswith("You are X") and policy.seen[1].instruction.startswith(
        "You are O"
    )
    # each side is shown its own turns alone
    assert [len(context.steps) for context in policy.seen] == [0, 0, 1, 1, 2, 2, 3, 3, 4]


async def test_who_has_three_in_a_row_wins_and_the_other_loses() -> None:
    one, other = await game(GAME, 0, Plays(first_free), policy_update=0)
    scores = [t.end.outcome.score for t in (one, other) if t.end and t.end.outcome]
    assert scores == [1.0, 0.0]
    assert one.end and one.end.outcome and one.end.outcome.success


@pytest.mark.parametrize("wrong", [None, Press(keys=("1",)), TypeText(text="10"), Press(keys=("a",))])
async def test_what_is_no_move_loses_the_game(wrong: Action | None) -> None:
    policy = Plays(lambda cells: Press(keys=("1",)) if cells == "-" * 9 else wrong)
    one, other = await game(GAME, 0, policy, policy_update=0)
    scores = [t.end.outcome.score for t in (one, other) if t.end and t.end.outcome]
    assert (scores, len(one.steps), len(other.steps)) == ([1.0, 0.0], 1, 1)


async def test_a_side_that_had_no_turn_has_no_episode() -> None:
    (only,) = await game(GAME, 0, Plays(lambda _: None), policy_update=0)
    assert only.start.task.id == f"{GAME}:X"
    assert only.end and only.end.outcome and only.end.outcome.score == 0.0


async def test_a_game_in_which_the_model_fails_is_left_out() -> None:
    left = 1

    def fails_once(cells: str) -> Action:
        nonlocal left
        if cells.count("-") == 5 and left:
            left -= 1
            raise EndpointError("gone")
        return best(cells)

    found, dropped = await games((GAME,), range(3), Plays(fails_once), concurrency=1, policy_update=0)
    assert [t.start.task.seed for t in found] == [1, 1, 2, 2]
    assert dropped == {"model_error": 1}


async def test_many_games_in_order() -> None:
    found, dropped = await games([GAME], range(7, 10), Plays(best), concurrency=2, policy_update=0)
    assert [t.start.task.seed for t in found] == [7, 7, 8, 8, 9, 9]
    assert dropped == {}


def test_a_side_is_compared_with_what_it_usually_earns(an_episode: Episode) -> None:
    batch = [
        replace(an_episode, task_id=side, outcome=outcome)
        for side, outcome in (("g:X", 1.0), ("g:O", 0.0), ("g:X", 0.5))
    ]
    told, usual = compared(batch, {"g:X": 0.6})
    assert [e.baseline for e in told] == [0.6, 0.0, 0.6]
    after = DECAY * (DECAY * 0.6 + (1 - DECAY) * 1.0) + (1 - DECAY) * 0.5
    assert usual == {"g:X": pytest.approx(after), "g:O": 0.0}
