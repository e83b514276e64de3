from __future__ import annotations

import time
import uuid

from deskhand_agent.ids import is_id, new_id


def test_ids_are_uuids_of_version_7_and_carry_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(hex=new_id())
    after = time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before <= made.int >> 80 <= after


def test_ids_are_known_by_their_form() -> None:
    assert is_id(new_id())
    assert not any(map(is_id, ("", "gc-1", new_id()[1:], new_id().upper() + "\n", "²" * 32)))


def test_ids_differ_and_sort_by_time() -> None:
    ids: list[str] = []
    for _ in range(200):
        burst = [new_id() for _ in range(50)]
        ids.extend(burst)
    assert len(set(ids)) == len(ids)
    # the fraction of a millisecond is part of the id; only the clock's own grain may tie
    assert [each[:16] for each in ids] == sorted(each[:16] for each in ids)
