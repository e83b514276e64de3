"""What is told of inference engines that answer as one, and take new weights one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Busy(Protocol):
    """An engine that tells how much it has to do."""

    @property
    def waiting(self) -> int: ...

    @property
    def busy_s(self) -> float: ...


Engine = TypeVar("Engine", bound=Busy)


class Pooled(Generic[Engine]):
    """Several engines, at least one."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)
        self._taking: Engine | None = None
        """The one that takes new weights just now."""

    @property
    def waiting(self) -> int:
        """Requests that are not answered yet, those whose replies are under way included."""
        return sum(engine.waiting for engine in self.engines)

    @property
    def busy_s(self) -> float:
        """Seconds in which it had something to do, the mean of the engines'."""
        return sum(engine.busy_s for engine in self.engines) / len(self.engines)
