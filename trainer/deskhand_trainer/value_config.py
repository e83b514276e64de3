"""What can be said about fitting the critic before PPO begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class ValuePretrainingConfig:
    """Fitting V to Monte-Carlo returns of a fixed policy before PPO begins (VC-PPO)."""

    enabled: bool = True
    episodes: int = field(default=256, metadata=bounds(2))
    """Rollouts it is fitted to."""
    fitted_to: Literal["rollouts", "rollouts_and_stored"] = "rollouts"
    """"rollouts" are fresh ones of the policy; with "rollouts_and_stored" there are beside them the store's
    newest demonstrations of the tasks, and its newest successful rollouts, up to `episodes` of each."""
    held_out: float = field(default=0.2, metadata=bounds(0.05, 0.5))
    """Share of all these episodes that is held out."""
    max_epochs: int = field(default=40, metadata=bounds(1, 10_000))
    patience: int = field(default=3, metadata=bounds(1))
    """Held-out loss is flat when it has not fallen by `flat` (relative) for so many epochs."""
    flat: float = field(default=0.01, metadata=bounds(0, 1))
    explained_variance: float = field(default=0.1, metadata=bounds(-10, 1))
    """Held-out explained variance that must be passed too."""
    lr: float = field(default=1e-3, metadata=bounds(0, 1))
