"""Which pages a step trains on: decided by seed and step, every page of a shard once per epoch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_trainer.base.drawing import count_in, size_px_of
from deskhand_trainer.base.feed import Feed
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import read_shard, write_shard
from deskhand_trainer.errors import RunRefused


@pytest.fixture
def shards(pages: list[SeenPage], tmp_path: Path) -> list[Path]:
    found: list[Path] = []
    for at, (size, number) in enumerate((("", 7), ("-wide", 4), ("", 5))):
        path = tmp_path / f"press{size}-train-{at * 100:07d}-{number}.tar"
        write_shard(path, [replace(pages[k], seed=at * 100 + k) for k in range(number)])
        found.append(path)
    return found


def feed(shards: list[Path], *, seed: int = 0, name: str = "asking") -> Feed[SeenPage]:
    return Feed(
        shards, read_shard, per_step=lambda path: 1 if "wide" in path.name else 2, seed=seed, name=name
    )


def seeds(found: Feed[SeenPage], steps: range) -> list[list[int]]:
    return [[page.seed for page in found.at(step)] for step in steps]


def test_a_name_tells_size_and_number(shards: list[Path]) -> None:
    assert [count_in(path) for path in shards] == [7, 4, 5]
    assert [size_px_of(path) for path in shards] == [(160, 210), (320, 240), (160, 210)]


def test_an_epoch_shows_every_page_once(shards: list[Path]) -> None:
    epoch = seeds(feed(shards), range(3 + 4 + 2))
    counts = Counter(seed for step in epoch for seed in step)
    assert set(counts.values()) == {1}
    assert len(counts) == 6 + 4 + 4
    assert all(len({seed // 100 for seed in step}) == 1 for step in epoch)
    assert sorted(len(step) for step in epoch) == [1] * 4 + [2] * 5


def test_any_step_can_be_asked_for_first(shards: list[Path]) -> None:
    whole = seeds(feed(shards), range(30))
    assert seeds(feed(shards), range(17, 30)) == whole[17:]
    assert whole[:9] != whole[9:18]


def test_seeds_and_stages_differ(shards: list[Path]) -> None:
    one = seeds(feed(shards), range(9))
    assert one != seeds(feed(shards, seed=1), range(9))
    assert one != seeds(feed(shards, name="reading"), range(9))


def test_too_few_pages_are_refused(shards: list[Path]) -> None:
    with pytest.raises(RunRefused, match="draw more, or take fewer"):
        Feed(shards[:1], read_shard, per_step=lambda _: 8, seed=0, name="asking")
