"""Records that no store should hold do not come in: impossible numbers, other types, deep brackets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, write

from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.errors import DamagedInput, MalformedRecord
from deskhand_flywheel.exchange import export_trajectories, import_trajectories
from deskhand_flywheel.exchange.records import assembled
from deskhand_flywheel.records import loads
from deskhand_flywheel.store import Store
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds, split_of
from deskhand_sandbox.types import Outcome, Split

WHOLE = make_trajectory("e", end=make_end())
DEEP = 100_000
(TEST_SEED,) = seeds("miniwob/click-test", Split.TEST, 1)
HELD_OUT = min(HELD_OUT_TASKS)


def _with_step(**changed: object) -> Trajectory:
    return replace(WHOLE, steps=(make_step(0), replace(make_step(1), **changed)))


def _with_seed(seed: int) -> Trajectory:
    task = replace(WHOLE.start.task, seed=seed)
    return replace(WHOLE, start=replace(WHOLE.start, task=task, split=split_of(task.id, seed)))


def _with_score(score: float) -> Trajectory:
    return replace(WHOLE, end=replace(make_end(), outcome=Outcome(score=score, success=True)))


@pytest.mark.parametrize(("task_id", "seed"), [("miniwob/click-test", TEST_SEED), (HELD_OUT, 0)])
def test_what_is_held_out_does_not_come_in_as_training(task_id: str, seed: int) -> None:
    said = make_trajectory("e", task_id=task_id, seed=seed, end=make_end())
    assert said.start.split is Split.TRAIN
    assert assembled(said.start, said.steps, said.end, "file").start.split is Split.TEST
    assert assembled(WHOLE.start, WHOLE.steps, WHOLE.end, "file") == WHOLE


def _again(trajectory: Trajectory) -> Trajectory:
    return assembled(trajectory.start, trajectory.steps, trajectory.end, "here")


@pytest.mark.parametrize(
    ("trajectory", "said"),
    [
        (_with_score(math.nan), "the score is nan"),
        (_with_score(1.5), "the score is 1.5, not a number from 0 to 1"),
        (_with_score(-0.5), "the score is -0.5"),
        (_with_step(attempt_score=math.inf), "the score of the attempt up to step 1 is inf"),
        (_with_step(reward=math.nan), "the reward of step 1 is nan"),
        (_with_step(finished_at_s=math.inf), "a time of step 1 is inf, not a finite number"),
        (_with_step(timings=replace(make_step(1).timings, model_ms=math.nan)), "a time of step 1 is nan"),
        (
            _with_step(observation=replace(make_step(1).observation, captured_at_s=math.nan)),
            "a time of step 1 is nan",
        ),
        (
            replace(WHOLE, start=replace(WHOLE.start, started_at_s=math.nan)),
            "the time of its start is nan",
        ),
        (replace(WHOLE, end=replace(make_end(), ended_at_s=-math.inf)), "the time of its end is -inf"),
        (_with_seed(2**70), "has more than 64 bits"),
        (_with_seed(-(2**63) - 1), "has more than 64 bits"),
    ],
)
def test_numbers_that_no_episode_has_are_refused(trajectory: Trajectory, said: str) -> None:
    with pytest.raises(DamagedInput) as refused:
        _again(trajectory)
    assert said in refused.value.what


@pytest.mark.parametrize("episode", [_with_score(0.0), _with_seed(2**63 - 1), _with_seed(-(2**63)), WHOLE])
def test_those_at_the_bounds_are_not(episode: Trajectory) -> None:
    assert _again(episode) == episode


def test_a_record_of_deep_brackets_is_malformed() -> None:
    with pytest.raises(MalformedRecord, match="not readable"):
        loads(Step, "[" * DEEP)


async def test_conversations_of_deep_brackets_are_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text("[" * DEEP + "]" * DEEP)
    with pytest.raises(DamagedInput, match="no JSON"):
        await import_trajectories(store, tmp_path / "conversations.json")


def _as_text(table: pa.Table) -> pa.Table:
    return _column(table, "steps", pa.array([str(each) for each in table.column("steps").to_pylist()]))


def _as_numbers(table: pa.Table) -> pa.Table:
    return _column(table, "start", pa.array(range(table.num_rows)))


def _other_structs(table: pa.Table) -> pa.Table:
    return _column(table, "other_images", pa.array([["x"]] * table.num_rows))


def _column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_as_text, "the column steps is string, not int32"),
        (_as_numbers, "the column start is int64, not string"),
        (_other_structs, "the column other_images is list"),
    ],
)
async def test_columns_of_other_types_are_refused(
    played: Store, store: Store, tmp_path: Path, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    await write(played, WHOLE)
    await export_trajectories(played, ["e"], tmp_path / "out", "parquet")
    (path,) = (tmp_path / "out" / "trajectories").iterdir()
    pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(DamagedInput, match="nothing was imported") as refused:
        await import_trajectories(store, tmp_path / "out")
    assert said in refused.value.what
    assert await store.count_trajectories() == 0


async def test_columns_that_another_tool_widened_come_in(played: Store, store: Store, tmp_path: Path) -> None:
    await write(played, WHOLE)
    await export_trajectories(played, ["e"], tmp_path / "out", "parquet")
    (path,) = (tmp_path / "out" / "trajectories").iterdir()
    table = pq.read_table(path)
    for name, kind in (("steps", pa.int64()), ("start", pa.large_string())):
        table = _column(table, name, table.column(name).cast(kind))
    pq.write_table(table, path)
    await import_trajectories(store, tmp_path / "out")
    assert await store.trajectory("e") == WHOLE


async def test_nothing_comes_in_where_one_record_cannot(played: Store, store: Store, tmp_path: Path) -> None:
    for name in ("a", "b"):
        await write(played, make_trajectory(name, end=make_end()))
    await export_trajectories(played, ["a", "b"], tmp_path / "out", "ui-tars")
    lines = (tmp_path / "out" / "conversations.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    last["deskhand"]["start"]["record"]["task"]["seed"] = 2**70
    (tmp_path / "out" / "conversations.jsonl").write_text("\n".join([*lines[:-1], json.dumps(last)]))
    with pytest.raises(DamagedInput, match="64 bits"):
        await import_trajectories(store, tmp_path / "out")
    assert await store.count_trajectories() == 0
