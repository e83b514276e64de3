"""Replies to verdicts: strict, mended where there is no doubt, and otherwise one error."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_flywheel.errors import UnreadableVerdict
from deskhand_flywheel.judges.verdicts import LONGEST, Verdict, VerdictRepair, read_verdict

PLAIN = '{"rationale": "It helps.", "score": 0.75}'


def test_what_was_asked_for_is_read_as_it_stands() -> None:
    assert read_verdict(PLAIN) == Verdict(score=0.75, rationale="It helps.")
    assert read_verdict('\n{"score": 1, "rationale": " why "}\n') == Verdict(score=1.0, rationale="why")


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"<think>hm, {{0.2}} or so</think>\n{PLAIN}", ["thinking"]),
        (f"```json\n{PLAIN}\n```", ["fence"]),
        (f"Here it is:\n```\n{PLAIN}\n```\nThat is all.", ["fence"]),
        (f"My verdict: {PLAIN} Good luck {{}}!", ["prose"]),
        (f"{PLAIN}\n\n{PLAIN}", ["prose"]),
        ("{'rationale': 'It helps.', 'score': 0.75}", ["quotes"]),
        ("**Rationale:** It helps.\n**Score:** 0.75", ["lines", "number"]),
        ("Score: 0.75\nReason: It helps.", ["lines", "number", "name"]),
        ("- __score__:\r\n 0.75 \r\n- __rationale__: _It helps._\r\n", ["lines", "number"]),
        ('{"Rationale": "It helps.", "Score": 0.75}', ["name"]),
        ('{"explanation": "It helps.", "rating": 0.75}', ["name"]),
        ('{"rationale": "It helps.", "score": "0.75"}', ["number"]),
        ('{"rationale": "It helps.", "score": "75%"}', ["number"]),
        ('{"rationale": "It helps.", "score": "3/4"}', ["number"]),
        ('{"rationale": "It helps.", "score": "7.5 out of 10"}', ["number"]),
        ('{"rationale": "It helps.", "score": 0.75, "confidence": "high"}', ["extra"]),
    ],
)
def test_near_misses_are_mended_and_named(text: str, repairs: list[str]) -> None:
    verdict = read_verdict(text)
    assert (verdict.score, verdict.rationale) == (0.75, "It helps.")
    assert list(verdict.repairs) == repairs


@pytest.mark.parametrize(
    "text",
    [
        "_" * 50_000,
        "x" + "\n" * 40_000 + "x",
        "Score: a" + "_" * 40_000 + "x",
        "```" + "\n" * 40_000 + "x",
    ],
)
def test_a_judge_that_repeats_itself_is_read_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(UnreadableVerdict):
        read_verdict(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "text", ['{"score": 0.5}', '{"score": 0.5, "rationale": ""}', '{"score": 0.5, "rationale": 3}']
)
def test_a_score_without_a_reason_counts(text: str) -> None:
    assert read_verdict(text) == Verdict(score=0.5, rationale=None, repairs=(VerdictRepair.RATIONALE,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot judge this.",
        "0.75",
        "[0.75]",
        '"score"',
        "{}",
        '{"rationale": "It helps."}',
        '{"rationale": "It helps.", "score": 8}',
        '{"rationale": "It helps.", "score": -0.1}',
        '{"rationale": "It helps.", "score": true}',
        '{"rationale": "It helps.", "score": null}',
        '{"rationale": "It helps.", "score": NaN}',
        '{"rationale": "It helps.", "score": Infinity}',
        '{"rationale": "It helps.", "score": "good"}',
        '{"rationale": "It helps.", "score": "1/0"}',
        '{"rationale": "It helps.", "score": "9/4"}',
        '{"score": 0.1, "rating": 0.9}',
        '{"score": 0.1, "score": 0.9}',
        '{"score": 0.1, "Score": 0.9}',
        '{"score": 0.1} or rather {"score": 0.9}',
        "Score: 0.1\nScore: 0.9",
        '{"score": 0.5',
        "{" * 5000,
        "[" * 5000,
        '{"score":' * 5000,
        "x" * 60_000,
        "{'score': 0.1, 'score': 0.9, 'rationale': 'It helps.'}",
        "{'score': 0.1, 'steps': {'a': 1, 'a': 2}}",
        "{'score': 0x" + "F" * 4000 + "}",
        "{'score': [0x" + "F" * 4000 + "]}",
        "{'score': 0x" + "F" * 4000 + " + 1j}",
        "{'score': 1, 0x" + "F" * 4000 + ": 2}",
    ],
)
def test_no_verdict_is_one_error(text: str) -> None:
    with pytest.raises(UnreadableVerdict):
        read_verdict(text)


def test_what_is_kept_of_a_reason_is_bounded_and_fits_every_database() -> None:
    verdict = read_verdict(json.dumps({"rationale": "a\0\ud800" + "x" * 9000, "score": 0}))
    assert verdict.rationale is not None and verdict.rationale.startswith("a\\x00\\ud800xxx")
    assert len(verdict.rationale) == LONGEST


pieces = st.sampled_from(
    [
        *("{}:,'\"%-\n"),
        '"score"',
        '"rationale"',
        "0.5",
        "1/2",
        "NaN",
        "Score",
        "```",
        "json",
        "<think>",
        "</think>",
    ]
)


@given(st.one_of(st.text(), st.lists(pieces, max_size=30).map("".join)))
def test_nothing_else_is_ever_raised(text: str) -> None:
    try:
        verdict = read_verdict(text)
    except UnreadableVerdict:
        return
    assert 0.0 <= verdict.score <= 1.0


@given(st.floats(0, 1), st.text(min_size=1).map(str.strip).filter(bool))
def test_what_is_well_formed_is_never_mended(score: float, rationale: str) -> None:
    verdict = read_verdict(json.dumps({"rationale": rationale, "score": score}))
    assert verdict.score == score and verdict.repairs == ()
