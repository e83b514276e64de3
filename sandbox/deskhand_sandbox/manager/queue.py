"""Who waits for a sandbox of one pool, and who is served next."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(eq=False, slots=True)
class Waiter(Generic[Item]):
    """One request for a sandbox."""

    owner: str
    deadline_s: float
    """On the manager's clock."""
    wait_s: float
    """As it was asked for."""
    asked_s: float
    """On the manager's clock."""
    place: asyncio.Future[Item] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class FairQueue(Generic[Item]):
    """Max-min fair between owners: who has least goes first, of those who have equally much the one served
    longest ago; in order of asking for one owner.

    An owner with a hundred requests so delays nobody's first one.
    """

    def __init__(self, quota: int | None = None) -> None:
        """
        Args:
            quota: most that one owner may hold; None for no such bound.
        """
        self._quota = quota
        self._waiters: list[Waiter[Item]] = []
        self._turns = 0
        self._last_turn: dict[str, int] = {}
        """When owners who still wait were last served."""

    def __len__(self) -> int:
        return len(self._waiters)

    def __iter__(self) -> Iterator[Waiter[Item]]:
        return iter(self._waiters)

    def add(self, waiter: Waiter[Item]) -> None:
        self._waiters.append(waiter)

    def remove(self, waiter: Waiter[Item]) -> bool:
        """Take a request out; False when it was served or refused before."""
        if waiter not in self._waiters:
            return False
        self._waiters.remove(waiter)
        return True

    def serve(self, waiter: Waiter[Item], item: Item) -> None:
        """Give a request what it waits for."""
        self._waiters.remove(waiter)
        waiter.place.set_result(item)
        self._turns += 1
        waiting = {each.owner for each in self._waiters}
        self._last_turn = {
            owner: turn
            for owner, turn in {**self._last_turn, waiter.owner: self._turns}.items()
            if owner in waiting
        }

    def forget_cancelled(self) -> None:
        """Drop requests whose askers were cancelled but have not run since."""
        self._waiters = [waiter for waiter in self._waiters if not waiter.place.done()]

    def order(self, held: Mapping[str, int]) -> list[Waiter[Item]]:
        """The requests that may be served now, first the one to be served first.

        Args:
            held: how many sandboxes each owner has.
        """
        having = Counter(held)
        ranked: list[tuple[int, int, int, Waiter[Item]]] = []
        for number, waiter in enumerate(self._waiters):
            rank = having[waiter.owner]
            having[waiter.owner] += 1
            if self._quota is None or rank < self._quota:
                ranked.append((rank, self._last_turn.get(waiter.owner, 0), number, waiter))
        return [waiter for *_, waiter in sorted(ranked, key=lambda each: each[:3])]
