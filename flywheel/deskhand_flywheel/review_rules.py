"""Rules as data: which words on an episode or a step contradict each other so much that a person is asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import cast

import yaml

from deskhand_flywheel.errors import InvalidReviewRules, RecordError
from deskhand_flywheel.records import decode, encode
from deskhand_flywheel.review_types import Disagreement, DisagreementKind, ReviewRules, Rule, Said
from deskhand_flywheel.types import OutcomeScore, StepScore
from deskhand_sandbox.types import JsonValue

VERIFIER = "verifier"
LAST_STEPS = "last_steps"
_NAMES = (*(kind.value for kind in DisagreementKind), LAST_STEPS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinions:
    """What was said of one episode; of each kind of scorer the version heard last."""

    trajectory_id: str
    verifier: float | None
    """None: it has no verdict."""
    judge: OutcomeScore | None
    steps: tuple[tuple[StepScore, ...], ...]
    """Of each scorer of steps that is no person, in order."""
    marks: tuple[StepScore | OutcomeScore, ...] = ()
    """Of people."""
    turns: int | None = None
    """Steps of the episode; None: each scorer has scored the last."""


def read_review_rules(values: Mapping[str, object], below: ReviewRules | None = None) -> ReviewRules:
    """The rules that come of values laid on others.

    Args:
        values: by kind, and `last_steps`.
        below: what they are laid on; None: the flywheel's own.

    Raises:
        InvalidReviewRules: they are not as such rules are; names the field.
    """
    own = _mapping(files("deskhand_flywheel").joinpath("review.yaml").read_text(), "")
    laid: dict[str, object] = dict(own if below is None else review_values(below))
    for name, value in values.items():
        if name not in _NAMES:
            near = difflib.get_close_matches(str(name), _NAMES, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_NAMES)}"
            raise InvalidReviewRules(f"no rule {name!r}; {hint}")
        under = laid[name]
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            value = {**cast("Mapping[str, object]", under), **cast("Mapping[str, object]", value)}
        laid[name] = value
    last_steps = laid.pop(LAST_STEPS)
    if not isinstance(last_steps, int) or isinstance(last_steps, bool) or last_steps < 1:
        raise InvalidReviewRules(f"{LAST_STEPS} is {last_steps!r}: give a whole number from 1")
    kinds = {DisagreementKind(name): _rule(name, value) for name, value in laid.items() if value is not None}
    return ReviewRules(kinds=kinds, last_steps=last_steps)


def review_values(rules: ReviewRules) -> dict[str, JsonValue]:
    """Rules as `read_review_rules` takes them, whole."""
    kinds: dict[str, JsonValue] = {
        kind.value: encode(rules.kinds[kind]) if kind in rules.kinds else None for kind in DisagreementKind
    }
    return {**kinds, LAST_STEPS: rules.last_steps}


def load_review_rules(path: Path) -> ReviewRules:
    """The rules of a YAML file.

    Raises:
        InvalidReviewRules: it cannot be read, is no YAML, or holds something else than such rules.
    """
    try:
        return read_review_rules(_mapping(path.read_text(encoding="utf-8"), f"{path}: "))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidReviewRules(f"{path} cannot be read: {error}") from error


def disagreements_of(said: Opinions, rules: ReviewRules) -> tuple[Disagreement, ...]:
    """What in an episode a person should look at: of each kind at most one for it, and one for each step."""
    judge = said.judge
    verifier = None if said.verifier is None else Said(scorer=VERIFIER, score=said.verifier)
    judged = None if judge is None else _side(judge)
    last = [_last(scores, rules.last_steps, said.turns) for scores in said.steps if scores]
    sides = {
        DisagreementKind.VERIFIER_JUDGE: [(verifier, judged)],
        DisagreementKind.VERIFIER_STEPS: [(verifier, each) for each in last],
        DisagreementKind.JUDGE_STEPS: [(judged, each) for each in last],
    }
    found = [_strongest(said.trajectory_id, None, kind, pairs, rules) for kind, pairs in sides.items()]
    words = {
        DisagreementKind.STEP_SCORERS: [each for scores in said.steps for each in scores],
        DisagreementKind.PEOPLE: said.marks,
    }
    found += [
        _strongest(said.trajectory_id, index, kind, list(combinations(sides, 2)), rules)
        for kind, spoken in words.items()
        for index, sides in _by_step(spoken).items()
    ]
    return tuple(each for each in found if each is not None)


def _by_step(spoken: Iterable[StepScore | OutcomeScore]) -> dict[int | None, list[Said]]:
    """What was said of the whole episode (None) and of each step."""
    found: dict[int | None, list[Said]] = {}
    for each in spoken:
        index = each.step_index if isinstance(each, StepScore) else None
        found.setdefault(index, []).append(_side(each))
    return found


def _strongest(
    trajectory_id: str,
    step_index: int | None,
    kind: DisagreementKind,
    pairs: Sequence[tuple[Said | None, Said | None]],
    rules: ReviewRules,
) -> Disagreement | None:
    rule = rules.kinds.get(kind)
    spoken = [(one, other) for one, other in pairs if one is not None and other is not None]
    if rule is None or not spoken:
        return None
    sides = max(spoken, key=_distance)
    # a tenth is no exact number
    if _distance(sides) < rule.threshold - 1e-9:
        return None
    return Disagreement(
        trajectory_id=trajectory_id,
        step_index=step_index,
        kind=kind,
        strength=rule.weight * min(1.0, _distance(sides)),
        said=tuple(sorted(sides, key=lambda side: side.score)),
    )


def _distance(sides: Iterable[Said]) -> float:
    one, other = sides
    return abs(one.score - other.score)


def _last(scores: Sequence[StepScore], count: int, turns: int | None) -> Said | None:
    """What is said of the last steps; None where a scorer, which may have stopped before, came to none."""
    first = (scores[-1].step_index + 1 if turns is None else turns) - count
    ends = [each for each in scores if each.step_index >= first]
    if not ends:
        return None
    return Said(scorer=ends[-1].scorer, score=fmean(s.score for s in ends), rationale=ends[-1].rationale)


def _side(score: StepScore | OutcomeScore) -> Said:
    return Said(scorer=score.scorer, score=score.score, rationale=score.rationale)


def _mapping(text: str, where: str) -> Mapping[str, object]:
    try:
        value: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidReviewRules(f"{where}no YAML: {error}") from error
    if not isinstance(value, Mapping):
        raise InvalidReviewRules(f"{where}expected a mapping of rules by name")
    return cast("Mapping[str, object]", value)


def _rule(name: str, value: object) -> Rule:
    try:
        rule = decode(Rule, cast(JsonValue, value))
    except RecordError as error:
        raise InvalidReviewRules(f"rule {name}: {error}") from error
    for field in ("threshold", "weight"):
        if not 0 < getattr(rule, field) <= 1:
            raise InvalidReviewRules(f"rule {name}: {field} is {getattr(rule, field)}: above 0, at most 1")
    return rule
