"""What an engine is asked for and has not answered yet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from torch import Tensor

from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import Completion, CompletionRequest


@dataclass(slots=True)
class Waiting:
    """A request whose reply is not there yet."""

    request: CompletionRequest
    reply: Future[Completion]
    deadline_s: float
    seed: int | None = None
    """None: the engine's own."""
    tell: Callable[[int], None] | None = None
    """Told every id as it is drawn, on the worker's thread."""


@dataclass(slots=True)
class Draft:
    """A reply under way."""

    waiting: Waiting
    hidden: Tensor
    """[width] at the token before the next."""
    value: float | None
    chances: Sequence[float]
    """Per token it may have."""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    entropies: list[float] = field(default_factory=list[float])
    spoilt: bool = False
    """Its numbers are none."""


def fail(waiting: Waiting, error: Exception) -> None:
    """Give it an error in place of its reply, if anybody still waits for that."""
    known = isinstance(error, InferenceError)
    with contextlib.suppress(InvalidStateError):
        waiting.reply.set_exception(error if known else InferenceError(str(error) or repr(error)))
