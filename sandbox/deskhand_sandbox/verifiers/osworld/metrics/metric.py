"""What a metric is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.values import Value

Options: TypeAlias = Mapping[str, JsonValue]
Compare: TypeAlias = Callable[[Value, Value, Options], float]
Check: TypeAlias = Callable[[JsonValue, Options], None]


def no_check(rules: JsonValue, options: Options) -> None:
    """Anything is taken."""


def wants(*names: str) -> Check:
    """A check that the rules, where they stand in the task, hold these names."""

    def check(rules: JsonValue, options: Options) -> None:
        if rules is None:
            return
        given = cast("Mapping[str, object]", rules) if isinstance(rules, Mapping) else {}
        if not any(name in given for name in names):
            raise InvalidTask(f"evaluator.expected.rules must hold {' or '.join(names)}")

    return check


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    compare: Compare
    """Result, expected, options -> 0 to 1.

    Raises:
        Unusable: the result cannot be compared.
        VerifierError: what is expected cannot.
    """
    check: Check = no_check
    """Refuses rules and options it does not know (InvalidTask), when the task is read."""
    needs_expected: bool = True
