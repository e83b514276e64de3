"""The verdict of OSWorld's evaluators: values got out of the sandbox, compared with what is expected.

Getters and metrics are named as in OSWorld's task files and mean the same. A metric that fails on what the
agent made says 0; one that fails on what the task brings is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_sandbox.verifiers.osworld.evaluator import read_evaluator
from deskhand_sandbox.verifiers.osworld.verifier import OsworldVerifier

__all__ = ["OsworldVerifier", "create"]


def create(*, evaluator: Mapping[str, object]) -> OsworldVerifier:
    """The verifier `osworld`.

    Args:
        evaluator: the `evaluator` of an OSWorld task file.

    Raises:
        InvalidTask: it is not as OSWorld's are, or names what is not supported; says what is.
    """
    return OsworldVerifier(read_evaluator(evaluator))
