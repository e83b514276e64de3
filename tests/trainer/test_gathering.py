"""A loop killed and resumed over a store of which some is damaged: it goes without, and says so."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sqlalchemy import func

from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel import tables
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import Split
from deskhand_trainer import gathering
from deskhand_trainer.admission import loop_seeds
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.curriculum import TaskRecord
from deskhand_trainer.curriculum_config import CurriculumConfig
from deskhand_trainer.errors import RolloutsStalled, RunRefused
from deskhand_trainer.evaluation import evaluate
from deskhand_trainer.experts import experts
from deskhand_trainer.loop_state import Cursor, PpoSetting, loop_metrics
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.rollouts import Collected, collect_or_reuse, jobs_of, readable, seed_ranges
from deskhand_trainer.streaming import StreamState, drawn_by

SPOT, GAME = "fake/spot", "worlds/tic-tac-toe"
CONFIG = PpoConfig(
    tasks=(SPOT,), iterations=2, episodes_per_iteration=8, minibatch=8, validation_episodes=4,
    evaluate_every=9, concurrency=4, max_tokens=12, threads=1,
    value_pretraining=ValuePretrainingConfig(enabled=False),
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("unexamined")
Make = Callable[..., PpoLoop]


@pytest.fixture
def make(store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path) -> Make:
    """The loop of a process of its own: no picture is remembered."""

    def made(**changes: Any) -> PpoLoop:
        fresh = Store(store.database, BlobStore(f"file://{tmp_path}/blobs"))
        reporter = Reporter(store, subject="run:r", folder=tmp_path / "board")
        (tmp_path / "run").mkdir(exist_ok=True)
        return PpoLoop(
            PpoSetting(
                run_id="r", config=replace(CONFIG, **changes), bundle=tiny.clone(), policy_id="tiny",
                store=fresh, source=spot, reporter=reporter,
                folder=tmp_path / "run", progress=lambda phase, done, total: None, labels={},
            )
        )  # fmt: skip

    return made


async def demonstrate(store: Store, spot: Any, oracle: Any, episodes: int) -> Collected:
    labels = {"purpose": "demonstration"}
    return await collect_or_reuse(
        jobs_of(seed_ranges((SPOT,), Split.TRAIN, episodes=episodes, offset=0), labels=labels),
        store=store,
        labels=labels,
        policy=oracle,
        source=spot,
        settings=WorkerSettings(concurrency=1, void_limit=1),
        owner="t",
    )


def flip(tmp_path: Path, trajectory: Trajectory) -> str:
    """Change a bit of the first picture of an episode; its digest."""
    digest = trajectory.steps[0].observation.screenshot.digest
    path = tmp_path / "blobs" / digest[:2] / digest
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    return digest


async def malform(store: Store, trajectory_id: str) -> None:
    steps = tables.steps
    async with store.database.write() as connection:
        of_it = steps.update().where(steps.c.trajectory_id == trajectory_id)
        await connection.execute(of_it.values(step=func.substr(steps.c.step, 1, 20)))


async def spoil(store: Store, tmp_path: Path, chosen: TrajectoryFilter) -> set[str]:
    """Flip a picture and cut a record that is not of it; the episodes that cannot be read any more."""
    found = [t async for t in store.each_trajectory(await store.trajectory_ids(chosen))]
    flipped = flip(tmp_path, found[0])
    of_it = {t.id for t in found if any(step.observation.screenshot.digest == flipped for step in t.steps)}
    cut = next(t.id for t in found if t.id not in of_it)
    await malform(store, cut)
    return {*of_it, cut}


async def alarms(store: Store) -> list[dict[str, Any]]:
    events = await store.events_after(0)
    return [dict(e.data) for e in events if e.name == "unreadable_episodes"]


def dying(loop: PpoLoop, monkeypatch: pytest.MonkeyPatch, *, at: int) -> list[set[str]]:
    """Kill the loop before it learns from its n-th batch; what it had of each."""
    learn, had = loop._learn, list[set[str]]()  # pyright: ignore[reportPrivateUsage]

    async def dies(collected: Any, lr: float) -> Any:
        had.append({t.id for t in collected.trajectories})
        if len(had) == at:
            raise KeyboardInterrupt
        return await learn(collected, lr)

    monkeypatch.setattr(loop, "_learn", dies)
    return had


@pytest.mark.parametrize("rollouts", ["batch", "stream"])
async def test_a_resumed_loop_runs_again_what_cannot_be_read(
    make: Make, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rollouts: str
) -> None:
    loop = make(rollouts=rollouts)
    had = dying(loop, monkeypatch, at=2)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    of_the_last = {"stage": "stream"} if rollouts == "stream" else {"iteration": "1"}
    damaged = await spoil(store, tmp_path, TrajectoryFilter(labels={"run": "r", **of_the_last}))
    if rollouts == "stream":
        # what was learned from is not read again
        damaged -= had[0]
        assert damaged
    resumed = make(rollouts=rollouts)
    learned = dying(resumed, monkeypatch, at=0)
    outcome = await resumed.train()
    assert (outcome.metrics["iterations"], outcome.metrics["left_out"]) == (2, len(damaged))
    assert len(learned) == 1 and len(learned[0]) == 8 and not learned[0] & damaged
    if rollouts == "batch":
        assert had[1] - damaged <= learned[0]
    (alarm,) = await alarms(store)
    assert alarm["count"] == len(damaged) and set(alarm["why"]) <= damaged
    # what was counted stays counted, once
    again = make(rollouts=rollouts)
    assert set(again.cursor.unreadable) == damaged


@pytest.mark.parametrize("lr", [CONFIG.lr, 2 * CONFIG.lr])
async def test_of_iterations_that_are_done_again_what_the_same_weights_drew_is_reused(
    make: Make, monkeypatch: pytest.MonkeyPatch, lr: float
) -> None:
    """Killed in the third iteration, all of whose weights but the first are in no checkpoint."""
    # where all fail nothing else moves the policy
    changes: dict[str, Any] = {
        "iterations": 3, "minutes": 0.0, "checkpoint_every": 9, "entropy_coef": 0.01,
        "advantage": "return", "normalisation": "none",
    }  # fmt: skip
    loop = make(**changes)
    had = dying(loop, monkeypatch, at=3)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    resumed = make(**changes, lr=lr)
    assert resumed.cursor.iteration == 0
    learned = dying(resumed, monkeypatch, at=0)
    await resumed.train()
    assert learned[0] == had[0]
    if lr == CONFIG.lr:
        assert learned == had
    else:
        assert not (learned[1] | learned[2]) & (had[1] | had[2])


async def test_what_other_weights_of_the_same_number_drew_is_stale_in_a_resumed_stream(make: Make) -> None:
    """Ratios of such turns are taken to what those weights said of them, not to what the policy says."""
    drawn: list[dict[str, set[int]]] = []
    # the first two are the same weights, the third others of the same number of updates
    for scale in (1.0, 1.0, 1.01):
        loop = make(rollouts="stream")
        loop.learner.updates = 3
        with torch.no_grad():
            for _, parameter in loop.model.actor_parameters():
                parameter.mul_(scale)
        loop.engine.update_weights(loop.company.publish(), update=3)
        collected = await loop.gather.iteration()
        await loop.gather.close()
        loop.engine.close()
        drawn.append({t.id: set(drawn_by(t)) for t in collected.trajectories})
    first, second, third = drawn
    assert set().union(*first.values(), *second.values()) == {3}
    assert first.keys() & second.keys() and first.keys() & third.keys()
    assert all(third[each] == {2} for each in third.keys() & first.keys())


async def test_a_resumed_stream_leaves_out_what_lost_weights_drew(make: Make) -> None:
    lives: list[set[str]] = []
    # the first dies before the checkpoint of its fifth update, and none is there
    for update in (5, 0, 0):
        loop = make(rollouts="stream")
        loop.learner.updates = update
        loop.engine.update_weights(loop.company.publish(), update=update)
        collected = await loop.gather.iteration()
        await loop.gather.close()
        loop.engine.close()
        lives.append({t.id for t in collected.trajectories})
    first, second, third = lives
    assert len(second) == 8 and not first & second
    assert second & third


async def test_a_resumed_stream_reads_what_nobody_learned_from_and_no_more(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run's episodes, with their pictures, fit into no memory."""
    loop = make(rollouts="stream", iterations=4)
    had = dying(loop, monkeypatch, at=3)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    asked: list[str] = []

    async def reading(store: Store, ids: Sequence[str]) -> tuple[list[Trajectory], dict[str, str]]:
        asked.extend(ids)
        return await readable(store, ids)

    monkeypatch.setattr(gathering, "readable", reading)
    resumed = make(rollouts="stream", iterations=4)
    await resumed.gather.iteration()
    await resumed.gather.close()
    resumed.engine.close()
    assert had[2] <= set(asked) and not (had[0] | had[1]) & set(asked)


