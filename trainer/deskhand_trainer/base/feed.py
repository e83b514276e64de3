"""Which pages each step trains on: an order that seed and step alone decide, and few shards in memory."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from deskhand_trainer.base.drawing import pages_in
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import read_shard

MIXED = 4
"""Shards whose pages take turns, so that sizes do."""
_KEPT = MIXED + 1


class PageFeed:
    """Pages of shards, of one size at a time, every page once per epoch but for a shard's last few."""

    def __init__(
        self, shards: Sequence[Path], *, per_step: Callable[[Path], int], seed: int, name: str
    ) -> None:
        """
        Args:
            shards: of `draw_pages`.
            per_step: how many pages of a shard a step takes.
            name: of the stage, so that stages differ in their order.

        Raises:
            ValueError: no shard has enough pages for a step.
        """
        self._shards, self._per_step = list(shards), per_step
        self._named = f"{seed}/{name}"
        self._steps = sum(pages_in(shard) // per_step(shard) for shard in shards)
        if not self._steps:
            raise ValueError("there are fewer pages than a step takes: draw more, or take fewer per step")
        self._plans: OrderedDict[int, list[tuple[Path, int]]] = OrderedDict()
        self._read: OrderedDict[Path, list[SeenPage]] = OrderedDict()

    def pages(self, step: int) -> list[SeenPage]:
        """The pages of a step, counted from 0.

        Raises:
            ShardDamaged: see `read_shard`.
        """
        epoch, place = divmod(step, self._steps)
        shard, chunk = self._plan(epoch)[place]
        number = self._per_step(shard)
        pages = self._shard(shard)
        order = list(range(len(pages)))
        random.Random(f"{self._named}/{epoch}/{shard.name}").shuffle(order)
        return [pages[at] for at in order[chunk * number : (chunk + 1) * number]]

    def _plan(self, epoch: int) -> list[tuple[Path, int]]:
        if epoch not in self._plans:
            draw = random.Random(f"{self._named}/{epoch}")
            shards = draw.sample(self._shards, len(self._shards))
            plan: list[tuple[Path, int]] = []
            for start in range(0, len(shards), MIXED):
                chunks = [
                    (shard, chunk)
                    for shard in shards[start : start + MIXED]
                    for chunk in range(pages_in(shard) // self._per_step(shard))
                ]
                draw.shuffle(chunks)
                plan += chunks
            self._plans[epoch] = plan
            if len(self._plans) > 1:
                self._plans.popitem(last=False)
        return self._plans[epoch]

    def _shard(self, path: Path) -> list[SeenPage]:
        if path not in self._read:
            self._read[path] = read_shard(path)
            if len(self._read) > _KEPT:
                self._read.popitem(last=False)
        self._read.move_to_end(path)
        return self._read[path]
