"""Messages into ids: the ChatML template of the Qwen-VL family, pictures as placeholder runs.

Text never becomes a special token, whatever a page or a person writes into an instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from deskhand_agent.memory import WindowMemory, memory_of
from deskhand_agent.memory.room import size
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.vocabulary import END, IMAGE_PAD, ROLES, START, VISION_END, VISION_START
from deskhand_agent.prompt import PLAN, ImageSegment, PromptMessage, Segment, build_prompt
from deskhand_agent.types import Context
from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenisedPrompt:
    """A prompt as the engine takes it."""

    ids: tuple[int, ...]
    """Placeholder runs expanded; ends where the reply begins."""
    images: tuple[Image, ...]
    """In the order of their runs."""


def tokenise_prompt(bundle: ModelBundle, messages: Sequence[PromptMessage]) -> TokenisedPrompt:
    """The ids of a prompt, up to and with the header of the assistant's message."""
    ids: list[int] = []
    images: list[Image] = []
    for message in messages:
        ids += message_header(bundle, message.role)
        for segment in _ordered(bundle, message.segments):
            if isinstance(segment, ImageSegment):
                ids += image_run(bundle, segment.image)
                images.append(segment.image)
            else:
                ids += encode_text(bundle, segment.text)
        ids += footer(bundle)
    ids += message_header(bundle, "assistant")
    return TokenisedPrompt(ids=tuple(ids), images=tuple(images))


def prompt_of(
    bundle: ModelBundle,
    context: Context,
    *,
    memory: WindowMemory | None = None,
    thoughts: bool = False,
    asking: str = "",
) -> TokenisedPrompt:
    """What the model is shown for one turn: in rollouts, in training and where its steps are scored.

    Args:
        memory: None: the one the model was trained with.
        thoughts, asking: as of `build_prompt`.
    """
    messages = build_prompt(
        context,
        memory=memory or bundle.memory,
        coordinates=bundle.coordinates,
        system=bundle.system,
        form=bundle.form,
        thoughts=thoughts,
        asking=asking,
    )
    return tokenise_prompt(bundle, messages)


def longest_prompt(bundle: ModelBundle) -> int:
    """Most tokens a prompt has under the bundle's memory: what a server of the model takes beside the reply.

    Raises:
        ValueError: the memory does not bound the text of a prompt.
    """
    memory = bundle.memory
    if not memory.text_bytes:
        raise ValueError("text_bytes is 0, which bounds no prompt: say how many bytes of text one may have")
    strategy = memory_of(memory)
    asked = max(size(text) for text in (strategy.question, strategy.recall(()).reminder, PLAN))
    bracketed = bundle.images.max_pixels // bundle.images.factor_px**2 + 2
    message = max(len(message_header(bundle, role)) for role in ROLES) + len(footer(bundle))
    messages = 2 * memory.n_screenshots + 1
    return (
        memory.text_bytes
        + asked
        + size(bundle.system)
        + memory.n_screenshots * bracketed
        + messages * message
    )


def tokenise_reply(bundle: ModelBundle, text: str) -> tuple[int, ...]:
    """A reply nobody sampled (a demonstration), end token included."""
    return (*encode_text(bundle, text), bundle.end_id)


def decode_reply(bundle: ModelBundle, ids: Sequence[int]) -> str:
    """The text of a reply, end token left out."""
    body = ids[:-1] if ids and ids[-1] == bundle.end_id else ids
    return str(bundle.tokenizer.decode(list(body), skip_special_tokens=False))


def encode_text(bundle: ModelBundle, text: str) -> list[int]:
    """Ids of plain text; "<|im_end|>" written in it stays text, half a surrogate pair becomes "\ufffd"."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return list(bundle.tokenizer(whole, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def image_run(bundle: ModelBundle, image: Image) -> list[int]:
    """The placeholder run of one picture, with its brackets."""
    count = bundle.images.tokens(image.width_px, image.height_px)
    start, pad, end = _ids(bundle, VISION_START, IMAGE_PAD, VISION_END)
    return [start, *([pad] * count), end]


def footer(bundle: ModelBundle) -> list[int]:
    """What closes a message."""
    return [*_ids(bundle, END), *encode_text(bundle, "\n")]


def message_header(bundle: ModelBundle, role: str) -> list[int]:
    """What opens a message."""
    return [*_ids(bundle, START), *encode_text(bundle, f"{role}\n")]


def _ordered(bundle: ModelBundle, segments: Sequence[Segment]) -> Sequence[Segment]:
    if not bundle.pictures_first:
        return segments
    return sorted(segments, key=lambda segment: not isinstance(segment, ImageSegment))


def _ids(bundle: ModelBundle, *tokens: str) -> list[int]:
    ids = cast("list[int]", bundle.tokenizer.convert_tokens_to_ids(list(tokens)))
    return [int(i) for i in ids]
