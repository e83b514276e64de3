"""Where a run's numbers go: the store's events, TensorBoard files, stdout."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_sandbox import logs
from deskhand_sandbox.types import JsonValue

log = logging.getLogger(__name__)


class Reporter:
    """Tells what a run does, under one subject."""

    def __init__(self, store: Store, *, subject: str, folder: Path) -> None:
        """
        Args:
            store: keeps the events.
            subject: what they are about, "run:round-3-ppo".
            folder: TensorBoard files go here.
        """
        self._store, self._subject = store, subject
        self._board = SummaryWriter(str(folder))

    async def metric(self, name: str, values: Mapping[str, JsonValue], *, step: int) -> None:
        """Numbers of one step; NaN (no such number this time) is left out of events and files."""
        known = {k: v for k, v in values.items() if not (isinstance(v, float) and not math.isfinite(v))}
        for key, value in known.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._board.add_scalar(f"{name}/{key}", value, step)
        await self._tell(EventKind.METRIC, name, {"step": step, **known})

    async def state(self, name: str, values: Mapping[str, JsonValue]) -> None:
        """Something began, advanced or ended."""
        await self._tell(EventKind.STATE, name, values)

    async def alarm(self, name: str, values: Mapping[str, JsonValue]) -> None:
        """Something a person should look at."""
        await self._tell(EventKind.ALARM, name, values)

    async def unreadable(self, damaged: Mapping[str, str]) -> None:
        """An alarm where episodes were left out because they cannot be read; by id, why."""
        if damaged:
            for trajectory_id, why in damaged.items():
                logs.say(log, f"left out {trajectory_id}: {why}")
            few: dict[str, JsonValue] = dict(itertools.islice(damaged.items(), 10))
            await self.alarm("unreadable_episodes", {"count": len(damaged), "why": few})

    def close(self) -> None:
        """Write what the files still wait for."""
        self._board.close()

    async def _tell(self, kind: EventKind, name: str, data: Mapping[str, JsonValue]) -> None:
        line = " ".join(f"{k}={_short(v)}" for k, v in data.items() if not isinstance(v, dict | list))
        now, said = time.time(), f"{kind.value} {name} {line}"
        logs.say(log, said if logs.asked_form() == "json" else f"[{logs.utc(now)}] {said}")
        await self._store.append_event(
            Event(id=0, at_s=now, subject=self._subject, kind=kind, name=name, data=data)
        )


def _short(value: JsonValue) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
