"""The vision-language model as the learner's `ActorCritic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.scoring import score_turns
from deskhand_agent.models.value import ValueHead
from deskhand_trainer.actor_critic import TurnScores
from deskhand_trainer.types import TrainingSample


class VlmActorCritic:
    """The bundle's model is the policy; a head on its detached states is the critic."""

    def __init__(
        self, bundle: ModelBundle, value_head: ValueHead | None = None, *, packing: bool = True
    ) -> None:
        """
        Args:
            bundle: trained in place.
            value_head: None: a fresh one.
            packing: compute nothing for padding.
        """
        self.bundle, self.packing = bundle, packing
        self.value_head = value_head or ValueHead(bundle.text_width)
        bundle.model.requires_grad_(True)

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        scored = score_turns(
            self.bundle, samples, temperature=temperature, with_entropy=True, packed=self.packing
        )
        assert scored.entropy is not None
        return TurnScores(
            logprobs=scored.logprobs, entropies=scored.entropy, values=self.value_head(scored.token_hidden)
        )

    @torch.no_grad()
    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        # a state after the end has no reply: any token serves, V is read before it
        whole = [s if s.reply_ids else replace(s, reply_ids=(self.bundle.end_id,)) for s in samples]
        return score_turns(self.bundle, whole, packed=self.packing).token_hidden

    def value(self, states: Tensor) -> Tensor:
        return self.value_head(states)

    def actor_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return self.bundle.model.named_parameters()

    def critic_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return self.value_head.named_parameters()
