"""Parquet that `datasets.load_dataset(FOLDER)` loads: a row per turn, and a row per episode.

    FOLDER/steps/train-00000.parquet           config "steps", the default
    FOLDER/trajectories/train-00000.parquet    config "trajectories"
    FOLDER/README.md                           says which is which, and the splits

Files of one number hold the same episodes, in the same order. Pictures are columns of type `Image`; what
the model was shown beside the screens (marked, cropped) is in `other_images` of its episode, once. Lists of
ids are there where the ids are known. `record`, `start` and `end` hold the store's records, by which it is
imported; what was said of turns and episodes is in lists of structs, each with who said it and when.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.errors import DamagedInput
from deskhand_flywheel.exchange.parquet_columns import (
    ADDED,
    EPISODES,
    STEPS,
    Row,
    arrow,
    beside_episode,
    beside_step,
    episode_row,
    same_kind,
    schema,
    step_row,
)
from deskhand_flywheel.exchange.pictures import checked, with_pictures
from deskhand_flywheel.exchange.records import agree, agree_all, assembled, read_remarks, read_text
from deskhand_flywheel.exchange.types import Add, Format, Guidance, Recorded, Remarks
from deskhand_sandbox.types import Split

SHARD_BYTES = 256 << 20
"""Of pictures and records in one file, after which the next is begun."""
GROUP_BYTES = 32 << 20
"""Of pictures and records in one row group, which is what a reader holds in memory."""
GROUP_ROWS = 4096
"""Most rows in one row group."""
_RECORDS = ("record", "start", "end")
_BATCH = 64


# ---- out --------------------------------------------------------------------------------------------


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """Files for each split that there are episodes of."""
    arrow()
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
        of_steps = recorded.remarks.of_steps()
        for step in recorded.trajectory.steps:
            said = of_steps.get(step.index, Remarks())
            self._put(STEPS, step_row(recorded.trajectory, step, said))
        self._put(EPISODES, episode_row(recorded))

    def close(self) -> None:
        for table in self._tables.values():
            table.close()
        self._tables = {}

    def _put(self, table: str, row: Row) -> None:
        self._bytes += self._tables[table].put(row)


class _Table:
    """One file, written a row group at a time."""

    def __init__(self, path: Path, table: str) -> None:
        self._arrow, parquet = arrow()
        self._schema = schema(table)
        self._file: Any = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._waiting = 0

    def put(self, row: Row) -> int:
        """Bytes of pictures and records in the row."""
        pictures = [row.get("screenshot"), row.get("final_screenshot"), *row.get("other_images", ())]
        size = sum(len(picture["bytes"]) for picture in pictures if picture)
        # what stands beside a record is no larger
        size += sum(len(row.get(name) or "") for name in _RECORDS)
        self._rows.append(row)
        self._waiting += size
        if self._waiting >= GROUP_BYTES or len(self._rows) >= GROUP_ROWS:
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
    pictures: dict[str, bytes] = {}
    turns: list[_Placed] = []
    steps: list[Step] = []
    said: dict[str, list[Any]] = {name: [] for name in ("scores", "step_values", "notes")}
    for _ in range(row["steps"] or 0):
        found = next(rows, None)
        if found is None or found.row["trajectory_id"] != start.id:
            there = place if found is None else found.place
            raise DamagedInput(there, f"step {len(steps)} of trajectory {start.id} is missing")
        turns.append(found)
        steps.append(read_text(Step, _text(found.row, "record", found.place), f"{found.place}, record"))
        _keep(found.row["screenshot"], pictures, found.place)
        for name, of_all in said.items():
            of_step = {"trajectory_id": start.id, "step_index": steps[-1].index}
            of_all += [{**of_step, **(each or {})} for each in found.row.get(name) or []]
    for column in (row["final_screenshot"], *(row["other_images"] or [])):
        _keep(column, pictures, place)
    trajectory = with_pictures(assembled(start, steps, end, place), pictures, place)
    for turn, step in zip(turns, trajectory.steps, strict=True):
        agree_all(turn.row, beside_step(trajectory, step), turn.place)
    _agree_whole(trajectory, episode)
    of_whole: list[Any] = [
        {"trajectory_id": start.id, **(each or {})} for each in row.get("outcome_scores") or []
    ]
    return Recorded(
        trajectory=trajectory,
        remarks=read_remarks({**said, "outcome_scores": of_whole}, trajectory, place),
    )


def _agree_whole(trajectory: Trajectory, episode: _Placed) -> None:
    expected = beside_episode(trajectory)
    # a sum, of which the last digits are the Python's that made it
    found, total = episode.row["reward"], expected.pop("reward")
    if found is None or not math.isclose(found, total, abs_tol=1e-9):
        agree(found, total, "reward", episode.place)
    agree_all(episode.row, expected, episode.place)


def _keep(column: Mapping[str, Any] | None, pictures: dict[str, bytes], place: str) -> None:
    if column is None:
        return
    digest = str(column.get("path")).partition(".")[0]
    data = column.get("bytes")
    if not isinstance(data, bytes):
        raise DamagedInput(place, f"picture {digest} has no bytes")
    pictures[digest] = checked(data, digest, place)


def _rows(path: Path, table: str) -> Iterator[_Placed]:
    pa, parquet = arrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            missing = set(schema(table).names) - ADDED - set(file.schema_arrow.names)
            if missing:
                columns = ", ".join(sorted(missing))
                raise DamagedInput(str(path), f"not exported by Deskhand: it has no column {columns}")
            for field in schema(table):
                at = file.schema_arrow.get_field_index(field.name)
                if at >= 0 and not same_kind(kind := file.schema_arrow.types[at], field.type):
                    raise DamagedInput(str(path), f"the column {field.name} is {kind}, not {field.type}")
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


def growing(folder: Path) -> list[Path]:
    """The newest file of each split."""
    newest = {
        (table, path.name.partition("-")[0]): path
        for table in (STEPS, EPISODES)
        for path in sorted((folder / table).glob("*.parquet"))
    }
    return [*newest.values()]


FORMAT = Format(name="parquet", write=write, growing=growing, found=found, read=read_all)
