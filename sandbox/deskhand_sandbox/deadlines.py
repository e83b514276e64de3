"""How long a call on a sandbox may take before it counts as hung."""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_sandbox.types import Action, Run, Swipe, Touch, TypeText, Wait

SECONDS_PER_CHARACTER = 0.05
"""Typing is allowed to be this slow before it counts against the deadline."""
LONGEST_S = 3600.0
"""What an action may ask to take; what asks for more is refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """The last line: backends have tighter deadlines of their own, these end what they missed."""

    reset_s: float = 120.0
    """`reset`, `restore`, `snapshot`, `fork`."""
    call_s: float = 60.0
    """Everything else, on top of what an action itself asks to take."""

    def __post_init__(self) -> None:
        for name in ("reset_s", "call_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"deadlines must be positive numbers, not {value!r}")

    def of_action(self, action: Action) -> float:
        """Seconds `act(action)` may take."""
        return self.call_s + asked_s(action)


def asked_s(action: Action) -> float:
    """Seconds an action itself asks to take, on top of what any call may."""
    match action:
        case Run(timeout_s=seconds) | Wait(seconds=seconds):
            return min(max(0.0, seconds), LONGEST_S)
        case TypeText():
            return SECONDS_PER_CHARACTER * len(action.text)
        case Swipe(duration_ms=ms) | Touch(hold_ms=ms):
            return min(max(0, ms), LONGEST_S * 1000) / 1000
        case _:
            return 0.0
