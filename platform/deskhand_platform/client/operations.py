"""How a platform stands, and what was done on it, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from deskhand_platform.api.account_models import AuditEntry, SettingModel
from deskhand_platform.api.alarm_models import AlarmModel, Overview
from deskhand_platform.api.flywheel_models import StorageModel
from deskhand_platform.api.models import Page
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncOperations(AsyncConnection):
    """How a platform stands, for programs that await."""

    async def overview(self) -> Overview:
        """Queue, sandboxes, the round that runs and the last one's success, the last hour, alarms."""
        return await self._do(_overview())

    def alarms(self, *, open: bool | None = None) -> AsyncIterator[AlarmModel]:
        """What a person should look at, newest first; those that are not over (True), or that are (False)."""
        return self._every(_alarms(open))

    async def acknowledge_alarm(self, id: int) -> AlarmModel:
        """Say that one has seen it."""
        return await self._do(_acknowledge(id))

    async def settings_in_force(self) -> list[SettingModel]:
        """Every setting by name, without secrets."""
        return await self._do(_settings())

    async def storage(self) -> StorageModel:
        """Rows and bytes of the store, measured at most once a minute."""
        return await self._do(_storage())

    def audit(
        self,
        *,
        user: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
        refused: bool | None = None,
    ) -> AsyncIterator[AuditEntry]:
        """Who did what, when, on what, from where, and what came of it; newest first.

        Args:
            action, target: a part of it, e.g. "DELETE" or "/v1/tasks".
            since_s, until_s: Unix time, at or after it and before it.
            refused: what was refused alone, or what was done alone.
        """
        return self._every(_audit(user, action, target, since_s, until_s, refused))


class Operations(Connection):
    """How a platform stands, for programs that block."""

    def overview(self) -> Overview:
        """Queue, sandboxes, the round that runs and the last one's success, the last hour, alarms."""
        return self._do(_overview())

    def alarms(self, *, open: bool | None = None) -> Iterator[AlarmModel]:
        """What a person should look at, newest first; those that are not over (True), or that are (False)."""
        return self._every(_alarms(open))

    def acknowledge_alarm(self, id: int) -> AlarmModel:
        """Say that one has seen it."""
        return self._do(_acknowledge(id))

    def settings_in_force(self) -> list[SettingModel]:
        """Every setting by name, without secrets."""
        return self._do(_settings())

    def storage(self) -> StorageModel:
        """Rows and bytes of the store, measured at most once a minute."""
        return self._do(_storage())

    def audit(
        self,
        *,
        user: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
        refused: bool | None = None,
    ) -> Iterator[AuditEntry]:
        """Who did what, when, on what, from where, and what came of it; newest first.

        Args:
            action, target: a part of it, e.g. "DELETE" or "/v1/tasks".
            since_s, until_s: Unix time, at or after it and before it.
            refused: what was refused alone, or what was done alone.
        """
        return self._every(_audit(user, action, target, since_s, until_s, refused))


def _overview() -> Call[Overview]:
    return calls.get("/v1/overview", calls.reading(Overview))


def _alarms(open: bool | None) -> Callable[[str | None], Call[Page[AlarmModel]]]:
    return calls.page("/v1/alarms", AlarmModel, open=open)


def _acknowledge(id: int) -> Call[AlarmModel]:
    path = f"/v1/alarms/{id}/acknowledge"
    return Call(method="POST", path=path, read=calls.reading(AlarmModel), safe=False)


def _settings() -> Call[list[SettingModel]]:
    return calls.get("/v1/settings", calls.reading_list(SettingModel))


def _storage() -> Call[StorageModel]:
    return calls.long(calls.get("/v1/storage", calls.reading(StorageModel)))


def _audit(
    user: str | None,
    action: str | None,
    target: str | None,
    since_s: float | None,
    until_s: float | None,
    refused: bool | None,
) -> Callable[[str | None], Call[Page[AuditEntry]]]:
    asked = {"user": user, "action": action, "target": target}
    asked |= {"since_s": since_s, "until_s": until_s, "refused": refused}
    return calls.page("/v1/audit", AuditEntry, **asked)
