"""What a policy behind an API is shown, turn by turn, and pictures as it is shown them."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass

from deskhand_agent.coordinates import Frames
from deskhand_agent.errors import EndpointError
from deskhand_agent.formats import Format
from deskhand_agent.memory import WindowMemory
from deskhand_agent.memory.base import turns
from deskhand_agent.memory.room import clipped
from deskhand_agent.prompt import SUMMARISE, PromptMessage, build_prompt, summary_due
from deskhand_agent.types import Context, Decision, Fault, Step
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Image, Observation

BYTES_PER_TOKEN = 8
"""A token is seldom longer. APIs bound a reply with its reasoning; by this what is kept of it is bounded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A message to the model, and what it answered."""

    shown: PromptMessage
    seen: Observation
    """The screen it shows."""
    step: Step | None
    """The turn it answered with; None: it is to answer now."""
    said: str = ""
    """That answer, in our own words or in those of the form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What the model is shown for one turn."""

    system: str
    exchanges: tuple[Exchange, ...]
    """Oldest first; at least one, of which only the last has no answer."""
    summing_up: bool
    """It is asked for a summary, not for an action."""


def conversation(
    context: Context,
    *,
    memory: WindowMemory,
    coordinates: Frames,
    system: str = "",
    form: Format | None = None,
    asking: str = "",
) -> Conversation:
    """The messages of `build_prompt`, each with the turn that answered it.

    Args:
        coordinates: the frame past actions are written in.
        form: how it is told of them; None: in our own words.
        asking: a question in place of what to do; the memory has to wait with its own.
    """
    due = not asking and summary_due(context, memory)
    messages = build_prompt(
        context,
        memory=memory,
        coordinates=coordinates,
        system=system,
        form=form,
        thoughts=True,
        asking=SUMMARISE if due else asking,
    )
    shown = [message for message in messages if message.role == "user"]
    said = [message.text for message in messages if message.role == "assistant"]
    # the turns shown whole are always the last ones, those apart in which a memory wrote
    acted = turns(context.steps)
    answers = acted[len(acted) - len(said) :]
    past = [
        Exchange(shown=message, seen=step.observation, step=step, said=text)
        for message, step, text in zip(shown, answers, said, strict=False)
    ]
    now = Exchange(shown=shown[-1], seen=context.observation, step=None)
    return Conversation(system=system, exchanges=(*past, now), summing_up=due)


def why_void(fault: Fault, said: str, *, before: str = "the action") -> str:
    """The error of a turn whose reply was refused, or cut off before what was asked for."""
    if fault is Fault.REFUSED:
        return f"the model refused: {said[:500]}"
    return f"the reply ended before {before}: it was too long, reasoning included"


def summed_up(
    text: str, memory: WindowMemory, cost: Mapping[str, float], *, fault: Fault | None = None
) -> Decision:
    """The turn in which a summary was asked for; a void one, so that it is asked for again, where none came.

    Args:
        fault: why what came is none; None where it may be one.
    """
    summary = text.strip()
    if fault is None and summary:
        summary = clipped(summary, memory.summary_tokens * BYTES_PER_TOKEN)
        return Decision(actions=(), text=text, summary=summary, cost=cost)
    fault = fault or Fault.CUT_OFF
    error = why_void(fault, text, before="the summary was written")
    return Decision(actions=(), text=text, error=error, fault=fault, cost=cost)


def data_of(image: Image) -> bytes:
    """The encoded bytes of a picture.

    Raises:
        EndpointError: it has none.
    """
    if image.data is None:
        raise EndpointError(f"screenshot {image.digest[:12]} has no bytes: load it from the store first")
    return image.data


def data_url(image: Image) -> str:
    """A picture as a URL that holds it.

    Raises:
        EndpointError: it has no bytes.
    """
    return f"data:image/{image.format};base64,{base64_of(image)}"


def base64_of(image: Image) -> str:
    """The bytes of a picture in base64.

    Raises:
        EndpointError: it has none.
    """
    return base64.b64encode(data_of(image)).decode("ascii")


def fitted_px(size_px: tuple[int, int], *, longest_px: int, most_px: int) -> tuple[int, int]:
    """Width and height a picture is shrunk to so that an API does not shrink it further, aspect ratio kept.

    Args:
        longest_px: of the longer side.
        most_px: of the area.
    """
    width, height = size_px
    share = min(1.0, longest_px / max(width, height), math.sqrt(most_px / (width * height)))
    return max(1, int(width * share)), max(1, int(height * share))


def shrunk(image: Image, size_px: tuple[int, int]) -> Image:
    """A picture of this width and height; itself where it has them.

    Raises:
        EndpointError: it has no bytes, or they are no picture.
    """
    if (image.width_px, image.height_px) == size_px:
        return image
    from PIL import Image as Picture

    data = data_of(image)
    try:
        with Picture.open(io.BytesIO(data)) as picture:
            return encoded(picture.convert("RGB").resize(size_px, Picture.Resampling.LANCZOS))
    except (OSError, SyntaxError, ValueError, Picture.DecompressionBombError) as error:
        raise EndpointError(f"image {image.digest[:12]} is not a readable picture: {error}") from error
