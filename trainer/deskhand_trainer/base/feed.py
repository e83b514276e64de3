"""What each step trains on: an order that seed and step alone decide, and few shards in memory."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from deskhand_trainer.base.drawing import count_in
from deskhand_trainer.errors import RunRefused

MIXED = 4
"""Shards whose pages take turns, so that sizes do."""
_KEPT = MIXED + 1

Kept = TypeVar("Kept")


class Feed(Generic[Kept]):
    """Pages or changes of shards, of one size at a time, each once per epoch but for a shard's last few."""

    def __init__(
        self,
        shards: Sequence[Path],
        read: Callable[[Path], list[Kept]],
        *,
        per_step: Callable[[Path], int],
        seed: int,
        name: str,
    ) -> None:
        """
        Args:
            shards: of `deskhand_trainer.base.drawing`.
            read: what a shard holds.
            per_step: how many of a shard's a step takes.
            name: of the stage, so that stages differ in their order.

        Raises:
            RunRefused: no shard has enough for a step.
        """
        self._shards, self._read, self._per_step = list(shards), read, per_step
        self._named = f"{seed}/{name}"
        self._steps = sum(count_in(shard) // per_step(shard) for shard in shards)
        if not self._steps:
            raise RunRefused("there are fewer pages than a step takes: draw more, or take fewer per step")
        self._plans: OrderedDict[int, list[tuple[Path, int]]] = OrderedDict()
        self._kept: OrderedDict[Path, list[Kept]] = OrderedDict()

    def at(self, step: int) -> list[Kept]:
        """What a step, counted from 0, trains on.

        Raises:
            ShardDamaged: see `read_shard`.
        """
        epoch, place = divmod(step, self._steps)
        shard, chunk = self._plan(epoch)[place]
        number = self._per_step(shard)
        held = self._shard(shard)
        order = list(range(len(held)))
        random.Random(f"{self._named}/{epoch}/{shard.name}").shuffle(order)
        return [held[at] for at in order[chunk * number : (chunk + 1) * number]]

    def _plan(self, epoch: int) -> list[tuple[Path, int]]:
        if epoch not in self._plans:
            draw = random.Random(f"{self._named}/{epoch}")
            shards = draw.sample(self._shards, len(self._shards))
            plan: list[tuple[Path, int]] = []
            for start in range(0, len(shards), MIXED):
                chunks = [
                    (shard, chunk)
                    for shard in shards[start : start + MIXED]
                    for chunk in range(count_in(shard) // self._per_step(shard))
                ]
                draw.shuffle(chunks)
                plan += chunks
            self._plans[epoch] = plan
            if len(self._plans) > 1:
                self._plans.popitem(last=False)
        return self._plans[epoch]

    def _shard(self, path: Path) -> list[Kept]:
        if path not in self._kept:
            self._kept[path] = self._read(path)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(path)
        return self._kept[path]
