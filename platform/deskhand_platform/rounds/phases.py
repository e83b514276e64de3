"""Doing one phase of a round: as a run of the trainer, or right here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from deskhand_agent.errors import ModelFilesError
from deskhand_flywheel.errors import (
    EmptySelection,
    FlywheelError,
    StorageFull,
    StoreUnavailable,
    UnknownPolicy,
)
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.routing import Route, read_routes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind, TrajectoryFilter
from deskhand_platform.errors import InvalidField, PlatformError, RoundFailed
from deskhand_platform.rounds.book import PhaseRecord, RoundBook, RoundRecord
from deskhand_platform.rounds.config import RoundConfig, check_phase, round_config
from deskhand_platform.rounds.fit import check_fit, this_machine
from deskhand_platform.rounds.plan import VALIDATE_PROMOTED, PhasePlan, plan
from deskhand_platform.rounds.process import RunHalted, RunRequest, bring_to_end
from deskhand_platform.rounds.promoted import PromotedPolicies
from deskhand_platform.rounds.promotion import candidates, decide, overtaken
from deskhand_platform.rounds.tasks import check_tasks_lent
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_sandbox import logs
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.admission import is_probe, only_measured
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.runs import RunKind, RunResult, RunSpec

log = logging.getLogger(__name__)
ROUTED = {"sft": "sft", "rejection": "sft", "pretrain": "rejected", "score": "pool", "ppo": "pool"}
"""Which dataset a phase learns from, where it learns from recorded episodes at all."""
TRAINED = ("sft", "pretrain", "rejection", "ppo")
"""Phases that make a policy, in order."""


class Host(Protocol):
    """Where runs find their sandboxes."""

    async def address(self) -> tuple[str, str]:
        """URL and token of the sandbox host, waited for while it comes back.

        Raises:
            ChildFailed: it does not come back.
        """
        ...


class Phases:
    """Does phases; each can be done again after a death and comes to the same."""

    def __init__(self, settings: Settings, store: Store, book: RoundBook, host: Host) -> None:
        self._settings = settings
        self._store = store
        self._book = book
        self._host = host
        self._promoted = PromotedPolicies(store)

    async def begin(self, round_id: int, life: int) -> list[str]:
        """Settle the start policy and the phases; their names, or none for a round that is over, paused or in
        another life by now.
        """
        if not await self._book.set_going(round_id, life):
            return []
        record = await self._book.get(round_id)
        if not record.phases:
            config = round_config(record.config)
            promoted = await self._book.promoted_policy()
            start = config.base if config.start == "promoted" else config.start
            policy_in = promoted if config.start == "promoted" and promoted else await self._named(start)
            await self._book.plan(round_id, policy_in, plan(config, policy_in, promoted))
            record = await self._book.get(round_id)
        await self.tell(round_id, "state", {"state": WorkState.RUNNING, "policy_in": record.policy_in})
        return [phase.name for phase in record.phases]

    async def do(self, round_id: int, name: str) -> tuple[WorkState, str | None]:
        """Do one phase; the state it ended in, and why when that is not done.

        Raises:
            StoreUnavailable, StorageFull: it is to be done again; the database did not answer or is full.
        """
        record = await self._book.get(round_id)
        phase = _phase(record, name)
        if phase.state is WorkState.DONE:
            return WorkState.DONE, None
        if (halt := await self._book.halt_requested(round_id)) is not None:
            return halt, _why(halt)
        await self._start(round_id, phase)
        try:
            with logs.about(round=str(round_id), run=f"round-{round_id}-{name}"):
                log.info("phase %s began", name)
                changes = await self._work(record, phase)
                log.info("phase %s is done", name)
        except RunHalted as halt:
            return await self._ended(round_id, name, halt.state, _why(halt.state))
        except (StoreUnavailable, StorageFull):
            raise
        except (PlatformError, FlywheelError, SandboxError, OSError) as error:
            return await self._ended(round_id, name, WorkState.FAILED, column_text(f"{name}: {error}"))
        return await self._ended(round_id, name, WorkState.DONE, None, **changes)

    async def close(self, round_id: int, state: WorkState, reason: str | None, life: int) -> None:
        """End the round, or what there is of it until it is resumed; one in another life stays as it is."""
        if state is WorkState.PAUSED and await self._book.halt_requested(round_id) is WorkState.CANCELLED:
            # cancelled after its run had stopped to pause
            state, reason = WorkState.CANCELLED, _why(WorkState.CANCELLED)
        if state is WorkState.PAUSED:
            await self._book.park(round_id, life)
        else:
            await self._book.close(round_id, state, reason, life)
        record = await self._book.get(round_id)
        if (record.state, record.life) == (state, life):
            await self.tell(round_id, "state", {"state": state, "reason": reason})

    async def tell(self, round_id: int, name: str, data: Mapping[str, JsonValue]) -> None:
        """Append an event about the round."""
        event = Event(
            id=0, at_s=time.time(), subject=f"round:{round_id}", kind=EventKind.STATE, name=name, data=data
        )
        await self._store.append_event(event)

    async def check_start(self, config: RoundConfig) -> None:
        """Refuse a start policy that does not exist, or that nothing may start from.

        Raises:
            InvalidField: there is none of that id (names the nearest ones), its files are damaged, or it came
                out of a probe of held-out tasks.
        """
        for field in ("start", "base"):
            name = getattr(config, field)
            if field == "start" and name == "promoted":
                continue
            try:
                found = await self._named(name)
            except (UnknownPolicy, ModelFilesError) as error:
                raise InvalidField(field, str(error)) from error
            if found is not None and is_probe((await self._store.policy(found)).metadata):
                raise InvalidField(field, only_measured(found))

    async def check_fit(self, config: RoundConfig) -> None:
        """Refuse a round that cannot fit this machine.

        Raises:
            InvalidField: it needs more memory, GPU memory, disk or cores than there are; says the sum. Or a
                kind of sandbox that is not lent here.
        """
        await asyncio.to_thread(check_tasks_lent, config, self._settings.sandbox.lent)
        promoted = await self._book.promoted_policy() if config.start == "promoted" else None
        start = promoted or await self._named(config.base if config.start == "promoted" else config.start)
        weights_mb = None if start is None else await self._weights_mb(start)
        machine = await asyncio.to_thread(this_machine, self._settings.home)
        await asyncio.to_thread(check_fit, config, weights_mb, machine)

    # ---- inside ----

    async def _weights_mb(self, policy_id: str) -> float | None:
        try:
            found = (await self._store.policy(policy_id)).manifest
        except UnknownPolicy:
            # what was promoted is gone: the round will say so by its name
            return None
        weights = [digest for name, digest in found.items() if name.endswith(".safetensors")]
        return sum([await self._store.blobs.size(digest) or 0 for digest in weights]) / 1e6

    async def _named(self, start: str) -> str | None:
        return None if start == "untrained" else (await self._store.policy_named(start)).id

    async def _start(self, round_id: int, phase: PhaseRecord) -> None:
        begun = {"started_at_s": phase.started_at_s or time.time(), "ended_at_s": None, "reason": None}
        await self._book.update_phase(round_id, phase.name, state=WorkState.RUNNING, **begun)
        await self.tell(round_id, "phase", {"phase": phase.name, "state": WorkState.RUNNING})

    async def _ended(
        self, round_id: int, name: str, state: WorkState, reason: str | None, **changes: Any
    ) -> tuple[WorkState, str | None]:
        ended = {"state": state, "reason": reason, "ended_at_s": time.time(), **changes}
        await self._book.update_phase(round_id, name, **ended)
        await self.tell(round_id, "phase", {"phase": name, "state": state, "reason": reason})
        return state, reason

    async def _work(self, record: RoundRecord, phase: PhaseRecord) -> dict[str, Any]:
        """Do it; the columns of the phase that change by it."""
        if phase.kind == "curate":
            routes = read_routes(round_config(record.config).routes)
            return {"metrics": await self._curate(record, routes)}
        if phase.kind == "promote":
            return {"metrics": await self._promote(record)}
        rival = next((one.policy_in for one in record.phases if one.name == VALIDATE_PROMOTED), None)
        phases = plan(round_config(record.config), record.policy_in, rival)
        planned = next(one for one in phases if one.name == phase.name)
        policy_in = planned.policy_in or policy_for(record, phase)
        result = await self._run(record, phase, planned, policy_in)
        return {
            "metrics": dict(result.metrics),
            "policy_in": policy_in,
            "policy_out": result.policy_out,
            "seconds": result.seconds,
        }

    async def _run(
        self, record: RoundRecord, phase: PhaseRecord, planned: PhasePlan, policy_in: str | None
    ) -> RunResult:
        run_id = phase.run_of(record.id)
        await self._book.update_phase(record.id, planned.name, run_id=run_id, policy_in=policy_in)
        token = ""

        async def spec() -> RunSpec:
            nonlocal token
            url, token = await self._host.address()
            dataset, folders = await self._material(record, planned)
            return RunSpec(
                id=run_id,
                kind=RunKind(planned.kind),
                config=planned.config,
                store_url=self._settings.db_url,
                blobs_url=self._settings.blobs_url,
                near_frames=self._settings.near_frames,
                sandbox_url=url,
                policy_in=policy_in,
                prm_in=_made_by(record, "score") if planned.kind == RunKind.PPO else None,
                dataset=dataset,
                folders=folders,
                labels={"round": str(record.id), "phase": planned.name},
            )

        async def halted() -> WorkState | None:
            return await self._book.halt_requested(record.id)

        limits = self._settings.rounds
        return await bring_to_end(
            RunRequest(
                folder=self._settings.runs / run_id,
                module=limits.run_module,
                spec=spec,
                environment=lambda: {"DESKHAND_SANDBOX_TOKEN": token, logs.VARIABLE: self._settings.logs},
                halted=halted,
                crashes=limits.crashes,
                stop_grace_s=limits.stop_grace_s,
            )
        )

    async def _material(self, record: RoundRecord, planned: PhasePlan) -> tuple[str | None, tuple[str, ...]]:
        """The dataset that a run learns from, and the folders whose episodes it looks at: none where its
        round curated nothing for it, which it is not to come by in another way.
        """
        # in a thread: the trainer's records take seconds to load
        if curated(record) is not None and await asyncio.to_thread(reads_routed, planned):
            if (dataset := routed_to(record, planned.name)) is None:
                return None, ()
            return dataset, await self._folders(record)
        return None, await self._folders(record, "collect" if planned.kind == RunKind.LABEL else None)

    async def _folders(self, record: RoundRecord, kind: str | None = None) -> tuple[str, ...]:
        """Stamps of what the round's runs have played in, those of attempts before included."""
        runs = self._settings.runs
        folders = [
            RunFolder(runs / replace(phase, attempt=attempt).run_of(record.id))
            for phase in record.phases
            if kind in (None, phase.kind)
            for attempt in range(phase.attempt + 1)
        ]
        return await asyncio.to_thread(lambda: tuple(one.stamp() for one in folders if one.path.is_dir()))

    async def _curate(self, record: RoundRecord, routes: Sequence[Route]) -> dict[str, JsonValue]:
        """Route what the round's own runs collected: nothing is thrown away."""
        sizes: dict[str, JsonValue] = {}
        chosen = TrajectoryFilter(folders=await self._folders(record))
        for route in routes:
            name = _dataset_name(record.id, route.name)
            try:
                made = await self._store.select_dataset(name, route.rule, chosen, sieve=route.sieve)
            except EmptySelection:
                sizes[route.name] = 0
                continue
            sizes[route.name] = len(made.trajectory_ids)
            sizes[f"{route.name}_version"] = made.version
        return sizes

    async def _promote(self, record: RoundRecord) -> dict[str, JsonValue]:
        config = round_config(record.config).promote
        verdict = decide(record, config)
        if verdict.promoted and verdict.policy_out is not None:
            beside = {one.policy_id for one in candidates(record, config.measure)}
            other = await self._promoted.by_gate(verdict.policy_out, record.id, verdict.reason, beside=beside)
            if other is not None:
                verdict = overtaken(record, verdict, other)
        reason = None if verdict.promoted else verdict.reason
        await self._book.update(
            record.id, policy_out=verdict.policy_out, promoted=verdict.promoted, reason=reason
        )
        return {"policy": verdict.policy_out, "promoted": verdict.promoted, "why": verdict.reason}


