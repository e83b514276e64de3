"""What a PPO run trains, with one process or with several: the model, its learner, and weights to act with.

Among several, every rank holds its part of the model. Rank 0 reads it as if it were whole: what it asks to be
scored is shared out (`SpreadActorCritic`), as the micro-batches of an update are (`Learner`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from deskhand_agent.models.adapters import plain_weights
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.precision import device_named
from deskhand_trainer.actor_critic import ActorCritic, TurnScores
from deskhand_trainer.checkpoints import digest_of
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.learner import Learner
from deskhand_trainer.ranks import Ranks
from deskhand_trainer.sharding import filled, hollow, whole_tree
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.value_pretraining import TrunkSteps
from deskhand_trainer.vlm import VlmActorCritic


class Company:
    """The model and its learner, on this rank. Rank 0 builds, trains and publishes; the others `follow`."""

    model: ActorCritic
    """To be read between updates."""
    learner: Learner
    trunk: TrunkSteps | None
    """Value pretraining of a critic with a model of its own; None: it has none."""
    features: FeatureCache | None
    """Of a vision tower that is not trained, for who acts beside the learner; None: it is, or shared out."""
    published: str
    """Digest of the weights published last. The number of updates does not tell weights apart: a life of the
    run that goes on otherwise than a lost one comes to others of the same number."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self._build_everywhere = ranks.everywhere("build", self._build, told=_told)
        self._weights_everywhere = ranks.everywhere("weights", self._weights)

    def build(self, bundle: ModelBundle, config: PpoConfig) -> None:
        """Make model and learner.

        Args:
            bundle: with one process it is trained in place; with several it stays whole, as last published.
            config: of the run.
        """
        self._bundle = bundle
        self._build_everywhere(bundle, config)

    def publish(self) -> Mapping[str, Tensor]:
        """The plain model that the trained one comes to, as its multiplications see it.

        With several processes the bundle comes to it too.
        """
        weights = self._weights_everywhere()
        if not self.ranks.alone:
            self._bundle.model.load_state_dict(dict(weights))
        self.published = digest_of(weights)
        return weights

    def _build(self, bundle: ModelBundle, config: PpoConfig) -> None:
        if self.ranks.rank > 0:
            bundle = filled(bundle)
        elif not self.ranks.alone:
            bundle = bundle.clone()
        device = device_named(config.device)
        if self.ranks.alone:
            bundle.to(device)
        elif device.type == self.ranks.device.type:
            device = self.ranks.device
        where: dict[str, Any] = {
            "precision": config.precision,
            "features_mb": config.features_mb,
            "ranks": self.ranks,
            "device": device,
        }
        held = None
        if config.kl_coef > 0:
            held = self._spread(VlmActorCritic(bundle.clone(), freeze="vision", **where), "held")
        self._trained = VlmActorCritic(
            bundle,
            packing=config.packing,
            freeze=config.freeze,
            checkpointing=config.checkpointing,
            compile=config.compile,
            lora_rank=config.lora_rank,
            critic=config.critic,
            **where,
        )
        self.model = self._spread(self._trained, "trained")
        self.features = self._trained.features if self.ranks.alone else None
        self.learner = Learner(self._trained, config, reference=held, ranks=self.ranks)
        self.trunk = TrunkSteps(self._trained, config, self.ranks) if self._trained.apart else None

    def _spread(self, model: VlmActorCritic, name: str) -> ActorCritic:
        return model if self.ranks.alone else SpreadActorCritic(model, self.ranks, name)

    def _weights(self) -> dict[str, Tensor]:
        weights = self._trained.as_multiplied(plain_weights(self._trained.bundle.model))
        return weights if self.ranks.alone else whole_tree(weights, keep=self.ranks.rank == 0)


def _told(bundle: ModelBundle, config: PpoConfig) -> tuple[ModelBundle, PpoConfig]:
    return hollow(bundle), config


