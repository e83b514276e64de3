"""Everything that can go wrong in this package.

AgentError
├── ActionSyntaxError        the reply holds no action of the grammar: the agent's fault, a void turn
│   └── UnknownAction        it calls for one that there is not, or not with these arguments
├── InferenceError           the model did not reply: infrastructure
│   ├── InferenceTimeout     it passed its deadline
│   └── EndpointError        an endpoint refused or broke (status, message and kind of trouble kept)
├── ModelFilesError          a model folder is missing, damaged or of another architecture; says the mend
└── OracleError              a scripted policy does not know the screen it is shown
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class AgentError(Exception):
    """Root of this package's errors."""


class ActionSyntaxError(AgentError):
    """The reply holds no action of the grammar; says what was found and what was expected."""

    def __init__(self, message: str, *, position: int = 0, expected: str = "") -> None:
        super().__init__(message)
        self.position = position
        """Index into the reply where reading stopped."""
        self.expected = expected
        """What would have been right there."""


class UnknownAction(ActionSyntaxError):
    """The reply calls for an action that there is not, or not with these arguments; says the nearest."""


class InferenceError(AgentError):
    """The model did not reply."""

    def __init__(self, message: str, *, cost: Mapping[str, float] | None = None) -> None:
        super().__init__(message)
        self.cost: Mapping[str, float] = cost or {}
        """Of what was asked for nothing, as in `Decision.cost`."""


class InferenceTimeout(InferenceError):
    """The model passed its deadline."""


class Trouble(StrEnum):
    """What was wrong with a request to an endpoint."""

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection, or one that broke off."""
    NONSENSE = "nonsense"
    """What came back is no reply."""
    REFUSED = "refused"
    """The request itself: key, model, a field."""


class EndpointError(InferenceError):
    """An endpoint refused or broke."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        trouble: Trouble | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(message, cost=cost)
        self.status = status
        self.trouble = trouble
        """Of the last request; None where no request was made."""


class ModelFilesError(AgentError):
    """A model folder is missing, damaged or of another architecture."""


class OracleError(AgentError):
    """A scripted policy does not know the screen it is shown."""
