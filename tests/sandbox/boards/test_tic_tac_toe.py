"""The rules of tic-tac-toe."""

from __future__ import annotations

from deskhand_sandbox.boards.tic_tac_toe import (
    START,
    best_key,
    board_text,
    ended,
    moved,
    places,
    score_of,
    to_move,
    winner,
)


def test_tic_tac_toe_by_hand() -> None:
    assert (to_move("-" * 9), to_move("X--------"), to_move("XO-------")) == ("X", "O", "X")
    assert winner("XXXOO----") == "X" and winner("XX-OOO---") == "O" and winner("X-O-X-O-X") == "X"
    assert winner("XOXXOOOXX") is None
    assert (score_of("XXXOO----", "X"), score_of("XXXOO----", "O")) == (1.0, 0.0)
    assert score_of("XOXXOOOXX", "X") == score_of("XOXXOOOXX", "O") == 0.5
    assert score_of("XX-OO----", "X") == 0.0
    assert best_key("XX-OO----") == "3"
    assert best_key("XX-O-----") == "3"


def test_a_game_move_by_move() -> None:
    cells = START
    for key in "514":
        assert not ended(cells)
        cells = moved(cells, key)
    assert board_text(cells) == "O--\nXX-\n---"
    assert places(cells) == ["2", "3", "6", "7", "8", "9"]
    assert (best_key(cells), to_move(cells)) == ("6", "O")
    assert ended(moved(moved(cells, "2"), "6"))
    assert ended("XOXXOOOXX") and not ended("XOXXOOOX-")


def test_nobody_beats_the_best_moves() -> None:
    """Against every answer there is, whichever side begins."""

    def never_loses(cells: str, side: str) -> bool:
        if ended(cells):
            return winner(cells) in (None, side)
        keys = [best_key(cells)] if to_move(cells) == side else places(cells)
        return all(never_loses(moved(cells, key), side) for key in keys)

    assert never_loses(START, "X") and never_loses(START, "O")
