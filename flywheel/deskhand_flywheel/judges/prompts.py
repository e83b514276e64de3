"""What a judge is shown of a step, or of a whole episode.

Actions are written in the agent's grammar, in pixels of the screen as it was; a ring on the screen shows
where they point.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from deskhand_agent.chat import ChatMessage
from deskhand_agent.episode import told_again
from deskhand_agent.grammar import format_reply
from deskhand_agent.last_words import last_words
from deskhand_agent.policies.conversation import data_of, data_url, fitted_px
from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.errors import UnreadablePicture
from deskhand_flywheel.judges.rubrics import Rubric
from deskhand_flywheel.records import encode_action
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Action, Image

Look: TypeAlias = Callable[[Image], Awaitable[Image]]
"""A picture with its bytes."""
Part: TypeAlias = dict[str, Any]

LAST_SCREENS = 5
"""Shown to an outcome judge, the final one included (UI-TARS-2, arXiv 2509.02544, section on rewards)."""
MOST_TURNS = 60
"""Past turns written out for a process judge, the latest ones; an outcome judge is shown all."""
MOST_CHARS = 600
"""Of one turn's thought, action or result."""


async def step_messages(
    rubric: Rubric, trajectory: Trajectory, place: int, look: Look, *, longest_px: int
) -> list[ChatMessage]:
    """A step as a process judge is shown it.

    Args:
        place: of the step among the trajectory's.
        longest_px: of a picture's longer side; larger ones are shown smaller.

    Raises:
        UnreadablePicture: a screen cannot be read.
        MissingBlob, CorruptBlob: as `look` does.
    """
    step = trajectory.steps[place]
    parts = [
        _text(_asked(trajectory)),
        _text(_history(trajectory.steps[:place], most=MOST_TURNS)),
        _text(f"The screen it saw{_size(step)}:"),
        await _screen(step.observation.screenshot, look, longest_px, step.decision.actions),
        _text(f"What it did:\n{_turn(step, thoughts=True)}"),
    ]
    after = _after(trajectory, place)
    if after is not None:
        parts += [_text("The screen afterwards:"), await _screen(after, look, longest_px)]
    return _messages(rubric, parts)


async def outcome_messages(
    rubric: Rubric, trajectory: Trajectory, look: Look, *, longest_px: int
) -> list[ChatMessage]:
    """An episode as an outcome judge is shown it: all that was done as text, and the last screens.

    Raises:
        As `step_messages`.
    """
    screens = [step.observation.screenshot for step in trajectory.steps]
    end = trajectory.end
    if end is not None and end.final_observation is not None:
        screens.append(end.final_observation.screenshot)
    parts = [_text(_asked(trajectory)), _text(_history(trajectory.steps, most=len(trajectory.steps)))]
    said = _said(trajectory)
    parts.append(_text(f"What it said in the end: {_cut(said)}" if said else "It said nothing in the end."))
    parts.append(_text("Its last screens, the final one last:"))
    parts += [await _screen(screen, look, longest_px) for screen in screens[-LAST_SCREENS:]]
    return _messages(rubric, parts)


def _messages(rubric: Rubric, parts: Sequence[Part]) -> list[ChatMessage]:
    return [
        {"role": "system", "content": rubric.system},
        {"role": "user", "content": list(parts)},
    ]


def _asked(trajectory: Trajectory) -> str:
    details = trajectory.start.task.details
    known = "".join(f"\n- {topic}: {detail}" for topic, detail in details.items())
    also = f"\nWhat the person wants beyond that, and the agent has to ask for:{known}" if known else ""
    return f"What the person asked for:\n{trajectory.start.instruction}{also}"


def _history(steps: Sequence[Step], *, most: int) -> str:
    if not steps:
        return "It has done nothing before."
    left_out = max(0, len(steps) - most)
    lines = [f"({left_out} earlier turns left out)"] if left_out else []
    lines += [f"{step.index + 1}. {_turn(step, thoughts=False)}" for step in steps[left_out:]]
    return "What it did so far:\n" + "\n".join(lines)


def _turn(step: Step, *, thoughts: bool) -> str:
    decision = step.decision
    if decision.actions:
        did = _cut(format_reply(decision.thought if thoughts else None, decision.actions))
    else:
        did = "(wrote a summary)" if decision.summary is not None else f"(no action: {_cut(decision.text)})"
    error = decision.error or step.action_error
    results = [f"error: {_cut(error)}"] if error else []
    results += [f"user: {_cut(step.answer)}"] if step.answer is not None else []
    return " -> ".join([did, *results])


def _after(trajectory: Trajectory, place: int) -> Image | None:
    """The screen the step led to; None where there is none."""
    if told_again(trajectory.steps[place]):
        return None  # the start state came again
    if place + 1 < len(trajectory.steps):
        return trajectory.steps[place + 1].observation.screenshot
    end = trajectory.end
    return None if end is None or end.final_observation is None else end.final_observation.screenshot


def _said(trajectory: Trajectory) -> str | None:
    """What the agent last said, in the last attempt alone; None where it said nothing."""
    said = None
    for step in trajectory.steps:
        said = None if told_again(step) else last_words(step.decision.actions, said)
    return said


def _size(step: Step) -> str:
    width, height = step.observation.size_px
    return f" ({width} × {height} pixels; points count them from the top left)"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS // 2]} … {text[-MOST_CHARS // 2 :]}"


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


async def _screen(image: Image, look: Look, longest_px: int, actions: Sequence[Action] = ()) -> Part:
    image = await look(image)
    points = [point for action in actions for point in points_of(action)]
    size = (image.width_px, image.height_px)
    fitted = fitted_px(size, longest_px=longest_px, most_px=longest_px**2)
    if points or fitted != size:
        image = await asyncio.to_thread(_drawn, image, fitted, points)
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


def points_of(action: Action) -> list[tuple[int, int]]:
    """Where an action has its places, in pixels of the screen it was decided on."""
    values = encode_action(action)
    assert isinstance(values, dict)
    path = values.get("path")
    pairs = path if isinstance(path, list) else [[values.get("x"), values.get("y")]]
    return [(int(x), int(y)) for x, y in pairs if isinstance(x, int | float) and isinstance(y, int | float)]  # type: ignore[misc]


def _drawn(image: Image, size_px: tuple[int, int], points: Sequence[tuple[int, int]]) -> Image:
    from PIL import Image as Picture
    from PIL import ImageDraw

    data = data_of(image)
    try:
        with Picture.open(io.BytesIO(data)) as opened:
            picture = opened.convert("RGB").resize(size_px, Picture.Resampling.LANCZOS)
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError) as error:
        raise UnreadablePicture(f"screenshot {image.digest[:12]} cannot be read: {error}") from error
    pen = ImageDraw.Draw(picture)
    radius = max(6, max(size_px) // 60)
    for x, y in points:
        at = (x * size_px[0] // image.width_px, y * size_px[1] // image.height_px)
        box = (at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius)
        pen.ellipse(box, outline=(255, 0, 0), width=max(2, radius // 4))
    return encoded(picture)
