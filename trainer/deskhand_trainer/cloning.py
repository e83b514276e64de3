"""Behaviour cloning: the loss on demonstrated replies, nothing else, and in which order turns are learned."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.scoring import score_turns
from deskhand_trainer.types import TrainingSample


def cloning_loss(bundle: ModelBundle, samples: Sequence[TrainingSample], *, tokens: int) -> Tensor:
    """Negative log-likelihood of the replies; prompts and pictures carry no loss.

    Args:
        tokens: of the replies of the whole minibatch: its parts add up to the mean per token.
    """
    return -score_turns(bundle, samples).logprobs.sum() / tokens


@torch.no_grad()
def cloning_figures(
    bundle: ModelBundle, samples: Sequence[TrainingSample], *, batch: int = 32
) -> dict[str, float]:
    """Of held-out demonstrations: "loss" per token, and "token_likelihood", its geometric mean per token."""
    total, tokens = 0.0, 0
    for start in range(0, len(samples), batch):
        scores = score_turns(bundle, samples[start : start + batch])
        total -= float(scores.logprobs.sum())
        tokens += int(scores.mask.sum())
    if not tokens:
        return {}
    loss = total / tokens
    return {"loss": loss, "token_likelihood": float(torch.tensor(-loss).exp())}


class TurnOrder:
    """Every turn once per epoch, in an order that depends on seed and epoch alone; side by side those whose
    pictures are of one size, so that little is padded."""

    def __init__(self, samples: Sequence[TrainingSample], *, each: int, seed: int) -> None:
        """
        Args:
            each: turns of a step, at most.
        """
        self._samples, self._each, self._seed = samples, each, seed
        self._epoch = 0, self._minibatches(0)

    def __len__(self) -> int:
        """Steps of an epoch."""
        return len(self._epoch[1])

    def at(self, step: int) -> list[TrainingSample]:
        """What a step, counted from 0, learns from."""
        epoch, place = divmod(step, len(self))
        if self._epoch[0] != epoch:
            self._epoch = epoch, self._minibatches(epoch)
        return [self._samples[i] for i in self._epoch[1][place]]

    def _minibatches(self, epoch: int) -> list[list[int]]:
        draw = random.Random(f"{self._seed}/{epoch}")
        order = list(range(len(self._samples)))
        draw.shuffle(order)
        alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for index in order:
            sizes = tuple((image.width_px, image.height_px) for image in self._samples[index].images)
            alike.setdefault(sizes, []).append(index)
        each = self._each
        found = [group[at : at + each] for group in alike.values() for at in range(0, len(group), each)]
        if len(alike) > 1:
            draw.shuffle(found)
        return found


def apart(
    samples: Sequence[TrainingSample], *, held_out: float, seed: int
) -> tuple[list[TrainingSample], list[TrainingSample]]:
    """Those to learn and those held out: all trajectories of a start state, so that no turn is trained on
    beside its neighbours, or beside the same turn of another try.

    Args:
        held_out: share of the start states; one at least where there are several.
    """
    names = list(dict.fromkeys(map(_begun, samples)))
    random.Random(seed).shuffle(names)
    cut = max(1, round(len(names) * held_out)) if len(names) > 1 else 0
    kept_out = set(names[:cut])
    return (
        [s for s in samples if _begun(s) not in kept_out],
        [s for s in samples if _begun(s) in kept_out],
    )


def _begun(sample: TrainingSample) -> str:
    return sample.start or sample.trajectory_id