class SpreadActorCritic:
    """A sharded model as rank 0 reads it: every rank scores its share of the turns, without gradients."""

    def __init__(self, own: VlmActorCritic, ranks: Ranks, name: str) -> None:
        self._own, self._ranks = own, ranks
        self._score = ranks.everywhere(f"{name}.score", self._share_of_score)
        self._value = ranks.everywhere(f"{name}.values", self._share_of_values)
        self._read = ranks.everywhere(f"{name}.read", self._share_of_states)

    def score(self, samples: Sequence[TrainingSample], *, temperature: float) -> TurnScores:
        logprobs, entropies, states, pictures = self._score(samples, temperature)
        # rank 0 alone may have fitted its head since the last update
        values, more = self.values(samples) if self._own.apart else (self.value(states), 0)
        return TurnScores(
            logprobs=logprobs,
            entropies=entropies,
            values=values,
            pictures_encoded=int(pictures.sum()) + more,
        )

    def states(self, samples: Sequence[TrainingSample]) -> Tensor:
        (found,) = self._read("states", samples)
        return found

    def turn_states(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        before, after = self._read("turn_states", samples)
        return before, after

    def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        if not self._own.apart:
            return self.value(self.states(samples)), 0
        values, pictures = self._value(samples)
        return values, int(pictures.sum())

    def value(self, states: Tensor) -> Tensor:
        return self._own.value(states)

    def actor_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self._own.actor_parameters()

    def critic_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self._own.critic_parameters()

    @torch.no_grad()
    def _share_of_score(self, samples: Sequence[TrainingSample], temperature: float) -> list[Tensor]:
        def work(mine: Sequence[TrainingSample]) -> list[Tensor]:
            logprobs, entropies, states, encoded = self._own.passed(mine, temperature=temperature)
            return [logprobs, entropies, states.cpu(), _at_first(encoded, mine)]

        return self._shared(work, samples)

    @torch.no_grad()
    def _share_of_values(self, samples: Sequence[TrainingSample]) -> list[Tensor]:
        def work(mine: Sequence[TrainingSample]) -> list[Tensor]:
            values, encoded = self._own.values(mine)
            return [values, _at_first(encoded, mine)]

        return self._shared(work, samples)

    def _share_of_states(self, kind: str, samples: Sequence[TrainingSample]) -> list[Tensor]:
        def work(mine: Sequence[TrainingSample]) -> list[Tensor]:
            found: Any = getattr(self._own, kind)(mine)
            return [*found] if isinstance(found, tuple) else [found]

        return self._shared(work, samples)

    def _shared(
        self, work: Callable[[Sequence[TrainingSample]], list[Tensor]], samples: Sequence[TrainingSample]
    ) -> list[Tensor]:
        """What `work` gives for all of the turns, each rank having done its share."""
        mine = self._ranks.mine(samples)
        # all ranks meet in every pass: one without a share makes it for a turn of another's
        found = [each[: len(mine)] for each in work(mine or samples[:1])]
        return [_stitched(parts) for parts in zip(*self._ranks.gathered(found), strict=True)]


def _at_first(count: int, rows: Sequence[object]) -> Tensor:
    """What all of them came to, told beside each."""
    return torch.tensor([count, *[0] * (len(rows) - 1)])


def _stitched(parts: Sequence[Tensor]) -> Tensor:
    """Rows dealt out to the ranks one by one, together again; zeros where a part is narrower."""
    width = max(part.shape[1] for part in parts) if parts[0].dim() > 1 else 0
    if width:
        beyond = [0, 0] * (parts[0].dim() - 2)
        parts = [pad(part, [*beyond, 0, width - part.shape[1]]) for part in parts]
    whole = parts[0].new_zeros(sum(len(part) for part in parts), *parts[0].shape[1:])
    for rank, part in enumerate(parts):
        whole[rank :: len(parts)] = part
    return whole
