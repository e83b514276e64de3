"""OSWorld's results (arXiv 2404.07972): a folder per episode, as its own runner leaves them.

    FOLDER/DOMAIN/EXAMPLE/traj.jsonl    a row per turn: what was done, said, and which picture came of it
    FOLDER/DOMAIN/EXAMPLE/step_1_20261123@120000.png
    FOLDER/DOMAIN/EXAMPLE/result.txt    0 to 1

A row's picture shows the screen after it, so that the first screen has no row: it is `step_0.png` here, and
in runs that did not keep it the first turn cannot be read. Actions are pyautogui's; one that it has no call
for stands as Deskhand's own object, with its name under "type". Read are also `computer_13` and objects
with a `command`. Two additions hold the store's records: `deskhand.json`, and a row's field of that name.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.errors import DamagedInput, RecordError
from deskhand_flywheel.exchange.foreign import ForeignEpisode, ForeignTurn, adopted
from deskhand_flywheel.exchange.pictures import (
    checked,
    data_of,
    decoded,
    file_name,
    other_pictures,
    read_bytes,
    screens_of,
    suffix,
    with_pictures,
)
from deskhand_flywheel.exchange.records import (
    KEY,
    JsonObject,
    agree,
    agree_all,
    as_json,
    as_object,
    exported_again,
    head,
    json_lines,
    json_object,
    read,
    read_head,
    read_number,
)
from deskhand_flywheel.exchange.types import Add, Format, Guidance, Recorded
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import decode, encode_action
from deskhand_sandbox.dialects import read as read_dialect
from deskhand_sandbox.dialects import usual_frame, write_all
from deskhand_sandbox.dialects.pointing import pointer_after
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Action, Fail, Finish, Image, JsonValue, Point

ROWS, RECORD, RESULT, TASK = "traj.jsonl", "deskhand.json", "result.txt", "task.json"
FIRST_SCREEN = "step_0"
STAMP = "%Y%m%d@%H%M%S"
_PICTURES = ("png", "jpg", "jpeg", "webp")


# ---- out --------------------------------------------------------------------------------------------


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """A folder per episode."""

    def add(recorded: Recorded) -> None:
        trajectory = recorded.trajectory
        _write_episode(recorded, folder / _domain(trajectory.start.task.id) / trajectory.id)

    yield add


def _write_episode(recorded: Recorded, folder: Path) -> None:
    folder.mkdir(parents=True)
    trajectory = recorded.trajectory
    (folder / RECORD).write_text(json.dumps(head(recorded)))
    (folder / TASK).write_text(json.dumps(_task(trajectory)))
    for image in other_pictures(trajectory):
        (folder / file_name(image)).write_bytes(data_of(image))
    for name, screen in _screens(trajectory).items():
        (folder / name).write_bytes(data_of(screen))
    with (folder / ROWS).open("w", encoding="utf-8") as file:
        for step, rows in _rows_by_step(trajectory):
            rows[0][KEY] = as_json(step)
            file.writelines(json.dumps(row) + "\n" for row in rows)
    score = _score(trajectory)
    if score is not None:
        (folder / RESULT).write_text(f"{score}\n")


def _task(trajectory: Trajectory) -> JsonObject:
    return {"id": trajectory.start.task.id, "instruction": trajectory.start.instruction}


def _score(trajectory: Trajectory) -> float | None:
    return trajectory.end.outcome.score if trajectory.end and trajectory.end.outcome else None


def _screens(trajectory: Trajectory) -> dict[str, Image]:
    """By the names of their files, in the order they were seen."""
    screens = enumerate(screens_of(trajectory))
    return {_screen_name(number, trajectory, screen): screen for number, screen in screens}


def _rows_by_step(trajectory: Trajectory) -> Iterator[tuple[Step, list[JsonObject]]]:
    names = dict(enumerate(_screens(trajectory)))
    for step in trajectory.steps:
        last = step is trajectory.steps[-1] and trajectory.terminated
        yield step, _rows(step, names.get(step.index + 1), last=last)


def _rows(step: Step, after: str | None, *, last: bool) -> list[JsonObject]:
    """A row per script; what ends or interrupts an episode stands alone, as OSWorld's words for it do."""
    written = _written(step)
    rows: list[JsonObject] = []
    for number, action in enumerate(written, start=1):
        whole = number == len(written)
        rows.append(
            {
                "step_num": step.index + 1,
                "action_timestamp": _stamp(step.finished_at_s),
                "action": action,
                "response": step.decision.text,
                "reward": step.reward if whole else 0.0,
                "done": last and whole,
                "info": {},
                "screenshot_file": after,
            }
        )
    return rows


