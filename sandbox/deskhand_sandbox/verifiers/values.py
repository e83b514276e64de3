"""What a sandbox's `evaluate` gives, as a verifier needs it."""

from __future__ import annotations

import sys

from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue


def flag(value: JsonValue, what: str) -> bool:
    """Yes or no.

    Args:
        what: whose value it is, for the message.

    Raises:
        VerifierError: it is neither.
    """
    if not isinstance(value, bool):
        raise VerifierError(f"{what} is {value!r} where yes or no was expected")
    return value


def number(value: JsonValue, what: str) -> float:
    """A finite number.

    Args:
        what: whose value it is, for the message.

    Raises:
        VerifierError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise VerifierError(f"{what} is {value!r} where a number was expected")
    return float(value)
