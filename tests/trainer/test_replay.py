from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from deskhand_trainer.replay import Successes, replayed
from deskhand_trainer.types import Episode

Made = Callable[..., Episode]


@pytest.fixture
def made(an_episode: Episode) -> Made:
    def make(name: str, outcome: float, group: str | None = "g", task: str = "t") -> Episode:
        return replace(
            an_episode,
            trajectory_id=name,
            outcome=outcome,
            success=outcome >= 1,
            group_id=group,
            task_id=task,
        )

    return make


def names(episodes: list[Episode]) -> list[str]:
    return [e.trajectory_id for e in episodes]


def test_a_failed_group_gets_a_success_in_one_slot_and_no_other_group_does(made: Made) -> None:
    stored = Successes(size=8).stored([made("old", 1.0), made("fails", 0.0), made("other", 1.0, task="u")])
    # of the last three groups one has a success, one a mean of .3, one much to tell apart
    batch = [made("a", 0.0), made("b", 0.0), made("c", 1.0, "h"), made("d", 0.0, "h"), made("e", 0.3, "i")]
    batch += [made("f", 0.3, "j"), made("g", 0.0, "j")]
    mixed, after = replayed(batch, stored, newest=8)
    assert names(mixed) == ["a", "old", "c", "d", "e", "f", "g"]
    assert mixed[1].group_id == "g"
    assert after.ids() == {"t": ["old", "c"], "u": ["other"]}


def test_successes_take_turns_and_the_oldest_make_room(made: Made) -> None:
    stored = Successes(size=2).stored([made(name, 1.0, "s") for name in "xyz"])
    assert stored.ids() == {"t": ["y", "z"]}
    failures = [made("a", 0.0, "g"), made("b", 0.0, "h"), made("c", 0.0, "i")]
    mixed, after = replayed(failures, stored, newest=2)
    assert names(mixed) == ["y", "z", "y"]
    assert [e.group_id for e in mixed] == ["g", "h", "i"]
    assert after.ids() == {"t": ["y", "z"]}
    # z is next, and w after it: the oldest made room, used or not
    mixed, after = replayed(failures, after.stored([made("w", 1.0, "s")]), newest=2)
    assert names(mixed) == ["z", "w", "z"]
    assert after.ids() == {"t": ["z", "w"]}


def test_who_has_taken_a_slot_makes_room_before_who_came_later(made: Made) -> None:
    stored = Successes(size=3).stored([made(name, 1.0, "s") for name in "xyz"])
    mixed, after = replayed([made("a", 0.0)], stored, newest=3)
    assert names(mixed) == ["x"]
    assert after.stored([made("w", 1.0, "s")]).ids() == {"t": ["y", "z", "w"]}


def test_as_many_of_the_newest_take_turns_as_are_asked_for(made: Made) -> None:
    stored = Successes(size=4).stored([made(name, 1.0, "s") for name in "wxyz"])
    failures = [made("a", 0.0, "g"), made("b", 0.0, "h"), made("c", 0.0, "i")]
    mixed, after = replayed(failures, stored, newest=2)
    assert names(mixed) == ["y", "z", "y"]
    assert after.ids() == {"t": [*"wxyz"]}
    assert after.newest(3).ids() == {"t": [*"xyz"]}


async def test_whose_turn_it_is_is_restored_and_a_checkpoint_that_says_nothing_begins_at_its_first(
    made: Made,
) -> None:
    known = {name: made(name, 1.0, "s") for name in "xyz"}

    async def episodes_of(ids: Sequence[str]) -> list[Episode]:
        return [known[each] for each in ids]

    for waiting, next_one in (({"t": 2}, "y"), ({}, "x")):
        restored = await Successes(size=3).restored({"t": [*"xyz"]}, {}, waiting, episodes_of)
        mixed, _ = replayed([made("a", 0.0)], restored, newest=3)
        assert names(mixed) == [next_one]
    later = restored.stored([made("w", 1.0, "s")])
    assert names(replayed([made("a", 0.0)], later, newest=3)[0]) == ["y"]  # x made room


def test_nothing_stored_changes_nothing_and_successes_are_stored_after_the_swap(made: Made) -> None:
    batch = [made("a", 0.0, "g"), made("b", 1.0, "h")]
    mixed, after = replayed(batch, Successes(size=8), newest=8)
    assert names(mixed) == ["a", "b"]
    assert after.ids() == {"t": ["b"]}


def test_without_groups_a_task_is_one(made: Made) -> None:
    stored = Successes(size=8).stored([made("old", 1.0)])
    mixed, _ = replayed([made("a", 0.0, None), made("b", 0.0, None)], stored, newest=8)
    assert names(mixed) == ["a", "old"]