def _written(step: Step) -> list[JsonValue]:
    """One entry per action, those in a row that pyautogui can do together as one script; at least one."""
    frame = usual_frame("pyautogui", step.observation.size_px)
    entries: list[JsonValue] = []
    lines: list[str] = []
    for action in step.decision.actions:
        try:
            calls = [str(call) for call in write_all("pyautogui", (action,), frame)]
        except InvalidAction:
            calls = None
        if calls is not None and not isinstance(action, Finish | Fail):
            lines += calls
            continue
        entries += _script(lines)
        lines = []
        entries.append(encode_action(action) if calls is None else calls[0])
    return [*entries, *_script(lines)] or [""]


def _script(lines: Sequence[str]) -> list[JsonValue]:
    return ["\n".join(["import pyautogui", "import time", *lines])] if lines else []


def _screen_name(number: int, trajectory: Trajectory, screen: Image) -> str:
    if number == 0:
        return f"{FIRST_SCREEN}.{suffix(screen)}"
    return f"step_{number}_{_stamp(trajectory.steps[number - 1].finished_at_s)}.{suffix(screen)}"


def _stamp(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime(STAMP)


def _domain(task_id: str) -> str:
    """A folder's name for the tasks of one family."""
    name = task_id.partition("/")[0]
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name) or "tasks"


# ---- in ---------------------------------------------------------------------------------------------


def found(path: Path) -> bool:
    """Whether a folder holds episodes."""
    return path.is_dir() and next(path.rglob(ROWS), None) is not None


def read_all(path: Path, guidance: Guidance) -> Iterator[Recorded]:
    """Every episode below a folder, by the names of their folders."""
    for rows in sorted(path.rglob(ROWS)):
        if (rows.parent / RECORD).exists():
            yield _read_own(rows.parent)
        else:
            episode = _read_foreign(rows.parent, guidance)
            yield adopted(episode, guidance)


def _read_own(folder: Path) -> Recorded:
    place = str(folder / RECORD)
    about = json_object(read_bytes(folder / RECORD, folder).decode(errors="replace"), place)
    rows = list(json_lines(folder / ROWS))
    steps = [read(Step, row[KEY], where) for where, row in rows if KEY in row]
    recorded = read_head(about, steps, str(folder))
    trajectory = recorded.trajectory
    _agree_beside(trajectory, rows, folder)
    files = {**_screens(trajectory), **{file_name(image): image for image in other_pictures(trajectory)}}
    pictures = {
        image.digest: checked(read_bytes(folder / name, folder), image.digest, str(folder / name))
        for name, image in files.items()
    }
    return Recorded(trajectory=with_pictures(trajectory, pictures, str(folder)), remarks=recorded.remarks)


def _agree_beside(trajectory: Trajectory, rows: Sequence[tuple[str, JsonObject]], folder: Path) -> None:
    """What others read against the records."""
    with exported_again(str(folder)):
        written = [row for _, of_step in _rows_by_step(trajectory) for row in of_step]
    for (place, row), expected in zip(rows, written, strict=False):
        agree_all(row, expected, place)
    agree(len(rows), len(written), "the number of rows", str(folder / ROWS))
    score = _score(trajectory)
    agree(_result(folder), None if score is None else str(score), "the result", str(folder / RESULT))
    place = str(folder / TASK)
    task = json_object(read_bytes(folder / TASK, folder).decode(errors="replace"), place)
    agree_all(task, _task(trajectory), place)


@dataclass(slots=True)
class _Turn:
    """Rows that came of one reply."""

    number: object
    response: str
    actions: tuple[Action, ...]
    error: str | None
    reward: float
    at_s: float
    done: bool
    after: Image | None


def _read_foreign(folder: Path, guidance: Guidance) -> ForeignEpisode:
    screen = _first_screen(folder)
    turns: list[ForeignTurn] = []
    last: _Turn | None = None
    unseen = False
    for turn in _turns(folder, screen):
        if screen is not None:
            turns.append(_foreign_turn(turn, screen))
        else:
            unseen = True
        screen, last = turn.after or screen, turn
    result, place = _result(folder), str(folder / RESULT)
    *above, name = _names(folder, guidance) or ("",)
    about = _about(folder, name, guidance)
    example = about.get("id") or name
    if not example:
        raise DamagedInput(
            str(folder / ROWS),
            "lies in no folder, whose name would say which example it is of: pack the folder, not its files",
        )
    return ForeignEpisode(
        task_id=f"osworld/{column_text(str(example))}",
        instruction=str(about.get("instruction") or ""),
        turns=turns,
        final=screen,
        result=None if result is None else read_number(result, "the result", place, least=0, most=1),
        done=last is not None and last.done,
        environment="desktop",
        verifier="osworld",
        labels={"source": "osworld", **({"domain": above[-1]} if above else {})},
        first_left_out=unseen,
    )


