"""Parquet that `datasets.load_dataset(FOLDER)` loads: a row per turn, and a row per episode.

    FOLDER/steps/train-00000.parquet           config "steps", the default
    FOLDER/trajectories/train-00000.parquet    config "trajectories"
    FOLDER/README.md                           says which is which, and the splits

Files of one number hold the same episodes, in the same order. Pictures are columns of type `Image`; what
the model was shown beside the screens (marked, cropped) is in `other_images` of its episode, once. Lists of
ids are there where the ids are known. `record`, `start` and `end` hold the store's records, by which it is
imported.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.errors import DamagedInput, ExchangeExtraMissing
from deskhand_flywheel.exchange.pictures import checked, data_of, file_name, other_pictures, with_pictures
from deskhand_flywheel.exchange.records import agree, in_order, read_scores, read_text
from deskhand_flywheel.exchange.types import Add, Format, Guidance, Recorded
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import dumps, encode_action
from deskhand_flywheel.types import StepScore
from deskhand_sandbox.types import Image, Split

STEPS, EPISODES = "steps", "trajectories"
SHARD_BYTES = 256 << 20
"""Of pictures in one file, after which the next is begun."""
GROUP_BYTES = 32 << 20
"""Of pictures in one row group, which is what a reader holds in memory."""
_BATCH = 64
Row = dict[str, Any]


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ExchangeExtraMissing(
            "Parquet needs the module 'pyarrow': pip install 'deskhand[exchange]'"
        ) from error
    return pyarrow, pyarrow.parquet


# ---- the columns ------------------------------------------------------------------------------------


def _schema(table: str) -> Any:
    """The columns of a table, with what `datasets` needs to know to see pictures in them."""
    pa, _ = _arrow()
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    score = pa.struct([("scorer", pa.string()), ("score", pa.float64()), ("rationale", pa.string())])
    episode = [("task_id", pa.string()), ("seed", pa.int64()), ("instruction", pa.string())]
    columns = {
        STEPS: [
            ("trajectory_id", pa.string()),
            ("step", pa.int32()),
            *episode,
            ("policy_id", pa.string()),
            ("screenshot", image),
            ("thought", pa.string()),
            ("text", pa.string()),
            ("actions", pa.list_(pa.string())),
            ("reward", pa.float64()),
            ("success", pa.bool_()),
            ("prompt_ids", pa.list_(pa.int32())),
            ("prompt_images", pa.list_(pa.string())),
            ("completion_ids", pa.list_(pa.int32())),
            ("logprobs", pa.list_(pa.float64())),
            ("trainable", pa.bool_()),
            ("scores", pa.list_(score)),
            ("record", pa.string()),
        ],
        EPISODES: [
            ("id", pa.string()),
            *episode,
            ("policy_id", pa.string()),
            ("group_id", pa.string()),
            ("labels", pa.string()),
            ("steps", pa.int32()),
            ("reward", pa.float64()),
            ("score", pa.float64()),
            ("success", pa.bool_()),
            ("stop_reason", pa.string()),
            ("final_screenshot", image),
            ("other_images", pa.list_(image)),
            ("start", pa.string()),
            ("end", pa.string()),
        ],
    }[table]
    features = {name: _feature(pa, kind, image) for name, kind in columns}
    return pa.schema(columns, metadata={"huggingface": json.dumps({"info": {"features": features}})})


def _feature(pa: Any, kind: Any, image: Any) -> Any:
    """A column's type in the words of `datasets`."""
    if kind == image:
        return {"_type": "Image"}
    if pa.types.is_list(kind):
        return {"feature": _feature(pa, kind.value_type, image), "_type": "List"}
    if pa.types.is_struct(kind):
        return {field.name: _feature(pa, field.type, image) for field in kind}
    names = {"double": "float64"}
    return {"dtype": names.get(str(kind), str(kind)), "_type": "Value"}


