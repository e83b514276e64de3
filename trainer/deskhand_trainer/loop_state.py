"""What a training loop works with, how far it is, and what it ends with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deskhand_agent.endpoint.pool import ServerPool
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.notebook import Notebook
from deskhand_agent.types import Policy
from deskhand_agent.users import User, by_rule
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.admission import LoopSeeds
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.curriculum import TaskRecord
from deskhand_trainer.diagnostics import TimeSplit
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.outcome_reward import JudgedOutcomes
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.rollouts import SeedRange
from deskhand_trainer.streaming import StreamState

Progress = Callable[[str, int, int], None]
"""Told what is done now, units of work done, and in all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PpoSetting:
    """Everything a training loop works with."""

    run_id: str
    config: PpoConfig
    bundle: ModelBundle
    """What is trained, in place."""
    policy_id: str
    store: Store
    source: SandboxSource
    reporter: Reporter
    folder: Path
    """Checkpoints and the best weights go here."""
    progress: Progress
    labels: Mapping[str, str]
    reward_model: ProcessRewardModel | None = None
    outcomes: JudgedOutcomes | None = None
    """Judges what episodes are paid for; None: their verifiers do."""
    user: User = by_rule
    """Answers questions."""
    life: int = 0
    """Lives that the run had before."""
    ranks: Ranks = ALONE
    """That train together; this is rank 0."""
    executor: Policy | None = None
    """Acts on the policy's plans, where it plans."""
    servers: ServerPool | None = None
    """Draw the replies; None: engines in this process do."""
    notebook: Notebook | None = None
    """Of the rollouts; validation has no part in it."""
    choose: Callable[[TrajectoryFilter], Awaitable[Sequence[str]]] | None = None
    """Ids of those of the store's episodes that a filter chooses and the run may learn from; None: of all."""


@dataclass(slots=True)
class Cursor:
    """How far the loop is; part of every checkpoint."""

    iteration: int = 0
    """Iterations done."""
    seeds_used: int = 0
    """Train seeds used per task, from the config's offset on; of recorded episodes or games against itself,
    how many."""
    elapsed_s: float = 0.0
    """Wall clock spent training, earlier lives included; evaluations are not in it."""
    episodes: int = 0
    turns: int = 0
    """Of all episodes, value pretraining's and those that were too old to be learned from too."""
    pretrained: bool = False
    best: float = -1.0
    """Validation success of the weights under best/; −1 before the first evaluation. A newer one's lie under
    best-ITERATION/ until a checkpoint knows of it."""
    best_iteration: int = -1
    highest: float = 0.0
    """The most that an iteration's episodes succeeded so far."""
    environment_s: float = 0.0
    inference_s: float = 0.0
    training_s: float = 0.0
    entropies: list[float] = field(default_factory=list[float])
    """Mean token entropy of each iteration before its update, where the config looks at it."""
    stream: StreamState = field(default_factory=StreamState)
    """What of an asynchronous loop's stream is learned from."""
    sides: dict[str, float] = field(default_factory=dict[str, float])
    """What each side of each game usually earns, where the policy plays against itself."""
    usual: list[float] = field(default_factory=list[float])
    """Mean outcomes of the latest groups, where the config learns from successes again."""
    tasks: dict[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])
    """How each task has gone so far."""
    unreadable: list[str] = field(default_factory=list[str])
    """Ids of stored episodes that were left out because they cannot be read."""
    learned_from: list[str] = field(default_factory=list[str])
    """Ids of stored episodes that were learned from beside the run's own."""
    value_explained_variance: float | None = None
    """Held out, after value pretraining; None without it, or where the returns did not vary."""

    def account(
        self,
        times: TimeSplit,
        lengths: Sequence[int],
        *,
        stale_turns: int = 0,
        iteration: bool = True,
    ) -> None:
        """Count episodes by their lengths in turns, and the time they took; of an iteration or besides.

        Args:
            stale_turns: of episodes that were left out.
        """
        self.iteration += iteration
        self.episodes += len(lengths)
        self.turns += sum(lengths) + stale_turns
        self.elapsed_s += times.seconds
        self.environment_s += times.environment_s
        self.inference_s += times.inference_s
        self.training_s += times.training_s

    def learn(self, ids: Iterable[str]) -> None:
        """Note that stored episodes are learned from."""
        self.learned_from = [*dict.fromkeys([*self.learned_from, *ids])]

    def progress(self, config: PpoConfig) -> float:
        """Share of the budget that is spent, of whichever limit is nearest."""
        by_clock = self.elapsed_s / (60 * config.minutes) if config.minutes else 0.0
        by_turns = self.turns / config.environment_steps if config.environment_steps else 0.0
        return max(self.iteration / config.iterations, by_clock, by_turns)

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> Cursor:
        """From `dataclasses.asdict` of one."""
        cursor = cls(**kept)
        cursor.stream = StreamState(**kept.get("stream", {}))
        cursor.tasks = {name: TaskRecord(**record) for name, record in kept.get("tasks", {}).items()}
        return cursor


@dataclass(frozen=True, kw_only=True, slots=True)
class PpoOutcome:
    """What a loop ends with."""

    best: Path
    """Folder of the weights that did best on validation seeds."""
    metrics: Mapping[str, JsonValue]
    learned_from: tuple[str, ...]
    """As `Cursor.learned_from`."""


def loop_metrics(c: Cursor, seeds: LoopSeeds, config: PpoConfig) -> dict[str, JsonValue]:
    """What a loop came to, its seeds among it."""
    total = max(1e-9, c.environment_s + c.inference_s + c.training_s)
    used = SeedRange(
        task_id="each",
        split=seeds.split.value,
        offset=seeds.offset + config.seed_offset,
        count=c.seeds_used + max([c.stream.first, *(number + 1 for number in c.stream.beyond)]),
    )
    validation = SeedRange(
        task_id="each",
        split=seeds.validation.value,
        offset=seeds.validation_offset,
        count=config.validation_episodes,
    )
    # these are of the seeds of experts' episodes, and of games
    seedless = config.rollouts in ("recorded", "self_play")
    return {
        "iterations": c.iteration,
        "episodes": c.episodes,
        "turns": c.turns,
        "left_out": len(c.unreadable),
        "minutes": c.elapsed_s / 60,
        "validation_best": c.best,
        "best_iteration": c.best_iteration,
        "value_explained_variance": c.value_explained_variance,
        "time_environment": c.environment_s / total,
        "time_inference": c.inference_s / total,
        "time_training": c.training_s / total,
        **({} if seedless else {"train_seeds": used.as_json()}),
        "validation_seeds": validation.as_json(),
    }
