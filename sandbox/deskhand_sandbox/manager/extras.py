"""What some kinds of sandbox can do beyond the contract, as values that can be passed on and carried.

A sandbox has an extra when it has the method for it; whoever stands between it and its holder, a lease or a
channel, offers the methods of all (`PassesOn`), and passes each call on as one record.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, UnknownName, UnsupportedCapability
from deskhand_sandbox.types import EnvironmentSpec, Task, VerifierSpec
from deskhand_sandbox.vnc import ServesVnc, VncAddress

Result = TypeVar("Result")

PART_BYTES = 4 * 1024 * 1024
"""Most that is read of a recording at a time."""
COMPLETE_S = 20.0
"""How long a recording may take to be complete once its episode is over."""
LOOK_S = 0.01
SETTINGS = ("har", "video")
"""Settings of a task that ask for a recording."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedFile:
    """A file that tells of one episode, where the sandbox is."""

    name: str
    """For `read_recording`."""
    kind: str
    """"har", "webm" or "mp4"."""
    task_id: str
    seed: int
    size_bytes: int


# ---- what sandboxes have ----------------------------------------------------------------------------


@runtime_checkable
class HasPageTime(Protocol):
    """Its pages' time can be stopped; see `BrowserSandbox`."""

    async def pause_time(self) -> None: ...

    async def resume_time(self, *, speed: float = 1.0) -> None: ...


@runtime_checkable
class HasEndpoint(Protocol):
    """It can be worked by DevTools, by whoever knows a token."""

    async def open_endpoint(self, token: str | None = None) -> str: ...


