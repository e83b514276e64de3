"""The process reward model's study: what was registered, how arms differ, what is made of what was done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.types import Context, Decision
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepValue
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds
from deskhand_sandbox.types import Press, Split
from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig, ScoreConfig, parse_config
from deskhand_trainer.prm.keeping import about
from deskhand_trainer.prm.material import training_material
from deskhand_trainer.prm.train import train_reward_model
from deskhand_trainer.results import Figure, read_figures, write_figures
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.studies.base import MAX_TOKENS
from deskhand_trainer.studies.done_elsewhere import DoneElsewhere
from deskhand_trainer.studies.prm import main
from deskhand_trainer.studies.prm_figures import quality_figures, speedup, turns_to, unimproved
from deskhand_trainer.studies.prm_measuring import measure
from deskhand_trainer.studies.prm_plan import Plan, arms, reward_settings, verifying
from deskhand_trainer.studies.runs import StudyRuns

torch.set_num_threads(1)
MADE = {"date": "2026-01-02", "commit": "abc", "machine": "a small one"}
CURVE = ((0.0, 0.2), (1000.0, 0.4), (2000.0, 0.8), (3000.0, 0.6))


def test_what_is_measured_on_is_held_out_and_arms_differ_by_the_reward_alone() -> None:
    plan = Plan()
    assert set(plan.unseen) == HELD_OUT_TASKS and not set(plan.tasks) & HELD_OUT_TASKS
    assert "monte-carlo" in plan.model.labels and parse_config(ScoreConfig, asdict(plan.model)) == plan.model
    outcome, process = arms(plan, 3)
    assert outcome.process_weight == 0.0 and outcome.environment_weight == 0.0
    assert replace(process, process_weight=0.0) == outcome and process.process_weight > 0
    assert parse_config(PpoConfig, asdict(process)) == process


def test_turns_to_a_success_lie_on_the_line_between_two_measurements() -> None:
    assert turns_to(CURVE, 0.3) == pytest.approx(500.0)
    assert turns_to(CURVE, 0.8) == 2000.0
    # one that never has it counts with all its turns
    assert turns_to(CURVE, 0.9) == 3000.0


def test_speedup_by_hand() -> None:
    twice = tuple((turns / 2, success) for turns, success in CURVE)
    assert speedup(CURVE, twice) == pytest.approx(2.0) and speedup(twice, CURVE) == pytest.approx(0.5)
    # halfway from .2 to the better one's .8 is .5, which it has after 1,250 turns and the worse after 5,000
    worse = ((0.0, 0.2), (4000.0, 0.4), (6000.0, 0.6))
    assert speedup(worse, CURVE) == pytest.approx(4.0)
    assert speedup(CURVE, worse) == pytest.approx(0.25)


def test_an_arm_that_learns_nothing_is_never_the_faster_one() -> None:
    # one start, measured twice: .25; halfway to .8 is .525, which the arm that learns has after 1,312.5 turns
    flat = ((0.0, 0.3), (1500.0, 0.2), (4000.0, 0.25))
    assert speedup(flat, CURVE) == pytest.approx(4000 / 1312.5)
    assert speedup(CURVE, flat) == pytest.approx(1312.5 / 4000)
    sinking = ((0.0, 0.2), (1000.0, 0.1))
    assert speedup(flat[:2], sinking) == speedup(sinking, flat[:2]) == 1.0


def leave(folder: Path, metrics: dict[str, Any], policy: str | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "result.json", {"policy_out": policy, "metrics": metrics})


def leave_models(folder: Path) -> None:
    for name in ("seen", "unseen"):
        leave(folder / "quality" / name, {})
    leave(folder / "quality/labels", {"labeller": "mc", "labelled_steps": 200})
    for name in ("model", "outcome-model"):
        leave(folder / "quality" / name, {}, name)


def beside(results: Path) -> list[str]:
    """Options."""
    return ["--results", str(results), "--record", str(results.parent / "runs/prm.json")]


def written(tmp_path: Path, ratios: dict[int, float]) -> dict[str, Any]:
    """Figures of a folder in which everything is done."""
    leave_models(tmp_path)
    model = {
        "auc": [0.93, 0.9, 0.95], "ece": [0.04, 0.02, 0.06], "brier": [0.1, 0.1, 0.1],
        "ece_before": [0.2, 0.1, 0.3], "ece_settled": [0.3, 0.2, 0.4],
        "steps": 90, "settled": 40, "episodes": 30, "fitted": 20, "inexact": 3,
        "auc_sure": [0.96, 0.93, 0.98], "sure": 25, "by_chance": 4.2, "sure_by_chance": 1.1,
        "auc_by_values": [0.8, 0.7, 0.9],
    }  # fmt: skip
    found = {"model": model, "outcome_model": {**model, "auc": None}}
    (tmp_path / "quality/measured").mkdir(parents=True)
    done = {"metrics": found, "labelled": {"labelled_steps": 200}, "made": MADE}
    write_json(tmp_path / "quality/measured/result.json", done)
    leave_rewards(tmp_path, ratios)
    results = tmp_path / "results/prm.json"
    told = [str(tmp_path), "--report", *beside(results), "--seeds", *map(str, range(5))]
    assert main(told) == 0
    return {figure.name: figure for figure in read_figures(results)}


def leave_rewards(tmp_path: Path, ratios: dict[int, float]) -> None:
    leave(tmp_path / "reward/demonstrations", {})
    for seed, ratio in ratios.items():
        home = tmp_path / "reward" / str(seed)
        leave(home / "labels", {"labeller": "mc"})
        for name in ("start", "played", "model", "outcome", "process"):
            leave(home / name, {}, name)
        (tmp_path / f"reward/{seed}/compared").mkdir(parents=True)
        curves = {"outcome": CURVE, "process": [(turns / ratio, success) for turns, success in CURVE]}
        done = {"metrics": curves, "labelled": {"labelled_steps": 500}}
        write_json(tmp_path / f"reward/{seed}/compared/result.json", done)


def test_figures_of_what_is_done(tmp_path: Path, packaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results").mkdir()
    stale = Figure(name="auc_unseen_tasks_outcome_labels", value=0.5, unit="")
    write_figures(tmp_path / "results/prm.json", [stale])
    found = written(tmp_path, {0: 2.0, 1: 1.5, 2: 3.0, 3: 2.0, 4: 2.5})
    assert (found["auc_unseen_tasks"].value, found["auc_unseen_tasks"].met) == (0.93, True)
    auc = found["auc_unseen_tasks"]
    assert "measured on these tasks before: .43" in auc.note
    assert {"date": auc.date, "commit": auc.commit, "machine": auc.machine} == MADE
    assert str(auc.config["policy"]).startswith("policy-")
    assert (found["ece"].value, found["ece"].high, found["ece"].met) == (0.04, 0.06, True)
    assert "50 of these do not tell from 1/2" in found["ece"].note
    assert (found["ece_settled"].value, found["ece_settled"].goal) == (0.3, None)
    assert found["ece_settled"].note.startswith("40 of 90 steps")
    assert "chance alone would tell so of 4" in auc.note
    assert found["auc_unseen_tasks_sure"].value == 0.96
    assert found["auc_unseen_tasks_by_values"].value == 0.8
    assert found["auc_unseen_tasks_sure"].note.startswith("25 of 90 steps")
    assert "chance alone would bring 1" in found["auc_unseen_tasks_sure"].note
    # what cannot be had is told, and an earlier value of it does not stand for it
    assert stale.name not in found
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(stale.name)]
    assert "unknown they are all of one kind: 40 of 90 steps" in told
    assert found["inexact_labels"].value == 3
    mean = math.exp(sum(map(math.log, (2.0, 1.5, 3.0, 2.0, 2.5))) / 5)
    assert found["reward_speedup"].value == pytest.approx(mean)
    low = found["reward_speedup_low"]
    assert low.value == found["reward_speedup"].low and low.value > 1 and low.met is True
    assert found["reward_seeds"].met is True


def test_an_arm_of_the_reward_that_diverges_never_rises_above_its_start(
    tmp_path: Path, packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_rewards(tmp_path, {0: 2.0, 1: 2.0})
    for name in ("process/result.json", "compared/result.json"):
        (tmp_path / "reward/1" / name).unlink()
    leave(tmp_path / "reward/1/labels", {"labeller": "mc", "labelled_steps": 500})
    begun: list[str] = []

    def ended(runs: StudyRuns, folder: Path, log: object) -> None:
        begun.append(str(folder.relative_to(runs.folder)))
        (folder / "error.json").write_text('{"type": "TrainingDiverged", "message": "no gradient"}')

    def read(store: object, name: str) -> Sequence[tuple[float, float]]:
        return CURVE if name.endswith("outcome") else ((0.0, 0.3), (500.0, 0.9))

    monkeypatch.setattr(StudyRuns, "_wait", ended)
    monkeypatch.setattr("deskhand_trainer.studies.prm.read_curve", read)
    results = tmp_path / "results/prm.json"
    asked = [str(tmp_path), "--parts", "reward", "--seeds", "0", "1", *beside(results)]
    assert main(asked) == 0
    assert begun == ["reward/1/process"]
    found = {figure.name: figure for figure in read_figures(results)}["reward_speedup"]
    # halfway from .25 to .8 is .525, which the outcome alone has after 1,312.5 turns
    turns = Plan().rung.turns
    assert found.value == pytest.approx(math.sqrt(2.0 * 1312.5 / turns))
    said = "; training diverged, counted as its start is: process of seed 1 after 0 iterations (no gradient)"
    assert found.note.endswith(said)
    # nor is it begun again, here or where the folder is not
    for folder in (tmp_path, tmp_path / "there"):
        assert main([str(folder), *asked[1:]]) == 0
    assert {figure.name: figure for figure in read_figures(results)}["reward_speedup"] == found
    assert len(begun) == 1


def test_arms_that_were_never_measured_make_no_difference() -> None:
    assert speedup(unimproved([(), ()], 900.0), unimproved([(), ()], 900.0)) == 1.0
    assert unimproved([(), CURVE], 900.0) == ((0.0, 0.2), (900.0, 0.2))


def test_other_tasks_were_not_measured_on_before() -> None:
    model = dict.fromkeys(("auc", "ece", "ece_before", "brier"), (0.5,)) | dict.fromkeys(
        ("steps", "settled", "episodes", "inexact"), 1
    )
    done = {"metrics": {"model": model, "outcome_model": model}, "labelled": {"labelled_steps": 2}}
    auc = quality_figures(done, {"unseen": ["miniwob/click-button"]}, MADE)[0]
    assert isinstance(auc, Figure) and "before" not in auc.note


def test_seeds_that_are_done_elsewhere_are_not_done_again(
    tmp_path: Path, packaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, part = tmp_path / "results/prm.json", ["--parts", "reward", "--seeds", "0", "1"]
    leave_rewards(tmp_path / "here", {0: 2.0, 1: 1.5})
    assert main([str(tmp_path / "here"), *part, *beside(results)]) == 0
    found = read_figures(results)
    results.unlink()
    there = tmp_path / "there"
    assert main([str(there), *part, *beside(results)]) == 0
    assert read_figures(results) == found and not (there / "reward").exists()
    # by other settings it is not the same
    record = DoneElsewhere(tmp_path / "results/runs/prm.json")
    assert record.found("reward/0", reward_settings(Plan(), 0)) is not None
    assert record.found("reward/0", reward_settings(Plan(), 1)) is None
    assert record.found("reward/0", reward_settings(replace(Plan(), played=5), 0)) is None
    for text in ("{", "[]", '{"reward/0": 3}', '{"reward/0": {"told": {}}}'):
        (tmp_path / "results/runs/prm.json").write_text(text)
        assert main([str(there), "--report", *part, *beside(results)]) == 1
        assert "prm.json is not a study's record: mend or remove it" in capsys.readouterr().err


def test_one_seed_makes_no_figure_of_a_reward(tmp_path: Path, packaged: Path) -> None:
    assert "reward_speedup" not in written(tmp_path, {0: 2.0})


def test_figures_are_not_written_under_another_plan_than_theirs(
    tmp_path: Path, packaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {0: 2.0})
    config = asdict(replace(CollectConfig(tasks=Plan().tasks), episodes_per_task=5))
    urls = {"store_url": "", "blobs_url": ""}
    spec = {"id": "study-quality-seen", "kind": "collect", "config": config, **urls}
    write_json(tmp_path / "quality/seen/spec.json", spec)
    results = tmp_path / "results/prm.json"
    before = results.read_text()
    assert main([str(tmp_path), "--report", *beside(results)]) == 1
    assert "episodes_per_task is 5 there and 16 now" in capsys.readouterr().err
    assert results.read_text() == before


def test_scores_that_come_late_make_no_arm_without_them() -> None:
    assert all(arm.scoring_s >= 3600 for arm in arms(Plan(), 0)) and Plan().max_tokens == MAX_TOKENS


def test_what_a_verifier_adds_is_a_difference_of_means(tmp_path: Path, packaged: Path) -> None:
    def measured(rate: float) -> dict[str, Any]:
        metrics: dict[str, float] = {}
        for task in Plan().tasks:
            metrics |= {
                f"success_sampled:{task}": rate,
                f"success_sampled:{task}_low": rate - 0.1,
                f"success_sampled:{task}_high": rate + 0.1,
            }
        return {"metrics": metrics}

    leave_models(tmp_path)
    for name, rate in (("best", 0.7), ("single", 0.5)):
        (tmp_path / "verifier" / name).mkdir(parents=True)
        write_json(tmp_path / "verifier" / name / "result.json", measured(rate))
    results = tmp_path / "results/prm.json"
    assert main([str(tmp_path), "--report", *beside(results)]) == 0
    found = {figure.name: figure for figure in read_figures(results)}
    assert found["best_of_4_gain"].value == pytest.approx(0.2)
    assert all("learned from" in found[n].note for n in ("best_of_4_gain", "success_best_of_4"))
    low = found["best_of_4_gain_low"]
    assert low.value == found["best_of_4_gain"].low and 0.1 < low.value < 0.2 and low.met is True


def test_arms_of_the_verifier_differ_by_it_alone() -> None:
    judged = Deliberation(samples=4, choose="judge", judge="prm")
    best, single = verifying(Plan(), judged), verifying(Plan(), Deliberation())
    assert replace(best, test_time=Deliberation()) == single and best.split == "test"
    assert parse_config(EvaluateConfig, asdict(best)) == best


class Alternating:
    """Walks right on even turns, and right or left by the seed on odd ones."""

    id = "alternating"

    async def act(self, context: Context) -> Decision:
        right = len(context.steps) % 2 == 0 or context.task.seed % 2 == 0
        key = "ArrowRight" if right else "ArrowLeft"
        return Decision(actions=(Press(keys=(key,)),), text=f"press(key='{key}')")


async def test_a_model_is_measured_on_the_labels_of_tasks_it_never_saw(tmp_path: Path) -> None:
    urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    unseen = "worlds/chain-unseen"
    async with (
        await Store.open(*urls) as store,
        SandboxManager({"world": PoolSettings(max_sandboxes=2)}) as source,
    ):
        for name, split in (("worlds/chain", Split.TRAIN), (unseen, Split.TEST)):
            starts = 2 * [*seeds("worlds/chain", split, 4)]
            tasks = [replace(make_task("worlds/chain", s), id=name) for s in starts]
            jobs = [Job(task=task, split=split, labels={"run": name}) for task in tasks]
            await run_episodes(jobs, source=source, policy=Alternating(), sink=store)
        walks = [t async for t in store.each_trajectory(await store.trajectory_ids())]
        await store.add_step_values(
            StepValue(
                trajectory_id=t.id, step_index=step.index, labeller="mc", before=0.5, before_error=0.05,
                after=0.9 if "Right" in step.decision.text else 0.1, after_error=0.05, continuations=9,
                exact=step.index != 3,
            )
            for t in walks
            for step in t.steps
        )  # fmt: skip
        config = ScoreConfig(
            labels=("monte-carlo",),
            labeller="mc",
            runs=("worlds/chain",),
            leave_out=(unseen,),
            epochs=60,
            lr=0.01,
        )
        bundle = build_tiny(
            TinyConfig(
                vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2
            )
        )
        material = await training_material(store, config)
        trained = train_reward_model(bundle, material, config)
        ProcessRewardModel(trained.bundle, trained.head).save(tmp_path / "model")
        save_bundle(bundle, tmp_path / "policy")
        kept = await store.keep_policy(
            tmp_path / "model", parent_id=None, metadata=about(config, trained.report, material)
        )
    both = replace(config, runs=("worlds/chain", unseen))
    found = await measure(urls, kept.id, both, [unseen], folder=tmp_path / "measured")
    assert found["episodes"] == 8 and found["fitted"] > 0 and found["inexact"] > 0
    # what is inexact is left out
    of_unseen = [t for t in walks if t.start.task.id == unseen]
    assert found["starts"] == len({t.start.task.seed for t in of_unseen}) == 4
    assert found["steps"] == sum(step.index != 3 for t in of_unseen for step in t.steps) == found["settled"]
    value, low, high = found["auc"]
    assert low <= value <= high and value > 0.95
    assert found["ece"][0] < found["ece_before"][0] + 0.05
    # every state has the same value, of which nothing follows
    assert found["auc_by_values"][0] == 0.5
    # here every label tells, hardly one by chance
    assert found["sure"] == found["settled"] and found["auc_sure"] == found["auc"]
    assert 0.0 <= found["sure_by_chance"] <= found["by_chance"] < 0.1 * found["settled"]
    assert found["by_chance"] > 0.0
    assert found["ece_settled"] == found["ece"]
