"""The words of the trainer: one turn is the unit of training."""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSample:
    """One turn: what the model was shown and the whole reply, ids exactly as sampled."""

    trajectory_id: str
    turn_index: int
    """From 0 within the trajectory."""
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    images: tuple[Image, ...]
    """In the order of their placeholder runs in `prompt_ids`; with data."""
    behaviour_logprobs: tuple[float, ...]
    """Log-probabilities at sampling, one per reply id; zeros for demonstrations."""
    reward: float
    """Reward of the turn, every part included."""
    reward_parts: tuple[tuple[str, float], ...] = ()
    """("outcome", 1.0), ("process", 0.02), …: they add up to `reward`."""
    last: bool = False
    """The trajectory's last turn."""
    bootstrap: bool = False
    """The trajectory was truncated after this turn: V of the state after it counts."""
    old_value: float = 0.0
    """V(s_h) at the last prompt token before the update."""
    advantage: tuple[float, ...] = ()
    """One per reply id; equal within the turn for turn-level methods."""
    returns: tuple[float, ...] = ()
    """Value target per reply id; equal within the turn for the turn critic."""
