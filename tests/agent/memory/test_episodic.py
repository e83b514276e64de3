from __future__ import annotations

from collections.abc import Callable

from deskhand_agent.memory.episodic import Episodic
from deskhand_agent.types import Step


def test_notes_stay_and_the_working_memory_outlives_them(step: Callable[..., Step]) -> None:
    steps = [
        step(0, "a"),
        step(1, "b"),
        step(2, "meant a,\n got b", wrote=True),
        step(3, "c"),
        step(4, "d"),
        step(5, "meant c, got d", wrote=True),
    ]
    memory = Episodic(after=2, chars=99, working=1)
    found = memory.recall(steps)
    assert found.written == "1. meant a, got b\n2. meant c, got d"
    assert found.steps == (steps[4],) and found.dropped == 0
    assert memory.recall(steps[:4]).steps == (steps[3],)
    assert Episodic(after=2, chars=99, working=3).recall(steps[:4]).steps == (steps[0], steps[1], steps[3])
    assert Episodic(after=2, chars=99, working=0).recall(steps).steps == ()


def test_the_oldest_notes_make_room(step: Callable[..., Step]) -> None:
    steps = [step(n, f"note {n}", wrote=True) for n in range(4)]
    written = Episodic(after=1, chars=20, working=0).recall(steps).written
    assert written == "3. note 2\n4. note 3"
    assert Episodic(after=1, chars=3, working=0).recall(steps).written == ""


def test_a_note_longer_than_all_may_be_hides_no_other(step: Callable[..., Step]) -> None:
    steps = [step(0, "short", wrote=True), step(1, "long" * 99, wrote=True), step(2, "new", wrote=True)]
    memory = Episodic(after=1, chars=300, working=0)
    for shown in (steps[:2], steps):
        first, long, *_ = memory.recall(shown).written.splitlines()
        assert first == "1. short" and long == "2. lo (shortened from 399 bytes) long"


def test_one_is_due_after_so_many_turns(step: Callable[..., Step]) -> None:
    memory = Episodic(after=2, chars=20, working=5)
    steps = [step(0, "a"), step(1, "b")]
    assert [memory.due(steps[:n]) for n in range(3)] == [False, False, True]
    assert not memory.due([*steps, step(2, "note", wrote=True), step(3, "c")])
