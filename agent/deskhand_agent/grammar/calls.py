"""The bare syntax of action calls, as the sandbox package reads it, with this package's error."""

from __future__ import annotations

from deskhand_agent.errors import ActionSyntaxError
from deskhand_sandbox.dialects import calls
from deskhand_sandbox.dialects.calls import Call, CallSyntaxError, Value, scan_call, write_call

__all__ = ["Call", "CallSyntaxError", "Value", "scan_call", "scan_calls", "write_call"]


def scan_calls(text: str, start: int = 0) -> list[Call]:
    """Every call from `start` to the end of the text, separated by nothing but white space.

    Raises:
        ActionSyntaxError: anything else is there, or no call at all.
    """
    try:
        return calls.scan_calls(text, start)
    except CallSyntaxError as error:
        raise ActionSyntaxError(str(error), position=error.position, expected=error.expected) from None
