"""Labelling what the store holds by Monte-Carlo continuation: incremental, several episodes at a time.

Of episodes from one start, as those of a group are, the first to be labelled finds what the start is worth,
and the others wait for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from deskhand_agent.types import Policy, Trajectory
from deskhand_flywheel.errors import BlobError, FlywheelError, NotReplayable, RecordError, UnknownTrajectory
from deskhand_flywheel.prm.continuation import Continuing, StateValue, step_values
from deskhand_flywheel.retracing import look_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepValue, TrajectoryFilter
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    InvalidTask,
    SandboxError,
    UnknownName,
)

_StartKey: TypeAlias = tuple[object, ...]
"""Episodes with an equal one began in the same state, and the policy is told the same."""

_UNPLAYABLE = (BackendMissing, UnknownName, InvalidTask)
"""No sandbox of the episode's kind, or no verifier, can be had here."""

VERSION = 1
"""Raised when the same settings would label otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSettings:
    """How many episodes are labelled, and how."""

    continuing: Continuing = field(default_factory=Continuing)
    concurrency: int = 8
    """Episodes labelled at a time, and sandboxes asked for at most."""
    retries: int = 2
    """Further attempts at an episode during which the sandbox or the model failed."""
    lease_wait_s: float = 60.0
    """How long to wait for a free sandbox."""
    limit: int | None = None
    """Most episodes, the newest first, beside those that cannot be read or replayed; None: all."""

    def __post_init__(self) -> None:
        if self.concurrency < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(f"concurrency {self.concurrency} and limit {self.limit}: give 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """What came of labelling."""

    labeller: str
    trajectories: int
    steps: int
    inexact: int
    """Of these steps."""
    left_out: Mapping[str, int]
    """Episodes without values, by why."""


def labeller_of(policy: str, continuing: Continuing) -> str:
    """Name and version of what labels so: one name never stands for two policies or two N.

    Args:
        policy: its id, and how it draws where that can differ: "policy-1f…@t1".
    """
    return f"mc{VERSION}:{policy}:{continuing.continuations}"


async def label_store(
    store: Store,
    *,
    policy: Policy,
    source: SandboxSource,
    labeller: str,
    settings: LabelSettings | None = None,
    chosen: TrajectoryFilter | None = None,
    among: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Labelled:
    """Label every episode that has a verdict and no value of this labeller for some of its steps.

    Kept episode by episode: stopped and started again, it goes on where it was.

    Args:
        labeller: see `labeller_of`.
        among: what `Store.unlabelled` said when a work that was cut off began, to go on with it: what is
            labelled since is taken off the limit.
        progress: called with episodes done and in all.

    Raises:
        UnknownName, InvalidTask, BackendMissing: none of them could be labelled, for sandboxes or verifiers
            cannot be had; where some are, the others are left out.
    """
    settings = settings or LabelSettings()
    ids = await store.unlabelled(labeller, chosen)
    labelled = 0
    if among is not None:
        lacking = set(ids)
        ids = tuple(each for each in among if each in lacking)
        labelled = len(among) - len(ids)
    at_most = len(ids) if settings.limit is None else max(0, settings.limit - labelled)
    cut = max(0, len(ids) - at_most)
    waiting, behind = list(ids[cut:]), list(ids[:cut])
    total, done, left_out = len(waiting), Counter[str](), Counter[str]()
    unplayable: list[SandboxError] = []
    starts: dict[_StartKey, StateValue] = {}
    # by the start that another episode is in hand of
    held_back: dict[_StartKey, list[str]] = {}
    released = asyncio.Event()

    async def values_of(trajectory: Trajectory, owner: str) -> list[StepValue] | None:
        """None: another episode from the same start is in hand, and this one goes on after it."""
        if (key := _start_key(trajectory)) is None:
            return await _values(trajectory, policy, source, labeller, settings, owner)
        if key in held_back:
            held_back[key].append(trajectory.id)
            return None
        start = starts.get(key)
        if start is None:
            held_back[key] = []
        try:
            values = await _values(trajectory, policy, source, labeller, settings, owner, start)
        finally:
            waiting.extend(held_back.pop(key, ()))
            # wakes whoever waits now
            released.set()
            released.clear()
        if start is None and values[0].exact:
            first = values[0]
            starts[key] = StateValue(value=first.before, error=first.before_error, exact=True)
        return values

    async def work(owner: str) -> None:
        nonlocal total
        while waiting or held_back:
            if not waiting:
                await released.wait()
                continue
            try:
                trajectory = await store.trajectory(waiting.pop(), images=True)
                values = await values_of(trajectory, owner)
                if values is None:
                    continue
                await store.add_step_values(values)
            except (NotReplayable, UnknownTrajectory, BlobError, RecordError, *_UNPLAYABLE) as error:
                left_out[_why(error)] += 1
                if isinstance(error, SandboxError):
                    unplayable.append(error)
                if behind:  # what never can be must not keep a limited run from all others
                    waiting.append(behind.pop())
                    total += 1
            except InfrastructureError as error:
                left_out[f"broke: {error}"] += 1
            else:
                done.update(trajectories=1, steps=len(values), inexact=sum(not v.exact for v in values))
            if progress is not None:
                progress(done["trajectories"] + left_out.total(), total)

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(min(settings.concurrency, total)):
                group.create_task(work(f"label-{number}"))
    except BaseExceptionGroup as errors:
        # the first is the cause; the others are what its cancellation stirred up
        raise errors.exceptions[0] from errors
    if unplayable and not done and len(unplayable) == left_out.total():
        raise unplayable[0]
    return Labelled(
        labeller=labeller,
        trajectories=done["trajectories"],
        steps=done["steps"],
        inexact=done["inexact"],
        left_out=dict(left_out),
    )


def _why(error: FlywheelError | SandboxError) -> str:
    match error:
        case SandboxError():
            return f"cannot be played here: {error}"
        case NotReplayable():
            return "cannot be replayed"
        case UnknownTrajectory():
            return "dropped meanwhile"
        case _:
            return f"cannot be read: {type(error).__name__}"


async def _values(
    trajectory: Trajectory,
    policy: Policy,
    source: SandboxSource,
    labeller: str,
    settings: LabelSettings,
    owner: str,
    start: StateValue | None = None,
) -> list[StepValue]:
    kind = trajectory.start.task.environment.kind
    for attempt in range(settings.retries + 1):
        try:
            async with source.lease(kind, owner=owner, wait_s=settings.lease_wait_s) as sandbox:
                return await step_values(
                    trajectory,
                    sandbox=sandbox,
                    policy=policy,
                    labeller=labeller,
                    continuing=settings.continuing,
                    start=start,
                )
        except BackendMissing:
            raise
        except InfrastructureError:
            if attempt == settings.retries:
                raise
    raise AssertionError("the last attempt returns or raises")


def _start_key(trajectory: Trajectory) -> _StartKey | None:
    """None where it has no step."""
    if not trajectory.steps:
        return None
    start = trajectory.start
    # the whole task, by the text that tells its mappings apart too: with other limits a state is worth other
    return repr(start.task), start.instruction, start.notes, look_of(trajectory.steps[0].observation)
