"""What can be said about the price of bad manners: replies and turns that no verifier looks at."""

from __future__ import annotations

from dataclasses import dataclass, field

from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapingConfig:
    """Weights of what is taken from a turn's reward. The penalties of an episode come to half of what a
    success is worth at most; like other rewards of single steps they count from `gate` on alone."""

    void: float = field(default=0.0, metadata=bounds(0, 1))
    """For a reply that holds no action."""
    format: float = field(default=0.0, metadata=bounds(0, 1))
    """For a reply that has to be mended before it can be read. Above 0 rollouts act on such replies; at 0,
    and wherever the policy is measured, they are void."""
    repetition: float = field(default=0.0, metadata=bounds(0, 1))
    """For doing what the turn before did where that changed nothing on the screen."""
    length: float = field(default=0.0, metadata=bounds(0, 1))
    """For a reply's tokens beyond `free_tokens`, as a share of the most it may have: `max_tokens`, or the
    limit of summaries or plans."""
    free_tokens: int = field(default=0, metadata=bounds(0))
    """Tokens of a reply that cost nothing."""

    @property
    def in_use(self) -> bool:
        """Whether anything is taken."""
        return any((self.void, self.format, self.repetition, self.length))
