"""Steps on ice; whether they are Gymnasium's is asked where worlds are tested."""

from __future__ import annotations

from deskhand_sandbox.boards.frozen_lake import CIRCLE, may_go, stepped


def test_a_slippery_step_goes_to_a_side_but_never_back() -> None:
    assert may_go("ArrowUp", slippery=False) == ("ArrowUp",)
    assert may_go("ArrowUp", slippery=True) == ("ArrowRight", "ArrowUp", "ArrowLeft")
    assert may_go("ArrowLeft", slippery=True) == ("ArrowUp", "ArrowLeft", "ArrowDown")


def test_off_the_edge_nobody_goes() -> None:
    """Two lines of three: 0 1 2 over 3 4 5."""
    cells, expected = "-" * 6, {
        "ArrowLeft": [0, 0, 1, 3, 3, 4],
        "ArrowDown": [3, 4, 5, 3, 4, 5],
        "ArrowRight": [1, 2, 2, 4, 5, 5],
        "ArrowUp": [0, 1, 2, 0, 1, 2],
    }  # fmt: skip
    assert {way: [stepped(at, way, cells, 3) for at in range(6)] for way in CIRCLE} == expected