async def test_a_stored_success_that_cannot_be_read_is_replayed_no_more(make: Make, store: Store) -> None:
    loop = make(**{**method("dart").config, "rollouts": "batch", "group_size": 4})
    collected = await loop.gather.batch("rollout", 4)
    first, *others = [t.id for t in collected.trajectories]
    await malform(store, first)
    assert [t.id for t in await loop.gather.stored([first, *others])] == others
    assert loop.cursor.unreadable == [first]
    assert [t.id for t in await loop.gather.stored([first])] == []
    assert len(await alarms(store)) == 1
    loop.engine.close()


def test_every_iteration_of_a_curated_stream_has_all_tasks_by_their_shares(make: Make) -> None:
    often, seldom = "fake/press-button", "fake/never-done"
    loop = make(
        tasks=(often, SPOT, seldom), rollouts="stream", curate=True, group_size=4, episodes_per_iteration=20
    )
    loop.cursor.tasks = {often: TaskRecord(success=1.0)}
    jobs = [loop.gather._jobs_of_start(number)[0] for number in range(15)]  # pyright: ignore[reportPrivateUsage]
    played = [Counter(job.task.id for job in jobs[begin : begin + 5]) for begin in (0, 5, 10)]
    assert played == [Counter({often: 1, SPOT: 2, seldom: 2})] * 3
    # fewer start states in an iteration than tasks: all have their turn nevertheless
    few = make(tasks=(often, SPOT, seldom), rollouts="stream", curate=True, group_size=8)
    jobs = [few.gather._jobs_of_start(number)[0] for number in range(3)]  # pyright: ignore[reportPrivateUsage]
    assert {job.task.id for job in jobs} == {often, SPOT, seldom}
    loop.engine.close()
    few.engine.close()


