"""Training the process reward model: a score head on the policy's own states, and the model below if asked.

After GUI-Shepherd's process reward (arXiv:2509.23738). The head learns two things by cross entropy to soft
labels: how much a step helps, from its prompt and reply, and where that is known how good the state was, from
the prompt alone. While the model below stays as it is, its states are computed once; where it is trained too,
it learns the rationales that people and judges left as its own words, after the reply and the question why.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.scoring import reply_logits
from deskhand_flywheel.prm.calibration import quality
from deskhand_flywheel.prm.examples import PrmExample, examples_from
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, read_step, states_of, step_hidden
from deskhand_trainer.base.optimizers import MOST_SKIPPED
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunStopped
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.material import Material, Unit, part
from deskhand_trainer.skipped_steps import SkippedSteps

log = logging.getLogger(__name__)
STATES_AT_ONCE = 64
RATIONALES_LEFT_OUT = "rationales: rationale_weight, with a trunk_lr, learns them"
"""Said of steps' reasons that nothing is learned from."""
CONFIDENCE_RATE = 10.0
"""Of the weights of how likely the reply is, by the rate of the head's others."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class PrmReport:
    """How the training went."""

    loss: float
    """Held out, cross entropy to the soft labels."""
    base_loss: float
    """Held out, of the best constant: the training labels' mean."""
    auc: float | None
    """Held out, steps that help against steps that harm; None with only one kind."""
    calibration_error: float | None
    """Held out, expected."""
    rationale_loss: float | None
    """Held out, per token in nats; None without rationales, or where none are trained on."""
    epochs: int
    train_steps: int
    held_out_steps: int
    rationales: int
    """Learned, of the steps trained on."""
    rationales_left_out: int
    """Of those steps, not learned: `rationale_weight` is 0."""
    unit: Unit
    """What is held out as a whole."""
    trained: tuple[str, ...]
    """Names of the units trained on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """A process reward model, and how it came about."""

    bundle: ModelBundle
    """The one given where it stayed as it is, else a copy that was trained."""
    head: ScoreHead
    report: PrmReport


def train_reward_model(
    bundle: ModelBundle,
    material: Material,
    config: ScoreConfig,
    *,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Trained:
    """Fit a head, and the model below it where the config says so.

    Args:
        bundle: the model that reads the steps; it is moved to the config's device, and otherwise not changed.
        progress: told epochs done and in all.
        should_stop: asked before every minibatch.

    Raises:
        NoLabels: fewer than two labelled episodes.
        RunStopped: `should_stop` said so; it begins anew the next time.
        TrainingDiverged: no minibatch had a finite gradient, many times in a row or in all.
        ConfigError: a GPU is asked for, and PyTorch finds none.
    """
    bundle.to(learning_device(config.device))
    parted = part(material.trajectories, share=config.held_out, seed=config.seed)
    train = examples_from(parted.train, bundle, material.targets)
    held = examples_from(parted.held, bundle, material.targets)
    head = ScoreHead(hidden_width(bundle), seed=config.seed).to(bundle.device)
    head.knows_values.fill_(any(each.target.value is not None for each in train))
    if config.trunk_lr > 0:
        bundle = bundle.clone()
        learner: _Learner = _WithTrunk(bundle, head, train, config)
    else:
        learner = _HeadAlone(bundle, head, train, config)
    rationales = sum(bool(each.rationale_ids) for each in train)
    learned = rationales if config.rationale_weight > 0 else 0
    if learned < rationales:
        log.warning("left out %d %s", rationales, RATIONALES_LEFT_OUT)
    epochs = _fit(learner, head, len(train), config, progress, should_stop)
    cast(Any, bundle.model).eval()
    head.eval()
    with torch.no_grad():
        logits, rationale_loss = _measured(bundle, head, held, config)
        labels, mean = _labels(held), _labels(train).mean().clamp(1e-4, 1 - 1e-4)
        found = quality(torch.sigmoid(logits).tolist(), [each.target for each in held])
        report = PrmReport(
            loss=cross_entropy(logits, labels).item(),
            base_loss=cross_entropy(torch.logit(mean).expand_as(labels), labels).item(),
            auc=found.auc,
            calibration_error=found.calibration_error,
            rationale_loss=rationale_loss,
            epochs=epochs,
            train_steps=len(train),
            held_out_steps=len(held),
            rationales=learned,
            rationales_left_out=rationales - learned,
            unit=parted.unit,
            trained=parted.trained,
        )
    return Trained(bundle=bundle, head=head, report=report)


class _Learner(Protocol):
    """What is trained, and the gradient of a minibatch."""

    optimizer: torch.optim.Optimizer
    longest: float
    """Of the gradient of each group of parameters; beyond it the gradient is clipped."""

    def learn(self, rows: Tensor, shown: Tensor) -> None:
        """
        Args:
            rows: [n] of the examples.
            shown: [n, D], what the states they are read from are multiplied by: 0 where nothing is shown.
        """
        ...


class _HeadAlone:
    """Trains the head on states that were computed once."""

    longest = math.inf

    def __init__(
        self, bundle: ModelBundle, head: ScoreHead, examples: Sequence[PrmExample], config: ScoreConfig
    ) -> None:
        self._head, self._states = head, _states(bundle, examples)
        self._targets = _StepTensors(examples)
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(_groups(head, config))

    def learn(self, rows: Tensor, shown: Tensor) -> None:
        self._targets.loss(self._head, self._states[rows], rows, shown, of=rows).backward()


class _WithTrunk:
    """Trains the head and the model below."""

    longest = 1.0

    def __init__(
        self, bundle: ModelBundle, head: ScoreHead, examples: Sequence[PrmExample], config: ScoreConfig
    ) -> None:
        self._bundle, self._head, self._examples, self._config = bundle, head, examples, config
        self._targets = _StepTensors(examples)
        model: Any = bundle.model
        model.train()
        self._kept = None
        if not config.vision:
            self._kept = FeatureCache(bundle)
            model.model.visual.requires_grad_(False)
        learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            [*_groups(head, config), {"params": learning, "lr": config.trunk_lr}]
        )

    def learn(self, rows: Tensor, shown: Tensor) -> None:
        words = sum(len(self._examples[i].rationale_ids) for i in rows.tolist())
        for few, of_few in zip(
            rows.split(self._config.microbatch), shown.split(self._config.microbatch), strict=True
        ):
            chosen = [self._examples[i] for i in few.tolist()]
            hidden, said = _read(
                self._bundle, chosen, rationales=self._config.rationale_weight > 0, kept=self._kept
            )
            loss = self._targets.loss(self._head, hidden, few, of_few, of=rows)
            if said is not None:
                loss = loss + self._config.rationale_weight * said.sum() / words
            loss.backward()


def _groups(head: ScoreHead, config: ScoreConfig) -> list[dict[str, Any]]:
    """Parameters of the head by how fast they learn: two weights have further to go than many."""
    parts = [part for part in head.children() if part is not head.confidence]
    return [
        {"params": [each for part in parts for each in part.parameters()], "lr": config.lr},
        {"params": [*head.confidence.parameters()], "lr": CONFIDENCE_RATE * config.lr},
    ]


class _StepTensors:
    """Targets of examples as tensors: labels [N], values [N], NaN where nobody knows them."""

    def __init__(self, examples: Sequence[PrmExample]) -> None:
        self._labels = _labels(examples)
        values = [each.target.value for each in examples]
        self._values = torch.tensor([float("nan") if value is None else value for value in values])

    def loss(self, head: ScoreHead, hidden: Tensor, rows: Tensor, shown: Tensor, *, of: Tensor) -> Tensor:
        """What the head is off in these rows, in scores of what is shown of a step and in values.

        Args:
            of: all rows of the minibatch: their parts' losses add up to the mean over it, of scores over all
                and of values over those that are known.
        """
        labels, values = (each[rows].to(hidden.device) for each in (self._labels, self._values))
        scores = head(hidden * shown.to(hidden.device))
        loss = cross_entropy(scores, labels, reduction="sum") / len(of)
        known = ~values.isnan()
        if known.any():
            off = cross_entropy(head.value(hidden[known]), values[known], reduction="sum")
            loss = loss + off / int((~self._values[of].isnan()).sum())
        return loss


def _fit(
    learner: _Learner,
    head: ScoreHead,
    count: int,
    config: ScoreConfig,
    progress: Progress | None,
    should_stop: Callable[[], bool],
) -> int:
    """Returns epochs begun."""
    most = min(MOST_SKIPPED, config.epochs * -(-count // config.minibatch))
    skipped = SkippedSteps(most, lower="lr, and trunk_lr where it is above 0,")
    generator = torch.Generator().manual_seed(config.seed)
    ends = time.monotonic() + 60 * config.minutes
    for epoch in range(1, config.epochs + 1):
        for rows in torch.randperm(count, generator=generator).split(config.minibatch):
            if should_stop():
                raise RunStopped(f"stopped in epoch {epoch}")
            learner.optimizer.zero_grad(set_to_none=True)
            learner.learn(rows, _shown(head, len(rows), config.dropout, generator))
            groups = [group["params"] for group in learner.optimizer.param_groups]
            norms = [torch.nn.utils.clip_grad_norm_(each, learner.longest) for each in groups]
            if not skipped.left_out(torch.stack(norms).sum()):
                learner.optimizer.step()
            if time.monotonic() > ends:
                return epoch
        if progress is not None:
            progress(epoch, config.epochs)
    return config.epochs


def _shown(head: ScoreHead, count: int, dropout: float, generator: torch.Generator) -> Tensor:
    """[count, D]: a share of the states' numbers dropped, the others scaled up (Srivastava et al. 2014); how
    likely replies are is always shown. A few labels fit the noise of many states."""
    shown = torch.ones(count, head.hidden_width)
    states = torch.rand(count, head.states_width, generator=generator) >= dropout
    shown[:, : head.states_width] = states / (1.0 - dropout)
    return shown


def _measured(
    bundle: ModelBundle, head: ScoreHead, held: Sequence[PrmExample], config: ScoreConfig
) -> tuple[Tensor, float | None]:
    """Logits of the held-out steps, [N], and the cross entropy of their rationales' tokens."""
    logits, said = torch.empty(len(held)), list[Tensor]()
    for begin in range(0, len(held), config.microbatch):
        few = held[begin : begin + config.microbatch]
        hidden, words = _read(bundle, few, rationales=config.rationale_weight > 0)
        logits[begin : begin + len(few)] = head(hidden).float().cpu()
        said += [] if words is None else [words]
    return logits, torch.cat(said).mean().item() if said else None


