"""The terminal of a sandbox whose programs run on this machine: commands and files in a confinement."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deskhand_sandbox.errors import SandboxTimeout
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.terminal.commands import CommandTerminal
from deskhand_sandbox.terminal.shell import Shell


class ConfinedTerminal(CommandTerminal):
    """Nothing is started before the first command; `reset` leaves no file and no process of before."""

    def __init__(self, confinement: Confinement | None = None) -> None:
        """
        Args:
            confinement: of somebody else, who removes it; None: one of its own.
        """
        super().__init__()
        self._given = confinement
        self._confinement = confinement

    async def reset(self) -> None:
        """End what runs, and take away what was written."""
        await self.close()
        confinement, self._confinement = self._confinement, self._given
        if confinement is not None and confinement is not self._given:
            await asyncio.to_thread(confinement.remove)

    async def _open_shell(self) -> Shell:
        inside = self._place()
        return await Shell.start(
            environment=inside.environment, folder=inside.folder, within=inside.command()
        )

    async def _execute(
        self, program: Sequence[str], given: bytes, timeout_s: float
    ) -> tuple[int | None, bytes, bytes]:
        try:
            return await self._place().run(program, given=given, timeout_s=timeout_s)
        except SandboxTimeout:
            return None, b"", b""

    def _place(self) -> Confinement:
        if self._confinement is None:
            confinement = Confinement(Path(tempfile.mkdtemp(prefix="deskhand-terminal-")))
            confinement.prepare()
            self._confinement = confinement
        return self._confinement