def _step_row(trajectory: Trajectory, step: Step, scores: list[StepScore]) -> Row:
    decision = step.decision
    request, completion = decision.request, decision.completion
    return {
        "trajectory_id": trajectory.id,
        "step": step.index,
        **_about(trajectory),
        "policy_id": column_text(trajectory.start.policy_id),
        "screenshot": _picture(step.observation.screenshot),
        "thought": None if decision.thought is None else column_text(decision.thought),
        "text": column_text(decision.text),
        "actions": [json.dumps(encode_action(action)) for action in decision.actions],
        "reward": step.reward,
        "success": _success(trajectory),
        "prompt_ids": request and list(request.prompt_ids),
        "prompt_images": request and [image.digest for image in request.images],
        "completion_ids": completion and list(completion.ids),
        "logprobs": completion and list(completion.logprobs),
        "trainable": decision.trainable,
        "scores": [
            {"scorer": s.scorer, "score": s.score, "rationale": s.rationale and column_text(s.rationale)}
            for s in scores
        ],
        "record": dumps(step),
    }


def _episode_row(trajectory: Trajectory) -> Row:
    end, start = trajectory.end, trajectory.start
    seen = end.final_observation if end else None
    return {
        "id": trajectory.id,
        **_about(trajectory),
        "policy_id": column_text(start.policy_id),
        "group_id": start.group_id,
        "labels": json.dumps(dict(start.labels)),
        "steps": len(trajectory.steps),
        "reward": sum(step.reward for step in trajectory.steps),
        "score": end.outcome.score if end and end.outcome else None,
        "success": _success(trajectory),
        "stop_reason": end and end.stop_reason.value,
        "final_screenshot": seen and _picture(seen.screenshot),
        "other_images": [_picture(image) for image in other_pictures(trajectory)],
        "start": dumps(start),
        "end": end and dumps(end),
    }


def _about(trajectory: Trajectory) -> Row:
    start = trajectory.start
    return {
        "task_id": column_text(start.task.id),
        "seed": start.task.seed,
        "instruction": column_text(start.instruction),
    }


def _success(trajectory: Trajectory) -> bool | None:
    return trajectory.end.outcome.success if trajectory.end and trajectory.end.outcome else None


def _picture(image: Image) -> Row:
    return {"bytes": data_of(image), "path": file_name(image)}


# ---- out --------------------------------------------------------------------------------------------


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """Files for each split that there are episodes of."""
    _arrow()
    for table in (STEPS, EPISODES):
        (folder / table).mkdir()
    shards: dict[Split, _Shards] = {}
    with ExitStack() as stack:

        def add(recorded: Recorded) -> None:
            split = recorded.trajectory.start.split
            if split not in shards:
                shards[split] = _Shards(folder, split)
                stack.callback(shards[split].close)
            shards[split].add(recorded)

        yield add
    (folder / "README.md").write_text(_readme(sorted(shards)))


class _Shards:
    """The files of one split."""

    def __init__(self, folder: Path, split: Split) -> None:
        self._folder, self._split = folder, split
        self._number, self._bytes = 0, 0
        self._tables: dict[str, _Table] = {}

    def add(self, recorded: Recorded) -> None:
        if self._bytes >= SHARD_BYTES:
            self.close()
            self._number, self._bytes = self._number + 1, 0
        if not self._tables:
            name = f"{self._split.value}-{self._number:05d}.parquet"
            self._tables = {table: _Table(self._folder / table / name, table) for table in (STEPS, EPISODES)}
        trajectory = recorded.trajectory
        said: dict[int, list[StepScore]] = {}
        for score in recorded.scores:
            said.setdefault(score.step_index, []).append(score)
        for step in trajectory.steps:
            self._put(STEPS, _step_row(trajectory, step, said.get(step.index, [])))
        self._put(EPISODES, _episode_row(trajectory))

    def close(self) -> None:
        for table in self._tables.values():
            table.close()
        self._tables = {}

    def _put(self, table: str, row: Row) -> None:
        self._bytes += self._tables[table].put(row)


class _Table:
    """One file, written a row group at a time."""

    def __init__(self, path: Path, table: str) -> None:
        self._arrow, parquet = _arrow()
        self._schema = _schema(table)
        self._file: Any = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._waiting = 0

    def put(self, row: Row) -> int:
        """Bytes of pictures in the row."""
        pictures = [row.get("screenshot"), row.get("final_screenshot"), *row.get("other_images", ())]
        size = sum(len(picture["bytes"]) for picture in pictures if picture)
        self._rows.append(row)
        self._waiting += size
        if self._waiting >= GROUP_BYTES:
            self._flush()
        return size

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._waiting = [], 0


