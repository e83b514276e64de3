"""A browser sandbox's own folder: what its terminal, its downloads and its uploads share."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.terminal.commands import FILE_BYTES
from deskhand_sandbox.terminal.confined import ConfinedTerminal
from deskhand_sandbox.tools.program import ConfinedProgram
from deskhand_sandbox.types import EditFile, ReadFile, Run, WriteFile

DOWNLOADS = "downloads"
"""Folder that what pages download lands in."""
COPY_S = 30.0


class OwnFolder:
    """Nothing is made before it is used; `reset` leaves no file and no process of before.

    Where nothing can confine a terminal, the folder holds downloads alone, and only they can be read.
    """

    def __init__(self) -> None:
        self.has_terminal = Confinement.available()
        self._place: Path | None = None
        self._confinement: Confinement | None = None
        self._terminal: ConfinedTerminal | None = None

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        """Carry out the action in the terminal; what it returns to the agent.

        Raises:
            InvalidAction: the shell was ended, or the file cannot be read or written; says why.
            UnsupportedCapability: there is no terminal.
            InfrastructureError: the terminal failed.
        """
        self._prepare()
        if self._terminal is not None:
            return await self._terminal.perform(action)
        if isinstance(action, ReadFile):
            data = await self.get(action.path, FILE_BYTES)
            return data.decode(errors="replace")
        raise UnsupportedCapability(
            f"{type(action).__name__} needs bubblewrap, on a machine that lets it make namespaces"
        )

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> ConfinedProgram:
        """See `RunsPrograms.start_program`."""
        self._prepare()
        if self._confinement is None:
            raise UnsupportedCapability(
                "a program in the sandbox needs bubblewrap, which cannot be used here"
            )
        return await ConfinedProgram.start(self._confinement, program, environment)

    def screen(self) -> str | None:
        """The terminal's screen as text; None before the first command."""
        return None if self._terminal is None else self._terminal.screen()

    async def put(self, path: str, data: bytes) -> None:
        """Create or replace a file; `path` is relative to the folder.

        Raises:
            InvalidAction: it cannot be written; says why.
        """
        self._prepare()
        if self._terminal is not None:
            await self._terminal.put(path, data, limit_s=COPY_S)
            return
        target = self._download(path)
        await asyncio.to_thread(target.parent.mkdir, exist_ok=True)
        await asyncio.to_thread(target.write_bytes, data)

    async def get(self, path: str, limit_bytes: int) -> bytes:
        """Content of a file.

        Raises:
            InvalidAction: it cannot be read, or is longer than `limit_bytes`.
        """
        self._prepare()
        if self._terminal is not None:
            return await self._terminal.get(path, limit_bytes, limit_s=COPY_S)
        target = self._download(path)
        if not await asyncio.to_thread(target.is_file):
            raise InvalidAction(f"{path} cannot be read: there is no such file")
        data = await asyncio.to_thread(target.read_bytes)
        if len(data) > limit_bytes:
            raise InvalidAction(f"{path} is longer than {limit_bytes} bytes")
        return data

    async def reset(self) -> None:
        """End what runs, and take every file away."""
        terminal, self._terminal = self._terminal, None
        confinement, self._confinement = self._confinement, None
        place, self._place = self._place, None
        with contextlib.ExitStack() as stack:
            if place is not None:
                stack.callback(shutil.rmtree, place, ignore_errors=True)
            if confinement is not None:
                stack.callback(confinement.remove)
            if terminal is not None:
                await terminal.reset()
            # a big folder is no work for the event loop
            await asyncio.to_thread(stack.pop_all().close)

    def _prepare(self) -> None:
        if self._place is not None:
            return
        place = Path(tempfile.mkdtemp(prefix="deskhand-browser-"))
        if self.has_terminal:
            confinement = Confinement(place)
            confinement.prepare()
            self._confinement, self._terminal = confinement, ConfinedTerminal(confinement)
        self._place = place

    def _download(self, path: str) -> Path:
        """Where a download lies on this machine, when there is no terminal that could have changed it."""
        assert self._place is not None
        parts = PurePosixPath(path).parts
        if len(parts) != 2 or parts[0] != DOWNLOADS or parts[1] == ".." or "\0" in path:
            raise InvalidAction(f"{path} cannot be read: only {DOWNLOADS}/NAME can be")
        return self._place / DOWNLOADS / parts[1]
