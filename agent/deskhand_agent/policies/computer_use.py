"""What OpenAI's and Anthropic's computer-use loops have in common.

Both are shown pictures and reply with items: calls of a computer tool, which a dialect of the sandbox package
reads and writes, thoughts, and text. A reply without a call ends the task; its text is the answer. What the
computer tool has no word for is a function beside it, `act`, which takes our grammar: so every action can be
asked for, and every turn of a history be shown as the model's own, whoever decided it.

The items of a reply are kept as they came (`Decision.text`) and sent again as they came; what could not be
acted on is not, for an API refuses calls it does not know, its own included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from deskhand_agent.apis import ApiSettings
from deskhand_agent.coordinates import Frame, Part
from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import GRAMMAR, format_reply, mend_reply
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies.conversation import fitted_px, shrunk, why_void
from deskhand_agent.test_time.checking import told_again
from deskhand_agent.test_time.zoom import on_screen
from deskhand_agent.types import Context, Decision, Fault, Step, fault_of
from deskhand_sandbox.dialects import read, write_all
from deskhand_sandbox.dialects.coordinates import shown_at
from deskhand_sandbox.dialects.pointing import pointer_after
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Action, Finish, Image, Observation, Point, Zoom

Item: TypeAlias = "dict[str, Any]"
"""One item of a request or a reply, as JSON has it."""

DONE, FAILED = "Done.", "Failed."
FAILED_AMONG = (
    "One of this turn's actions failed, which ended the turn: those before it were carried out, those after "
    "it were not."
)
ACT = "act"
SYSTEM = (
    "You work at a computer for a person. You see its screen and act on it with the computer tool until the "
    "task is done; you are shown the screen after every turn. The function `act` does what the tool cannot: "
    "open an address, run commands, read and write files, ask the person. When the task is done, reply with "
    "text alone: it is your answer. If it cannot be done, call `act` with fail(reason='…')."
)
ACT_SAYS = f"Take actions that the computer tool has no word for, written one to a line:\n{GRAMMAR}"
ACT_TAKES: Item = {
    "type": "object",
    "properties": {"calls": {"type": "string", "description": "calls, one to a line"}},
    "required": ["calls"],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputerUseSettings(ApiSettings):
    """Which model, and how to ask it."""

    memory: WindowMemory = field(default_factory=lambda: WindowMemory(n_screenshots=5))
    max_tokens: int = 4096
    """Of a reply, reasoning included."""
    timeout_s: float = 90.0
    longest_px: int = 1568
    """Screenshots are shrunk to this longer side …"""
    most_px: int = 1_150_000
    """… and this area, so that the API does not shrink them unseen: coordinates are of what is shown."""

    def __post_init__(self) -> None:
        ApiSettings.__post_init__(self)
        if self.memory.text_bytes:
            raise ValueError(
                f"memory.text_bytes is {self.memory.text_bytes}: it does not bound past replies, which are "
                "sent again as they came; leave it out, and show fewer turns with memory.n_screenshots"
            )

    def shown_px(self, size_px: tuple[int, int]) -> tuple[int, int]:
        """What a screenshot of this size is shown at."""
        return fitted_px(size_px, longest_px=self.longest_px, most_px=self.most_px)

    def frame(self, size_px: tuple[int, int]) -> Frame:
        """The frame of the model's coordinates, of a screenshot of this size."""
        return shown_at(size_px, self.shown_px(size_px))

    def picture(self, image: Image) -> Image:
        """A screenshot as it is shown.

        Raises:
            EndpointError: it has no bytes.
        """
        return shrunk(image, self.shown_px((image.width_px, image.height_px)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a reply holds."""

    items: Sequence[Item]
    """As they came."""
    calls: Sequence[object]
    """Of the computer tool, as its dialect reads them or as `LookCall`, and of `act`."""
    text: str
    """What was said besides."""
    thought: str
    fault: Fault | None = None
    """Why it is no reply to act on; None where it is."""


@dataclass(frozen=True, slots=True)
class ActCall:
    """A call of `act`."""

    calls: str


@dataclass(frozen=True, slots=True)
class LookCall:
    """A call of the computer tool that asks to see a part of the screen enlarged."""

    zoom: Callable[[Frame], Zoom]
    """What it asks for, its coordinates in this frame; raises InvalidAction where they are none."""


def act_call(name: object, arguments: object) -> object:
    """A function that was called, as `decide` takes it.

    Args:
        arguments: an object, or its JSON.
    """
    if isinstance(arguments, str):
        try:
            arguments = cast("object", json.loads(arguments))
        except (ValueError, RecursionError):
            arguments = None
    calls = cast("Item", arguments).get("calls") if isinstance(arguments, dict) else None
    # for what is neither, the dialect has the error
    return (
        ActCall(calls) if name == ACT and isinstance(calls, str) else {"type": str(name), "name": str(name)}
    )


def pointer_at(context: Context) -> Point | None:
    """Where the turns before left the pointer, in pixels of what is shown; None where they do not say."""
    place, part = pointer_on_screen(context), part_of(context.observation)
    return place if place is None or part is None else part.to_part(place)


def pointer_on_screen(context: Context) -> Point | None:
    """Where the turns before left the pointer, in pixels of the whole screen; None where they do not say."""
    place: Point | None = None
    for step in context.steps:
        place = _left_at(step, place)
    return place


def part_of(seen: Observation) -> Part | None:
    """The part of the screen that is shown; None: all of it."""
    return None if seen.region is None else Part(region=seen.region, shown_px=seen.size_px)


def _left_at(step: Step, place: Point | None) -> Point | None:
    """Where a turn leaves a pointer that was at this pixel of the screen."""
    if step.action_error is not None or told_again(step):
        return None  # what was done until it failed is not known, nor what the start state comes with
    try:
        return pointer_after([on_screen(action, step.observation) for action in step.decision.actions], place)
    except InvalidAction:
        return None


def decide(
    said: Said,
    dialect: str,
    frame: Frame,
    pointer: Point | None,
    cost: Mapping[str, float],
    *,
    part: Part | None = None,
) -> Decision:
    """The turn that a reply is; a void one where it holds no action.

    Args:
        frame: what its coordinates are in.
        pointer: where the pointer is, in the frame's pixels; None: not known.
        part: of the screen, where that is shown and the coordinates stay those of the whole.
    """
    text = json.dumps(list(said.items), ensure_ascii=False)
    thought = "\n".join(part for part in (said.thought, said.text if said.calls else "") if part) or None
    if said.fault is not None:
        error = why_void(said.fault, said.text)
        return Decision(
            actions=(), text=text, thought=said.thought or None, error=error, fault=said.fault, cost=cost
        )
    if not said.calls:
        return Decision(actions=(Finish(text=said.text),), text=text, thought=thought, cost=cost)
    actions: list[Action] = []
    repairs: list[str] = []
    try:
        for call in said.calls:
            if isinstance(call, ActCall):
                reply = mend_reply(call.calls)
                actions += [frame.action_to_screen(action) for action in reply.actions]
                repairs += reply.repairs
            elif isinstance(call, LookCall):
                actions.append(call.zoom(frame))
            else:
                actions += read(dialect, call, frame, pointer=pointer_after(actions, pointer))
    except (InvalidAction, ActionSyntaxError) as error:
        fault = fault_of(error) if isinstance(error, ActionSyntaxError) else Fault.UNKNOWN_ACTION
        return Decision(actions=(), text=text, thought=thought, error=str(error), fault=fault, cost=cost)
    if part is not None:
        actions = [part.action_to_part(action) for action in actions]
    return Decision(actions=tuple(actions), text=text, thought=thought, repairs=tuple(repairs), cost=cost)


def written(step: Step, dialect: str, frame: Frame) -> tuple[Item, ...] | str:
    """A turn's actions as calls of the computer tool; as what `act` takes where that has no word for one."""
    actions = step.decision.actions
    try:
        calls = write_all(dialect, actions, frame)
    except InvalidAction:
        calls = ()
    if calls:
        return tuple(cast("Item", call) for call in calls)
    return format_reply(None, [frame.action_to_model(action) for action in actions])


def came_to(step: Step) -> str:
    """What is said of each call of a turn: which of several actions failed is not recorded."""
    if step.action_error is None:
        return DONE
    return FAILED if len(step.decision.actions) < 2 else FAILED_AMONG


def items_of(step: Step, kinds: frozenset[str]) -> list[Item] | None:
    """The items a turn's reply came as; None where it did not come as items of these kinds."""
    try:
        items = cast("object", json.loads(step.decision.text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not items:
        return None
    known = all(
        # of an odd type, as an endpoint may send one: it need not have a hash
        isinstance(item, dict) and str(cast("Item", item).get("type")) in kinds
        for item in cast("list[object]", items)
    )
    return cast("list[Item]", items) if known else None


def objects(body: object, name: str) -> list[Item]:
    """The list of objects of this name in a reply.

    Raises:
        KeyError, TypeError: there is none.
    """
    found = cast("Any", body)[name]
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in cast("list[object]", found)):
        raise TypeError(f"{name} is no list of objects")
    return cast("list[Item]", found)
