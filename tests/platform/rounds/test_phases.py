from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deskhand_platform.rounds.book import PhaseRecord, RoundRecord
from deskhand_platform.rounds.phases import own_episodes, routed_to
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue


def curated(name: str, metrics: Mapping[str, JsonValue]) -> PhaseRecord:
    return PhaseRecord(
        position=0, name=name, kind="curate", state=WorkState.DONE, run_id=None, policy_in=None,
        policy_out=None, metrics=metrics, reason=None, seconds=None, started_at_s=None, ended_at_s=None,
    )  # fmt: skip


def round_of(*phases: PhaseRecord) -> RoundRecord:
    return RoundRecord(
        id=4, preset="x", config={}, state=WorkState.RUNNING, reason=None, cancel_requested=False,
        policy_in=None, policy_out=None, promoted=None, created_at_s=0.0, started_at_s=None,
        ended_at_s=None, phases=phases,
    )  # fmt: skip


def test_a_phase_learns_from_the_version_its_round_curated_last() -> None:
    first = curated("curate", {"sft": 3, "sft_version": 1, "rejected": 0})
    later = curated("curate-explored", {"sft": 5, "sft_version": 2, "rejected": 4, "rejected_version": 1})
    assert routed_to(round_of(first), "sft") == "round-4/sft@1"
    assert routed_to(round_of(first), "pretrain") is None
    assert routed_to(round_of(first, later), "rejection") == "round-4/sft@2"
    assert routed_to(round_of(first, later), "pretrain") == "round-4/rejected@1"
    assert routed_to(round_of(first, later), "ppo") is None
    assert routed_to(round_of(curated("curate", {})), "sft") is None


def test_a_round_labels_its_own_episodes_unless_it_is_told_which() -> None:
    explored = replace(curated("explore", {}), kind="collect", run_id="round-4-explore-2")
    label = PhasePlan(name="label", kind="label", config={"tasks": ["a"]})
    assert own_episodes(round_of(explored), label)["runs"] == ["round-4-explore-2"]
    told = replace(label, config={"tasks": ["a"], "runs": ["round-1-explore"]})
    assert own_episodes(round_of(explored), told)["runs"] == ["round-1-explore"]
    assert own_episodes(round_of(explored), replace(label, kind="score")) == {"tasks": ["a"]}
