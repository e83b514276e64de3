"""Monte-Carlo values of recorded steps, by snapshot and by replay, against a walk's values by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from sqlalchemy import text

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.errors import NotReplayable
from deskhand_flywheel.prm.continuation import Continuing, standard_error, step_values
from deskhand_flywheel.prm.labelling import LabelSettings, label_store, labeller_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepValue
from deskhand_flywheel.upkeep import Drop, RetentionRule, collect
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import BackendMissing, SandboxDied, SandboxError, UnknownName
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Press, Task

on_both = pytest.mark.parametrize("urls", ("sqlite", "postgresql"), indirect=True)
"""Labels are kept in either database."""
RIGHT = 0.5
TURNS, PLACES = 7, 4


class Walker:
    """Walks right with a chance, else left."""

    def __init__(self, right: float = RIGHT, seed: int = 0) -> None:
        self.id, self._right, self._chance = "walker", right, random.Random(seed)
        self.starts = 0

    async def act(self, context: Context) -> Decision:
        self.starts += not context.steps
        key = "ArrowRight" if self._chance.random() < self._right else "ArrowLeft"
        return Decision(actions=(Press(keys=(key,)),), text=key)


class Scripted:
    """Walks as it is told."""

    id = "told"

    def __init__(self, ways: str) -> None:
        self._ways = ways

    async def act(self, context: Context) -> Decision:
        key = {"r": "ArrowRight", "l": "ArrowLeft"}[self._ways[len(context.steps)]]
        return Decision(actions=(Press(keys=(key,)),), text=key)


class Forgetful(WorldSandbox):
    """A world that keeps no snapshots, as a browser does not."""

    capabilities = frozenset({Capability.EVALUATE})


class Worlds:
    """Lends worlds; the first few die in the middle."""

    def __init__(self, kind: type[WorldSandbox] = WorldSandbox, deaths: int = 0) -> None:
        self.made, self._kind, self._deaths = 0, kind, deaths

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Sandbox]:
        self.made += 1
        if self.made <= self._deaths:
            raise SandboxDied("died as the test says")
        yield self._kind()


def chain() -> Task:
    task = make_task("worlds/chain", 0)
    settings = {**task.environment.settings, "places": PLACES}
    return replace(
        task,
        environment=replace(task.environment, settings=settings),
        limits=replace(task.limits, turns=TURNS),
    )


async def walked(store: Store, ways: str) -> Trajectory:
    """A recorded walk."""
    await run_episodes([Job(task=chain())], source=Worlds(), policy=Scripted(ways), sink=store)
    return await store.trajectory((await store.trajectory_ids())[-1], images=True)


@lru_cache
def value(at: int, left: int) -> float:
    """Chance of a walker at a place to reach the flag in so many turns."""
    if at == PLACES - 1:
        return 1.0
    if left == 0:
        return 0.0
    return RIGHT * value(at + 1, left - 1) + (1 - RIGHT) * value(max(0, at - 1), left - 1)


WALK = "rlrlrrr"
PLACE = [0, 1, 0, 1, 0, 1, 2, 3]


@pytest.mark.parametrize("kind", [WorldSandbox, pytest.param(Forgetful, marks=pytest.mark.slow)])
async def test_values_of_a_walk_are_what_they_are_by_hand(store: Store, kind: type[WorldSandbox]) -> None:
    recorded = await walked(store, WALK)
    many = Continuing(continuations=200)
    found = await step_values(recorded, sandbox=kind(), policy=Walker(), labeller="mc", continuing=many)
    assert [each.step_index for each in found] == list(range(len(WALK)))
    assert all(each.exact and each.continuations == 200 for each in found)
    for k, each in enumerate(found):
        assert each.before == pytest.approx(value(PLACE[k], TURNS - k), abs=4 * each.before_error)
        after = value(PLACE[k + 1], TURNS - k - 1)
        assert each.after == pytest.approx(after, abs=4 * each.after_error + 1e-9)
    # steps to the right help, steps to the left harm, wherever there are continuations enough to tell
    surely = {
        k: each.label > 0.5 for k, each in enumerate(found) if abs(each.label - 0.5) > 3 * each.label_error
    }
    assert len(surely) >= 3 and all(helps == (WALK[k] == "r") for k, helps in surely.items())
    assert (found[-1].after, found[-1].after_error) == (1.0, 0.0)


@pytest.mark.parametrize("kind", [WorldSandbox, Forgetful])
async def test_whoever_goes_on_is_told_the_notes_of_the_episode(
    store: Store, kind: type[WorldSandbox]
) -> None:
    told: set[str] = set()

    class Noticing(Walker):
        async def act(self, context: Context) -> Decision:
            told.add(context.notes)
            return await super().act(context)

    recorded = await walked(store, WALK)
    recorded = replace(recorded, start=replace(recorded.start, notes="the flag is on the right"))
    once = Continuing(continuations=1)
    await step_values(recorded, sandbox=kind(), policy=Noticing(), labeller="mc", continuing=once)
    assert told == {"the flag is on the right"}


def test_a_label_is_the_chance_to_do_better_with_the_step() -> None:
    found = StepValue(
        trajectory_id="a", step_index=0, labeller="mc", before=0.25, before_error=0.3, after=0.75,
        after_error=0.4, continuations=4, exact=True,
    )  # fmt: skip
    # P(after wins, before does not) + half of P(both or neither)
    assert found.label == pytest.approx(0.75 * 0.75 + (0.75 * 0.25 + 0.25 * 0.75) / 2)
    assert found.label_error == pytest.approx(0.25)


def test_the_error_of_a_rate_is_never_nothing() -> None:
    # Beta(2, 1) has variance 2 / (9 · 4)
    assert standard_error(1, 1) == pytest.approx((2 / 36) ** 0.5)
    assert standard_error(8, 8) == pytest.approx(standard_error(0, 8)) and standard_error(0, 8) > 0
    assert standard_error(500, 1000) == pytest.approx((0.25 / 1000) ** 0.5, rel=0.01)


@pytest.mark.parametrize("differing", ["screen", "user"])
@pytest.mark.parametrize("kind", [WorldSandbox, Forgetful])
async def test_a_state_that_looks_different_is_marked(
    store: Store, kind: type[WorldSandbox], differing: str
) -> None:
    recorded = await walked(store, WALK)
    steps = list(recorded.steps)
    if differing == "screen":
        steps[3] = replace(steps[3], observation=steps[0].observation)
    else:
        steps[2] = replace(steps[2], answer="the user said something then")
    changed = replace(recorded, steps=tuple(steps))
    few = Continuing(continuations=2)
    found = await step_values(changed, sandbox=kind(), policy=Walker(), labeller="mc", continuing=few)
    assert [each.exact for each in found] == [True, True, False, False, False, False, False]


@pytest.mark.parametrize("kind", [WorldSandbox, Forgetful])
async def test_what_cannot_be_replayed_is_refused(store: Store, kind: type[WorldSandbox]) -> None:
    recorded = await walked(store, WALK)
    few = Continuing(continuations=1)
    longer = replace(recorded, steps=(*recorded.steps, replace(recorded.steps[0], index=len(WALK))))
    again = replace(recorded, steps=(replace(recorded.steps[0], answer=TRY_AGAIN), *recorded.steps[1:]))
    for strange in (longer, again, replace(recorded, end=None)):
        with pytest.raises(NotReplayable):
            await step_values(strange, sandbox=kind(), policy=Walker(), labeller="mc", continuing=few)


async def test_an_oracle_that_is_lost_does_not_win(store: Store) -> None:
    task = make_task("worlds/frozen-lake-4x4", 3)
    await run_episodes([Job(task=task)], source=Worlds(), policy=ScriptedPolicy(), sink=store)
    recorded = await store.trajectory((await store.trajectory_ids())[0], images=True)
    few = Continuing(continuations=1)
    found = await step_values(
        recorded, sandbox=WorldSandbox(), policy=ScriptedPolicy(), labeller="mc", continuing=few
    )
    assert {each.label for each in found} == {0.5}


@on_both
async def test_the_store_is_labelled_once_by_each_labeller_and_goes_on_after_deaths(store: Store) -> None:
    for ways in (WALK, "rrr", "lllllll"):
        await walked(store, ways)
    few = LabelSettings(continuing=Continuing(continuations=3), concurrency=2, limit=2)
    name = labeller_of("walker", few.continuing)
    told: list[tuple[int, int]] = []
    dying = Worlds(deaths=2)
    done = await label_store(
        store, policy=Walker(), source=dying, labeller=name, settings=few,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert (done.trajectories, done.steps, done.inexact, dict(done.left_out)) == (2, 10, 0, {})
    assert told == [(1, 2), (2, 2)] and dying.made == 4
    oldest = (await store.trajectory_ids())[0]
    assert await store.unlabelled(name) == (oldest,)
    rest = await label_store(store, policy=Walker(), source=Worlds(), labeller=name, settings=few)
    assert (rest.trajectories, rest.steps) == (1, len(WALK))
    assert await store.unlabelled(name) == () and len(await store.unlabelled("mc1:other:3")) == 3
    kept = await store.step_values(labeller=name, trajectory_ids=[oldest])
    assert [each.step_index for each in kept] == list(range(len(WALK)))
    # what never works is left out and named
    dead = await label_store(store, policy=Walker(), source=Worlds(deaths=99), labeller="mc1:other:3")
    assert dead.trajectories == 0 and dead.left_out == {"broke: died as the test says": 3}


@on_both
async def test_labelling_that_goes_on_labels_no_more_than_it_was_to(store: Store) -> None:
    """Cut off after one of two episodes it labels the other, whatever came into the store since."""
    for ways in ("rrr", "rlrrr", "lrrrr"):
        await walked(store, ways)
    first, second, third = began = await store.unlabelled("mc1:w:1")
    one, two = (LabelSettings(continuing=Continuing(continuations=1), limit=limit) for limit in (1, 2))
    told = {"policy": Walker(), "source": Worlds(), "labeller": "mc1:w:1", "among": began}
    await label_store(store, settings=one, **told)
    assert await store.unlabelled("mc1:w:1") == (first, second)
    await walked(store, "rrr")
    for _ in range(2):  # and once more after it had ended
        await label_store(store, settings=two, **told)
        assert [each for each in began if each not in await store.unlabelled("mc1:w:1")] == [second, third]
    assert len(await store.unlabelled("mc1:w:1")) == 2


@pytest.mark.parametrize("kind", [WorldSandbox, Forgetful])
async def test_the_value_of_a_start_is_found_once_for_all_its_episodes(
    store: Store, kind: type[WorldSandbox]
) -> None:
    ids = [(await walked(store, ways)).id for ways in ("rrr", "lrrrr", "rrr", "lllllll")]
    async with asyncio.timeout(60):
        walker = Walker()
        settings = LabelSettings(continuing=Continuing(continuations=20), concurrency=3)
        done = await label_store(
            store, policy=walker, source=Worlds(kind), labeller="mc1:w:20", settings=settings
        )
    assert (done.trajectories, done.steps) == (4, 3 + 4 + 3 + 7) and walker.starts == 20
    kept = await store.step_values(labeller="mc1:w:20", trajectory_ids=ids)
    firsts = {(each.before, each.before_error) for each in kept if each.step_index == 0}
    assert len(firsts) == 1 and {each.trajectory_id for each in kept} == set(ids)


async def test_all_workers_go_on_once_the_start_is_known(store: Store) -> None:
    """One start alone: while its value is found nothing else can be done, and then everything at once."""
    for _ in range(6):
        await walked(store, "rrr")

    class Counted(Walker):
        at_once = most = 0

        async def act(self, context: Context) -> Decision:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            await asyncio.sleep(0.02)
            self.at_once -= 1
            return await super().act(context)

    walker, settings = Counted(), LabelSettings(continuing=Continuing(continuations=5), concurrency=4)
    done = await label_store(store, policy=walker, source=Worlds(), labeller="mc1:w:5", settings=settings)
    assert done.trajectories == 6 and walker.starts == 5 and walker.most > 1


async def test_another_limit_is_another_start(store: Store) -> None:
    for turns in (3, TURNS):
        task = replace(chain(), limits=replace(chain().limits, turns=turns))
        await run_episodes([Job(task=task)], source=Worlds(), policy=Scripted("lllllll"), sink=store)
    walker = Walker()
    settings = LabelSettings(continuing=Continuing(continuations=5))
    await label_store(store, policy=walker, source=Worlds(), labeller="mc1:w:5", settings=settings)
    assert walker.starts == 10


async def test_where_the_first_of_a_start_cannot_be_labelled_the_next_finds_its_value(store: Store) -> None:
    for _ in range(3):
        await walked(store, "rrr")
    walker, settings = Walker(), LabelSettings(continuing=Continuing(continuations=5), retries=0)
    done = await label_store(
        store, policy=walker, source=Worlds(deaths=1), labeller="mc1:w:5", settings=settings
    )
    assert done.trajectories == 2 and done.left_out == {"broke: died as the test says": 1}
    assert walker.starts == 5


@on_both
async def test_an_episode_that_cannot_be_read_or_replayed_is_left_out_and_counted(store: Store) -> None:
    for ways in ("rrr", "rlrrr"):
        await walked(store, ways)
    good, longer = await store.trajectory_ids()
    recorded = await store.trajectory(good, images=True)
    start = replace(recorded.start, id="f" * 32)
    await store.begin(start)
    for index in range(4):  # one more than lead to the flag
        await store.step(start.id, replace(recorded.steps[min(index, 2)], index=index))
    assert recorded.end is not None
    await store.end(start.id, recorded.end)
    async with store.database.write() as connection:
        broken = text("UPDATE steps SET step = '{}' WHERE trajectory_id = :id AND step_index = 1")
        await connection.execute(broken, {"id": longer})
    few, told = LabelSettings(continuing=Continuing(continuations=1), limit=1), list[tuple[int, int]]()
    done = await label_store(
        store, policy=Walker(), source=Worlds(), labeller="mc1:w:1", settings=few,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    # though they are the newest they are not in its way
    assert (done.trajectories, done.steps) == (1, 3) and told == [(1, 2), (2, 3), (3, 3)]
    assert done.left_out == {"cannot be replayed": 1, "cannot be read: MalformedRecord": 1}


@pytest.mark.parametrize(
    "missing",
    [BackendMissing("a world needs luck"), UnknownName("kind of sandbox", "world", ["fake"])],
    ids=["backend", "kind"],
)
async def test_an_episode_that_cannot_be_played_here_ends_not_the_others(
    store: Store, missing: SandboxError
) -> None:
    for ways in ("rrr", "rlrrr"):
        await walked(store, ways)

    class Lacking(Worlds):
        """Of the first few episodes nobody has the sandbox."""

        @asynccontextmanager
        async def lease(
            self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
        ) -> AsyncGenerator[Sandbox]:
            if self._deaths:
                self._deaths -= 1
                raise missing
            async with super().lease(kind, owner=owner, wait_s=wait_s, labels=labels) as sandbox:
                yield sandbox

    few = LabelSettings(continuing=Continuing(continuations=1), concurrency=1, limit=1)
    told: dict[str, Any] = {"policy": Walker(), "labeller": "mc1:w:1", "settings": few}
    done = await label_store(store, source=Lacking(deaths=1), **told)
    # though it is the newest it is not in the other's way
    assert (done.trajectories, done.left_out) == (1, {f"cannot be played here: {missing}": 1})
    with pytest.raises(type(missing)):
        await label_store(store, source=Lacking(deaths=99), **told)


@on_both
async def test_episodes_that_are_dropped_meanwhile_are_passed_over(store: Store) -> None:
    for ways in ("rrr", "rlrrr"):
        await walked(store, ways)

    class Dropping(Walker):
        async def act(self, context: Context) -> Decision:
            if self.starts == 0:
                all_of_them = RetentionRule(drop=(Drop(older_than_days=0.0),))
                assert len((await collect(store, all_of_them, apply=True)).trajectories) == 2
            return await super().act(context)

    few = LabelSettings(continuing=Continuing(continuations=1), concurrency=1)
    done = await label_store(store, policy=Dropping(), source=Worlds(), labeller="mc1:w:1", settings=few)
    assert done.trajectories == 0 and done.left_out == {"dropped meanwhile": 2}


async def test_a_browser_replays(store: Store) -> None:
    """Real pages, which keep no snapshots: the recorded clicks lead where they led."""
    task = make_task("miniwob/click-button-sequence", 0)
    async with SandboxManager({"browser": PoolSettings(max_sandboxes=2)}) as source:
        await run_episodes([Job(task=task)], source=source, policy=ScriptedPolicy(), sink=store)
        settings = LabelSettings(continuing=Continuing(continuations=2))
        async with asyncio.timeout(300):
            done = await label_store(
                store, policy=ScriptedPolicy(), source=source, labeller="mc1:oracle:2", settings=settings
            )
    assert (done.trajectories, done.steps, done.inexact) == (1, 2, 0)
    assert {(each.before, each.after) for each in await store.step_values()} == {(1.0, 1.0)}
