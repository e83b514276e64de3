"""What the learner needs of a model: a policy to differentiate and a critic on its states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from deskhand_trainer.types import TrainingSample


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnScores:
    """A model's view of some turns; rows are turns, columns the tokens of their replies."""

    logprobs: Tensor
    """[B, T] of the ids drawn, after temperature and suppression."""
    entropies: Tensor
    """[B, T] nats, of the same distributions."""
    values: Tensor
    """[B, T] V before each token was written; column 0 is read at the last prompt token, so it is the
    turn critic's V(s_h), there for empty replies too."""
    pictures_encoded: int = 0
    """That the vision tower was run on for this."""


class ActorCritic(Protocol):
    """Policy and critic with parameters apart, so that each has its optimizer."""

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        """Score replies with gradients; T is the longest reply, at least 1."""
        ...

    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        """[B, T, D] what the critic reads, unless it has a model of its own, without gradient."""
        ...

    def turn_states(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        """[B, D] before each reply and [B, E] after it, without gradient: what V(s) and Q(s, a) read."""
        ...

    def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        """[B, T] V before each reply token, with gradients to the critic's parameters only, and how many
        pictures were encoded for it; T is the longest reply, at least 1."""
        ...

    def value(self, states: Tensor) -> Tensor:
        """[...] V of states [..., D], with gradients to the critic's parameters only."""
        ...

    def actor_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Named parameters of the policy."""
        ...

    def critic_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Named parameters of the critic; none of the policy's."""
        ...


def reply_mask(samples: Sequence[TrainingSample]) -> Tensor:
    """[B, T] bool, True on reply tokens; T is the longest reply, at least 1."""
    lengths = torch.tensor([len(s.reply_ids) for s in samples])
    width = max(1, int(lengths.max().item()))
    return torch.arange(width) < lengths.unsqueeze(-1)


def by_beginning(samples: Sequence[TrainingSample], chosen: Iterable[int]) -> list[int]:
    """The chosen rows, those side by side that begin alike: what turns of a micro-batch begin with is
    computed once."""
    return sorted(chosen, key=lambda i: (samples[i].prompt_ids, samples[i].reply_ids))


def by_length(samples: Sequence[TrainingSample], chosen: Iterable[int]) -> list[int]:
    """The chosen rows, shortest prompt and reply first."""
    return sorted(chosen, key=lambda i: len(samples[i].prompt_ids) + len(samples[i].reply_ids))


def padded(rows: Sequence[Sequence[float]], width: int) -> Tensor:
    """[B, width] float, zeros where a row is short."""
    out = torch.zeros(len(rows), width)
    for b, row in enumerate(rows):
        if row:
            out[b, : len(row)] = torch.tensor(row)
    return out
