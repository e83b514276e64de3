from __future__ import annotations

import pytest

from deskhand_agent.outputs import together
from deskhand_agent.prompt import MAX_OUTPUT_CHARS


@pytest.mark.parametrize(
    ("outputs", "told"),
    [([], ""), ([""], ""), (["a"], "a"), (["a", "", "b"], "a\nb"), (["", "x" * 9000], "x" * 9000)],
)
def test_outputs_stand_one_after_the_other(outputs: list[str], told: str) -> None:
    assert together(outputs) == told


def test_several_long_ones_each_show_something_of_themselves() -> None:
    told = together(["a" * 3000, "short", "b" * 5000, "ü" * 5000])
    assert len(told) <= MAX_OUTPUT_CHARS
    first, short, second, third = told.split("\n")
    assert short == "short"
    assert [len(part.encode()) > 1200 for part in (first, second, third)] == [True] * 3
    assert "shortened from 3000 bytes" in first and "shortened from 10000 bytes" in third
    assert len(together(["ab"] * 5000)) <= MAX_OUTPUT_CHARS
