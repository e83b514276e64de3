"""Replies of judges to verdicts: strict, with near misses mended and counted.

    {"rationale": "It opens the menu that holds the entry asked for.", "score": 0.75}

A repair is made only where it leaves no doubt what was meant; a score on an unknown scale, or two different
ones, is no verdict.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from deskhand_flywheel.errors import UnreadableVerdict
from deskhand_flywheel.parts import column_text

LONGEST = 4000
"""Characters of a rationale that are kept."""
_MOST_CHARS = 50_000
_MOST_OBJECTS = 32
_LARGEST = 10**18
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*+(.*?)```", re.DOTALL)
_SHARE = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)\s*(?:/|out of)\s*(\d{1,6}(?:\.\d{1,9})?)")
_NUMBER = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)\s*(%?)")
_SCORES = ("score", "rating", "probability", "value")
_RATIONALES = ("rationale", "reason", "reasoning", "explanation", "justification")
_LINE = re.compile(
    rf"^[ \t*_#-]*+({'|'.join((*_SCORES, *_RATIONALES))})[\s*_]*+:[\s*_]*+(.+)$", re.MULTILINE | re.IGNORECASE
)
"""Nothing in it is tried twice: a judge that repeats itself is read as fast as another."""


class VerdictRepair(StrEnum):
    """What was mended in a reply."""

    THINKING = "thinking"
    """Thoughts in tags before it."""
    FENCE = "fence"
    """In a Markdown code block."""
    PROSE = "prose"
    """Words around the object."""
    QUOTES = "quotes"
    """Written as Python writes it."""
    LINES = "lines"
    """Lines `Score: …` and `Rationale: …` in place of an object."""
    NAME = "name"
    """A field by another name."""
    NUMBER = "number"
    """The score as text: "0.8", "80 %", "8/10"."""
    RATIONALE = "rationale"
    """There is none."""
    EXTRA = "extra"
    """Fields nobody asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a judge says."""

    score: float
    """0 to 1."""
    rationale: str | None
    """Why; None where it did not say."""
    repairs: tuple[VerdictRepair, ...] = ()


def read_verdict(text: str) -> Verdict:
    """Read a reply.

    Raises:
        UnreadableVerdict: it holds no verdict, or more than one; nothing else is ever raised.
    """
    if len(text) > _MOST_CHARS:
        raise UnreadableVerdict(f"it is {len(text)} characters long")
    repairs: list[VerdictRepair] = []
    without = _THINKING.sub("", text)
    if without != text:
        repairs.append(VerdictRepair.THINKING)
    fields = _fields(without.strip(), repairs)
    score = _score(_named(fields, _SCORES, repairs), repairs)
    said = _named(fields, _RATIONALES, repairs)
    rationale = column_text(said.strip())[:LONGEST] if isinstance(said, str) else ""
    if not rationale:
        repairs.append(VerdictRepair.RATIONALE)
    if set(fields) - {*_SCORES, *_RATIONALES}:
        repairs.append(VerdictRepair.EXTRA)
    return Verdict(score=score, rationale=rationale or None, repairs=tuple(dict.fromkeys(repairs)))


def _fields(text: str, repairs: list[VerdictRepair]) -> Mapping[str, object]:
    """The object of a reply, names in small letters."""
    if (found := _object(text, repairs)) is not None:
        return found
    blocks = _FENCE.findall(text)
    if len(blocks) == 1 and (found := _object(blocks[0].strip(), repairs)) is not None:
        repairs.append(VerdictRepair.FENCE)
        return found
    within = [each for each in _objects(text) if any(name in each for name in _SCORES)]
    if within:
        if any(each != within[0] for each in within):
            raise UnreadableVerdict("it holds several different objects with a score")
        repairs.append(VerdictRepair.PROSE)
        return within[0]
    lines = [(name.lower(), said.rstrip(" \t\r*_")) for name, said in _LINE.findall(text)]
    if not lines or len(dict(lines)) < len(lines):
        raise UnreadableVerdict(f"it holds no JSON object with a score: {text[:80]!r}")
    repairs.append(VerdictRepair.LINES)
    return dict(lines)


def _object(text: str, repairs: list[VerdictRepair]) -> Mapping[str, object] | None:
    """The text as one object; None where it is none."""
    try:
        return _lowered(json.loads(text, object_pairs_hook=_once), repairs)
    except (ValueError, RecursionError):
        pass
    try:
        found = _lowered(_literal(text), repairs)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    if found is not None:
        repairs.append(VerdictRepair.QUOTES)
    return found


def _literal(text: str) -> object:
    """What is written as Python writes it.

    Raises:
        UnreadableVerdict: an object says a field twice.
        ValueError, SyntaxError, TypeError, RecursionError, MemoryError: it is nothing of the kind.
    """
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            _once([(repr(key.value), None) for key in node.keys if isinstance(key, ast.Constant)])
        elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > _LARGEST:
            # in hexadecimals of any length, which neither a float nor a message can hold
            raise ValueError(f"a number is above {_LARGEST}")
    return cast("object", ast.literal_eval(tree))


def _objects(text: str) -> Generator[Mapping[str, object]]:
    """Objects anywhere in a text."""
    decoder, at = json.JSONDecoder(object_pairs_hook=_once), 0
    for _ in range(_MOST_OBJECTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if (lowered := _lowered(found, [])) is not None:
            yield lowered


def _lowered(found: object, repairs: list[VerdictRepair]) -> Mapping[str, object] | None:
    if not isinstance(found, dict):
        return None
    named = cast("dict[object, object]", found)
    lowered = _once([(str(name).lower(), value) for name, value in named.items()])
    if list(lowered) != list(named):
        repairs.append(VerdictRepair.NAME)
    return lowered


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableVerdict("it says a field twice")
    return found


def _named(fields: Mapping[str, object], names: tuple[str, ...], repairs: list[VerdictRepair]) -> object:
    """The value of the first of the names, all of which mean the same; None where there is none."""
    found = [name for name in names if name in fields]
    if len(found) > 1:
        raise UnreadableVerdict(f"it says both {found[0]} and {found[1]}")
    if found and found[0] != names[0]:
        repairs.append(VerdictRepair.NAME)
    return fields[found[0]] if found else None


def _score(said: object, repairs: list[VerdictRepair]) -> float:
    score = said
    if isinstance(said, str):
        score = _number(said)
        repairs.append(VerdictRepair.NUMBER)
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise UnreadableVerdict(f"its score is {said!r:.40}: expected a number from 0 to 1")
    if not 0 <= score <= 1:
        raise UnreadableVerdict(f"its score {said!r:.40} is not from 0 to 1")
    return float(score)


def _number(text: str) -> float | None:
    text = text.strip()
    if share := _SHARE.fullmatch(text):
        of = float(share[2])
        return float(share[1]) / of if of else None
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    return float(number[1]) / 100 if number[2] else float(number[1])
