"""What a model is shown for one turn, as messages of text and pictures that belong to no provider.

The local model's tokenizer turns them into ids, the endpoint policy into chat messages; rollout and training
show the model the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from deskhand_agent.coordinates import Frames
from deskhand_agent.formats import Format
from deskhand_agent.grammar import format_reply
from deskhand_agent.memory import WindowMemory, memory_of
from deskhand_agent.memory.base import newest_within
from deskhand_agent.memory.room import LINES_IN_ROOM, clipped, each_within, fair_share, size
from deskhand_agent.memory.summary import SUMMARISE
from deskhand_agent.trees import in_frame, shortened, tells
from deskhand_agent.types import Context, Step
from deskhand_sandbox.types import Image, Observation

MAX_OUTPUT_CHARS = 4000
"""Longest stretch of a command's or tool's output shown; the middle is left out beyond it."""
ON_THE_SCREEN = "On the screen:"
"""What stands before an accessibility tree."""
NOTES = "Your notes from earlier tasks here:"
"""What stands before notes of earlier episodes."""
NO_ACTION = "(no action)"
"""What stands in the place of a reply that says nothing."""
MANY = 10**9
"""Turns no episode has."""
PLAN = (
    "Do not act yourself. Say in one line what to do next: it is done by somebody who sees this screen and "
    "is told nothing but your line."
)
"""What a plan is asked for with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A stretch of text in a message."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSegment:
    """A picture in a message."""

    image: Image


Segment: TypeAlias = Text | ImageSegment


class Clip(Protocol):
    """Cuts one part of a prompt to its length."""

    def __call__(self, text: str, cut: Callable[[str, int], str] = clipped, /) -> str:
        """
        Args:
            cut: makes the part fit into so many bytes.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptMessage:
    """One message of the conversation, its parts in order."""

    role: Literal["system", "user", "assistant"]
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The text of all segments, pictures left out."""
        return "".join(segment.text for segment in self.segments if isinstance(segment, Text))


