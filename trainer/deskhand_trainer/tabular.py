"""The smallest model the learner takes: one table of logits and one linear critic, for worlds of few states.

A prompt's last id is the state. With it the learning machinery is checked against closed forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from deskhand_trainer.actor_critic import TurnScores, reply_mask
from deskhand_trainer.losses import entropy_of
from deskhand_trainer.types import TrainingSample


class TabularActorCritic(nn.Module):
    """π(token | state, position in the reply) as a table; V as a linear map of the one-hot state."""

    def __init__(self, *, states: int, tokens: int, reply_length: int = 1) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(states, reply_length, tokens))
        self.critic = nn.Linear(states, 1)
        nn.init.zeros_(self.critic.weight)
        nn.init.zeros_(self.critic.bias)
        self.state_count = states

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        mask = reply_mask(samples)
        index = torch.tensor([s.prompt_ids[-1] for s in samples])
        ids = torch.zeros(mask.shape, dtype=torch.long)
        for b, sample in enumerate(samples):
            ids[b, : len(sample.reply_ids)] = torch.tensor(sample.reply_ids, dtype=torch.long)
        logits = self.logits[index, : mask.shape[1]] / temperature
        logprobs = torch.log_softmax(logits, -1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)
        return TurnScores(
            logprobs=logprobs, entropies=entropy_of(logits, mask), values=self.value(self.states(samples))
        )

    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        index = torch.tensor([s.prompt_ids[-1] for s in samples])
        one_hot = torch.nn.functional.one_hot(index, self.state_count).to(self.logits.dtype)
        return one_hot.unsqueeze(1).expand(-1, reply_mask(samples).shape[1], -1)

    def turn_states(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        """One-hot states, and one-hot pairs of state and reply; a reply's tokens count like digits."""
        _, length, tokens = self.logits.shape
        index = torch.tensor([s.prompt_ids[-1] for s in samples])
        replies = torch.tensor([sum(t * tokens**i for i, t in enumerate(s.reply_ids)) for s in samples])
        pairs = index * tokens**length + replies
        one_hot = torch.nn.functional.one_hot
        dtype = self.logits.dtype
        return (
            one_hot(index, self.state_count).to(dtype),
            one_hot(pairs, self.state_count * tokens**length).to(dtype),
        )

    def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        return self.value(self.states(samples)), 0

    def value(self, states: Tensor) -> Tensor:
        return self.critic(states).squeeze(-1)

    def actor_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield "logits", self.logits

    def critic_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield from self.critic.named_parameters(prefix="critic")
