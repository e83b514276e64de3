"""Metrics of texts and lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.likeness import ratio, ratio_of_lines
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options, wants
from deskhand_sandbox.verifiers.osworld.metrics.patterns import found
from deskhand_sandbox.verifiers.osworld.values import (
    File,
    Value,
    file_of,
    gold,
    mapping_of,
    number_of,
    text_of,
)

_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")


def rule(expected: Value, name: str = "expected") -> JsonValue:
    """One of the task's rules.

    Raises:
        VerifierError: there is none.
    """
    rules = mapping_of(expected, "expected.rules")
    if name not in rules:
        raise VerifierError(f"expected.rules lacks {name!r}")
    return rules[name]


def rule_list(expected: Value, name: str) -> list[JsonValue]:
    """One of the task's lists; an empty one where there is none."""
    value = mapping_of(expected, "expected.rules").get(name) or []
    return value if isinstance(value, list) else [value]


def exact_match(result: Value, expected: Value, options: Options) -> float:
    """The same value."""
    return float(plain(result) == rule(expected))


def fuzzy_match(result: Value, expected: Value, options: Options) -> float:
    """How alike two texts are."""
    return ratio(text_of(result), str(rule(expected)))


def match_in_list(result: Value, expected: Value, options: Options) -> float:
    """One of the values."""
    return float(plain(result) in rule_list(expected, "expected"))


def is_in_list(result: Value, expected: Value, options: Options) -> float:
    """The expected value is among those there are."""
    wanted = rule(expected)
    if isinstance(result, list):
        return float(wanted in cast("list[object]", result))
    return float(str(wanted) in text_of(result))


def literal_match(result: Value, expected: Value, options: Options) -> float:
    """The same text, or the same list of texts."""
    wanted = (
        expected if not (isinstance(expected, Mapping) and "expected" in expected) else expected["expected"]
    )
    ignore = options.get("ignore_case") is True
    if options.get("type", "str") == "str":
        return float(_cased(text_of(result), ignore) == _cased(str(wanted), ignore))
    if not isinstance(result, list) or not isinstance(wanted, list):
        return 0.0
    got = [_cased(str(each), ignore) for each in cast("list[object]", result)]
    return float(got == [_cased(str(each), ignore) for each in wanted])


def check_include_exclude(result: Value, expected: Value, options: Options) -> float:
    """Holds every text of `include` and none of `exclude`."""
    text = text_of(result)
    included = all(str(each) in text for each in rule_list(expected, "include"))
    return float(included and not any(str(each) in text for each in rule_list(expected, "exclude")))


def check_list(result: Value, expected: Value, options: Options) -> float:
    """Each pattern of `expect` is found in some line, and none of `unexpect` in any."""
    lines = text_of(file_of(result)).splitlines()
    held = all(found(str(each), lines) for each in rule_list(expected, "expect"))
    return float(held and not any(found(str(each), lines) for each in rule_list(expected, "unexpect")))


def diff_text_file(result: Value, expected: Value, options: Options) -> float:
    """The share of lines two files have in common, in order."""
    one = text_of(file_of(result)).splitlines()
    two = gold(lambda value: text_of(file_of(value)), expected).splitlines()
    return ratio_of_lines(one, two)


def compare_text_file(result: Value, expected: Value, options: Options) -> float:
    """The same text, but for case and blanks where the options say so."""

    def read(value: Value) -> str:
        text = text_of(file_of(value))
        if options.get("ignore_blanks") is True:
            text = re.sub(r"\s+", " ", text).strip()
        return _cased(text, options.get("ignore_case") is True)

    return float(read(result) == gold(read, expected))


def file_contains(result: Value, expected: Value, options: Options) -> float:
    """Holds every text."""
    text = text_of(file_of(result))
    return float(all(str(each) in text for each in rule_list(expected, "expected")))


def check_line_number(result: Value, expected: Value, options: Options) -> float:
    """So many lines with a time of day."""
    count = sum(_CLOCK.search(line) is not None for line in text_of(file_of(result)).splitlines())
    return float(count == number_of(rule(expected), "expected.rules.expected"))


def compare_terminal_and_txt(result: Value, expected: Value, options: Options) -> float:
    """A file with what the terminal shows."""
    return float(text_of(file_of(result)) == text_of(expected))


def compare_python_pure_text(result: Value, expected: Value, options: Options) -> float:
    """The same Python but for empty lines, blanks at line ends and the first lines that name an encoding."""

    def read(value: Value) -> list[str]:
        lines = text_of(file_of(value)).splitlines()
        while lines and re.match(r"#!|# (-\*- )?coding[:=]", lines[0].strip()):
            lines.pop(0)
        return [line.expandtabs(4).rstrip() for line in lines if line.strip()]

    return float(read(result) == gold(read, expected))


def plain(value: Value) -> object:
    """A value as rules write it: a file by its text."""
    return text_of(value) if isinstance(value, File) else value


def _cased(text: str, ignore_case: bool) -> str:
    return text.lower() if ignore_case else text


METRICS: Mapping[str, Metric] = {
    "check_include_exclude": Metric(check_include_exclude, wants("include", "exclude")),
    "check_line_number": Metric(check_line_number, wants("expected")),
    "check_list": Metric(check_list, wants("expect", "unexpect")),
    "compare_config": Metric(
        lambda result, expected, options: float(text_of(file_of(result)) == str(rule(expected))),
        wants("expected"),
    ),
    "compare_python_pure_text": Metric(compare_python_pure_text),
    "compare_terminal_and_txt": Metric(compare_terminal_and_txt),
    "compare_text_file": Metric(compare_text_file),
    "diff_text_file": Metric(diff_text_file),
    "exact_match": Metric(exact_match, wants("expected")),
    "file_contains": Metric(file_contains, wants("expected")),
    "fuzzy_match": Metric(fuzzy_match, wants("expected")),
    "is_in_list": Metric(is_in_list, wants("expected")),
    "literal_match": Metric(literal_match),
    "match_in_list": Metric(match_in_list, wants("expected")),
}
"""By OSWorld's name."""
