"""The vision-language model as the learner's `ActorCritic`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from PIL import Image as Picture
from torch import Tensor, nn

from deskhand_agent.models import scoring
from deskhand_agent.models.adapters import add_adapters
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import encode_pictures
from deskhand_agent.models.value import ValueHead
from deskhand_agent.precision import Precision, multiplying, resolved
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Image
from deskhand_trainer.actor_critic import TurnScores
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.sharding import shard
from deskhand_trainer.types import TrainingSample


class Scoring(nn.Module):
    """A pass over whole turns as one module, so that all of a sharded model is there for it."""

    def __init__(self, bundle: ModelBundle, *, packing: bool, features: FeatureCache | None) -> None:
        """
        Args:
            features: of a vision tower that is not trained; None: it is.
        """
        super().__init__()
        self.model: Any = bundle.model
        self._bundle, self._packing, self._features = bundle, packing, features
        self._blank: Image | None = None
        """Looked at where a pass has no picture; None: nothing is."""

    def look_always(self) -> None:
        """Use the vision tower in every pass: blocks that are shared out wait for every rank."""
        side = self._bundle.images.factor_px
        self._blank = encoded(Picture.new("RGB", (side, side)))

    def forward(
        self, samples: Sequence[TrainingSample], temperature: float, with_entropy: bool
    ) -> tuple[Tensor, Tensor | None, Tensor, int]:
        """Log-probabilities, entropies, states before each reply token, and pictures encoded."""
        nothing: Tensor | float = 0.0
        if self._blank is not None and not any(sample.images for sample in samples):
            (features,) = encode_pictures(self._bundle, [self._blank])
            nothing = 0.0 * features.sum()
        scored = scoring.score_turns(
            self._bundle,
            samples,
            temperature=temperature,
            with_entropy=with_entropy,
            packed=self._packing,
            kept=self._features,
        )
        # every loss meets the tower again on its way back
        entropy = None if scored.entropy is None else scored.entropy + nothing
        return scored.logprobs + nothing, entropy, scored.token_hidden, scored.pictures_encoded


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
        precision: Precision = "float32",
        ranks: Ranks = ALONE,
        device: torch.device | None = None,
    ) -> None:
        """
        Args:
            bundle: trained in place; among several ranks it is shared out, with rank 0's weights.
            value_head: None: a fresh one.
            device: where this rank computes; None: where the bundle is.
            packing, freeze, checkpointing, lora_rank, precision: see `PpoConfig`.
        """
        self.bundle = bundle
        device = device or bundle.device
        self._dtype, self._device = resolved(precision, device.type), device.type
        self.value_head = (value_head or ValueHead(bundle.text_width)).to(device)
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
        self.features = None if trained else FeatureCache(bundle)
        """Of a vision tower that is not trained; None: it is."""
        self._scoring = Scoring(bundle, packing=packing, features=self.features)
        if not ranks.alone:
            shard(self._scoring, model, device=device, size=ranks.size)
            if trained:
                self._scoring.look_always()

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        logprobs, entropies, states, pictures = self.passed(samples, temperature=temperature)
        return TurnScores(
            logprobs=logprobs,
            entropies=entropies,
            values=self.value_head(states).cpu(),
            pictures_encoded=pictures,
        )

    def passed(
        self, samples: Sequence[TrainingSample], *, temperature: float
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        """What `score` tells, with the states that values are read from, [B, T, D], in their place."""
        logprobs, entropies, hidden, pictures = self._passed(samples, temperature, with_entropy=True)
        # a number for each reply token: losses are computed on the processor
        return logprobs.cpu(), entropies.cpu(), hidden, pictures

    def _passed(
        self, samples: Sequence[TrainingSample], temperature: float, *, with_entropy: bool
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        with multiplying(self._dtype, self._device):
            return self._scoring(samples, temperature, with_entropy)

    def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        with torch.no_grad():
            _, _, states, pictures = self._passed(self._replied(samples), 1.0, with_entropy=False)
        return self.value(states.cpu()), pictures

    @torch.no_grad()
    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        return self._states(self._replied(samples))

    def _replied(self, samples: Sequence[TrainingSample]) -> list[TrainingSample]:
        # a state after the end has no reply: any token serves, V is read before it
        return [s if s.reply_ids else replace(s, reply_ids=(self.bundle.end_id,)) for s in samples]

    def _states(self, samples: Sequence[TrainingSample]) -> Tensor:
        return self._passed(samples, 1.0, with_entropy=False)[2].cpu()

    @torch.no_grad()
    def turn_states(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        # states are read before a token: one more after the reply, and the last has seen all of it
        longer = [replace(s, reply_ids=(*s.reply_ids, self.bundle.end_id)) for s in samples]
        states = self._states(longer)
        written = torch.tensor([len(s.reply_ids) for s in samples])
        return states[:, 0], states[torch.arange(len(samples)), written]

    def value(self, states: Tensor) -> Tensor:
        return self.value_head(states).to(states.device)

    def as_multiplied(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A model's weights with the trained matrices as multiplications here see them, so that who acts with
        them draws from the policy that is trained: steps finer than bfloat16 add up here unseen."""
        if self._dtype is not torch.bfloat16:
            return dict(weights)
        parameters = self.bundle.model.named_parameters(remove_duplicate=False)  # tied ones by both names
        trained = {name for name, p in parameters if p.requires_grad and p.dim() > 1}
        return {n: w.to(self._dtype).to(w.dtype) if n in trained else w for n, w in weights.items()}

    def actor_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return ((name, p) for name, p in self.bundle.model.named_parameters() if p.requires_grad)

    def critic_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        return self.value_head.named_parameters()
