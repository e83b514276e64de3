"""An API without what works behind it: rounds are written down and never begin, and no sandbox host is up.

What it answers is what it would answer with them, but for how things stand.
"""

from __future__ import annotations

from typing import Any

from deskhand_agent.ids import new_id
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.rounds.config import merge
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.presets import checked_config, checked_preset
from deskhand_platform.services import HostState


class RoundsUnbegun:
    """Rounds that are written down and never begin."""

    def __init__(self, book: RoundBook, controls: RoundControls) -> None:
        self._book = book
        self._controls = controls

    async def start(self, preset: str, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        return await self._book.get(
            (await self._book.create(preset, checked_preset(preset, overrides), key))[0]
        )

    async def clone(self, round_id: int, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        record = await self._book.get(round_id)
        config = checked_config(merge(record.config, overrides))
        return await self._book.get((await self._book.create(record.preset, config, key or new_id()))[0])

    async def pause(self, round_id: int) -> RoundRecord:
        await self._controls.pause(round_id)
        return await self._book.get(round_id)

    async def resume(self, round_id: int) -> RoundRecord:
        await self._controls.resume(round_id)
        return await self._book.get(round_id)

    async def retry(self, round_id: int, phase: str | None, *, afresh: bool = False) -> RoundRecord:
        await self._controls.retry(round_id, phase, afresh=afresh)
        return await self._book.get(round_id)

    async def cancel(self, round_id: int) -> RoundRecord:
        await self._book.request_cancel(round_id)
        return await self._book.get(round_id)


class NoHost:
    """The sandbox host that is not there."""

    host_state: HostState = "down"
