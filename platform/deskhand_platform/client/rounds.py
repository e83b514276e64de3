"""Training rounds and what begins them, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from deskhand_platform.api.models import Page, Preset, Round, RoundSummary
from deskhand_platform.api.models_rounds import PhaseLog, RoundForm, ScheduleModel
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call, until_over


class AsyncRounds(AsyncConnection):
    """Rounds, for programs that await."""

    async def presets(self) -> list[Preset]:
        """Rounds by name, with what can be overridden."""
        return await self._do(_presets())

    async def round_form(self) -> RoundForm:
        """Every field of a round's config with its type, default, bounds and help, and the presets."""
        return await self._do(_form())

    def rounds(self) -> AsyncIterator[RoundSummary]:
        """Training rounds, newest first."""
        return self._every(_rounds())

    async def round(self, number: int) -> Round:
        """One round with everything about it."""
        return await self._do(_round(number))

    async def start_round(
        self,
        preset: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Round:
        """Start a round, or queue it behind the one that runs.

        Args:
            key: started again under it, it is the same round; None: it is the same as one of an equal config,
                until that is over.
        """
        return await self._do(_start(preset, overrides, key))

    async def clone_round(
        self, number: int, overrides: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Round:
        """Start a round that is told what this one was, with overrides.

        Args:
            key: cloned again under it, it is the same round; None: another one each time.
        """
        return await self._do(_clone(number, overrides, key))

    async def wait_round(self, number: int, timeout_s: float | None = None) -> Round:
        """The round when it is over; one that is paused is not.

        Raises:
            NotOver: the time has passed before; the round goes on.
        """
        return await self._follow(until_over(_round(number), timeout_s, self._patience))

    async def pause_round(self, number: int) -> Round:
        """Stop a round with its state safe, until it is resumed; other rounds take their turn."""
        return await self._do(_told(number, "pause"))

    async def resume_round(self, number: int) -> Round:
        """Let a paused round go on at the step where it was."""
        return await self._do(_told(number, "resume"))

    async def cancel_round(self, number: int) -> Round:
        """Stop a round; what it has stored stays."""
        return await self._do(_cancel(number))

    async def retry_round(self, number: int, phase: str | None = None, *, afresh: bool = False) -> Round:
        """Let a round that is over, or paused, go on from one of its phases.

        Args:
            phase: where to begin; None: the first that is not done.
            afresh: begin it anew, not at its checkpoint; one that was done is done anew in any case.
        """
        return await self._do(_retry(number, phase, afresh))

    async def phase_log(
        self, number: int, phase: str, offset: int | None = None, *, tail: int | None = None
    ) -> PhaseLog:
        """What the run of a phase wrote from an offset on, in bytes; None: its last `tail` bytes."""
        return await self._do(_log(number, phase, offset, tail))

    async def schedules(self) -> list[ScheduleModel]:
        """Rounds that begin by themselves, oldest schedule first."""
        return await self._do(_schedules())

    async def add_schedule(
        self,
        preset: str,
        overrides: Mapping[str, Any] | None = None,
        *,
        cron: str | None = None,
        timezone: str = "UTC",
        new_successes: int | None = None,
        enabled: bool = True,
    ) -> ScheduleModel:
        """Let rounds begin by the clock, or when there are enough new successes; never two at a time.

        Args:
            cron: five fields, e.g. "0 3 * * 1-5"; or `new_successes`: so many since the last round.
            timezone: in which `cron` is read, by its IANA name.
        """
        body = _schedule(preset, overrides, cron, timezone, new_successes, enabled)
        return await self._do(_add_schedule(body))

    async def replace_schedule(
        self,
        number: int,
        preset: str,
        overrides: Mapping[str, Any] | None = None,
        *,
        cron: str | None = None,
        timezone: str = "UTC",
        new_successes: int | None = None,
        enabled: bool = True,
    ) -> ScheduleModel:
        """Change a schedule, or switch it on or off: what is left out is as for a new one.

        Args: as `add_schedule`.
        """
        body = _schedule(preset, overrides, cron, timezone, new_successes, enabled)
        return await self._do(_replace_schedule(number, body))

    async def remove_schedule(self, number: int) -> None:
        """Forget a schedule; rounds that it began stay."""
        await self._do(_remove_schedule(number))


class Rounds(Connection):
    """Rounds, for programs that block."""

    def presets(self) -> list[Preset]:
        """Rounds by name, with what can be overridden."""
        return self._do(_presets())

    def round_form(self) -> RoundForm:
        """Every field of a round's config with its type, default, bounds and help, and the presets."""
        return self._do(_form())

    def rounds(self) -> Iterator[RoundSummary]:
        """Training rounds, newest first."""
        return self._every(_rounds())

    def round(self, number: int) -> Round:
        """One round with everything about it."""
        return self._do(_round(number))

    def start_round(
        self,
        preset: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Round:
        """Start a round, or queue it behind the one that runs.

        Args:
            key: started again under it, it is the same round; None: it is the same as one of an equal config,
                until that is over.
        """
        return self._do(_start(preset, overrides, key))

    def clone_round(
        self, number: int, overrides: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Round:
        """Start a round that is told what this one was, with overrides.

        Args:
            key: cloned again under it, it is the same round; None: another one each time.
        """
        return self._do(_clone(number, overrides, key))

    def wait_round(self, number: int, timeout_s: float | None = None) -> Round:
        """The round when it is over; one that is paused is not.

        Raises:
            NotOver: the time has passed before; the round goes on.
        """
        return self._follow(until_over(_round(number), timeout_s, self._patience))

    def pause_round(self, number: int) -> Round:
        """Stop a round with its state safe, until it is resumed; other rounds take their turn."""
        return self._do(_told(number, "pause"))

    def resume_round(self, number: int) -> Round:
        """Let a paused round go on at the step where it was."""
        return self._do(_told(number, "resume"))

    def cancel_round(self, number: int) -> Round:
        """Stop a round; what it has stored stays."""
        return self._do(_cancel(number))

    def retry_round(self, number: int, phase: str | None = None, *, afresh: bool = False) -> Round:
        """Let a round that is over, or paused, go on from one of its phases.

        Args:
            phase: where to begin; None: the first that is not done.
            afresh: begin it anew, not at its checkpoint; one that was done is done anew in any case.
        """
        return self._do(_retry(number, phase, afresh))

    def phase_log(
        self, number: int, phase: str, offset: int | None = None, *, tail: int | None = None
    ) -> PhaseLog:
        """What the run of a phase wrote from an offset on, in bytes; None: its last `tail` bytes."""
        return self._do(_log(number, phase, offset, tail))

    def schedules(self) -> list[ScheduleModel]:
        """Rounds that begin by themselves, oldest schedule first."""
        return self._do(_schedules())

    def add_schedule(
        self,
        preset: str,
        overrides: Mapping[str, Any] | None = None,
        *,
        cron: str | None = None,
        timezone: str = "UTC",
        new_successes: int | None = None,
        enabled: bool = True,
    ) -> ScheduleModel:
        """Let rounds begin by the clock, or when there are enough new successes; never two at a time.

        Args:
            cron: five fields, e.g. "0 3 * * 1-5"; or `new_successes`: so many since the last round.
            timezone: in which `cron` is read, by its IANA name.
        """
        body = _schedule(preset, overrides, cron, timezone, new_successes, enabled)
        return self._do(_add_schedule(body))

    def replace_schedule(
        self,
        number: int,
        preset: str,
        overrides: Mapping[str, Any] | None = None,
        *,
        cron: str | None = None,
        timezone: str = "UTC",
        new_successes: int | None = None,
        enabled: bool = True,
    ) -> ScheduleModel:
        """Change a schedule, or switch it on or off: what is left out is as for a new one.

        Args: as `add_schedule`.
        """
        body = _schedule(preset, overrides, cron, timezone, new_successes, enabled)
        return self._do(_replace_schedule(number, body))

    def remove_schedule(self, number: int) -> None:
        """Forget a schedule; rounds that it began stay."""
        self._do(_remove_schedule(number))


def _presets() -> Call[list[Preset]]:
    return calls.get("/v1/presets", calls.reading_list(Preset))


def _form() -> Call[RoundForm]:
    return calls.get("/v1/rounds/form", calls.reading(RoundForm))


def _rounds() -> Callable[[str | None], Call[Page[RoundSummary]]]:
    return calls.page("/v1/rounds", RoundSummary)


def _round(number: int) -> Call[Round]:
    return calls.get(f"/v1/rounds/{number}", calls.reading(Round))


def _start(preset: str | None, overrides: Mapping[str, Any] | None, key: str | None) -> Call[Round]:
    body = calls.given({"preset": preset, "overrides": dict(overrides or {}), "key": key})
    read = calls.reading(Round)
    return Call(method="POST", path="/v1/rounds", read=read, body=body, safe=key is not None)


def _clone(number: int, overrides: Mapping[str, Any] | None, key: str | None) -> Call[Round]:
    path, body = f"/v1/rounds/{number}/clone", calls.given({"overrides": dict(overrides or {}), "key": key})
    return Call(method="POST", path=path, read=calls.reading(Round), body=body, safe=key is not None)


def _told(number: int, what: str) -> Call[Round]:
    return Call(method="POST", path=f"/v1/rounds/{number}/{what}", read=calls.reading(Round), safe=False)


def _cancel(number: int) -> Call[Round]:
    return Call(method="POST", path=f"/v1/rounds/{number}/cancel", read=calls.reading(Round))


def _retry(number: int, phase: str | None, afresh: bool) -> Call[Round]:
    path, body = f"/v1/rounds/{number}/retry", {"phase": phase, "afresh": afresh}
    return Call(method="POST", path=path, read=calls.reading(Round), body=body, safe=False)


def _log(number: int, phase: str, offset: int | None, tail: int | None) -> Call[PhaseLog]:
    path = f"/v1/rounds/{number}/phases/{calls.part(phase)}/log"
    return calls.get(path, calls.reading(PhaseLog), offset=offset, tail=tail)


def _schedules() -> Call[list[ScheduleModel]]:
    return calls.get("/v1/schedules", calls.reading_list(ScheduleModel))


def _schedule(
    preset: str,
    overrides: Mapping[str, Any] | None,
    cron: str | None,
    timezone: str,
    new_successes: int | None,
    enabled: bool,
) -> dict[str, Any]:
    """The body of one."""
    begins = {"cron": cron, "timezone": timezone, "new_successes": new_successes}
    return {"preset": preset, "overrides": dict(overrides or {}), **begins, "enabled": enabled}


def _add_schedule(body: Mapping[str, Any]) -> Call[ScheduleModel]:
    read = calls.reading(ScheduleModel)
    return Call(method="POST", path="/v1/schedules", read=read, body=body, safe=False)


def _replace_schedule(number: int, body: Mapping[str, Any]) -> Call[ScheduleModel]:
    path = f"/v1/schedules/{number}"
    return Call(method="PUT", path=path, read=calls.reading(ScheduleModel), body=body)


def _remove_schedule(number: int) -> Call[None]:
    return Call(method="DELETE", path=f"/v1/schedules/{number}", read=calls.nothing, safe=False)
