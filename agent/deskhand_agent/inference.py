"""How a policy asks a model for a reply: one wire form for the local engine, our endpoint and vLLM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How reply tokens are drawn."""

    temperature: float = 1.0
    """0 takes the likeliest token."""
    max_tokens: int = 64
    """Reply length at most, end token included."""

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature is {self.temperature}: give 0 or more")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}: give 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionRequest:
    """One prompt, as ids: token in, token out."""

    prompt_ids: tuple[int, ...]
    """Ids with every image's placeholder run already expanded."""
    images: tuple[Image, ...]
    """Pictures in the order of their placeholder runs."""
    processor_hash: str
    """Names tokenizer, image processing and template; the engine refuses another than its own."""
    sampling: Sampling


class FinishReason(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """The end token was drawn; it is the last of `Completion.ids`."""
    LENGTH = "length"
    """`max_tokens` was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One reply, as ids."""

    ids: tuple[int, ...]
    """Reply ids, the end token included when it was drawn."""
    logprobs: tuple[float, ...]
    """Log-probability of each id after temperature and suppression (at temperature 0: after suppression
    at temperature 1); same length as `ids`."""
    finish_reason: FinishReason
    policy_id: str
    """Policy whose weights drew it."""
    policy_update: int
    """How many online updates those weights had seen when the request was dispatched."""
    entropy: float | None = None
    """Mean token entropy in nats; None when the engine does not measure it."""
    value: float | None = None
    """V(s) read at the last prompt token; None when the engine has no critic."""


class InferenceEngine(Protocol):
    """Turns prompts into replies, batching whatever waits."""

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply.

        Raises:
            InferenceError: the model failed, the request does not fit it, or its deadline passed.
        """
        ...