def _read(
    bundle: ModelBundle,
    examples: Sequence[PrmExample],
    *,
    rationales: bool,
    kept: FeatureCache | None = None,
) -> tuple[Tensor, Tensor | None]:
    """What the head reads, [B, D], and the cross entropy of the rationales' tokens; None without any."""
    after = [each.why_ids + each.rationale_ids if rationales else () for each in examples]
    states = states_of(bundle, [each.sample for each in examples], after, kept=kept)
    hidden = torch.stack(
        [read_step(bundle, each.sample, of) for each, of in zip(examples, states, strict=True)]
    ).float()
    spoken = [(each, of) for each, of, why in zip(examples, states, after, strict=True) if why]
    if not spoken:
        return hidden, None
    # a token is foretold by the state before it
    before = torch.cat([of[-len(each.rationale_ids) - 1 : -1] for each, of in spoken])
    tokens = torch.tensor([i for each, _ in spoken for i in each.rationale_ids], device=before.device)
    logits = reply_logits(bundle, before, 1.0).float()
    return hidden, torch.nn.functional.cross_entropy(logits, tokens, reduction="none")


def _states(bundle: ModelBundle, examples: Sequence[PrmExample]) -> Tensor:
    """[N, D] of a model that stays as it is."""
    samples = [each.sample for each in examples]
    with torch.no_grad():
        parts = [
            step_hidden(bundle, samples[at : at + STATES_AT_ONCE])
            for at in range(0, len(samples), STATES_AT_ONCE)
        ]
    return torch.cat(parts).float()


def _labels(examples: Sequence[PrmExample]) -> Tensor:
    return torch.tensor([each.label for each in examples])
