"""The store's records inside other systems' files, and the JSON around them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Column, String

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.errors import DamagedInput, RecordError
from deskhand_flywheel.exchange.types import Recorded, Remarks
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import decode, dumps, encode, loads
from deskhand_flywheel.tables import notes, scores, step_values
from deskhand_flywheel.types import Note, OutcomeScore, StepScore, StepValue
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import JsonValue, Split

KEY = "deskhand"
"""Where others' JSON carries ours."""
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
"""A later export names files after it."""
_SEEDS, _COUNTS = 1 << 63, 1 << 31
"""What their columns have room for."""
_SHARES = ("score", "before", "before_error", "after", "after_error")
T = TypeVar("T")
S = TypeVar("S", StepScore, OutcomeScore, StepValue, Note)
JsonObject = dict[str, JsonValue]


def as_json(record: object) -> JsonValue:
    """A record with its schema version, as a JSON value."""
    return json.loads(dumps(record))


def head(recorded: Recorded) -> JsonObject:
    """Everything of an episode but its steps."""
    trajectory = recorded.trajectory
    return {
        "start": as_json(trajectory.start),
        "end": None if trajectory.end is None else as_json(trajectory.end),
        "steps": len(trajectory.steps),
        **as_object(encode(recorded.remarks), "remarks"),
    }


def read_head(value: JsonObject, steps: Sequence[Step], place: str) -> Recorded:
    """The episode of a `head` and its steps; pictures still without bytes.

    Raises:
        DamagedInput: a record is not readable, there are not as many steps as there were, or as `assembled`.
    """
    start = read(TrajectoryStart, value.get("start"), f"{place}, start")
    ended = value.get("end")
    end = None if ended is None else read(TrajectoryEnd, ended, f"{place}, end")
    if value.get("steps") != len(steps):
        raise DamagedInput(place, f"{value.get('steps')} steps were exported and {len(steps)} are there")
    trajectory = assembled(start, steps, end, place)
    return Recorded(trajectory=trajectory, remarks=read_remarks(value, trajectory, place))


def assembled(
    start: TrajectoryStart, steps: Sequence[Step], end: TrajectoryEnd | None, place: str
) -> Trajectory:
    """The episode of these records; of the training split only where its task and seed are.

    Raises:
        DamagedInput: its id is none that its files can be named after, the steps do not count from 0, a time
            or reward is no finite number, a score none from 0 to 1, or the seed has more than 64 bits.
    """
    if not _ID.fullmatch(start.id):
        raise DamagedInput(
            place,
            f"the id {start.id!r:.80} is not of 1 to 64 letters, digits, - and _, a letter or digit first",
        )
    if not -_SEEDS <= start.task.seed < _SEEDS:
        raise DamagedInput(place, f"the seed {start.task.seed!r:.40} has more than 64 bits")
    for index, step in enumerate(steps):
        if step.index != index:
            raise DamagedInput(place, f"step {step.index} stands where step {index} should")
    for what, number in _figures(start, steps, end):
        if not math.isfinite(number):
            raise DamagedInput(place, f"{what} is {number}, not a finite number")
    for what, score in _verdicts(steps, end):
        if not 0.0 <= score <= 1.0:
            raise DamagedInput(place, f"{what} is {score}, not a number from 0 to 1")
    if start.split is Split.TRAIN:
        start = replace(start, split=split_of(start.task.id, start.task.seed))
    return Trajectory(start=start, steps=tuple(steps), end=end)


def _figures(
    start: TrajectoryStart, steps: Sequence[Step], end: TrajectoryEnd | None
) -> Iterator[tuple[str, float]]:
    """Times and rewards, each with what it is."""
    yield "the time of its start", start.started_at_s
    for step in steps:
        yield f"the reward of step {step.index}", step.reward
        seen, took = step.observation, step.timings
        for number in (seen.captured_at_s, seen.settled_ms, step.finished_at_s):
            yield f"a time of step {step.index}", number
        for number in (took.model_ms, took.act_ms, took.settle_ms):
            yield f"a time of step {step.index}", number
    if end is not None:
        yield "the time of its end", end.ended_at_s
        if (last := end.final_observation) is not None:
            yield "a time of its last screen", last.captured_at_s
            yield "a time of its last screen", last.settled_ms


def _verdicts(steps: Sequence[Step], end: TrajectoryEnd | None) -> Iterator[tuple[str, float]]:
    """The verifier's scores, each with what it is of."""
    for step in steps:
        if step.attempt_score is not None:
            yield f"the score of the attempt up to step {step.index}", step.attempt_score
    if end is not None and end.outcome is not None:
        yield "the score", end.outcome.score


def read_remarks(value: JsonObject, trajectory: Trajectory, place: str) -> Remarks:
    """What was said of an episode; what an older export did not carry is empty.

    Args:
        value: lists by the names of the fields of `Remarks`.

    Raises:
        DamagedInput: they are no records of that kind, not of this episode and its steps, by a name that
            cannot be kept, or with a number that none can have.
    """
    return Remarks(
        scores=_said(StepScore, "scores", value, trajectory, place),
        outcome_scores=_said(OutcomeScore, "outcome_scores", value, trajectory, place),
        step_values=_said(StepValue, "step_values", value, trajectory, place),
        notes=_said(Note, "notes", value, trajectory, place),
    )


