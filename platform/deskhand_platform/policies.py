"""The policy a submitted task asks for.

A model is loaded once and shared by its episodes (`loaded_models`); one behind an API has its connections,
and its rate limits, once for all tasks that ask for it alike.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakSet

from pydantic import Field

from deskhand_agent.inference import Sampling
from deskhand_agent.notebook import Notebook, Remembering
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.settings import read_settings
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.deliberating import Deliberate, deliberate
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.types import Connected, Policy
from deskhand_flywheel.store import Store
from deskhand_platform.errors import InvalidField
from deskhand_platform.loaded_models import LoadedModels, SharedEngine, torch_needed
from deskhand_platform.task_orders import PolicyRef

if TYPE_CHECKING:
    from deskhand_agent.models.bundle import ModelBundle
    from deskhand_flywheel.prm.judging import PrmJudge

KEPT = 32
"""Policies other than local ones that are kept for more tasks, unless more are in use."""
TEST_TIME = "test_time"
"""Setting of every policy: `Deliberation`."""
NOTEBOOK = "notebook"
"""Setting of every policy that has a memory: whether what it writes is told to its owner's later tasks."""
DRAWS_NONE = ("scripted", "person")
"""Policies that have no replies to choose from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSettings:
    """Which model works, and how its replies are drawn."""

    policy_id: str | None = None
    """Of the store, or "deskhand-tiny"; None: that one, unless there is a `path`."""
    path: str | None = None
    """A folder of this machine; over HTTP for those alone who may bring policies in."""
    temperature: float = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=4096)] = 64
    executor: str | None = None
    """Of the store: who carries out the plans of one that plans; None: whom the policy itself names."""

    def __post_init__(self) -> None:
        Sampling(temperature=self.temperature, max_tokens=self.max_tokens)


LOCAL_SETTINGS = tuple(one.name for one in fields(LocalSettings))


@dataclass(frozen=True, eq=False, slots=True)
class _Made:
    policy: Policy
    users: WeakSet[Policy] = field(default_factory=WeakSet[Policy])
    """Copies of it, one a task, with its connections: as long as one is referred to, it is in use."""


class PolicyMaker:
    """Makes policies by their reference."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        notes: Path | None = None,
        models: int = 4,
        decision_s: float = 120.0,
    ) -> None:
        """
        Args:
            folder: for the files of policies.
            notes: for those of notebooks; None: none are kept.
            models: in memory at once, unless more are in use; process reward models apart.
            decision_s: longest wait for a reply of one of them.
        """
        self._store = store
        self._folder = folder
        self._notes = notes
        self._models = LoadedModels(models, decision_s=decision_s)
        self._made: OrderedDict[str, _Made] = OrderedDict()
        """The one asked for last at the end, as of judges."""
        self._most_judges, self._loading = models, asyncio.Lock()
        self._judges: OrderedDict[str, PrmJudge] = OrderedDict()
        """The one asked for last at the end."""

    async def deliberate(self, ref: PolicyRef) -> Deliberate:
        """The policy, and what of its reference is about how its episodes are run.

        Raises:
            InvalidField: as `make`; or several samples of what is the same each time, a check by what answers
                no questions, or a notebook of what writes nothing.
            UnknownPolicy, RewardModelError: the process reward model it names cannot be had.
        """
        settings = dict(ref.settings)
        told, keeps = settings.pop(TEST_TIME, {}), settings.pop(NOTEBOOK, False)
        if not isinstance(told, Mapping):
            raise InvalidField(f"policy.settings.{TEST_TIME}", "expected an object of settings")
        with _refusing(f"policy.settings.{TEST_TIME}"):
            wanted = read_settings(Deliberation, told)
        policy = await self.make(PolicyRef(name=ref.name, settings=settings))
        refuse_alike(ref.name, settings, wanted)
        judge = await self._judge(wanted.judge) if wanted.judges else None
        with _refusing(f"policy.settings.{TEST_TIME}"):
            done = deliberate(policy, wanted, judge)
        return replace(done, notebook=self._notebook(policy)) if keeps else done

    async def make(self, ref: PolicyRef) -> Policy:
        """The policy.

        Raises:
            InvalidField: a setting that the policy does not have, or with a value that makes no sense.
            UnknownName, UnknownPolicy, ModelFilesError, BackendMissing: it cannot be had.
        """
        try:
            return await self._make(ref)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidField("policy.settings", f"refused by policy {ref.name!r}: {error}") from error

    def _notebook(self, policy: Policy) -> Notebook:
        field = f"policy.settings.{NOTEBOOK}"
        if self._notes is None or not isinstance(policy, Remembering):
            raise InvalidField(field, f"{policy.id} has no memory whose notes could be kept")
        try:
            return Notebook(self._notes, policy.memory)
        except ValueError as error:
            raise InvalidField(field, str(error)) from error

    async def close(self) -> None:
        """Close the connections of policies behind an API."""
        await _close(self._made.values())

    async def _make(self, ref: PolicyRef) -> Policy:
        if ref.name != "local":
            return await self._shared(ref)
        for name in ref.settings:
            if name not in LOCAL_SETTINGS:
                raise InvalidField(f"policy.settings.{name}", f"there are: {', '.join(LOCAL_SETTINGS)}")
        return await self._local(ref.settings)

    async def _shared(self, ref: PolicyRef) -> Policy:
        key = json.dumps([ref.name, dict(ref.settings)], sort_keys=True)
        if (found := self._made.get(key)) is None:
            found = self._made[key] = _Made(create_policy(ref.name, **ref.settings))
        self._made.move_to_end(key)
        user = copy.copy(found.policy)
        found.users.add(user)
        idle = [each for each, made in self._made.items() if not made.users]
        await _close([self._made.pop(each) for each in idle[: max(0, len(self._made) - KEPT)]])
        return user

    async def _local(self, settings: Mapping[str, Any]) -> Policy:
        path, executor = settings.get("path"), settings.get("executor")
        if isinstance(path, str):
            policy_id = Path(path).name
            bundle, engine = await self._models.get(Path(path), policy_id)
        else:
            named = await self._store.policy_named(str(settings.get("policy_id", DESKHAND_TINY)))
            policy_id, executor = named.id, executor or named.metadata.get("executor")
            bundle, engine = await self._kept(policy_id)
        sampling = Sampling(
            temperature=float(settings.get("temperature", 0.0)),
            max_tokens=int(settings.get("max_tokens", 64)),
        )
        acting = await self._executor(executor, sampling) if bundle.memory.plan_tokens else None
        return create_policy(
            "local", bundle=bundle, engine=engine, sampling=sampling, policy_id=policy_id, executor=acting
        )

    async def _judge(self, policy_id: str) -> PrmJudge:
        async with self._loading:
            if policy_id not in self._judges:
                folder = await self._store.materialise_policy(policy_id, self._folder / policy_id)
                while len(self._judges) >= self._most_judges:
                    self._judges.popitem(last=False)
                self._judges[policy_id] = await asyncio.to_thread(_load_judge, folder)
            self._judges.move_to_end(policy_id)
            return self._judges[policy_id]

    async def _executor(self, named: object, sampling: Sampling) -> Policy:
        """Who carries out the plans of a policy that plans.

        Raises:
            InvalidField: nobody is named, or one that plans too.
        """
        field = "policy.settings.executor"
        if not isinstance(named, str):
            raise InvalidField(field, "the policy plans: name one of the store that carries its plans out")
        bundle, engine = await self._kept(named)
        if bundle.memory.plan_tokens:
            raise InvalidField(field, f"{named} plans too: name a policy that acts")
        sampling = replace(sampling, temperature=0.0)
        return create_policy("local", bundle=bundle, engine=engine, sampling=sampling, policy_id=named)

    async def _kept(self, policy_id: str) -> tuple[ModelBundle, SharedEngine]:
        folder = await self._store.materialise_policy(policy_id, self._folder / policy_id)
        return await self._models.get(folder, policy_id)


