"""An OSWorld evaluator, checked: which values are got, which metrics compare them, what is done before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks.setup import check_steps
from deskhand_sandbox.tasks.setup.steps import Step
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.getters import GETTERS
from deskhand_sandbox.verifiers.osworld.metrics import METRICS, Metric

INFEASIBLE = "infeasible"
FIELDS = ("func", "result", "expected", "options", "conj", "postconfig")


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One metric and the values it compares."""

    name: str
    metric: Metric
    result: Mapping[str, JsonValue]
    """Getter and its settings."""
    expected: Mapping[str, JsonValue] | None
    """None where the metric looks at the result alone."""
    options: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluator:
    """A whole evaluator."""

    infeasible: bool
    """The task cannot be done: it pays to say so."""
    comparisons: tuple[Comparison, ...]
    conj: Literal["and", "or"]
    before: tuple[Step, ...]
    """`postconfig`: steps after the agent's work and before the values are got."""


def read_evaluator(value: Mapping[str, object], *, kind: str | None = None) -> Evaluator:
    """The evaluator of a task file.

    Args:
        kind: of sandbox it judges; None where nobody knows.

    Raises:
        InvalidTask: it is not as OSWorld's are, or names what is not supported; says what is.
    """
    func, conj = value.get("func"), value.get("conj", "and")
    before = check_steps(value.get("postconfig", []), "evaluator.postconfig", kind=kind)
    if unknown := [name for name in value if name not in FIELDS]:
        raise InvalidTask(f"evaluator: {UnknownName('field', unknown[0], FIELDS)}")
    if func == INFEASIBLE:
        return Evaluator(infeasible=True, comparisons=(), conj="and", before=before)
    if conj not in ("and", "or"):
        raise InvalidTask(f"evaluator.conj must be and or or, not {conj!r}")
    names = cast("list[object]", func) if isinstance(func, list) else [func]
    if not names:
        raise InvalidTask("evaluator.func is an empty list")
    parts = {
        name: _spread(value.get(name), name, func, len(names)) for name in ("result", "expected", "options")
    }
    comparisons = tuple(
        _comparison(name, parts["result"][at], parts["expected"][at], parts["options"][at])
        for at, name in enumerate(names)
    )
    if kind == "browser":
        for comparison in comparisons:
            _check_in_browser(comparison)
    return Evaluator(infeasible=False, comparisons=comparisons, conj=conj, before=before)


def _check_in_browser(comparison: Comparison) -> None:
    for where, getter in (("result", comparison.result), ("expected", comparison.expected)):
        if getter is not None and not GETTERS[str(getter["type"])].in_browser:
            raise InvalidTask(
                f"evaluator.{where}: {getter['type']} needs a desktop or a vm, not a browser alone"
            )


def _spread(value: object, name: str, func: object, count: int) -> list[object]:
    """One value for each metric."""
    if not isinstance(func, list):
        return [value]
    if value is None or value == {}:
        return [None] * count
    if not isinstance(value, list) or len(cast("list[object]", value)) != count:
        raise InvalidTask(f"evaluator.{name} must be a list of {count}, one for each func")
    return cast("list[object]", value)


def _comparison(name: object, result: object, expected: object, options: object) -> Comparison:
    if not isinstance(name, str) or name not in METRICS:
        supported = ", ".join(sorted(METRICS))
        raise InvalidTask(
            f"evaluator.func: {UnknownName('metric', str(name), METRICS)}; supported: {supported}"
        )
    metric = METRICS[name]
    got = _getter(result, "result")
    wanted = _getter(expected, "expected") if expected else None
    if metric.needs_expected and wanted is None:
        raise InvalidTask(f"evaluator.expected is missing: {name} compares with it")
    given = {} if options is None else options
    if not isinstance(given, Mapping):
        raise InvalidTask(f"evaluator.options must be a mapping, not {given!r}")
    checked = cast("Mapping[str, JsonValue]", given)
    metric.check(_rules(wanted), checked)
    return Comparison(name=name, metric=metric, result=got, expected=wanted, options=checked)


def _getter(value: object, where: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise InvalidTask(f"evaluator.{where} must be a getter, {{type: …}}, not {value!r}")
    getter = cast("Mapping[str, JsonValue]", value)
    name = getter.get("type")
    if not isinstance(name, str) or name not in GETTERS:
        supported = ", ".join(sorted(GETTERS))
        raise InvalidTask(
            f"evaluator.{where}: {UnknownName('getter', str(name), GETTERS)}; supported: {supported}"
        )
    for needed in GETTERS[name].needed:
        if needed not in getter:
            raise InvalidTask(f"evaluator.{where} ({name}): {needed} is missing")
    try:
        GETTERS[name].check(getter)
    except InvalidTask as error:
        raise InvalidTask(f"evaluator.{where} ({name}): {error}") from error
    return getter


def _rules(expected: Mapping[str, JsonValue] | None) -> JsonValue:
    return expected.get("rules") if expected is not None and expected.get("type") == "rule" else None