def _foreign_turn(turn: _Turn, screen: Image) -> ForeignTurn:
    return ForeignTurn(
        screen=screen,
        text=turn.response,
        actions=turn.actions,
        error=turn.error,
        reward=turn.reward,
        at_s=turn.at_s,
    )


def _turns(folder: Path, screen: Image | None) -> Iterator[_Turn]:
    """Rows of one number and one response are one turn: the model did not see what lay between."""
    turn: _Turn | None = None
    pointer: Point | None = None
    for place, row in json_lines(folder / ROWS):
        number, response = row.get("step_num"), _response(row)
        if turn is not None and (number, response) != (turn.number, turn.response):
            yield turn
            screen, turn = turn.after or screen, None
        if turn is None:
            turn = _Turn(number, response, (), None, 0.0, _time(row), False, None)
        try:
            actions = _actions(row.get("action"), screen, pointer)
        except InvalidAction as error:
            turn.error = str(error)
        else:
            turn.actions += actions
            pointer = pointer_after(actions, pointer)
        turn.reward += read_number(row.get("reward") or 0.0, "reward", place)
        turn.done = turn.done or row.get("done") is True
        turn.after = _picture_after(row, folder, place) or turn.after
    if turn is not None:
        yield turn


def _actions(value: JsonValue, screen: Image | None, pointer: Point | None) -> tuple[Action, ...]:
    """
    Raises:
        InvalidAction: it is nothing of pyautogui's, of `computer_13` or of ours.
    """
    frame = usual_frame("pyautogui", (screen.width_px, screen.height_px) if screen else (1920, 1080))
    if isinstance(value, dict):
        if "type" in value:
            try:
                return (decode(Action, value),)  # pyright: ignore[reportArgumentType]  # a union of records
            except RecordError as error:
                raise InvalidAction(str(error)) from error
        if value.get("command") is None:
            return read_dialect("computer_13", value, frame, pointer=pointer)
        value = value["command"]
    if value is None or value == "":
        return ()
    return read_dialect("pyautogui", value, frame, pointer=pointer)


def _picture_after(row: JsonObject, folder: Path, place: str) -> Image | None:
    name = row.get("screenshot_file")
    if name is None:
        return None
    if not isinstance(name, str):
        raise DamagedInput(place, f"screenshot_file is {name!r:.60}, not a name")
    return decoded(read_bytes(folder / name, folder), str(folder / name))


def _first_screen(folder: Path) -> Image | None:
    for kind in _PICTURES:
        for path in sorted(folder.glob(f"{FIRST_SCREEN}*.{kind}")):
            return decoded(read_bytes(path, folder), str(path))
    return None


def _result(folder: Path) -> str | None:
    path = folder / RESULT
    return read_bytes(path, folder).decode(errors="replace").strip() if path.exists() else None


def _response(row: JsonObject) -> str:
    value = row.get("response")
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _time(row: JsonObject) -> float:
    """When it was; 0 where it is written in no form that is known."""
    text = str(row.get("action_timestamp") or "")
    for form in (STAMP, f"{STAMP}%f"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return 0.0


def _names(folder: Path, guidance: Guidance) -> tuple[str, ...]:
    """What an episode's folder and those around it are called, its own name last; of an archive, in it."""
    whole, root = folder.resolve(), guidance.unpacked_in
    return whole.parts[1:] if root is None else whole.relative_to(root.resolve()).parts


def _about(folder: Path, name: str, guidance: Guidance) -> JsonObject:
    """The task's file: beside the rows, or among OSWorld's examples."""
    places = [folder / TASK, folder / f"{name}.json"]
    if guidance.examples is not None:
        places += sorted(guidance.examples.rglob(f"{name}.json"))
    for path in places:
        if path.exists():
            text = read_bytes(path, path.parent).decode(errors="replace")
            return as_object(json_object(text, str(path)), str(path))
    return {}


FORMAT = Format(name="osworld", write=write, found=found, read=read_all)
