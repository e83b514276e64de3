"""WebDataset shards: tar files whose members share a name up to the first dot when they belong together.

    FOLDER/shard-000000.tar: TRAJECTORY-000000.png, TRAJECTORY-000000.json, TRAJECTORY-000001.png, …

A sample is a turn: the screen, and as JSON the task, the reply, its actions, the reward, what was said of the
turn and of its episode, and the store's records of both. Every field has one type in every sample, as readers
that infer a schema want it: what may be missing or of many shapes is JSON inside a text. The same episodes
give the same bytes.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deskhand_agent.types import Step
from deskhand_flywheel.exchange.pictures import data_of, suffix
from deskhand_flywheel.exchange.records import KEY, JsonObject
from deskhand_flywheel.exchange.types import Add, Format, Recorded, Remarks
from deskhand_flywheel.records import dumps, encode, encode_action
from deskhand_flywheel.types import OutcomeFilter

SHARD_BYTES = 256 << 20
"""After which the next file is begun."""


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """Shards of about `SHARD_BYTES`; an episode is never split between two."""
    shards = _Shards(folder)
    try:
        yield shards.add
    finally:
        shards.close()


class _Shards:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._tar: tarfile.TarFile | None = None

    def add(self, recorded: Recorded) -> None:
        if self._tar is not None and self._tar.offset >= SHARD_BYTES:
            self.close()
        if self._tar is None:
            self._tar = tarfile.TarFile(self._folder / f"shard-{self._number:06d}.tar", "w")
            self._number += 1
        of_steps = recorded.remarks.of_steps()
        for step in recorded.trajectory.steps:
            key = f"{recorded.trajectory.id}-{step.index:06d}"
            screen = step.observation.screenshot
            _put(self._tar, f"{key}.{suffix(screen)}", data_of(screen))
            _put(
                self._tar,
                f"{key}.json",
                json.dumps(_sample(recorded, step, of_steps.get(step.index, Remarks()))).encode(),
            )

    def close(self) -> None:
        if self._tar is not None:
            self._tar.close()
        self._tar = None


def _put(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _sample(recorded: Recorded, step: Step, said: Remarks) -> JsonObject:
    start, end, decision = recorded.trajectory.start, recorded.trajectory.end, step.decision
    verdict = end.outcome.success if end and end.outcome else None
    outcome = {True: OutcomeFilter.SUCCESS, False: OutcomeFilter.FAILURE, None: OutcomeFilter.NONE}[verdict]
    return {
        "trajectory_id": start.id,
        "step": step.index,
        "task_id": start.task.id,
        "seed": start.task.seed,
        "instruction": start.instruction,
        "policy_id": start.policy_id,
        "split": start.split.value,
        "thought": decision.thought or "",
        "text": decision.text,
        "actions": json.dumps([encode_action(action) for action in decision.actions]),
        "reward": step.reward,
        "outcome": outcome.value,
        "labels": json.dumps(dict(start.labels)),
        "scores": _listed(said.scores),
        "step_values": _listed(said.step_values),
        "notes": _listed(said.notes),
        "outcome_scores": _listed(recorded.remarks.outcome_scores),
        KEY: dumps(step),
        "start": dumps(start),
        "end": "" if end is None else dumps(end),
    }


def _listed(records: Sequence[object]) -> str:
    return json.dumps([encode(record) for record in records])


def growing(folder: Path) -> list[Path]:
    """The newest shard."""
    return sorted(folder.glob("shard-*.tar"))[-1:]


FORMAT = Format(name="webdataset", write=write, growing=growing)