def build_prompt(
    context: Context,
    *,
    memory: WindowMemory,
    coordinates: Frames,
    system: str = "",
    form: Format | None = None,
    thoughts: bool = False,
    asking: str = "",
) -> tuple[PromptMessage, ...]:
    """The messages for one turn; the last is the user's and ends with the current screenshot.

    The memory says what of the past is shown. The latest of those turns are a user message with the screen
    and an assistant message with the reply; the ones before stand as numbered lines of text in the first user
    message, after what the model wrote in place of turns. A screen is its screenshot, what its terminal says,
    or its accessibility tree, as the memory has it. Where all the text has more bytes than the memory allows,
    whatever is longest is cut.

    Args:
        coordinates: the frame that past actions and trees are written in, the one the model itself writes.
        system: the system message; none when empty.
        form: how the task is told and past replies were said; None: in our own words.
        thoughts: past replies keep their thoughts.
        asking: for something in place of an action: `PLAN`, or `SUMMARISE`, for which the memory may have a
            question of its own.
    """
    context = context if form is None else form.told(context)
    strategy = memory_of(memory)
    recall = strategy.recall(context.steps)
    asked = (strategy.question or asking) if asking == SUMMARISE else (asking or recall.reminder)
    thoughts = thoughts and memory.strategy != "constant"
    whole = min(len(recall.steps), memory.n_screenshots - 1)
    past, shown = recall.steps[: len(recall.steps) - whole], recall.steps[len(recall.steps) - whole :]
    lines = tuple(_past_line(step, coordinates) for step in past)
    if memory.text_bytes:
        lines = tuple(clipped(line, memory.text_bytes // LINES_IN_ROOM) for line in lines)
    first = recall.dropped + len(lines) + 1

    def messages(lines: Sequence[str], clip: Clip) -> list[PromptMessage]:
        dropped = first - 1 - len(lines)
        text = _opening(
            clip(context.instruction),
            ((NOTES, clip(context.notes)), (strategy.heading, clip(recall.written))),
            dropped,
            lines,
        )
        said: list[PromptMessage] = []
        for step in shown:
            said.append(_user(text, step.observation, memory, coordinates, clip))
            said.append(_assistant(clip(_said(step, coordinates, form, thoughts=thoughts))))
            result = clip(_result(step, coordinates))
            text = f"{result}\n" if result else ""
        return [*said, _user(text, context.observation, memory, coordinates, clip)]

    kept = newest_within(each_within(lines, memory.action_chars), memory.action_chars)
    numbered = [f"{n}. {line}\n" for n, line in enumerate(kept, start=first - len(kept))]
    built = _within(memory.text_bytes, numbered, messages)
    opening = [PromptMessage(role="system", segments=(Text(text=system),))] if system else []
    question = (Text(text=asked),) if asked else ()
    now = replace(built[-1], segments=(*built[-1].segments, *question))
    return (*opening, *built[:-1], now)


def summary_due(context: Context, memory: WindowMemory) -> bool:
    """Whether the model is to be asked to write into its memory before it acts again."""
    return memory_of(memory).due(context.steps)


def reply_of(step: Step, coordinates: Frames, *, form: Format | None = None, thoughts: bool = False) -> str:
    """What a turn did, as a model of this frame and form writes it, whoever decided it.

    Args:
        form: None: our own words.
        thoughts: it keeps its thought.
    """
    frame = coordinates.frame(step.observation.size_px)
    actions = tuple(frame.action_to_model(action) for action in step.decision.actions)
    said = format_reply(step.decision.thought if thoughts else None, actions) if actions else NO_ACTION
    return said if form is None else form.reply(step, said)


def told_by(observation: Observation, memory: WindowMemory, coordinates: Frames) -> str:
    """What a screen says in words to a model of this memory; nothing where it is shown a picture alone."""
    return _user("", observation, memory, coordinates, _whole).text


def _whole(text: str, _: Callable[[str, int], str] = clipped, /) -> str:
    return text


def _within(
    room: int, lines: Sequence[str], messages: Callable[[Sequence[str], Clip], list[PromptMessage]]
) -> list[PromptMessage]:
    """The messages with so many bytes of text at most: every part has as much of it as it needs, or as much
    as any other that does not get all it needs.

    Args:
        room: 0: any number.
        messages: builds them from past turns as lines and from what cuts every other part.
    """
    parts: list[int] = []

    def noted(text: str, _: Callable[[str, int], str] = clipped, /) -> str:
        parts.append(size(text))
        return text

    built = messages(lines, noted)
    over = sum(size(message.text) for message in built) - room
    if room == 0 or over <= 0:
        return built
    parts.append(sum(size(line) for line in lines))
    share = fair_share(parts, sum(parts) - over - size(_left_out(MANY)))
    while sum(size(line) for line in lines) > share:
        lines = lines[1:]
    return messages(lines, lambda text, cut=clipped, /: cut(text, share))


def _opening(instruction: str, written: Sequence[tuple[str, str]], dropped: int, lines: Sequence[str]) -> str:
    """The task, what was written of the past under its headings, and past turns as lines."""
    parts = [f"{instruction}\n", *(f"{heading}\n{text}\n" for heading, text in written if text)]
    if dropped or lines:
        parts.append("Done so far:\n")
    if dropped:
        parts.append(_left_out(dropped))
    return "".join((*parts, *lines))


def _left_out(turns: int) -> str:
    return f"({turns} earlier left out)\n"


def _past_line(step: Step, coordinates: Frames) -> str:
    result = _result(step, coordinates)
    return f"{_said(step, coordinates, None, thoughts=False)}{f' -> {result}' if result else ''}"


def _result(step: Step, coordinates: Frames) -> str:
    """What came of a turn other than a changed screen; empty when nothing did."""
    parts = [] if step.decision.execution is None else [f"done: {reply_of(step, coordinates)}"]
    error = step.decision.error or step.action_error
    parts += [f"error: {error}"] if error else []
    if step.answer is not None:
        parts.append(f"user: {step.answer}")
    return " ".join(parts)


def _said(step: Step, coordinates: Frames, form: Format | None, *, thoughts: bool) -> str:
    """The reply of a turn that is shown whole."""
    if step.decision.execution is not None:
        return step.decision.execution.plan
    return reply_of(step, coordinates, form=form, thoughts=thoughts)


def _assistant(reply: str) -> PromptMessage:
    return PromptMessage(role="assistant", segments=(Text(text=reply),))


def _user(
    text: str, observation: Observation, memory: WindowMemory, coordinates: Frames, clip: Clip
) -> PromptMessage:
    if observation.dialog is not None:
        text += f"Dialog: {clip(observation.dialog)}\n"
    if observation.output is not None:
        text += f"Output:\n{clip(_shortened(observation.output))}\n"
    terminal = observation.terminal if memory.screens != "picture" else None
    if terminal is not None:
        text += f"{clip(terminal)}\n"
    tree = observation.text_tree if memory.reads_tree else None
    if tree:
        text += f"{ON_THE_SCREEN}\n{_tree(tree, observation, memory, coordinates, clip)}\n"
    told = (memory.screens == "text" and terminal is not None) or (memory.screens == "tree" and tells(tree))
    shown: tuple[Segment, ...] = () if told else (ImageSegment(image=observation.screenshot),)
    return PromptMessage(role="user", segments=(Text(text=text), *shown) if text else shown)


def _tree(tree: str, observation: Observation, memory: WindowMemory, coordinates: Frames, clip: Clip) -> str:
    whole = in_frame(tree, coordinates.frame(observation.size_px))
    bounded = shortened(whole, memory.tree_bytes) if memory.tree_bytes else whole
    return clip(bounded, lambda text, longest: text if size(text) <= longest else shortened(whole, longest))


def _shortened(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    half = MAX_OUTPUT_CHARS // 2
    return f"{text[:half]}\n({len(text) - 2 * half} characters left out)\n{text[-half:]}"