def policy_for(record: RoundRecord, phase: PhaseRecord) -> str | None:
    """The policy a phase works with: the one its name says, else the newest before it.

    Raises:
        RoundFailed: the phase that was to make it made none.
    """
    _, _, whose = phase.name.partition("-")
    if phase.kind == "evaluate":
        if whose in ("untrained", "start"):
            return record.policy_in
        made = _made_by(record, whose)
        if made is None:
            raise RoundFailed(f"{whose} made no policy")
        return made
    trained = [made for name in TRAINED if (made := _made_by(record, name)) is not None]
    return trained[-1] if trained else record.policy_in


def _why(halt: WorkState) -> str | None:
    return "cancelled" if halt is WorkState.CANCELLED else None


def _dataset_name(round_id: int, use: str) -> str:
    return f"round-{round_id}/{use}"


def reads_routed(planned: PhasePlan) -> bool:
    """Whether a run learns from what is routed to its phase: PPO may read no episodes but its own, and
    `score` may be told whose.
    """
    if planned.kind == RunKind.PPO:
        return check_phase(planned.name, planned.config).by_store
    return planned.name in ROUTED and not planned.config.get("runs")


def curated(record: RoundRecord) -> Mapping[str, JsonValue] | None:
    """What curating came to last; None where nothing was curated yet."""
    done = [one for one in record.phases if one.kind == "curate" and one.state is WorkState.DONE]
    return done[-1].metrics if done else None


def routed_to(record: RoundRecord, name: str) -> str | None:
    """The dataset last curated for a phase, as NAME@VERSION; None where nothing was routed to it."""
    use = ROUTED.get(name)
    version = (curated(record) or {}).get(f"{use}_version")
    return None if use is None or version is None else f"{_dataset_name(record.id, use)}@{version}"


def _made_by(record: RoundRecord, name: str) -> str | None:
    return next((phase.policy_out for phase in record.phases if phase.name == name), None)


def _phase(record: RoundRecord, name: str) -> PhaseRecord:
    return next(phase for phase in record.phases if phase.name == name)