def refuse_alike(name: str, settings: Mapping[str, Any], wanted: Deliberation) -> None:
    """Refuse several samples of what is the same each time.

    Args:
        settings: the policy's own.

    Raises:
        InvalidField: it draws no replies, or always the likeliest.
    """
    if wanted.samples == 1:
        return
    if name in DRAWS_NONE:
        raise InvalidField(
            f"policy.settings.{TEST_TIME}.samples",
            f"the {name} policy draws no replies that could differ: give 1, or leave it out",
        )
    # where nothing is said, a local policy is greedy, and models behind an API are not
    if not settings.get("temperature", 0.0 if name == "local" else 1.0):
        raise InvalidField(
            "policy.settings.temperature",
            "at 0 it says the same each time: give more, or one sample",
        )


@contextmanager
def _refusing(field: str) -> Generator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise InvalidField(field, str(error)) from error


async def _close(made: Iterable[_Made]) -> None:
    for each in made:
        if isinstance(each.policy, Connected):
            await each.policy.close()


def _load_judge(folder: Path) -> PrmJudge:
    with torch_needed("a process reward model"):
        from deskhand_flywheel.prm.judging import PrmJudge
        from deskhand_flywheel.prm.scoring import ProcessRewardModel
    return PrmJudge(ProcessRewardModel.load(folder))
