from __future__ import annotations

import pytest

from deskhand_platform.rounds.book import PhaseRecord, RoundRecord
from deskhand_platform.rounds.config import PromoteConfig
from deskhand_platform.rounds.promotion import decide
from deskhand_platform.states import WorkState


def phase(name: str, policy: str | None, success: float, state: WorkState = WorkState.DONE) -> PhaseRecord:
    metrics = {
        "success_sampled": success,
        "success_sampled_low": success - 0.1,
        "success_sampled_high": success + 0.1,
        "episodes": 128,
    }
    return PhaseRecord(
        position=0,
        name=name,
        kind="evaluate",
        state=state,
        run_id=None,
        policy_in=policy,
        policy_out=None,
        metrics=metrics,
        reason=None,
        seconds=None,
        started_at_s=None,
        ended_at_s=None,
    )


def round_of(*phases: PhaseRecord, policy_in: str | None = None) -> RoundRecord:
    return RoundRecord(
        id=1,
        preset="x",
        config={},
        state=WorkState.RUNNING,
        reason=None,
        cancel_requested=False,
        policy_in=policy_in,
        policy_out=None,
        promoted=None,
        created_at_s=0.0,
        started_at_s=None,
        ended_at_s=None,
        phases=phases,
    )


@pytest.mark.parametrize(
    ("phases", "policy_in", "out", "why_not"),
    [
        ([("validate-start", "s", 0.4), ("validate-ppo", "p", 0.9)], "s", "p", None),
        ([("validate-start", "s", 0.4), ("validate-ppo", "p", 0.41)], "s", "p", None),
        (
            [("validate-start", "s", 0.4), ("validate-ppo", "p", 0.4)],
            "s",
            "s",
            "no figure is above that of s",
        ),
        ([("validate-start", "s", 0.9), ("validate-ppo", "p", 0.89)], "s", "s", "s 0.900, p 0.890"),
        ([("validate-start", "s", 0.0), ("validate-ppo", "p", 0.0)], "s", "s", "s 0.000, p 0.000"),
        ([("validate-start", "s", 0.0), ("validate-ppo", "p", 0.01)], "s", "p", None),
        ([("validate-sft", "w", 0.3), ("validate-ppo", "p", 0.1)], None, "w", None),
        ([("validate-sft", "w", 0.3), ("validate-ppo", "p", 0.31)], None, "p", None),
        ([("validate-sft", "w", 0.3), ("validate-ppo", "p", 0.3)], None, "w", None),
        ([("validate-sft", "w", 0.0), ("validate-ppo", "p", 0.0)], None, None, "no policy succeeded"),
        ([("validate-sft", "w", 0.0), ("validate-ppo", "p", 0.01)], None, "p", None),
        ([("validate-promoted", "r", 0.5), ("validate-sft", "w", 0.4)], None, None, "above that of r"),
        ([("validate-promoted", "r", 0.3), ("validate-sft", "w", 0.4)], None, "w", None),
        (
            [("validate-promoted", "r", 0.8), ("validate-start", "s", 0.1), ("validate-ppo", "p", 0.7)],
            "s",
            "s",
            "no figure is above that of r",
        ),
        ([("validate-ppo", "p", 1.0)], "s", "s", "s, which the round started from, was not measured"),
        ([("validate-start", "s", 0.4)], "s", "s", "no policy was measured"),
        ([("evaluate-ppo", "p", 1.0)], "s", "s", "no policy was measured"),
        ([], None, None, "no policy was measured"),
    ],
)
def test_only_a_higher_figure_is_promoted(
    phases: list[tuple[str, str, float]], policy_in: str | None, out: str | None, why_not: str | None
) -> None:
    record = round_of(*(phase(*one) for one in phases), policy_in=policy_in)
    verdict = decide(record, PromoteConfig(gate="figure"))
    assert (verdict.policy_out, verdict.promoted) == (out, why_not is None)
    assert (why_not or "success on validation seeds") in verdict.reason
    assert verdict.promoted != verdict.reason.startswith("nothing to promote: ")


def test_a_phase_that_did_not_finish_counts_for_nothing() -> None:
    unfinished = phase("validate-ppo", "p", 1.0, WorkState.FAILED)
    record = round_of(phase("validate-start", "s", 0.1), unfinished, policy_in="s")
    assert decide(record, PromoteConfig()).policy_out == "s"


@pytest.mark.parametrize(
    ("old", "new", "promoted", "said"),
    [
        (0.4, 0.9, True, "the gain over s is 0.500, at least 0.359 with 95 % confidence"),
        (0.4, 0.5, False, "the gain may be luck; sampled success on validation seeds: s 0.400, p 0.500"),
        # hypot(.1, .1) = .1414: the interval just reaches above 0
        (0.4, 0.55, True, "at least 0.009"),
        (0.4, 0.3, False, "no figure is above that of s"),
    ],
)
def test_the_interval_of_the_gain_has_to_be_above_zero(
    old: float, new: float, promoted: bool, said: str
) -> None:
    record = round_of(phase("validate-start", "s", old), phase("validate-ppo", "p", new), policy_in="s")
    verdict = decide(record, PromoteConfig())
    assert (verdict.promoted, verdict.policy_out) == (promoted, "p" if promoted else "s")
    assert said in verdict.reason
