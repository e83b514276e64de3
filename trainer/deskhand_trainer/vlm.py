"""The vision-language model as the learner's `ActorCritic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from deskhand_agent.models import scoring
from deskhand_agent.models.adapters import add_adapters
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.value import ValueHead
from deskhand_trainer.actor_critic import TurnScores
from deskhand_trainer.types import TrainingSample


class VlmActorCritic:
    """The bundle's model is the policy; a head on its detached states is the critic."""

    def __init__(
        self,
        bundle: ModelBundle,
        value_head: ValueHead | None = None,
        *,
        packing: bool = True,
        freeze: Literal["nothing", "vision"] = "nothing",
        checkpointing: bool = False,
        lora_rank: int = 0,
    ) -> None:
        """
        Args:
            bundle: trained in place.
            value_head: None: a fresh one.
            packing, freeze, checkpointing, lora_rank: see `PpoConfig`.
        """
        self.bundle, self.packing = bundle, packing
        self.value_head = value_head or ValueHead(bundle.text_width)
        model: Any = bundle.model
        model.requires_grad_(True)
        if lora_rank:
            add_adapters(model, lora_rank)
        if freeze == "vision":
            model.model.visual.requires_grad_(False)
        if checkpointing:
            # transformers computes again only what is in training mode; these models have no dropout
            model.train()
            model.activation_checkpointing_enable({"use_reentrant": False})
        trained = any(p.requires_grad for p in model.model.visual.parameters())
        self._features = None if trained else FeatureCache(bundle)

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        scored = self._scored(samples, temperature=temperature, with_entropy=True)
        assert scored.entropy is not None
        return TurnScores(
            logprobs=scored.logprobs,
            entropies=scored.entropy,
            values=self.value_head(scored.token_hidden),
            pictures_encoded=scored.pictures_encoded,
        )

    @torch.no_grad()
    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        # a state after the end has no reply: any token serves, V is read before it
        whole = [s if s.reply_ids else replace(s, reply_ids=(self.bundle.end_id,)) for s in samples]
        return self._scored(whole).token_hidden

    def _scored(
        self, samples: Sequence[TrainingSample], *, temperature: float = 1.0, with_entropy: bool = False
    ) -> scoring.TurnScores:
        return scoring.score_turns(
            self.bundle,
            samples,
            temperature=temperature,
            with_entropy=with_entropy,
            packed=self.packing,
            kept=self._features,
        )

    @torch.no_grad()
    def turn_states(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        # states are read before a token: one more after the reply, and the last has seen all of it
        longer = [replace(s, reply_ids=(*s.reply_ids, self.bundle.end_id)) for s in samples]
        states = self._scored(longer).token_hidden
        written = torch.tensor([len(s.reply_ids) for s in samples])
        return states[:, 0], states[torch.arange(len(samples)), written]

    def value(self, states: Tensor) -> Tensor:
        return self.value_head(states)

    def actor_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return ((name, p) for name, p in self.bundle.model.named_parameters() if p.requires_grad)

    def critic_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return self.value_head.named_parameters()