def _said(kind: type[S], name: str, value: JsonObject, trajectory: Trajectory, place: str) -> tuple[S, ...]:
    found, where = value.get(name, []), f"{place}, {name}"
    if not isinstance(found, list):
        raise DamagedInput(where, "expected a list")
    try:
        said = tuple(decode(kind, each) for each in found)
    except RecordError as error:
        raise DamagedInput(where, str(error)) from error
    for each in said:
        step = None if isinstance(each, OutcomeScore) else each.step_index
        if each.trajectory_id != trajectory.id or (
            step is not None and step not in range(len(trajectory.steps))
        ):
            raise DamagedInput(where, "one is of a step that is not there")
        for who, longest in _names(each):
            if who != column_text(who):
                raise DamagedInput(where, f"{who!r:.80} holds a NUL or half a surrogate pair: no name can")
            if len(who) > longest:
                raise DamagedInput(where, f"{who!r:.80} has {len(who)} characters of {longest} at most")
        if isinstance(each, StepValue) and each.continuations not in range(_COUNTS):
            raise DamagedInput(where, f"continuations is {each.continuations!r:.40}, no count")
        for field, number in _numbers(each):
            if not math.isfinite(number):
                raise DamagedInput(where, f"{field} is {number}, not a finite number")
            if field in _SHARES and not 0.0 <= number <= 1.0:
                raise DamagedInput(where, f"{field} is {number}, not a number from 0 to 1")
    return said


def _names(said: StepScore | OutcomeScore | StepValue | Note) -> tuple[tuple[str, int], ...]:
    """Each with how many characters its column has room for."""
    match said:
        case Note():
            return (said.id, _room(notes.c.id)), (said.author, _room(notes.c.author))
        case StepValue():
            return ((said.labeller, _room(step_values.c.labeller)),)
        case _:
            return ((said.scorer, _room(scores.c.scorer)),)


def _numbers(said: StepScore | OutcomeScore | StepValue | Note) -> Iterator[tuple[str, float]]:
    """Each by the name of its field."""
    for field in fields(said):
        if isinstance(value := getattr(said, field.name), float):
            yield field.name, value


def _room(column: Column[str]) -> int:
    return cast(String, column.type).length or 0


def read(kind: type[T], value: JsonValue, place: str) -> T:
    """A record as `as_json` wrote it.

    Raises:
        DamagedInput: it is not one.
    """
    try:
        text = json.dumps(value)
    except RecursionError as error:
        raise DamagedInput(place, "its brackets are nested too deeply") from error
    return read_text(kind, text, place)


def read_text(kind: type[T], text: str, place: str) -> T:
    """A record as the store writes it.

    Raises:
        DamagedInput: it is not one.
    """
    try:
        return loads(kind, text)
    except RecordError as error:
        raise DamagedInput(place, str(error)) from error


def read_number(value: object, what: str, place: str, *, least: float = -1e9, most: float = 1e9) -> float:
    """A number that others wrote, or its text.

    Raises:
        DamagedInput: it is none, or none from `least` to `most`.
    """
    try:
        found = float(value if isinstance(value, int | float) else str(value))
    except (ValueError, OverflowError):
        found = math.nan
    if not least <= found <= most:
        raise DamagedInput(place, f"{what} is {value!r:.60}, not a number from {least:g} to {most:g}")
    return found


@contextmanager
def exported_again(place: str) -> Generator[None]:
    """For writing once more what an export of the records wrote.

    Raises:
        DamagedInput: none can have been made of them: a screen without a pixel, a time before all calendars.
    """
    try:
        yield
    except (ArithmeticError, ValueError, OSError, RecursionError) as error:
        raise DamagedInput(place, f"its records are none that can be exported: {error}") from error


def agree_all(found: Mapping[str, Any], expected: Mapping[str, Any], place: str) -> None:
    """What stands beside a record against what an export of the record writes there.

    Raises:
        DamagedInput: a field was changed after the export.
    """
    for name, value in expected.items():
        agree(found.get(name), value, name, place)


def agree(found: object, expected: object, what: str, place: str) -> None:
    """
    Raises:
        DamagedInput: a field was changed after the export.
    """
    # NaN is equal to nothing
    if found != expected and repr(found) != repr(expected):
        raise DamagedInput(
            place,
            f"{what} is {found!r:.80}, and the record beside it says {expected!r:.80}: it was changed after "
            "the export",
        )


def json_lines(path: Path) -> Iterator[tuple[str, JsonObject]]:
    """Each line that is not blank, with its place.

    Raises:
        DamagedInput: the file cannot be read, or a line is no JSON object.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, json_object(line, place)
    except UnicodeDecodeError as error:
        raise DamagedInput(str(path), f"not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise DamagedInput(str(path), f"cannot be read: {error.strerror or error}") from error


def json_object(text: str, place: str) -> JsonObject:
    """
    Raises:
        DamagedInput: the text is no JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedInput(place, f"no JSON: {error}") from error
    return as_object(value, place)


def as_object(value: object, place: str) -> JsonObject:
    """
    Raises:
        DamagedInput: the value is none.
    """
    if not isinstance(value, dict):
        raise DamagedInput(place, f"expected a JSON object, found {value!r:.60}")
    return cast("JsonObject", value)
