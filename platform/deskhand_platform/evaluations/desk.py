"""Evaluations that were asked for: a folder each, worked one after the other, oldest first.

The folder of the run is the queue: it is there before the asking is answered, so that one asked for is worked
whatever dies, and a run that was begun goes on from its own state.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from deskhand_agent.ids import new_id
from deskhand_platform.errors import NotFound, RoundFailed, TooMuch, WrongState
from deskhand_platform.evaluations.records import EvaluationRecord, read_evaluation
from deskhand_platform.rounds.config import check_phase
from deskhand_platform.rounds.phases import Host
from deskhand_platform.rounds.process import RunRequest, bring_to_end
from deskhand_platform.rounds.run_queue import ask_to_stop, cancelled, unended, work_through
from deskhand_platform.rounds.runs import write_spec
from deskhand_platform.settings import Settings
from deskhand_sandbox import logs
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.runs import RunKind, RunSpec

PREFIX = "evaluation-"
AGAIN_S = 60.0


class EvaluationDesk:
    """Takes evaluations in."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ask(self, policy_id: str | None, config: Mapping[str, JsonValue]) -> EvaluationRecord:
        """Queue one; the caller knows that the policy exists.

        Raises:
            InvalidField: the trainer would refuse the config; names the field.
            TooMuch: so many wait already.
        """
        check_phase("evaluate", config)
        waiting = sum(1 for _ in unended(asked(self._settings.runs)))
        if waiting >= self._settings.jobs.waiting:
            raise TooMuch(
                f"{waiting} evaluations have not ended, as many as there may be (setting jobs.waiting)",
                retry_s=AGAIN_S,
            )
        folder = self._settings.runs / f"{PREFIX}{new_id()}"
        write_spec(folder, _spec(self._settings, folder, policy_id, config))
        found = read_evaluation(folder)
        assert found is not None
        return found

    def cancel(self, evaluation_id: str) -> EvaluationRecord:
        """Take one out of the queue, or stop it.

        Raises:
            NotFound: none was asked for under that id.
            WrongState: it is over already.
        """
        folder = next((each for each in asked(self._settings.runs) if each.name == evaluation_id), None)
        found = None if folder is None else read_evaluation(folder)
        if folder is None or found is None:
            raise NotFound("evaluation", evaluation_id)
        if found.state.over:
            raise WrongState(f"evaluation {evaluation_id} is {found.state} already", state=found.state)
        ask_to_stop(folder)
        return found


class EvaluationRunner:
    """Works them."""

    def __init__(self, settings: Settings, host: Host) -> None:
        self._settings, self._host = settings, host

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Work for the length of the block; at its end the run is stopped with its state safe."""
        working = asyncio.create_task(work_through(lambda: asked(self._settings.runs), self._bring))
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def _bring(self, folder: Path) -> None:
        token = ""
        found = read_evaluation(folder)
        if found is None:
            raise RoundFailed(f"{folder / 'spec.json'} cannot be read")
        config: Mapping[str, JsonValue] = json.loads((folder / "spec.json").read_text())["config"]

        async def spec() -> RunSpec:
            nonlocal token
            url, token = await self._host.address()
            return _spec(self._settings, folder, found.policy_id, config, url)

        limits = self._settings.rounds
        await bring_to_end(
            RunRequest(
                folder=folder,
                module=limits.run_module,
                spec=spec,
                environment=lambda: {"DESKHAND_SANDBOX_TOKEN": token, logs.VARIABLE: self._settings.logs},
                halted=lambda: cancelled(folder),
                crashes=limits.crashes,
                stop_grace_s=limits.stop_grace_s,
            )
        )


def asked(runs: Path) -> list[Path]:
    """Folders of those asked for, oldest first."""
    return sorted(runs.glob(f"{PREFIX}*")) if runs.is_dir() else []


def _spec(
    settings: Settings,
    folder: Path,
    policy_id: str | None,
    config: Mapping[str, JsonValue],
    sandbox_url: str | None = None,
) -> RunSpec:
    return RunSpec(
        id=folder.name,
        kind=RunKind.EVALUATE,
        config=config,
        store_url=settings.db_url,
        blobs_url=settings.blobs_url,
        near_frames=settings.near_frames,
        sandbox_url=sandbox_url,
        policy_in=policy_id,
        labels={"run": folder.name},
    )
