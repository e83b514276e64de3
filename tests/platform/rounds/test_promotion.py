from __future__ import annotations

import pytest

from deskhand_platform.rounds.book import PhaseRecord, RoundRecord
from deskhand_platform.rounds.config import PromoteConfig
from deskhand_platform.rounds.promotion import better, decide
from deskhand_platform.rounds.table import SuccessRate
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
    ("new", "old", "expected"),
    [
        ((0.5, 0.4, 0.6), (0.3, 0.2, 0.39), True),
        ((0.5, 0.4, 0.6), (0.5, 0.4, 0.6), True),
        ((0.49, 0.4, 0.6), (0.5, 0.4, 0.6), True),
        ((0.47, 0.4, 0.6), (0.5, 0.4, 0.6), False),
    ],
)
def test_better(new: tuple[float, ...], old: tuple[float, ...], expected: bool) -> None:
    made = [SuccessRate(success=s, low=low, high=high, episodes=9) for s, low, high in (new, old)]
    assert better(*made, tolerance=0.02) is expected


@pytest.mark.parametrize(
    ("phases", "policy_in", "out", "promoted"),
    [
        ([("validate-start", "s", 0.4), ("validate-ppo", "p", 0.9)], "s", "p", True),
        ([("validate-start", "s", 0.9), ("validate-ppo", "p", 0.4)], "s", "s", False),
        ([("validate-sft", "w", 0.3), ("validate-ppo", "p", 0.1)], None, "w", True),
        ([("validate-sft", "w", 0.3), ("validate-ppo", "p", 0.31)], None, "p", True),
        ([("evaluate-ppo", "p", 1.0)], "s", "s", False),
        ([], None, None, False),
    ],
)
def test_the_best_along_the_way_is_kept(
    phases: list[tuple[str, str, float]], policy_in: str | None, out: str | None, promoted: bool
) -> None:
    record = round_of(*(phase(*one) for one in phases), policy_in=policy_in)
    verdict = decide(record, PromoteConfig())
    assert (verdict.policy_out, verdict.promoted) == (out, promoted)


def test_a_phase_that_did_not_finish_counts_for_nothing() -> None:
    unfinished = phase("validate-ppo", "p", 1.0, WorkState.FAILED)
    record = round_of(phase("validate-start", "s", 0.1), unfinished, policy_in="s")
    assert decide(record, PromoteConfig()).policy_out == "s"
