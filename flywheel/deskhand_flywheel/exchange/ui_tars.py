"""Conversations in the manner of UI-TARS (arXiv 2501.12326), as LLaMA-Factory and ms-swift train on them.

    {"messages": [
        {"role": "user", "content": "<image>…## User Instruction\\nBuy milk"},
        {"role": "assistant", "content": "Thought: …\\nAction: click(point='<point>197 525</point>')"},
        {"role": "user", "content": "<image>"}, …],
     "images": ["images/….png", …], "rewards": [0.0, …], "outcome": 1.0}

One line of `conversations.jsonl` per episode, and a picture for each `<image>`, in order; what the user said
to a question stands behind the next picture. Coordinates are those of UI-TARS 1.5 unless another dialect is
named. What UI-TARS has no call for stands as Deskhand's own, which is written in the same manner
(`navigate(url='…')`). Read are also `conversations` with `from` and `value`, and files that hold one list.
The field `deskhand` holds the store's records. Others' without an `id` are of one task where they ask for the
same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

from blake3 import blake3

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.errors import DamagedInput
from deskhand_flywheel.exchange.foreign import ForeignEpisode, ForeignTurn, adopted
from deskhand_flywheel.exchange.pictures import (
    checked,
    data_of,
    decoded,
    file_name,
    other_pictures,
    read_bytes,
    screens_of,
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
    read,
    read_head,
    read_number,
)
from deskhand_flywheel.exchange.types import Add, Format, Guidance, Recorded
from deskhand_flywheel.parts import column_text
from deskhand_sandbox.dialects import read as read_dialect
from deskhand_sandbox.dialects import usual_frame, write_all
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Action, AskUser, Image, JsonValue, OpenApp, Point, Swipe, Touch

LINES, IMAGES = "conversations.jsonl", "images"
INSTRUCTION = "## User Instruction\n"
_FILES = (LINES, "conversations.json")
_IMAGE = "<image>"
_THOUGHT = re.compile(r"\s*Thought:(?P<thought>.*?)^\s*Action:", re.DOTALL | re.MULTILINE)
_USERS, _ASSISTANTS = ("user", "human"), ("assistant", "gpt")


# ---- out --------------------------------------------------------------------------------------------


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """One file of conversations and a folder of pictures, each there once."""
    (folder / IMAGES).mkdir()
    with (folder / LINES).open("w", encoding="utf-8") as file:

        def add(recorded: Recorded) -> None:
            trajectory = recorded.trajectory
            for image in (*screens_of(trajectory), *other_pictures(trajectory)):
                path = folder / IMAGES / file_name(image)
                if not path.exists():
                    path.write_bytes(data_of(image))
            steps: list[JsonValue] = [as_json(step) for step in trajectory.steps]
            ours: JsonObject = {**head(recorded), "records": steps}
            file.write(json.dumps({**_conversation(trajectory), KEY: ours}) + "\n")

        yield add


def _conversation(trajectory: Trajectory, *, answers: bool = True) -> JsonObject:
    """What others read; exports made without answers are still read."""
    messages: list[JsonValue] = []
    dialect = _dialect([action for step in trajectory.steps for action in step.decision.actions])
    told = f"{INSTRUCTION}{trajectory.start.instruction}"
    for step in trajectory.steps:
        messages.append({"role": "user", "content": f"{_IMAGE}{told}"})
        messages.append({"role": "assistant", "content": _reply(step, dialect)})
        told = (step.answer or "") if answers else ""
    outcome = trajectory.end.outcome if trajectory.end else None
    return {
        "id": trajectory.id,
        "messages": messages,
        "images": [f"{IMAGES}/{file_name(step.observation.screenshot)}" for step in trajectory.steps],
        "rewards": [step.reward for step in trajectory.steps],
        "outcome": outcome and outcome.score,
    }


def _reply(step: Step, dialect: str) -> str:
    """Thought and actions; what no action could be read from stands as it was said."""
    decision = step.decision
    if not decision.actions:
        return decision.text
    frame = usual_frame(dialect, step.observation.size_px)
    calls: list[str] = []
    for action in decision.actions:
        try:
            calls += [str(call) for call in write_all(dialect, (action,), frame)]
        except InvalidAction:
            calls.append(format_reply(None, [frame.action_to_model(action)]))
    thought = f"Thought: {decision.thought}\n" if decision.thought is not None else ""
    return f"{thought}Action: " + "\n\n".join(calls)


def _dialect(actions: Sequence[Action]) -> str:
    touched = any(isinstance(action, Touch | Swipe | OpenApp) for action in actions)
    return "ui_tars_mobile" if touched else "ui_tars"


# ---- in ---------------------------------------------------------------------------------------------


def found(path: Path) -> bool:
    """Whether a path is, or holds, a file of conversations."""
    return _file(path) is not None


def _file(path: Path) -> Path | None:
    if path.is_file():
        return path if path.suffix in (".json", ".jsonl") else None
    return next((path / name for name in _FILES if (path / name).is_file()), None)


def read_all(path: Path, guidance: Guidance) -> Iterator[Recorded]:
    """Every conversation of a file, or of the file in a folder, in order."""
    file = _file(path)
    if file is None:
        raise DamagedInput(str(path), f"no {' or '.join(_FILES)} is there")
    for place, conversation in _conversations(file):
        if KEY in conversation:
            yield _read_own(conversation, file.parent, place)
        else:
            yield adopted(_read_foreign(conversation, file.parent, guidance, place), guidance)


def _conversations(file: Path) -> Iterator[tuple[str, JsonObject]]:
    if file.suffix == ".jsonl":
        yield from json_lines(file)
        return
    try:
        values: object = json.loads(read_bytes(file, file.parent))
    except (ValueError, RecursionError) as error:
        raise DamagedInput(str(file), f"no JSON: {error}") from error
    if not isinstance(values, list):
        raise DamagedInput(str(file), "expected a list of conversations")
    for number, value in enumerate(cast("list[object]", values), start=1):
        place = f"{file}, conversation {number}"
        yield place, as_object(value, place)


def _read_own(conversation: JsonObject, folder: Path, place: str) -> Recorded:
    about = as_object(conversation[KEY], f"{place}, {KEY}")
    records = enumerate(_list(about, "records", place))
    steps = [read(Step, value, f"{place}, step {index}") for index, value in records]
    recorded = read_head(about, steps, place)
    trajectory = recorded.trajectory
    with exported_again(place):
        expected = _conversation(trajectory)
        if conversation.get("messages") != expected["messages"]:
            before = _conversation(trajectory, answers=False)
            expected = before if conversation.get("messages") == before["messages"] else expected
    messages, written = _list(conversation, "messages", place), _list(expected, "messages", place)
    for number, (message, said) in enumerate(zip(messages, written, strict=False), start=1):
        agree(message, said, "the message", f"{place}, message {number}")
    agree_all(conversation, expected, place)
    pictures: dict[str, bytes] = {}
    for image in (*screens_of(trajectory), *other_pictures(trajectory)):
        if image.digest not in pictures:
            path = folder / IMAGES / file_name(image)
            pictures[image.digest] = checked(read_bytes(path, folder), image.digest, str(path))
    return Recorded(trajectory=with_pictures(trajectory, pictures, place), remarks=recorded.remarks)


def _read_foreign(conversation: JsonObject, folder: Path, guidance: Guidance, place: str) -> ForeignEpisode:
    images = [_image(name, folder, place) for name in _list(conversation, "images", place)]
    rewards = conversation.get("rewards")
    shown, told = 0, list[str]()
    turns: list[ForeignTurn] = []
    for speaker, text, where in _messages(conversation, place):
        if speaker in _ASSISTANTS:
            if not 0 < shown <= len(images):
                raise DamagedInput(
                    where, f"{shown} pictures were shown before it and {len(images)} are listed"
                )
            reward = rewards[len(turns)] if isinstance(rewards, list) and len(turns) < len(rewards) else None
            earned = 0.0 if reward is None else read_number(reward, "its reward", where)
            turns.append(_turn(text, images[shown - 1], earned, guidance.dialect))
            continue
        shown += text.count(_IMAGE)
        words = text.replace(_IMAGE, "")
        if not turns:
            told.append(words)
        elif words.strip() and any(isinstance(action, AskUser) for action in turns[-1].actions):
            turns[-1] = replace(turns[-1], answer=words.strip())
    if not turns:
        raise DamagedInput(place, "no reply of an assistant is in it")
    outcome = conversation.get("outcome")
    instruction = _instruction(told)
    return ForeignEpisode(
        task_id=f"ui-tars/{_task_name(conversation.get('id'), instruction)}",
        instruction=instruction,
        turns=turns,
        final=images[shown] if shown < len(images) else None,
        result=None if outcome is None else read_number(outcome, "outcome", place, least=0, most=1),
        done=False,
        environment="desktop",
        verifier="osworld",
        labels={"source": "ui-tars"},
    )


def _turn(text: str, screen: Image, reward: float, dialect: str) -> ForeignTurn:
    thought = _THOUGHT.match(text)
    actions, error = _actions(text, screen, dialect)
    return ForeignTurn(
        screen=screen,
        text=text,
        actions=actions,
        thought=thought.group("thought").strip() if thought else None,
        error=error,
        reward=reward,
    )


def _actions(text: str, screen: Image, dialect: str) -> tuple[tuple[Action, ...], str | None]:
    """The actions of a reply in the dialect, or else in our own grammar; or why there are none."""
    size: Point = (screen.width_px, screen.height_px)
    frame = usual_frame(dialect, size)
    try:
        return read_dialect(dialect, text, frame), None
    except InvalidAction as error:
        try:
            return tuple(frame.action_to_screen(action) for action in parse_reply(text).actions), None
        except ActionSyntaxError:
            return (), str(error)


def _messages(conversation: JsonObject, place: str) -> Iterator[tuple[str, str, str]]:
    """Who said what, and where it stands; what a system is told is left out."""
    key, speaker, said = ("messages", "role", "content")
    if key not in conversation:
        key, speaker, said = ("conversations", "from", "value")
    for number, value in enumerate(_list(conversation, key, place), start=1):
        where = f"{place}, message {number}"
        message = as_object(value, where)
        who, text = message.get(speaker), message.get(said)
        if who == "system":
            continue
        if who not in (*_USERS, *_ASSISTANTS) or not isinstance(text, str):
            raise DamagedInput(where, f"expected {speaker} (user or assistant) and {said} (text)")
        yield who, text, where


def _instruction(told: Sequence[str]) -> str:
    text = "\n".join(told)
    return text.rpartition(INSTRUCTION.strip())[2].strip()


def _task_name(name: JsonValue, instruction: str) -> str:
    """What the file calls the conversation; drawn from what is to be done where it has no name."""
    if isinstance(name, str | int) and name != "":
        return column_text(str(name))
    return blake3(instruction.encode(errors="surrogatepass")).hexdigest()[:12]


def _image(name: JsonValue, folder: Path, place: str) -> Image:
    if not isinstance(name, str):
        raise DamagedInput(place, f"an image is {name!r:.60}, not the name of a file")
    return decoded(read_bytes(folder / name, folder), str(folder / name))


def _list(value: JsonObject, name: str, place: str) -> list[JsonValue]:
    found = value.get(name)
    if not isinstance(found, list):
        raise DamagedInput(place, f"{name} is missing, or no list")
    return found


FORMAT = Format(
    name="ui-tars", write=write, growing=lambda folder: (folder / LINES,), found=found, read=read_all
)
