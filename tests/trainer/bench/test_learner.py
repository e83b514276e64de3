from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from deskhand_trainer.bench.learner import main
from deskhand_trainer.bench.turns import (
    EPISODE_TURNS,
    INSTRUCTION,
    WINDOW,
    drawn_turns,
    read_turns,
    write_turns,
)


def test_turns_grow_within_an_episode_and_come_back_as_written(tmp_path: Path) -> None:
    turns = drawn_turns(40, range(10, 20), seed=3)
    assert len(turns) == 40 and len({turn.prompt for turn in turns}) == 40
    for episode in {turn.episode for turn in turns}:
        prompts = [len(turn.prompt) for turn in turns if turn.episode == episode]
        assert prompts[0] == INSTRUCTION and len(prompts) <= EPISODE_TURNS
        assert prompts[:9] == sorted(prompts[:9])
    write_turns(tmp_path / "turns.json", turns)
    assert read_turns(tmp_path / "turns.json") == turns
    assert drawn_turns(40, range(10, 20), seed=3) == turns


def test_prompts_go_on_from_each_other_until_the_window_slides() -> None:
    turns = drawn_turns(40, range(10, 20), going_on=True, seed=3)
    assert [len(t.prompt) for t in turns] != [INSTRUCTION] * 40
    for before, after in pairwise(turns):
        if before.episode == after.episode:
            place = [t for t in turns if t.episode == after.episode].index(after)
            same = before.prompt == after.prompt[: len(before.prompt)]
            assert same == (place <= WINDOW) and before.prompt[:INSTRUCTION] == after.prompt[:INSTRUCTION]


@pytest.mark.parametrize("told", [["--turns", "1"], ["--repeats", "0"]])
def test_too_few_are_refused(told: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(told)
    assert "at least" in capsys.readouterr().err
