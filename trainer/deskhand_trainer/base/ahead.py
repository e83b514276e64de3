"""What steps learn from, prepared ahead by processes of their own: a GPU would wait for it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset

Prepared = TypeVar("Prepared")
AHEAD = 3
"""Steps that each process prepares before they are asked for."""


class Ahead(Generic[Prepared]):
    """Steps in their order, the same whoever prepares them."""

    def __init__(self, prepare: Callable[[int], Prepared], *, workers: int, until: int) -> None:
        """
        Args:
            prepare: what a step, counted from 0, learns from; it depends on the number alone.
            workers: processes; 0: every step is prepared where it is asked for.
            until: how many steps there are.
        """
        self._prepare, self._workers, self._until = prepare, workers, until
        self._next = 0
        self._stream: Iterator[Prepared] | None = None

    def at(self, number: int) -> Prepared:
        """What a step learns from; quickest asked for in order."""
        if not self._workers:
            return self._prepare(number)
        if self._stream is None or number != self._next:
            self._next = number
            self._stream = self._begun()
        self._next += 1
        return next(self._stream)

    def close(self) -> None:
        """End the processes."""
        self._stream = None

    def _begun(self) -> Iterator[Prepared]:
        steps: Any = _Steps(self._prepare, range(self._next, self._until))
        loader = DataLoader(
            steps,
            batch_size=None,
            shuffle=False,
            num_workers=self._workers,
            prefetch_factor=AHEAD,
            multiprocessing_context="fork",
            worker_init_fn=_begin,
        )
        return cast("Iterator[Prepared]", iter(loader))


class _Steps(Dataset[Any]):
    def __init__(self, prepare: Callable[[int], Any], numbers: Sequence[int]) -> None:
        self._prepare, self._numbers = prepare, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return self._prepare(self._numbers[index])


def _begin(_: int) -> None:
    # a step is dozens of tensors, each of which would be an open file otherwise
    torch.multiprocessing.set_sharing_strategy("file_system")
