"""What every kind of run works with: folder, store, sandboxes, reporter, the policy it starts from."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.precision import Device
from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import (
    BlobError,
    InvalidQuery,
    RewardModelError,
    StoreError,
    UnknownDataset,
    UnknownPolicy,
)
from deskhand_flywheel.lineage import MATERIAL
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager.lending import read_lending
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.admission import is_probe, only_measured, sandbox_kinds
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.run_folder import EPISODES, RunFolder, write_json
from deskhand_trainer.runs import RunKind, RunSpec

if TYPE_CHECKING:
    # loaded where they are asked for: a run that plays by rule starts in half the time
    from deskhand_agent.models.bundle import ModelBundle
    from deskhand_flywheel.prm.scoring import ProcessRewardModel

TOKEN_VARIABLE = "DESKHAND_SANDBOX_TOKEN"
_ONLY_PLAYS = (RunKind.COLLECT, RunKind.EVALUATE)
UNTRAINED = "untrained"
"""Policy id of the tiny model as built from its config."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """Handed to the module of the run's kind."""

    spec: RunSpec
    folder: RunFolder
    store: Store
    reporter: Reporter
    ranks: Ranks = ALONE
    """That do the run together; this is rank 0."""

    @property
    def labels(self) -> Mapping[str, str]:
        """What every trajectory of the run carries."""
        return {**self.spec.labels, "run": self.spec.id, "folder": self.folder.stamp()}

    @property
    def policy_id(self) -> str:
        return self.spec.policy_in or UNTRAINED

    @property
    def policy_folder(self) -> Path:
        """Where the files of the policy it starts from are put."""
        return self.folder.path / "policy_in"

    async def bundle(self, *, seed: int = 0, **memory: object) -> ModelBundle:
        """The policy the run starts from.

        Args:
            seed: of the fresh weights, where it starts from nothing.
            memory: fields of its memory from now on (`WindowMemory`); None: as they were.

        Raises:
            RunRefused: it is not in the store, or damaged; it came out of a probe of held-out tasks, and the
                run does more than measure it; or there is no such memory.
        """
        from deskhand_agent.models.bundle import build_tiny
        from deskhand_agent.models.tiny import TinyConfig

        if self.spec.policy_in is None:
            bundle = build_tiny(TinyConfig(seed=seed))
        else:
            bundle = await self.stored_policy(self.spec.policy_in, self.policy_folder)
        try:
            bundle.memory = bundle.memory.told(**memory)
        except ValueError as error:
            raise RunRefused(f"the policy's memory: {error}") from error
        return bundle

    async def stored_policy(self, policy_id: str, folder: Path) -> ModelBundle:
        """A policy of the store, its files put into a folder.

        Raises:
            RunRefused: as `bundle`.
        """
        from deskhand_agent.models.bundle import load_bundle

        try:
            record = await self.store.policy(policy_id)
            if is_probe(record.metadata) and self.spec.kind is not RunKind.EVALUATE:
                raise RunRefused(only_measured(record.id))
            return load_bundle(await self.store.materialise_policy(record.id, folder))
        except (UnknownPolicy, BlobError, InvalidQuery, ModelFilesError) as error:
            raise RunRefused(f"the policy {policy_id} cannot be used: {error}") from error

    async def episodes(self, chosen: TrajectoryFilter) -> list[str]:
        """Ids of the episodes a filter chooses that the run may learn from: its dataset's alone where it has
        one, otherwise its round's where it belongs to one.

        Raises:
            RunRefused: the store has no such dataset.
        """
        if self.spec.dataset is None:
            return [*await self.store.trajectory_ids(replace(chosen, folders=self.spec.folders))]
        name, _, version = self.spec.dataset.rpartition("@")
        try:
            routed = await self.store.dataset(name, int(version))
        except (UnknownDataset, ValueError) as error:
            raise RunRefused(f"the dataset {self.spec.dataset} cannot be used: {error}") from error
        found = set(await self.store.trajectory_ids(chosen))
        return [each for each in routed.trajectory_ids if each in found]

    async def settled_episodes(self, chosen: TrajectoryFilter) -> list[str]:
        """As `episodes`; where there is a checkpoint, as they were in the life that began it: training goes
        on with what it began with, whatever the store has gained since."""
        listed, asked = self.folder.path / EPISODES, repr(chosen)
        known: dict[str, list[str]] = json.loads(listed.read_text()) if listed.exists() else {}
        if asked not in known or not self.folder.checkpoints.exists():
            known[asked] = await self.episodes(chosen)
            write_json(listed, known)
        return known[asked]

    async def read(self, ids: Iterable[str]) -> AsyncGenerator[Trajectory]:
        """Whole episodes with their pictures; those that cannot be read are left out, which is an alarm.

        Raises:
            RunRefused: there are some, and none of them can be read.
        """
        damaged: dict[str, str] = {}
        readable = False
        found = self.store.each_trajectory(
            ids, images=True, on_damaged=lambda each, error: damaged.update({each: str(error)})
        )
        async for trajectory in found:
            readable = True
            yield trajectory
        await self.reporter.unreadable(damaged)
        if damaged and not readable:
            first = next(iter(damaged.values()))
            raise RunRefused(
                f"none of the {len(damaged)} episodes can be read (deskhand flywheel fsck): {first}"
            )

    async def reward_model(
        self, policy_id: str | None = None, *, device: Device = "auto"
    ) -> ProcessRewardModel | None:
        """The process reward model of this id, or else of the spec; None when it names none.

        Raises:
            RunRefused: it is not in the store, or damaged.
        """
        named = policy_id or self.spec.prm_in
        if named is None:
            return None
        from deskhand_flywheel.prm.scoring import ProcessRewardModel

        try:
            folder = await self.store.materialise_policy(named, self.folder.path / "prm_in")
            return ProcessRewardModel.load(folder, device=device)
        except (UnknownPolicy, BlobError, InvalidQuery, RewardModelError) as error:
            raise RunRefused(f"the reward model {named} cannot be used: {error}") from error

    async def keep(
        self, folder: Path, metadata: Mapping[str, JsonValue], *, learned_from: Iterable[str] = ()
    ) -> str:
        """Keep a checkpoint in the store, as a child of the policy the run started from; its id.

        Args:
            learned_from: ids of the store's episodes that it learned from, beside those that the run played;
                named where the spec has no dataset, which holds them.
        """
        described: dict[str, JsonValue] = {"run": self.spec.id, "kind": self.spec.kind.value}
        if self.spec.dataset is not None:
            described["dataset"] = self.spec.dataset
        elif ids := sorted(set(learned_from)):
            described[MATERIAL] = [*ids]
        described |= {f"label:{name}": value for name, value in self.spec.labels.items()}
        if (executor := await self.executor_of_start()) is not None:
            described["executor"] = executor
        record = await self.store.keep_policy(
            folder, parent_id=self.spec.policy_in, metadata={**described, **metadata}
        )
        return record.id

    async def executor_of_start(self) -> str | None:
        """Id of the policy that carried out the plans of the one the run starts from; None where none did.

        Raises:
            UnknownPolicy: the store has no such policy.
        """
        if self.spec.policy_in is None:
            return None
        found = (await self.store.policy(self.spec.policy_in)).metadata.get("executor")
        return None if found is None else str(found)

    @asynccontextmanager
    async def sandboxes(self, tasks: Iterable[str], *, concurrency: int) -> AsyncGenerator[SandboxSource]:
        """Sandboxes for these tasks: of the host the spec names, or of one started for the run."""
        kinds = sandbox_kinds(tasks)
        if self.spec.sandbox_url is not None:
            token = os.environ.get(TOKEN_VARIABLE, "")
            if not token:
                raise RunRefused(f"the spec names a sandbox host: give its token in {TOKEN_VARIABLE}")
            async with SandboxClient(self.spec.sandbox_url, token) as client:
                yield client
            return
        try:
            told = read_lending(self.spec.sandboxes)
            pools = told.pools_of(kinds, most=concurrency)
        except InvalidPool as error:
            raise RunRefused(f"sandboxes: {error}") from error
        settings = HostSettings(
            kinds=pools,
            terms=told.terms,
            deadlines=told.deadlines,
            state_folder=self.folder.path / "host",
        )
        async with (
            start_host(settings) as host,
            SandboxClient(host.url, host.token) as client,
        ):
            yield client


@asynccontextmanager
async def open_context(
    folder: RunFolder, spec: RunSpec, *, ranks: Ranks = ALONE
) -> AsyncGenerator[RunContext]:
    """The context of a run, its store open.

    Raises:
        RunRefused: the store cannot be opened.
    """
    near_frames = spec.near_frames if spec.kind in _ONLY_PLAYS else None
    try:
        store = await Store.open(spec.store_url, spec.blobs_url, near_frames=near_frames)
    except StoreError as error:
        raise RunRefused(f"the store cannot be opened: {error}") from error
    reporter = Reporter(store, subject=f"run:{spec.id}", folder=folder.path / "tensorboard")
    try:
        yield RunContext(spec=spec, folder=folder, store=store, reporter=reporter, ranks=ranks)
    finally:
        reporter.close()
        await store.close()
