"""The ladder of methods: what its arms share, and what it makes of runs that are done."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.presets import method
from deskhand_trainer.results import read_figures
from deskhand_trainer.studies.ladder import main
from deskhand_trainer.studies.ladder_curves import read_curve
from deskhand_trainer.studies.ladder_figures import COMPARISONS, CONTROL
from deskhand_trainer.studies.ladder_plan import (
    ARMS,
    CRITIC_RATES,
    RUNGS,
    SEED_SPACING,
    VARIANTS,
    arm_config,
    arms_of,
    evaluation,
    start_config,
)
from deskhand_trainer.studies.ladder_record import (
    ArmRecord,
    FailedArm,
    LadderRecord,
    read_record,
    write_record,
)
from deskhand_trainer.studies.runs import StudyRuns, run_id

SEEDS = (0, 1, 2)
RATES = {
    "turn-ppo": (0.8, 0.7, 0.9), "ppo": (0.6, 0.6, 0.6), "grpo": (0.1, 0.0, 0.2), "rebn": (0.5, 0.5, 0.5),
    "st-ppo": (0.8, 0.7, 0.9), "unpretrained": (0.7, 0.7, 0.7), "bilevel": (0.6, 0.5, 0.7),
}  # fmt: skip


def done(after: float, **changed: Any) -> ArmRecord:
    """An arm that came to `after`."""
    told: dict[str, Any] = {
        "base": None, "start": "policy-a", "before": 0.3, "after": after, "greedy": after, "minutes": 5.0,
        "turns": 20_000, "config": {}, "commit": "abc", "date": "2026-01-02",
        "machine": "a small one", **changed,
    }  # fmt: skip
    return ArmRecord(**told)


def failed(**changed: Any) -> FailedArm:
    """An arm that diverged in its eighth iteration."""
    told: dict[str, Any] = {
        "base": None, "start": "policy-a", "iterations": 7, "reason": "no gradient was finite", "config": {},
        "commit": "abc", "date": "2026-01-02", "machine": "a small one", **changed,
    }  # fmt: skip
    return FailedArm(**told)


def figures(tmp_path: Path, arms: dict[str, Any], *asked: str) -> dict[str, Any]:
    """What the command line writes of these arms, done as registered where nothing else is said."""
    told = {
        spec.name: json.loads(json.dumps(asdict(arm_config(spec)))) for spec in arms_of(RUNGS, ARMS, SEEDS)
    }
    arms = {name: replace(arm, config={**told[name], **arm.config}) for name, arm in arms.items()}
    results, record = tmp_path / "results/ladder.json", tmp_path / "results/runs/ladder.json"
    whole = LadderRecord()
    for name, arm in arms.items():
        whole = whole.with_arm(name, arm)
    write_record(record, whole)
    places = ["--results", str(results), "--record", str(record)]
    assert main([str(tmp_path), "--report", *places, *asked]) == 0
    return {figure.name: figure for figure in read_figures(results)} if results.exists() else {}


def test_arms_differ_by_their_presets_alone() -> None:
    for rung in RUNGS:
        shared: list[dict[str, Any]] = []
        for spec in arms_of([rung], ARMS, [1]):
            config = asdict(arm_config(spec))
            assert parse_config(PpoConfig, json.loads(json.dumps(config))) == arm_config(spec)
            name = "turn-ppo" if spec.arm in VARIANTS else spec.arm
            told = {
                *method(name).config,
                "normalisation",
                *(field for each in VARIANTS.values() for field in each),
            }
            every = {field for arm in ARMS[:5] for field in method(arm).config} | {*method("bilevel").config}
            shared.append({key: value for key, value in config.items() if key not in told | every})
            assert config["environment_steps"] == rung.turns and config["minutes"] == 0
            assert evaluation(spec, control=False).split == "test"
        assert all(each == shared[0] for each in shared)
        assert rung.task not in HELD_OUT_TASKS
        assert start_config(rung, 0).demonstrations_per_task < SEED_SPACING


def test_what_a_variant_changes_is_one_thing() -> None:
    of = {spec.arm: asdict(arm_config(spec)) for spec in arms_of(RUNGS[:1], ARMS, [0])}
    turn = of["turn-ppo"]
    assert {key for key in turn if turn[key] != of["unpretrained"][key]} == {"value_pretraining"}
    assert {key for key in turn if turn[key] != of[CONTROL][key]} == {"shuffled_rewards"}
    for times in (5, 50, 500):
        critic = of[f"critic-{times}"]
        assert {key for key in turn if turn[key] != critic[key]} == {"critic_lr"}
        assert critic["critic_lr"] == pytest.approx(times * critic["lr"])
    assert of["grpo"]["group_size"] == 8 and of["st-ppo"]["scale_by_clipping_bias"]


def test_controls_stand_on_one_rung_and_a_seed_comes_whole() -> None:
    specs = arms_of(RUNGS, ARMS, SEEDS)
    for arm in (CONTROL, "critic-5", "critic-500"):
        assert [s.rung.name for s in specs if s.arm == arm] == ["sokoban"] * 3
    assert {s.arm for s in specs[: len(ARMS)]} == set(ARMS) and {s.seed for s in specs[: len(ARMS)]} == {0}
    assert len({s.name for s in specs}) == len(specs)


def test_every_comparison_is_of_arms() -> None:
    assert {arm for pair in COMPARISONS.values() for arm in pair} <= set(ARMS)


def test_differences_are_paired_by_seed(tmp_path: Path) -> None:
    assert figures(tmp_path, {}) == {}
    arms = {
        f"sokoban/{arm}-{seed}": done(after, minutes=5.0 + seed)
        for arm, rates in RATES.items()
        for seed, after in enumerate(rates)
    }
    found = figures(tmp_path, arms)
    turn = found["sokoban_turn_minus_token"]
    assert turn.value == pytest.approx(0.2)
    # differences .2 .1 .3: deviation .1, t(.975, 2) = 4.3027
    assert (turn.low, turn.high) == pytest.approx((0.2 - 0.24841, 0.2 + 0.24841), abs=1e-4)
    st = found["sokoban_st_minus_turn"]
    assert st.value == 0 == st.low
    # what else their papers' settings differ in is said
    assert st.note.endswith(
        "; they differ in lambda_critic 1.0 against 0.95, ratio turn_geometric against turn_product, "
        "scale_by_clipping_bias true against false"
    )
    critic = found["value_pretraining_gain"]
    assert critic.note.endswith("; they differ in value_pretraining true against false")
    assert found["sokoban_token_minus_grpo"].value == pytest.approx(0.5)
    assert found["sokoban_value_pretraining_gain"].value == pytest.approx(0.1)
    assert found["value_pretraining_gain"].value == pytest.approx(0.1)  # of all rungs: of one here
    assert found["sokoban_grpo_after_min"].value == 0  # an arm that failed is reported
    assert found["sokoban_turn_ppo_minutes"].value == 7
    assert found["arms_reported"].value == 7 and found["seeds"].met
    assert (turn.commit, turn.date, turn.machine) == ("abc", "2026-01-02", "a small one")
    assert turn.config == json.loads(json.dumps(asdict(arm_config(arms_of(RUNGS, ("turn-ppo",), [0])[0]))))
    assert "controls_passed" not in found


def test_a_figure_is_made_where_all_its_runs_were(tmp_path: Path) -> None:
    arms = {
        f"sokoban/{arm}-{seed}": done(
            0.5, commit=f"c{seed}", date=f"2026-01-0{seed + 1}", machine=machine, critic=critic
        )
        for arm, machine, critic in (
            ("turn-ppo", "one", None), ("ppo", "two", None), (CONTROL, "two", {"real": 0.4, "shuffled": 0.0})
        )
        for seed in SEEDS
    }  # fmt: skip
    found = figures(tmp_path, arms)
    for name, machines in (
        ("sokoban_ppo_after", "two"), ("sokoban_ppo_after_min", "two"), ("sokoban_ppo_minutes", "two"),
        ("sokoban_turn_minus_token", "one; two"), ("controls_passed", "two"), ("sabotage_gain_max", "two"),
    ):  # fmt: skip
        told = (found[name].commit, found[name].date, found[name].machine)
        assert told == ("c0, c1, c2", "2026-01-03", machines), name


def test_some_seeds_are_told_of_together_with_those_that_are_done(tmp_path: Path) -> None:
    critic = {"real": 0.4, "shuffled": 0.0}
    arms = {
        f"sokoban/{arm}-{seed}": done(0.3 + seed / 10, before=0.5, critic=critic if arm == CONTROL else None)
        for arm in (*RATES, CONTROL)
        for seed in SEEDS
    }
    whole = figures(tmp_path, arms)
    assert whole["seeds"].value == 3 and whole["controls_passed"].seeds == [0, 1, 2]
    assert figures(tmp_path, arms, "--seeds", "2") == whole
    # one of other settings is not done
    arms["sokoban/ppo-2"] = done(0.1, config={"environment_steps": 500})
    found = figures(tmp_path, arms, "--seeds", "0")
    assert found["seeds"].value == 3 and found["sokoban_ppo_after"].seeds == [0, 1]
    # what is asked for and not done is missed
    found = figures(tmp_path, arms, "--seeds", "7")
    assert found["seeds"].seeds == [0, 1, 2, 7] and found["arms_reported"].value == 0


def test_two_rungs_of_one_seed_make_no_interval(tmp_path: Path) -> None:
    names = [f"{rung}/{arm}-0" for rung in ("sokoban", "checkboxes") for arm in ("turn-ppo", "unpretrained")]
    assert "value_pretraining_gain" not in figures(tmp_path, dict.fromkeys(names, done(0.5)), "--seeds", "0")


@pytest.mark.parametrize(("seeds", "together"), [((0, 1, 2), 0.4), ((0, 1), 0.1)])
def test_whole_rungs_are_told_of_together(tmp_path: Path, seeds: Any, together: float) -> None:
    rates = {"sokoban": (0.5, 0.4), "checkboxes": (0.9, 0.2)}
    arms = {
        f"{rung}/{arm}-{seed}": done(rate)
        for rung, of_both in rates.items()
        for arm, rate in zip(("turn-ppo", "unpretrained"), of_both, strict=True)
        for seed in (seeds if rung == "checkboxes" else (0, 1, 2))
    }
    found = figures(tmp_path, arms)
    assert found["checkboxes_value_pretraining_gain"].value == pytest.approx(0.7)
    assert found["value_pretraining_gain"].value == pytest.approx(together)


def test_arms_from_different_starts_are_no_pair(tmp_path: Path) -> None:
    arms = {f"sokoban/{arm}-{seed}": done(0.5) for arm in ("turn-ppo", "ppo") for seed in (0, 1)}
    assert figures(tmp_path, arms)["sokoban_turn_minus_token"].seeds == [0, 1]
    (tmp_path / "results/ladder.json").unlink()
    arms["sokoban/ppo-1"] = done(0.5, start="policy-b")
    assert "sokoban_turn_minus_token" not in figures(tmp_path, arms)


def test_arms_of_other_settings_are_in_no_figure(tmp_path: Path) -> None:
    arms = {f"sokoban/{arm}-{seed}": done(0.5) for arm in ("turn-ppo", "ppo") for seed in SEEDS}
    arms["sokoban/ppo-1"] = done(0.1, config={"environment_steps": 500})
    found = figures(tmp_path, arms)
    assert found["sokoban_turn_minus_token"].seeds == found["sokoban_ppo_after"].seeds == [0, 2]
    assert found["sokoban_ppo_after"].value == 0.5 and found["arms_reported"].value == 1
    kept = read_record(tmp_path / "results/runs/ladder.json")
    assert kept.arms["sokoban/ppo-1"].after == 0.1


def test_an_arm_with_one_seed_says_nothing_yet(tmp_path: Path) -> None:
    names = ("turn-ppo-0", "ppo-0", "ppo-1")
    found = figures(tmp_path, {f"sokoban/{name}": done(0.5) for name in names})
    assert "sokoban_turn_minus_token" not in found and "sokoban_turn_ppo_after" not in found
    assert found["sokoban_ppo_after"].seeds == [0, 1] and found["arms_reported"].value == 0


@pytest.mark.parametrize(
    ("after", "explained", "real", "passed"),
    [
        (0.33, -0.04, 0.4, 1),
        (0.36, 0.0, 0.4, 0),
        (0.3, -0.06, 0.4, 0),
        # a critic that explains nothing of real returns either is no control
        (0.33, 0.0, 0.03, 0),
    ],
)
def test_controls_pass_where_nothing_was_learned(
    tmp_path: Path, after: float, explained: float, real: float, passed: int
) -> None:
    arms: dict[str, ArmRecord] = {}
    for seed in SEEDS:
        assert "controls_passed" not in figures(tmp_path, arms)
        critic = {
            "real": real if seed == 1 else 0.4,
            "shuffled": explained if seed else 0.0,
            "separate": 0.5 - seed / 10,
        }
        told = done(after if seed == 1 else 0.28, greedy=None, critic=critic)
        arms[f"sokoban/{CONTROL}-{seed}"] = told
    found = figures(tmp_path, arms)
    assert found["controls_passed"].value == passed
    assert found["critic_explained_variance_min"].value == real
    assert found["critic_separate_explained_variance_min"].value == pytest.approx(0.3)
    assert f"the least is {real:.3f}" in found["controls_passed"].note


def test_an_arm_that_failed_is_told_of_and_in_no_mean(tmp_path: Path) -> None:
    arms: dict[str, Any] = {
        f"sokoban/{arm}-{seed}": done(0.5) for arm in ("turn-ppo", "ppo") for seed in SEEDS
    }
    arms["sokoban/ppo-1"] = failed()
    arms["sokoban/grpo-0"] = failed(iterations=0)
    arms["sokoban/grpo-1"] = failed(config={"environment_steps": 500})
    found = figures(tmp_path, arms)
    lost = found["sokoban_ppo_failed"]
    assert (lost.value, lost.unit, lost.seeds, lost.commit) == (1, "seeds", [1], "abc")
    assert "seed 1 after 7 iterations: no gradient was finite" in lost.note
    assert found["sokoban_grpo_failed"].seeds == [0]
    for name in ("sokoban_ppo_after", "sokoban_ppo_after_min", "sokoban_turn_minus_token"):
        assert found[name].seeds == [0, 2] and "without the seeds that failed: 1" in found[name].note
    assert "failed" not in found["sokoban_turn_ppo_after"].note
    assert found["arms_reported"].value == 2
    assert "sokoban_turn_ppo_failed" not in found
    # tried again it did not
    arms["sokoban/ppo-1"] = done(0.4)
    assert "sokoban_ppo_failed" not in figures(tmp_path, arms)


def diverging(monkeypatch: pytest.MonkeyPatch, arms: set[str], error: str = "TrainingDiverged") -> list[str]:
    """From now on runs end at once, the training of these arms with an error; returns what was begun."""
    begun: list[str] = []

    def ended(runs: StudyRuns, folder: Path, log: object) -> None:
        name = str(folder.relative_to(runs.folder))
        begun.append(name)
        if name.endswith("/train") and name.split("/")[1] in arms:
            (folder / "error.json").write_text(json.dumps({"type": error, "message": "no gradient"}))
            asyncio.run(iterated(runs, name))
            return
        metrics = {"success_sampled": 0.5, "success_greedy": 0.6, "minutes": 1.0, "turns": 900}
        (folder / "result.json").write_text(json.dumps({"metrics": metrics, "policy_out": "policy-b"}))

    async def iterated(runs: StudyRuns, name: str) -> None:
        async with await Store.open(*runs.store) as store:
            for step in (1, 2, 3):
                await store.append_event(
                    Event(
                        id=0, at_s=time.time(), subject=f"run:{run_id(name)}", kind=EventKind.METRIC,
                        name="ppo/iteration", data={"step": step},
                    )
                )  # fmt: skip

    monkeypatch.setattr(StudyRuns, "_wait", ended)
    return begun


def test_an_arm_that_diverges_is_kept_as_failed_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = diverging(monkeypatch, {"ppo-0"})
    record, results = tmp_path / "record.json", tmp_path / "results/ladder.json"
    asked = [str(tmp_path / "study"), "--rungs", "checkboxes", "--arms", "ppo", "turn-ppo", "--seeds", "0"]
    asked += ["--record", str(record), "--results", str(results)]
    assert main(asked) == 0
    kept = read_record(record)
    assert set(kept.arms) == {"checkboxes/turn-ppo-0"} and set(kept.failed) == {"checkboxes/ppo-0"}
    lost = kept.failed["checkboxes/ppo-0"]
    assert (lost.reason, lost.iterations) == ("no gradient", 3)
    assert lost.start == lost.base == kept.arms["checkboxes/turn-ppo-0"].start
    assert {figure.name: figure.value for figure in read_figures(results)}["checkboxes_ppo_failed"] == 1
    # it is done, until it is asked for again
    begun.clear()
    assert main(asked) == 0
    assert not begun and "nothing left: all 2 arms are in the record" in capsys.readouterr().out
    diverging(monkeypatch, set())
    assert main([*asked, "--again"]) == 0
    assert set(read_record(record).arms) == {"checkboxes/turn-ppo-0", "checkboxes/ppo-0"}
    assert not read_record(record).failed


def test_an_arm_that_ends_by_the_machine_stops_the_study_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    diverging(monkeypatch, {"ppo-0"}, error="DiskFull")
    record, results = tmp_path / "record.json", tmp_path / "results/ladder.json"
    asked = [str(tmp_path / "study"), "--rungs", "checkboxes", "--arms", "ppo", "turn-ppo", "--seeds", "0"]
    assert main([*asked, "--record", str(record), "--results", str(results)]) == 1
    assert "ended without a result" in capsys.readouterr().err
    assert not read_record(record).failed and "checkboxes/ppo-0" not in read_record(record).arms


def test_what_is_done_elsewhere_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = arms_of(RUNGS[:1], ARMS, [0])
    of = {spec.name: done(0.5, config=json.loads(json.dumps(asdict(arm_config(spec))))) for spec in specs}
    told = {spec.name: asdict(arm_config(spec)) for spec in specs}
    whole = LadderRecord(arms=of)
    write_record(tmp_path / "runs/ladder.json", whole)
    read = read_record(tmp_path / "runs/ladder.json")
    assert read == whole and read.have_all(told)
    again = [str(tmp_path / "study"), "--rungs", RUNGS[0].name, "--seeds", "0"]
    assert main([*again, "--record", str(tmp_path / "runs/ladder.json")]) == 0
    assert f"nothing left: all {len(specs)} arms are in the record" in capsys.readouterr().out
    assert read.made_of({"sokoban": None, "checkboxes": "another"}) == whole
    assert not read.made_of({"sokoban": "another"}).have_all(told)
    name = specs[3].name
    assert not read.with_arm(name, done(0.5)).have_all(told)  # other settings
    assert not read.with_arm(name, replace(of[name], start="policy-b")).have_all(told)
    # the critic's rates are compared with one another alone, from starts of their own
    rates = [f"{RUNGS[0].name}/{arm}-0" for arm in CRITIC_RATES]
    for each in rates:
        whole = whole.with_arm(each, replace(of[each], start="policy-b"))
    write_record(tmp_path / "runs/ladder.json", whole)
    assert main([*again, "--record", str(tmp_path / "runs/ladder.json")]) == 0
    assert "nothing left" in capsys.readouterr().out
    # done before a setting was thought of: it is as it was then
    early = {key: value for key, value in of[name].config.items() if key not in ("outcome", "freeze")}
    assert read.with_arm(name, done(0.5, config=early)).have_all(told)
    assert not read.with_arm(name, done(0.5, config=early)).have(name, {**told[name], "freeze": "vision"})
    assert read.with_arm(name, done(0.5)).have(specs[4].name, told[specs[4].name]) == of[specs[4].name]


def test_nothing_is_left_of_the_record_that_is_published(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    published = Path(__file__).parents[3] / "docs/results/runs/ladder.json"
    shutil.copy(published, tmp_path / "ladder.json")
    assert main([str(tmp_path / "study"), "--record", str(tmp_path / "ladder.json")]) == 0
    assert "nothing left" in capsys.readouterr().out


def test_a_damaged_record_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (
        "{",
        '{"arms": 3}',
        '{"arms": {}, "failed": {"sokoban/ppo-0": {}}}',
        '{"arms": {"sokoban/ppo-0": {"after": 1}}}',
    ):
        (tmp_path / "ladder.json").write_text(text)
        assert main([str(tmp_path), "--report", "--record", str(tmp_path / "ladder.json")]) == 1
        assert "is not a record of the ladder" in capsys.readouterr().err


def test_damaged_results_are_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, record = tmp_path / "results/ladder.json", tmp_path / "results/runs/ladder.json"
    arms = {f"sokoban/turn-ppo-{seed}": done(0.5) for seed in SEEDS}
    assert figures(tmp_path, arms)
    results.write_text("{}")
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), "--report", "--results", str(results), "--record", str(record)])
    assert "is not a results file" in capsys.readouterr().err


def test_curves_are_what_the_runs_reported(tmp_path: Path) -> None:
    async def report() -> None:
        async with await Store.open(*StudyRuns(tmp_path).store) as store:
            for step, turns, rate in ((0, 0, 0.3), (8, 900, 0.2), (8, 1000, 0.5)):
                event = Event(
                    id=0,
                    at_s=time.time(),
                    subject=f"run:{run_id('sokoban/ppo-0/train')}",
                    kind=EventKind.METRIC,
                    name="ppo/validation",
                    data={"step": step, "turns": turns, "success_sampled": rate},
                )
                await store.append_event(event)

    asyncio.run(report())
    # what a killed run measured twice counts as measured last
    curve = read_curve(StudyRuns(tmp_path).store, "sokoban/ppo-0/train")
    assert curve == ((0, 0.3), (1000, 0.5))
    seeds = {0: curve, 1: ((0, 0.4), (1100, 0.6))}
    figures(tmp_path, {f"sokoban/ppo-{seed}": done(0.5, curve=of) for seed, of in seeds.items()})
    with Picture.open(tmp_path / "results/ladder-sokoban.png") as picture:
        assert picture.size == (770, 440) and len(picture.convert("RGB").getcolors(1 << 20) or []) > 20
