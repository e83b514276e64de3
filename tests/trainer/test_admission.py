from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
from deskhand_sandbox.backends.desktop.sandbox import DesktopSandbox
from deskhand_sandbox.backends.world.sandbox import WorldSandbox
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.tasks import list_tasks
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds, split_of
from deskhand_sandbox.types import Split
from deskhand_trainer.admission import (
    NEVER_GO_BACK,
    admit,
    loop_seeds,
    measured_on,
    refuse_held_out,
    refuse_unproven,
    refuse_unverified,
)
from deskhand_trainer.config import OutcomeConfig, PpoConfig
from deskhand_trainer.errors import RunRefused

PROVEN = "miniwob/click-test"
UNPROVEN = "miniwob/stock-market"


def test_held_out_tasks_are_never_trained_on() -> None:
    held = min(HELD_OUT_TASKS)
    with pytest.raises(RunRefused, match=held):
        refuse_held_out((PROVEN, held))
    refuse_held_out((PROVEN, UNPROVEN))


def test_a_probe_is_of_held_out_tasks_alone() -> None:
    held = min(HELD_OUT_TASKS)
    with pytest.raises(RunRefused, match=f"{PROVEN}: a probe is of held-out tasks alone"):
        loop_seeds((PROVEN, held), probe=True)
    with pytest.raises(RunRefused, match=held):
        loop_seeds((PROVEN, held), probe=False)
    usual = loop_seeds((PROVEN,), probe=False)
    assert (usual.split, usual.validation) == (Split.TRAIN, Split.VALIDATION)


def test_a_loop_is_refused_tasks_whose_one_start_is_in_one_split() -> None:
    """Before its model and its sandboxes are started, not when it is first validated."""
    for split in Split:
        fixed = next(f"grown/{i}" for i in range(1000) if split_of(f"grown/{i}", 0) is split)
        with pytest.raises(RunRefused, match=rf"{fixed} has one start state.*several start states") as told:
            admit(PpoConfig(tasks=(PROVEN, fixed)))
        assert told.value.field == "tasks"


def test_no_seed_of_a_probe_is_reported_on() -> None:
    held = min(HELD_OUT_TASKS)
    found = loop_seeds((held,), probe=True)
    reported = set(seeds(held, Split.TEST, 1000))
    chosen = set(seeds(held, found.validation, 1000, found.validation_offset))
    trained = set(seeds(held, found.split, 1000, found.offset))
    assert not reported & chosen and not reported & trained and not chosen & trained


def test_held_out_tasks_are_validated_by_test_seeds_that_nobody_reports() -> None:
    held = min(HELD_OUT_TASKS)
    for split in Split:
        assert measured_on(PROVEN, split, 7) == (split, 7)
    assert measured_on(held, Split.TEST, 7) == (Split.TEST, 7)
    split, begin = measured_on(held, Split.VALIDATION, 7)
    probe = loop_seeds((held,), probe=True)
    assert set(seeds(held, split, 1000, begin)).isdisjoint(
        seeds(held, Split.TEST, 10_000) + seeds(held, probe.split, 1000, probe.offset)
    )


def test_a_task_nothing_solves_is_taken_only_when_asked_for() -> None:
    assert UNPROVEN in {each.id for each in list_tasks()}
    with pytest.raises(RunRefused, match=rf"^{UNPROVEN}: .*unproven=true"):
        refuse_unproven((PROVEN, UNPROVEN), allowed=False)
    refuse_unproven((PROVEN, UNPROVEN), allowed=True)
    refuse_unproven((PROVEN,), allowed=False)


def test_a_task_without_a_verifier_is_taken_where_a_judge_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "family: looks",
        "environment: {kind: fake}",
        "tasks:",
        "  - name: odd",
        "    description: nothing to check",
        "    instruction: Look.",
    ]
    (tmp_path / "looks.yaml").write_text("\n".join([*lines, "    verifier: {name: none}"]))
    monkeypatch.setenv("DESKHAND_TASKS", str(tmp_path))
    with pytest.raises(RunRefused, match=r"^looks/odd: no verifier .* set outcome\.by"):
        refuse_unverified((PROVEN, "looks/odd"))
    refuse_unverified((PROVEN, "looks/odd"), judged=True)
    refuse_unverified((PROVEN,))


@pytest.mark.parametrize("sandbox", [BrowserSandbox, DesktopSandbox, WorldSandbox])
def test_kinds_that_are_refused_branches_are_those_that_keep_no_state(sandbox: type[Sandbox]) -> None:
    """What a class does not override it never offers (`Sandbox.snapshot` raises)."""
    assert (sandbox.kind in NEVER_GO_BACK) == (sandbox.snapshot is Sandbox.snapshot)


JUDGED = OutcomeConfig(by="judge", judge="https://x/v1", model="m")


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"success_band": (0.9, 0.1)}, "success_band", "nothing lies between 0.9 and 0.1"),
        ({"entropy_band": (1.2, 0.8)}, "entropy_band", "give the lower one first"),
        ({"progress_bonus": 1.0}, "progress_bonus", "set attempts=2"),
        ({"branches": 2}, "branches", f"{PROVEN} cannot go back .* such as worlds/chain"),
        (
            {"progress_bonus": 1.0, "attempts": 2, "outcome": JUDGED},
            "progress_bonus",
            "the episode the judge's, and these are not compared",
        ),
        (
            {"rollouts": "self_play", "algorithm": "reinforce", "advantage": "return", "epochs": 1},
            "rollouts",
            f"{PROVEN} cannot be played by both sides",
        ),
    ],
)
def test_settings_that_teach_nothing_are_refused_before_a_sandbox_is_opened(
    changes: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(RunRefused, match=said) as refused:
        admit(PpoConfig(tasks=(PROVEN,), **changes))
    assert refused.value.field == field
