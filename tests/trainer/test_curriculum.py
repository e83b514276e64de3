from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_trainer.curriculum import TaskRecord, in_turn, recorded, shares, turn_limit, turn_limits
from deskhand_trainer.rollouts import episode_of


def test_the_horizon_grows_exactly_at_its_boundaries() -> None:
    told = {
        i: turn_limit([10, 20, 30], every=100, iteration=i) for i in (0, 99, 100, 199, 200, 299, 300, 9999)
    }
    assert list(told.values()) == [10, 10, 20, 20, 30, 30, 30, 30]
    assert turn_limit((), every=100, iteration=7) is None


def test_tasks_that_mostly_succeed_give_half_of_their_share_to_the_rest() -> None:
    records = {"a": TaskRecord(success=0.9), "b": TaskRecord(success=0.6), "c": TaskRecord(success=0.0)}
    assert shares(["a", "b", "c"], 10, records) == [2, 4, 4]
    assert shares(["a", "b", "c"], 10, {}) == [4, 3, 3]
    everywhere = dict.fromkeys("abc", TaskRecord(success=1.0))
    assert shares(["a", "b", "c"], 9, everywhere) == [3, 3, 3]
    assert shares(["a", "b", "c"], 2, records) == [0, 1, 1]


def test_what_is_known_and_what_is_out_of_reach_give_to_what_is_between() -> None:
    records = {"a": TaskRecord(success=0.95), "b": TaskRecord(success=0.1), "c": TaskRecord(success=0.05)}
    assert shares(["a", "b", "c"], 8, records, band=(0.1, 0.9)) == [2, 4, 2]
    assert shares(["a", "b", "c", "new"], 12, records, band=(0.1, 0.9)) == [2, 4, 2, 4]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(1, 200))
def test_shares_add_up_and_leave_no_task_out(successes: list[float], starts: int) -> None:
    tasks = [str(i) for i in range(len(successes))]
    records = {task: TaskRecord(success=s) for task, s in zip(tasks, successes, strict=True)}
    counts = shares(tasks, starts, records)
    assert sum(counts) == starts
    assert min(counts) >= (1 if starts >= len(tasks) else 0)


def test_tasks_take_turns_by_their_shares() -> None:
    assert "".join(in_turn("abc", [1, 2, 4])) == "cbcacbc"
    assert "".join(in_turn("abc", [1, 1, 1])) == "abc"
    assert in_turn("abc", [0, 0, 1]) == ["c"]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any), st.integers(1, 60))
def test_every_stretch_of_turns_holds_about_each_share(counts: list[int], length: int) -> None:
    tasks = [str(i) for i in range(len(counts))]
    turns = in_turn(tasks, counts)
    assert [turns.count(task) for task in tasks] == counts
    for task, count in zip(tasks, counts, strict=True):
        assert abs(turns[:length].count(task) - count * min(1, length / len(turns))) <= len(tasks) / 2 + 1


def test_episodes_are_no_longer_than_the_longest_success_nor_the_horizon() -> None:
    records = {
        "a": TaskRecord(success=0.7, longest=3),
        "b": TaskRecord(success=0.0),
        "z": TaskRecord(success=1),
    }
    assert turn_limits(["a", "b"], None, records) == {"a": 3}
    assert turn_limits(["a", "b"], 10, records) == {"a": 3, "b": 10}
    assert turn_limits(["a", "b"], 2, records) == {"a": 2, "b": 2}
    assert turn_limits(["a", "b"], None, {}) == {}


def test_a_task_that_seldom_succeeds_may_take_longer_than_it_ever_did() -> None:
    """Its first successes are its short start states: held to those it would never see another end well."""
    draw, records = random.Random(0), dict[str, TaskRecord]()
    limits, successes = list[int](), list[float]()
    for iteration in range(10):
        limits.append(turn_limits(["t"], None, records).get("t", 10))
        needed = [draw.randint(2, 6) for _ in range(128)]
        able = [n <= limits[-1] and (iteration > 0 or n == 2) and draw.random() < 0.9 for n in needed]
        records = recorded(records, [("t", won, n) for won, n in zip(able, needed, strict=True)])
        successes.append(records["t"].success)
    assert limits == [10, 10] + [6] * 8
    assert successes[0] < 0.3 and min(successes[1:]) > 0.8


def test_records_keep_the_longest_success() -> None:
    first = recorded({}, [("a", True, 3), ("a", False, 9), ("b", False, 5)])
    assert first == {"a": TaskRecord(success=0.5, longest=3), "b": TaskRecord(success=0.0)}
    then = recorded(first, [("a", True, 2), ("c", True, 1)])
    assert then["a"] == TaskRecord(success=1.0, longest=3)
    assert then["b"] == first["b"]
    assert then["c"].longest == 1


async def test_a_record_counts_turns_as_their_limit_does(tiny: ModelBundle, wait_to_the_limit: Any) -> None:
    """Neither the attempts before nor what was written down lengthen what later episodes are allowed."""
    tiny.memory = WindowMemory(strategy="summary", summary_after=2)
    played, policy = await wait_to_the_limit(turns=5, attempts=3)
    episode = episode_of(played, policy.request)
    assert episode is not None and len(episode.samples) > 15 and episode.samples[-1].attempt == 2
    assert episode.attempt_turns == 5