async def test_a_store_that_fails_ends_a_resumed_loop(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = make()
    dying(loop, monkeypatch, at=1)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    resumed = make()

    async def refuses(digest: str) -> bytes:
        raise StoreUnavailable("not now")

    monkeypatch.setattr(resumed.s.store.blobs, "get", refuses)
    with pytest.raises(StoreUnavailable):
        await resumed.train()


async def test_demonstrations_that_cannot_be_read_are_passed_over(
    make: Make, store: Store, spot: Any, spot_oracle: Any
) -> None:
    shown = await demonstrate(store, spot, spot_oracle, 5)
    ids = await store.trajectory_ids()
    for name in (ids[0], ids[3]):
        await malform(store, name)
    loop = make(rollouts="recorded")
    first, found = 0, list[list[int]]()
    for _ in range(3):
        read, first = await experts(ids, loop.gather._readable, first=first, count=2)  # pyright: ignore[reportPrivateUsage]
        found.append([ids.index(t.id) for _, t in read])
        assert [number % len(ids) for number, _ in read] == found[-1]
    assert found == [[1, 2], [4, 1], [2, 4]]
    many, _ = await experts(ids, loop.gather._readable, first=first, count=9)  # pyright: ignore[reportPrivateUsage]
    assert {ids.index(t.id) for _, t in many} == {1, 2, 4} and len(many) == 9
    await loop.gather.iteration()
    assert loop.cursor.unreadable == [ids[0], ids[3]] and len(shown.trajectories) == 5
    assert loop.cursor.learned_from == [ids[1], ids[2], ids[4]]
    for name in (ids[1], ids[2], ids[4]):
        await malform(store, name)
    with pytest.raises(RunRefused, match="none of the 5 demonstrations can be read"):
        await loop.gather.iteration()

    async def choose(chosen: TrajectoryFilter) -> list[str]:
        return [each for each in await store.trajectory_ids(chosen) if each in (ids[2], ids[4])]

    loop.gather._s = replace(loop.s, choose=choose)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(RunRefused, match="none of the 2 demonstrations can be read"):
        await loop.gather.iteration()
    loop.engine.close()


@pytest.mark.parametrize("rollouts", ["batch", "stream"])
async def test_the_critic_is_fitted_to_as_many_attempts_as_the_loop_plays(
    make: Make, monkeypatch: pytest.MonkeyPatch, rollouts: str
) -> None:
    """Where later attempts count, a first one is worth more than in an episode of it alone."""
    told: dict[str, tuple[int, bool]] = {}

    async def notes(jobs: Any, *, labels: Any, settings: WorkerSettings, **_: Any) -> Collected:
        told[labels["stage"]] = settings.attempts, settings.branching is not None
        stats: Any = None
        return Collected(trajectories=(), dropped={}, stats=stats)

    monkeypatch.setattr("deskhand_trainer.gathering.collect_or_reuse", notes)
    loop, branching = make(rollouts=rollouts, attempts=3), make(branches=2)
    await loop.gather.played("value_pretraining", 8)
    assert told == {"value_pretraining": (3, False)}
    await branching.gather.played("value_pretraining", 8)
    await branching.gather.iteration()
    assert told == {"value_pretraining": (1, False), "rollout": (1, True)}
    loop.engine.close()
    branching.engine.close()


async def test_the_critic_is_fitted_to_what_the_loop_learns_from_where_that_needs_no_sandbox(
    make: Make, store: Store, spot: Any, spot_oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {"purpose": "demonstration"}
    await collect_or_reuse(
        jobs_of(seed_ranges((SPOT,), Split.TRAIN, episodes=2, offset=0), labels=labels),
        store=store, labels=labels, policy=spot_oracle, source=spot,
        settings=WorkerSettings(concurrency=1, void_limit=1), owner="t",
    )  # fmt: skip
    monkeypatch.setattr(spot, "lease", None)
    recorded = make(rollouts="recorded", group_size=2)
    beside = await recorded.gather.played("value_pretraining", 5)
    assert len(beside.trajectories) == 6 and {t.start.task.id for t in beside.trajectories} == {SPOT}
    games = make(rollouts="self_play", tasks=(GAME,))
    sides = await games.gather.played("value_pretraining", 3)
    assert {t.start.task.seed for t in sides.trajectories} == {0, 1}
    assert {t.start.task.id for t in sides.trajectories} <= {f"{GAME}:X", f"{GAME}:O"}
    act, failures = recorded.gather._policy.act, 1  # pyright: ignore[reportPrivateUsage]

    async def fails_once(context: Context) -> Decision:
        nonlocal failures
        if failures:
            failures -= 1
            raise InferenceTimeout("too late")
        return await act(context)

    monkeypatch.setattr(recorded.gather._policy, "act", fails_once)  # pyright: ignore[reportPrivateUsage]
    fewer = await recorded.gather.played("rollout", 4)
    assert len(fewer.trajectories) == 3 and fewer.dropped == {"model_timeout": 1}
    recorded.engine.close()
    games.engine.close()


@pytest.mark.parametrize(
    ("changes", "starts"), [({"advantage": "grpo", "normalisation": "none"}, 3), ({"advantage": "turn"}, 2)]
)
async def test_a_stream_waits_for_groups_of_which_something_is_left_to_compare(
    make: Make, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], starts: int
) -> None:
    loop = make(rollouts="stream", group_size=4, **changes)
    seen = Counter[str]()

    def age(trajectory: Trajectory) -> int:
        """Of the first start state that comes all episodes but one are too old."""
        start = trajectory.start.labels["start"]
        seen[start] += 1
        return 9 if start == next(iter(seen)) and seen[start] > 1 else 0

    monkeypatch.setattr(loop.gather, "_staleness", age)
    collected = await loop.gather.iteration()
    await loop.gather.close()
    loop.engine.close()
    assert len(seen) == starts and collected.dropped == {"stale": 3}
    assert len(collected.trajectories) == 4 * starts - 3


async def test_what_the_trainer_has_scored_holds_up_no_step_of_an_episode(make: Make) -> None:
    loop, asked, ends = make(stop_below=0.5, stop_after=1), asyncio.Event(), threading.Event()
    events = asyncio.get_running_loop()

    class Busy:
        def turn_scores(self, turns: Sequence[Any]) -> list[float]:
            if len(turns) > 1:
                events.call_soon_threadsafe(asked.set)
                assert ends.wait(60)
            return [0.25] * len(turns)

    gather, model = loop.gather, Busy()
    (played,) = (await gather.batch("rollout", 1)).trajectories
    gather._s = replace(gather._s, reward_model=model)  # pyright: ignore
    watcher = gather._watcher()  # pyright: ignore[reportPrivateUsage]
    assert watcher is not None
    judging = asyncio.create_task(gather.scoring.run(model.turn_scores, [0, 1]))
    await asked.wait()
    async with asyncio.timeout(60):
        assert await watcher().doomed(played.steps[:1])
    assert not judging.done()
    ends.set()
    assert await judging == [0.25, 0.25]
    await gather.close()
    loop.engine.close()


async def test_a_stream_leaves_its_sandboxes_to_validation(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are as many as it has episodes at once: validation would get none."""
    goes_on: list[bool] = []

    async def evaluate(loop: PpoLoop) -> None:
        loop.cursor.best = 0.0
        if (stream := loop.gather._stream) is not None:  # pyright: ignore[reportPrivateUsage]
            goes_on.append(stream._goes_on.is_set())  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(PpoLoop, "_evaluate", evaluate)
    outcome = await make(rollouts="stream", evaluate_every=1).train()
    assert outcome.metrics["iterations"] == 2
    assert goes_on == [False, False]


async def test_validation_waits_for_a_sandbox_as_long_as_an_episode_may_have_it(
    make: Make, spot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, waits, sink = spot.lease, list[float](), MemorySink()

    def noted(kind: str, *, owner: str, wait_s: float) -> Any:
        waits.append(wait_s)
        return lease(kind, owner=owner, wait_s=wait_s)

    monkeypatch.setattr(spot, "lease", noted)
    loop = make()
    got = await evaluate(
        (SPOT,),
        mode="greedy",
        policy=loop.greedy,
        source=spot,
        sink=sink,
        split=Split.VALIDATION,
        episodes=2,
        offset=0,
        concurrency=2,
        labels={},
        owner="t",
        void_limit=9,
    )
    loop.engine.close()
    assert got[0].rate.count == 2
    limit_s = max(t.start.task.limits.seconds for t in sink.trajectories)
    assert min(waits) == limit_s + WorkerSettings().lease_wait_s


async def test_what_an_earlier_life_did_counts_where_too_much_breaks(
    store: Store, spot: Any, spot_oracle: Any
) -> None:
    async def life(count: int, *, breaks: int = 0) -> Collected:
        spot.breaks = breaks
        return await collect_or_reuse(
            jobs_of(seed_ranges((SPOT,), Split.TRAIN, episodes=count, offset=0), labels={"run": "r"}),
            store=store,
            labels={"run": "r"},
            policy=spot_oracle,
            source=spot,
            settings=WorkerSettings(concurrency=1, backoff_s=0.001),
            owner="t",
            on_done=done.append,
        )

    done: list[int] = []
    await life(3)
    got = await life(4, breaks=3)
    assert (len(got.trajectories), got.reused, got.dropped) == (3, 3, {"sandbox_died": 3})
    with pytest.raises(RolloutsStalled, match="only 3 of 7 episodes came to a verdict"):
        await life(7, breaks=99)
    assert done == [1, 2, 3, 4, 4, 5, 6, 7]


def test_seeds_learned_from_out_of_turn_are_within_the_range_that_is_told() -> None:
    """What was trained on is kept with the policy: a later run may begin behind it."""
    cursor = Cursor(seeds_used=3, stream=StreamState(first=2, beyond=[4, 7]))
    told: Any = loop_metrics(cursor, loop_seeds((SPOT,), probe=False), CONFIG)["train_seeds"]
    assert (told["offset"], told["count"]) == (0, 3 + 8)
    cursor.stream = StreamState(first=2)
    told = loop_metrics(cursor, loop_seeds((SPOT,), probe=False), CONFIG)["train_seeds"]
    assert told["count"] == 3 + 2


@pytest.mark.parametrize("rollouts", ["recorded", "self_play"])
def test_no_seeds_are_told_where_none_are_counted(rollouts: Any) -> None:
    """What is counted there are experts' episodes and games: a range of train seeds would be false."""
    found = loop_metrics(
        Cursor(seeds_used=3), loop_seeds((SPOT,), probe=False), replace(CONFIG, rollouts=rollouts)
    )
    assert "train_seeds" not in found and "validation_seeds" in found


async def test_a_groups_episodes_stand_in_one_order_whether_played_or_taken_from_the_store(
    store: Store, spot: Any, spot_oracle: Any
) -> None:
    """Training on them again is then the same to the bit, as the number of the weights it comes to says."""

    async def life() -> list[str]:
        ranges = seed_ranges((SPOT,), Split.TRAIN, episodes=2, offset=0)
        got = await collect_or_reuse(
            jobs_of(ranges, labels={"run": "r"}, group_size=4), store=store, labels={"run": "r"},
            policy=spot_oracle, source=spot, settings=WorkerSettings(concurrency=4), owner="t",
        )  # fmt: skip
        return [t.id for t in got.trajectories]

    played = await life()
    assert len(set(played)) == 8
    assert await life() == played


async def test_single_replies_come_before_whole_episodes(
    make: Make, store: Store, spot: Any, spot_oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = await demonstrate(store, spot, spot_oracle, 3)
    loop = make(
        advantage="grpo", normalisation="none", ratio="token", group_size=4, iterations=3, minutes=0.0,
        evaluate_every=9, curriculum=CurriculumConfig(format=1, single_step=1), turn_limits=(1,),
    )  # fmt: skip
    learned: list[tuple[set[str], bool]] = []
    gathered = loop.gather.iteration

    async def iteration() -> Collected:
        assert (loop.cursor.seeds_used, loop.cursor.tasks) == (0, {})
        found = await gathered()
        kept = set(await store.trajectory_ids())
        learned.append(
            ({t.id for t in found.trajectories} & kept, all(len(t.steps) == 1 for t in found.trajectories))
        )
        return found

    monkeypatch.setattr(loop.gather, "iteration", iteration)
    await loop.train()
    replies, whole = learned[:2], learned[2]
    assert replies == [(set(), True)] * 2
    assert len(whole[0]) == loop.config.episodes_per_iteration
    assert list(loop.cursor.tasks) == [SPOT] and loop.cursor.seeds_used > 0
    assert loop.cursor.learned_from == sorted(t.id for t in shown.trajectories)
