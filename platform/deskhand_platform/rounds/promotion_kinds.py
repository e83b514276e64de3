"""How policies come to be the one that rounds start from."""

from __future__ import annotations

from enum import StrEnum


class PromotionKind(StrEnum):
    """How a policy came to be the one to start from."""

    GATE = "gate"
    """It was better than the one before, by its round's measure."""
    MANUAL = "manual"
    """A person chose one that had not been it."""
    ROLLBACK = "rollback"
    """A person went back to one that had been it."""
