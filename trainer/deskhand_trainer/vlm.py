"""The vision-language model as the learner's `ActorCritic`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from deskhand_agent.models.adapters import add_adapters
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.fast import compile_layers, supports
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.value import ValueHead
from deskhand_agent.precision import Precision, multiplying, resolved
from deskhand_trainer.actor_critic import TurnScores
from deskhand_trainer.choices import CriticKind
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.passes import Scoring, Valuing, trunk_of
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.sharding import shard
from deskhand_trainer.types import TrainingSample


def _compile(model: Any, *, alone: bool, in_float32: bool) -> None:
    compiler = os.environ.get("CXX", "g++")  # as PyTorch looks for it
    if not (alone and in_float32 and supports(model)):
        raise RunRefused(
            "compile is for a Qwen3-VL without DeepStack, on the processor, in float32, in one process: "
            "leave it out"
        )
    if shutil.which(compiler) is None:
        raise RunRefused(
            f"compile wants the C++ compiler {compiler!r}, which is not in PATH: install it, or leave "
            "compile out"
        )
    compile_layers(model)


class VlmActorCritic:
    """The bundle's model is the policy; the critic is a head on its states, or on those of a copy."""

    def __init__(
        self,
        bundle: ModelBundle,
        value_head: ValueHead | None = None,
        *,
        packing: bool = True,
        freeze: Literal["nothing", "vision"] = "nothing",
        checkpointing: bool = False,
        compile: bool = False,
        lora_rank: int = 0,
        precision: Precision = "float32",
        critic: CriticKind = "head",
        features_mb: int = 1024,
        ranks: Ranks = ALONE,
        device: torch.device | None = None,
    ) -> None:
        """
        Args:
            bundle: trained in place; among several ranks it is shared out, with rank 0's weights.
            value_head: None: a fresh one.
            device: where this rank computes; None: where the bundle is.
            packing, freeze, checkpointing, compile, lora_rank, precision, critic, features_mb: see
                `PpoConfig`.

        Raises:
            RunRefused: the model cannot be compiled as asked for.
        """
        self.bundle = bundle
        device = device or bundle.device
        self._dtype, self._device = resolved(precision, device.type), device.type
        model: Any = bundle.model
        head = value_head or ValueHead(bundle.text_width, detach=critic == "head")
        self.value_head = head.to(device)
        model.requires_grad_(True)
        if lora_rank:
            add_adapters(model, lora_rank)
        if freeze == "vision":
            model.model.visual.requires_grad_(False)
        if checkpointing:
            # transformers computes again only what is in training mode; these models have no dropout
            model.train()
            model.activation_checkpointing_enable({"use_reentrant": False})
        if compile:
            _compile(model, alone=ranks.alone, in_float32=self._dtype is torch.float32)
        trained = any(p.requires_grad for p in model.model.visual.parameters())
        self.features = None if trained else FeatureCache(bundle, max_bytes=features_mb * 2**20)
        """Of a vision tower that is not trained; None: it is."""
        how: dict[str, Any] = {
            "packing": packing,
            "features": self.features,
            "multiplying": partial(multiplying, self._dtype, self._device),
        }
        self._scoring = Scoring(bundle, **how)
        self._valuing: Valuing | None = None
        if critic == "separate":
            # one precision for all that is shared out together
            self._valuing = Valuing(trunk_of(bundle), self.value_head.to(model.dtype), **how)
        for each in (self._scoring, self._valuing) if not ranks.alone else ():
            if each is not None:
                shard(each, each.model, device=device, size=ranks.size)
                if trained:
                    each.look_always()

    @property
    def apart(self) -> bool:
        """Whether the critic has a model of its own: `states` then are not what it reads."""
        return self._valuing is not None

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        logprobs, entropies, states, pictures = self.passed(samples, temperature=temperature)
        values, more = (self.value_head(states), 0) if self._valuing is None else self._valuing(samples)
        return TurnScores(
            logprobs=logprobs,
            entropies=entropies,
            values=values.cpu(),
            pictures_encoded=pictures + more,
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
        return self._scoring(samples, temperature, with_entropy)

    def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        samples = self._replied(samples)
        if self._valuing is not None:
            values, pictures = self._valuing(samples)
            return values.cpu(), pictures
        with torch.no_grad():
            _, _, states, pictures = self._passed(samples, 1.0, with_entropy=False)
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
        critic = self.value_head if self._valuing is None else self._valuing
        return ((name, p) for name, p in critic.named_parameters() if p.requires_grad)
