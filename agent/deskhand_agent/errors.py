"""Everything that can go wrong in this package.

AgentError
├── ActionSyntaxError        the reply holds no action of the grammar: the agent's fault, a void turn
├── InferenceError           the model did not reply: infrastructure
│   ├── InferenceTimeout     it passed its deadline
│   └── EndpointError        a chat endpoint refused or broke (status and message kept)
├── ModelFilesError          a model folder is missing, damaged or of another architecture; says the mend
└── OracleError              a scripted policy does not know the screen it is shown
"""

from __future__ import annotations


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


class InferenceError(AgentError):
    """The model did not reply."""


class InferenceTimeout(InferenceError):
    """The model passed its deadline."""


class EndpointError(InferenceError):
    """A chat endpoint refused or broke."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ModelFilesError(AgentError):
    """A model folder is missing, damaged or of another architecture."""


class OracleError(AgentError):
    """A scripted policy does not know the screen it is shown."""
