"""What is trained on: never held-out tasks or seeds, and something always kept to measure on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func

from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel import tables
from deskhand_flywheel.errors import (
    FlywheelError,
    MalformedRecord,
    NoLabels,
    RecordError,
    UnknownSchemaVersion,
)
from deskhand_flywheel.prm.targets import StepTarget
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, StepValue, TrajectoryFilter
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Press, Split, Task
from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.keeping import trained_on, was_trained_on
from deskhand_trainer.prm.material import (
    measuring_material,
    part,
    refuse_one_kind,
    training_material,
    unit_name,
)

LABELLED = ScoreConfig(labels=("monte-carlo",))
OUTCOMES = ScoreConfig(labels=("outcome",))
HELD_OUT = "miniwob/click-menu"


class Right:
    id = "right"

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Press(keys=("ArrowRight",)),), text="press(key='ArrowRight')")


def chain(name: str, seed: int) -> Task:
    """The chain under another name."""
    return replace(make_task("worlds/chain", seed), id=name)


@pytest.fixture
async def walks(store: Store) -> list[Trajectory]:
    """Labelled walks: two starts of five tasks, one of them held out, and a test seed."""
    train = seeds("worlds/chain", Split.TRAIN, 2)
    tasks = [chain(f"worlds/chain-{n}", seed) for n in range(4) for seed in train]
    jobs = [Job(task=task, split=Split.TRAIN) for task in tasks]
    jobs += [Job(task=chain(HELD_OUT, 0), split=Split.TEST), Job(task=chain(HELD_OUT, 1), split=Split.TRAIN)]
    jobs += [Job(task=chain("worlds/chain-0", 99), split=Split.TEST)]
    async with SandboxManager({"world": PoolSettings(max_sandboxes=1)}) as source:
        await run_episodes(jobs, source=source, policy=Right(), sink=store, concurrency=1)
    found = [t async for t in store.each_trajectory(await store.trajectory_ids())]
    await store.add_step_values(
        StepValue(
            trajectory_id=t.id, step_index=0, labeller="mc", before=0.5, before_error=0.1, after=float(n % 2),
            after_error=0.1, continuations=9, exact=True,
        )
        for n, t in enumerate(found)
    )  # fmt: skip
    return found


async def test_held_out_tasks_and_seeds_are_never_trained_on(store: Store, walks: list[Trajectory]) -> None:
    material = await training_material(store, LABELLED)
    assert {t.start.task.id for t in material.trajectories} == {f"worlds/chain-{n}" for n in range(4)}
    assert all(t.start.split is Split.TRAIN for t in material.trajectories)
    fewer = await training_material(store, replace(LABELLED, leave_out=("worlds/chain-1",)))
    assert len(fewer.trajectories) == 6
    every = await measuring_material(store, LABELLED, TrajectoryFilter())
    assert len(every.trajectories) == len(walks) and len(every.targets) == len(walks)
    newest = await training_material(store, replace(LABELLED, max_trajectories=4))
    assert len(newest.trajectories) == 4
    nobody = await training_material(store, replace(LABELLED, labels=("human",)))
    assert nobody.trajectories == () and nobody.targets == {}


async def test_a_run_of_a_round_learns_from_its_folders_alone(store: Store, walks: list[Trajectory]) -> None:
    """Not from what other homes played; of runs that are named, the folder is their own."""
    whole = await store.trajectory(walks[0].id, images=True)
    start = replace(whole.start, id="ff", labels={"folder": "stamp", "run": "named"})
    await store.add_trajectory(replace(whole, start=start))
    for config, folders, ids in (
        (OUTCOMES, ("stamp",), ["ff"]),
        (OUTCOMES, (), []),
        (replace(OUTCOMES, runs=("named",)), ("another",), ["ff"]),
    ):

        async def choose(chosen: TrajectoryFilter, folders: tuple[str, ...] = folders) -> tuple[str, ...]:
            return await store.trajectory_ids(replace(chosen, folders=folders))

        material = await training_material(store, config, choose=choose)
        assert [each.id for each in material.trajectories] == ids


async def test_a_judge_is_named_in_full_and_where_judges_are_asked(
    store: Store, walks: list[Trajectory]
) -> None:
    await store.add_scores(
        StepScore(trajectory_id=t.id, step_index=0, score=score, scorer=f"judge:{name}", scored_at_s=score)
        for t in walks[:2]
        for name, score in (("a@1", 0.0), ("b@1", 1.0))
    )
    for name, label in (("", 1.0), ("judge:a@1", 0.0)):
        config = parse_config(ScoreConfig, {"labels": ["judge"], "judge": name})
        material = await training_material(store, config)
        assert [target.label for target in material.targets.values()] == [label, label]
    for labels, name in ((["judge"], "a@1"), (["judge"], "human:ann"), (["monte-carlo"], "judge:a@1")):
        with pytest.raises(ConfigError, match="judge: ") as refused:
            parse_config(ScoreConfig, {"labels": labels, "judge": name})
        assert refused.value.field == "judge"


async def test_marks_of_an_episode_without_a_verdict_count_beside_outcomes(
    store: Store, walks: list[Trajectory]
) -> None:
    walk = await store.trajectory(walks[0].id, images=True)
    assert walk.end is not None
    unjudged = replace(walk, start=replace(walk.start, id="ff"), end=replace(walk.end, outcome=None))
    await store.add_trajectory(unjudged)
    await store.mark("ff", 0, "ada", 1.0, "good")
    material = await training_material(store, replace(OUTCOMES, labels=("human", "outcome")))
    assert [t.id for t in material.trajectories] == [*(t.id for t in walks[:8]), "ff"]
    assert [step for name, step in material.targets if name == "ff"] == [0]


async def test_episodes_that_cannot_be_read_are_left_out_and_told_of(
    store: Store, walks: list[Trajectory]
) -> None:
    ids = [t.id for t in walks]
    async with store.database.write() as connection:
        heads, steps = tables.trajectories, tables.steps
        await connection.execute(heads.update().where(heads.c.id == ids[0]).values(start="no JSON"))
        newer = func.replace(steps.c.step, '"schema_version":1', '"schema_version":9')
        await connection.execute(steps.update().where(steps.c.trajectory_id == ids[1]).values(step=newer))
    told: dict[str, FlywheelError] = {}
    for read, whole in (
        (partial(training_material, store, LABELLED), ids[2:8]),
        (partial(measuring_material, store, LABELLED, TrajectoryFilter()), ids[2:]),
        (partial(measuring_material, store, OUTCOMES, TrajectoryFilter()), ids[2:]),
    ):
        with pytest.raises(RecordError):
            await read()
        told.clear()
        material = await read(on_damaged=lambda name, why: told.update({name: why}))
        assert [t.id for t in material.trajectories] == whole
        assert {name for name, _ in material.targets} == set(whole)
        assert {name: type(why) for name, why in told.items()} == {
            ids[0]: MalformedRecord,
            ids[1]: UnknownSchemaVersion,
        }


@pytest.mark.parametrize("unit", ["task", "start", "trajectory"])
async def test_what_was_trained_on_takes_no_place_of_what_is_measured(
    store: Store, walks: list[Trajectory], unit: Any
) -> None:
    told: dict[str, Any] = {"unit": unit, "trained": sorted({unit_name(t, unit) for t in walks[4:-1]})}
    never = await trained_on(store, told, TrajectoryFilter())
    assert never == {t.id for t in walks if was_trained_on(told, t)}
    unseen = [t.id for t in (*walks[:4], walks[-1])]
    config = replace(LABELLED, max_trajectories=2)
    material = await measuring_material(store, config, TrajectoryFilter(), never=never)
    assert [t.id for t in material.trajectories] == unseen[-2:]
    assert (material.passed_over, material.cut) == (6, 3)
    assert len(await trained_on(store, {}, TrajectoryFilter())) == len(walks)


async def test_tasks_are_kept_whole_and_few_tasks_by_their_starts(walks: list[Trajectory]) -> None:
    trained = [t for t in walks if t.start.task.id != HELD_OUT]
    by_task = part(trained, share=0.2, seed=0)
    assert by_task.unit == "task" and len(by_task.trained) == 3
    assert not {t.start.task.id for t in by_task.held} & {t.start.task.id for t in by_task.train}
    one_task = [t for t in walks if t.start.task.id == "worlds/chain-0"]
    by_start = part(one_task, share=0.2, seed=0)
    assert by_start.unit == "start" and len(by_start.held) == 1
    same = part(
        [one_task[0], replace(one_task[0], start=replace(one_task[0].start, id="b"))], share=0.2, seed=0
    )
    assert same.unit == "trajectory" and len(same.held) == len(same.train) == 1
    told: dict[str, Any] = {"unit": by_task.unit, "trained": [*by_task.trained]}
    assert [was_trained_on(told, t) for t in trained] == [t in by_task.train for t in trained]
    assert all(was_trained_on({}, t) for t in trained)
    with pytest.raises(NoLabels, match="1 labelled episodes"):
        part(trained[:1], share=0.2, seed=0)


def test_one_kind_of_label_is_refused() -> None:
    def targets(*labels: float) -> dict[tuple[str, int], StepTarget]:
        return {
            ("a", n): StepTarget(trajectory_id="a", step_index=n, label=label, source="mc")
            for n, label in enumerate(labels)
        }

    refuse_one_kind(targets(0.4, 0.6))
    for none in (targets(), targets(0.5, 0.9), targets(0.1, 0.2)):
        with pytest.raises(NoLabels):
            refuse_one_kind(none)


async def test_seeds_of_a_task_with_one_start_are_kept_from_training_together(
    walks: list[Trajectory],
) -> None:
    """Each of them is the same start; older records named them by their seeds."""

    def of(place: int, task_id: str, seed: int) -> Trajectory:
        one = walks[place]
        return replace(one, start=replace(one.start, task=replace(one.start.task, id=task_id, seed=seed)))

    fixed = [of(n, "grown/one", n) for n in range(4)]
    parted = part([*fixed, of(4, "worlds/chain", 5)], share=0.5, seed=0)
    assert parted.unit == "start" and {len(parted.train), len(parted.held)} == {1, 4}
    assert part(fixed, share=0.5, seed=0).unit == "trajectory"
    for trained in (["grown/one"], ["grown/one#0"]):
        told: dict[str, Any] = {"unit": "start", "trained": trained}
        assert all(was_trained_on(told, each) for each in fixed)
        assert not was_trained_on(told, of(0, "grown/two", 0))
