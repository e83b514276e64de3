"""Takes jobs in, and works them: of each lane one after the other, oldest first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from deskhand_agent.ids import new_id
from deskhand_platform.errors import NotFound, RoundFailed, TooMuch, WrongState
from deskhand_platform.jobs.place import TOKEN_VARIABLE
from deskhand_platform.jobs.records import JobRecord, JobSpec, folders, read_job
from deskhand_platform.rounds.phases import Host
from deskhand_platform.rounds.process import RunRequest, bring_to_end
from deskhand_platform.rounds.run_queue import ask_to_stop, cancelled, work_through
from deskhand_platform.rounds.runs import write_spec
from deskhand_platform.settings import Settings
from deskhand_sandbox.types import JsonValue

MODULE = "deskhand_platform.jobs.run"
UPKEEP = frozenset({"fsck", "gc"})
TASKS = frozenset({"check-tasks", "grow-tasks"})
LEARNING = frozenset({"judge", "label", "prm-train", "prm-score", "calibrate", "merge"}) | TASKS
LANES = (UPKEEP, LEARNING)
"""Kinds of which one job works at a time."""
SANDBOXED = frozenset({"label"}) | TASKS
"""Kinds that need sandboxes."""
AGAIN_S = 60.0


class JobDesk:
    """Takes jobs in."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ask(self, kind: str, order: Mapping[str, JsonValue], by: str) -> JobRecord:
        """Queue one.

        Raises:
            TooMuch: so many wait already.
        """
        most = self._settings.jobs.waiting
        open_ones = sum(1 for each in self.list() if not each.state.over)
        if open_ones >= most:
            raise TooMuch(
                f"{open_ones} jobs have not ended, as many as there may be (setting jobs.waiting)",
                retry_s=AGAIN_S,
            )
        folder = self._settings.jobs_folder / f"{kind}-{new_id()}"
        write_spec(folder, spec_of(self._settings, folder.name, kind, order, by))
        return self._read(folder)

    def list(self) -> tuple[JobRecord, ...]:
        """All there are, newest first."""
        found = (read_job(each) for each in reversed(folders(self._settings.jobs_folder)))
        return tuple(each for each in found if each is not None)

    def folder(self, job_id: str) -> Path:
        """
        Raises:
            NotFound: none was asked for under that id.
        """
        found = next((each for each in folders(self._settings.jobs_folder) if each.name == job_id), None)
        if found is None:
            raise NotFound("job", job_id)
        return found

    def get(self, job_id: str) -> JobRecord:
        """
        Raises:
            NotFound: none was asked for under that id.
        """
        return self._read(self.folder(job_id))

    def cancel(self, job_id: str) -> JobRecord:
        """Take one out of the queue, or stop it; what it has done stays done.

        Raises:
            NotFound: none was asked for under that id.
            WrongState: it is over already.
        """
        folder = self.folder(job_id)
        found = self._read(folder)
        if found.state.over:
            raise WrongState(f"job {job_id} is {found.state} already", state=found.state)
        ask_to_stop(folder)
        return found

    def _read(self, folder: Path) -> JobRecord:
        found = read_job(folder)
        if found is None:
            raise NotFound("job", folder.name)
        return found


class JobRunner:
    """Works them, each in a process of its own."""

    def __init__(self, settings: Settings, host: Host) -> None:
        self._settings, self._host = settings, host

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Work for the length of the block; what it stops at its end, the next platform begins anew."""
        working = [asyncio.create_task(self._lane(lane)) for lane in LANES]
        try:
            yield
        finally:
            for each in working:
                each.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _lane(self, kinds: frozenset[str]) -> None:
        await work_through(lambda: folders(self._settings.jobs_folder, kinds), self._bring)

    async def _bring(self, folder: Path) -> None:
        found = read_job(folder)
        if found is None:
            raise RoundFailed(f"{folder / 'spec.json'} cannot be read")

        token = ""

        async def spec() -> JobSpec:
            nonlocal token
            made = spec_of(self._settings, folder.name, found.kind, found.order, found.by)
            if found.kind not in SANDBOXED:
                return made
            url, token = await self._host.address()
            return replace(made, sandbox_url=url)

        limits = self._settings.rounds
        await bring_to_end(
            RunRequest(
                folder=folder,
                module=MODULE,
                spec=spec,
                environment=lambda: {TOKEN_VARIABLE: token},
                halted=lambda: cancelled(folder),
                crashes=limits.crashes,
                stop_grace_s=limits.stop_grace_s,
            )
        )


def spec_of(settings: Settings, id: str, kind: str, order: Mapping[str, JsonValue], by: str) -> JobSpec:
    """What a job's process is told."""
    return JobSpec(
        id=id,
        kind=kind,
        order=json.loads(json.dumps(order)),
        by=by,
        store_url=settings.db_url,
        blobs_url=settings.blobs_url,
        home=str(settings.home),
    )