def _readme(splits: list[Split]) -> str:
    lines = ["---", "configs:"]
    for table in (STEPS, EPISODES):
        lines += [
            f"- config_name: {table}",
            *(["  default: true"] if table == STEPS else []),
            "  data_files:",
        ]
        for split in splits:
            lines += [f"  - split: {split.value}", f"    path: {table}/{split.value}-*.parquet"]
    return "\n".join(
        [*lines, "---", "", "Trajectories of a Deskhand store: one row per turn, and per episode."]
    )


# ---- in ---------------------------------------------------------------------------------------------


def found(path: Path) -> bool:
    """Whether a folder holds both tables."""
    return any((path / STEPS).glob("*.parquet"))


def read_all(path: Path, guidance: Guidance) -> Iterator[Recorded]:
    """Every episode of a folder, file by file."""
    names = {table: {file.name for file in (path / table).glob("*.parquet")} for table in (STEPS, EPISODES)}
    for name in sorted(names[STEPS] | names[EPISODES]):
        for table in (STEPS, EPISODES):
            if name not in names[table]:
                raise DamagedInput(str(path / table / name), "is missing")
        yield from _read_shard(path, name)


class _Placed(NamedTuple):
    row: Row
    place: str


def _read_shard(path: Path, name: str) -> Iterator[Recorded]:
    steps = _rows(path / STEPS / name, STEPS)
    for episode in _rows(path / EPISODES / name, EPISODES):
        yield _read_episode(episode, steps)
    left = next(steps, None)
    if left is not None:
        raise DamagedInput(left.place, "a step of an episode that is not there")


def _read_episode(episode: _Placed, rows: Iterator[_Placed]) -> Recorded:
    row, place = episode
    start = read_text(TrajectoryStart, _text(row, "start", place), f"{place}, start")
    end = None if row["end"] is None else read_text(TrajectoryEnd, row["end"], f"{place}, end")
    agree(row["id"], start.id, "id", place)
    pictures: dict[str, bytes] = {}
    steps: list[Step] = []
    scores: list[Any] = []
    for _ in range(row["steps"] or 0):
        found = next(rows, None)
        if found is None or found.row["trajectory_id"] != start.id:
            there = place if found is None else found.place
            raise DamagedInput(there, f"step {len(steps)} of trajectory {start.id} is missing")
        steps.append(_read_step(found, pictures))
        scores += [
            {"trajectory_id": start.id, "step_index": steps[-1].index, **said}
            for said in found.row["scores"] or []
        ]
    for column in (row["final_screenshot"], *(row["other_images"] or [])):
        _keep(column, pictures, place)
    trajectory = in_order(Trajectory(start=start, steps=tuple(steps), end=end), place)
    return Recorded(
        trajectory=with_pictures(trajectory, pictures, place),
        scores=read_scores(scores, trajectory, place),
    )


def _read_step(found: _Placed, pictures: dict[str, bytes]) -> Step:
    row, place = found
    step = read_text(Step, _text(row, "record", place), f"{place}, record")
    agree(row["step"], step.index, "step", place)
    agree(row["reward"], step.reward, "reward", place)
    agree(row["text"], column_text(step.decision.text), "text", place)
    completion = step.decision.completion
    agree(row["completion_ids"], completion and list(completion.ids), "completion_ids", place)
    _keep(row["screenshot"], pictures, place)
    return step


def _keep(column: Mapping[str, Any] | None, pictures: dict[str, bytes], place: str) -> None:
    if column is None:
        return
    digest = str(column.get("path")).partition(".")[0]
    data = column.get("bytes")
    if not isinstance(data, bytes):
        raise DamagedInput(place, f"picture {digest} has no bytes")
    pictures[digest] = checked(data, digest, place)


def _rows(path: Path, table: str) -> Iterator[_Placed]:
    pa, parquet = _arrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            missing = set(_schema(table).names) - set(file.schema_arrow.names)
            if missing:
                columns = ", ".join(sorted(missing))
                raise DamagedInput(str(path), f"not exported by Deskhand: it has no column {columns}")
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield _Placed(row, f"{path}, row {number}")
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedInput(f"{path}, after row {number}", f"cannot be read: {said}") from error


def _text(row: Row, name: str, place: str) -> str:
    value = row[name]
    if not isinstance(value, str):
        raise DamagedInput(place, f"{name} is {value!r:.60}, not text")
    return value


FORMAT = Format(name="parquet", write=write, found=found, read=read_all)