class Recorded(Protocol):
    """A complete recording."""

    @property
    def kind(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def task_id(self) -> str: ...
    @property
    def seed(self) -> int: ...


@runtime_checkable
class HasRecordings(Protocol):
    """It keeps recordings of the episodes whose tasks ask for one."""

    @property
    def recordings(self) -> Sequence[Recorded]: ...


# ---- the calls --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Lent:
    """What is known of the lease a call is made under."""

    token: str = field(repr=False)
    recordings: int
    """Files that the tasks of its episodes asked for."""
    renew: Callable[[], None]
    """Begins its time anew."""


class Extra(ABC, Generic[Result]):
    """A call beyond the contract; its class says what it gives."""

    __slots__ = ()
    name: ClassVar[str]
    """Of the method."""
    gives: ClassVar[type[object]]
    of_lease: ClassVar[bool] = False
    """It is about the lease alone, and the sandbox is not asked."""

    @abstractmethod
    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> Result:
        """
        Raises:
            UnsupportedCapability: this kind has no such thing.
        """

    def fits(self, result: object) -> bool:
        """Whether a result that came from elsewhere is what this call gives."""
        return isinstance(result, self.gives)

    def unsupported(self, sandbox: Sandbox) -> UnsupportedCapability:
        return UnsupportedCapability(f"a {sandbox.kind} sandbox has no {self.name}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseTime(Extra[None]):
    """See `PassesOn.pause_time`."""

    name = "pause_time"
    gives = type(None)

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> None:
        if not isinstance(sandbox, HasPageTime):
            raise self.unsupported(sandbox)
        await sandbox.pause_time()


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumeTime(Extra[None]):
    """See `PassesOn.resume_time`."""

    name = "resume_time"
    gives = type(None)

    speed: float = 1.0

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> None:
        if not isinstance(sandbox, HasPageTime):
            raise self.unsupported(sandbox)
        await sandbox.resume_time(speed=self.speed)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenEndpoint(Extra[str]):
    """See `PassesOn.open_endpoint`."""

    name = "open_endpoint"
    gives = str

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> str:
        if not isinstance(sandbox, HasEndpoint):
            raise self.unsupported(sandbox)
        return await sandbox.open_endpoint(lent.token)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenVnc(Extra[VncAddress]):
    """See `PassesOn.open_vnc`."""

    name = "open_vnc"
    gives = VncAddress

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> VncAddress:
        if not isinstance(sandbox, ServesVnc):
            raise self.unsupported(sandbox)
        return await sandbox.open_vnc()


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishRecordings(Extra[tuple[RecordedFile, ...]]):
    """See `PassesOn.finish_recordings`."""

    name = "finish_recordings"
    gives = tuple

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> tuple[RecordedFile, ...]:
        if not isinstance(sandbox, HasRecordings):
            raise self.unsupported(sandbox)
        if lent.recordings:
            await sandbox.reset(blank(sandbox.kind))
        with suppress(TimeoutError):  # one that could not be written is left out
            async with asyncio.timeout(COMPLETE_S):
                await _complete(sandbox, lent.recordings)
        return tuple(
            RecordedFile(
                name=each.path.name,
                kind=each.kind,
                task_id=each.task_id,
                seed=each.seed,
                size_bytes=each.path.stat().st_size,
            )
            for each in sandbox.recordings
        )

    def fits(self, result: object) -> bool:
        return isinstance(result, tuple) and all(isinstance(each, RecordedFile) for each in result)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRecording(Extra[bytes]):
    """See `PassesOn.read_recording`."""

    name = "read_recording"
    gives = bytes

    file: str
    offset: int = 0

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> bytes:
        if not isinstance(sandbox, HasRecordings):
            raise self.unsupported(sandbox)
        paths = {each.path.name: each.path for each in sandbox.recordings}
        if self.file not in paths:
            raise UnknownName("recording of this lease", self.file, paths)
        return await asyncio.to_thread(_part, paths[self.file], max(self.offset, 0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Renew(Extra[None]):
    """See `PassesOn.renew`."""

    name = "renew"
    gives = type(None)
    of_lease = True

    async def carry_out(self, sandbox: Sandbox, lent: Lent) -> None:
        lent.renew()


EXTRAS = (PauseTime, ResumeTime, OpenEndpoint, OpenVnc, FinishRecordings, ReadRecording, Renew)


class PassesOn(ABC):
    """The methods of all extras, for who stands before a sandbox.

    Raises (each of them):
        UnsupportedCapability: the sandbox has no such thing.
        InfrastructureError: the computer failed.
    """

    @abstractmethod
    async def extra(self, call: Extra[Result]) -> Result:
        """What the sandbox says to a call beyond the contract."""

    async def renew(self) -> None:
        """Let the lease last as long from now as when it was granted: somebody is at work who takes time."""
        await self.extra(Renew())

    async def pause_time(self) -> None:
        """Stop the pages' time, where the task has set a `page_speed`."""
        await self.extra(PauseTime())

    async def resume_time(self, *, speed: float = 1.0) -> None:
        """Let the pages' time go on, `speed` times as fast as it really does."""
        await self.extra(ResumeTime(speed=speed))

    async def open_endpoint(self) -> str:
        """A DevTools address of this lease's pages, for `connect_over_cdp`, with the lease's token in it.

        It ends with the lease, after which the sandbox is lent to nobody else.
        """
        return await self.extra(OpenEndpoint())

    async def open_vnc(self) -> VncAddress:
        """Serve the screen by VNC until the next `reset`; see `ServesVnc`."""
        return await self.extra(OpenVnc())

    async def finish_recordings(self) -> tuple[RecordedFile, ...]:
        """End the episode and its recording; the complete files of all episodes of this lease.

        The sandbox is to be reset before it is worked again.
        """
        return await self.extra(FinishRecordings())

    async def read_recording(self, name: str) -> bytes:
        """A file that `finish_recordings` has told of, whole.

        Raises:
            UnknownName: there is none of that name.
        """
        whole = bytearray()
        while part := await self.extra(ReadRecording(file=name, offset=len(whole))):
            whole += part
        return bytes(whole)


def files_asked(task: Task) -> int:
    """How many recordings a task asks for."""
    return sum(bool(task.environment.settings.get(name)) for name in SETTINGS)


def blank(kind: str) -> Task:
    """A task of that kind in which there is nothing."""
    return Task(
        id="blank",
        environment=EnvironmentSpec(kind=kind),
        verifier=VerifierSpec(name="answer"),
        instruction="Nothing is to be done.",
    )


async def _complete(sandbox: HasRecordings, files: int) -> None:
    while True:
        if len(sandbox.recordings) >= files:
            return
        await asyncio.sleep(LOOK_S)


def _part(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(min(offset, path.stat().st_size))
            return file.read(PART_BYTES)
    except OSError as error:
        raise InfrastructureError(f"the recording {path.name} cannot be read: {error.strerror}") from error
