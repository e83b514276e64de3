"""The study of the base model: what it measures, and what it makes of runs that are done."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks import list_tasks, make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import EvaluateConfig, PpoConfig, parse_config
from deskhand_trainer.results import Figure, read_figures
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.studies.base import (
    AT_ONCE,
    PROBE_EPISODES,
    evaluation,
    main,
    measuring,
    ppo_config,
    probe_config,
)
from deskhand_trainer.studies.base_figures import MEANS, means, short_name, task_figure_name, ten_figure_names
from deskhand_trainer.studies.base_tasks import (
    CANDIDATE,
    CANDIDATES,
    LEARNABLE,
    NEVER_SHOWN,
    done_seldom,
    the_ten,
    train_tasks,
)
from deskhand_trainer.studies.runs import StudyRuns

CHOSEN = CANDIDATES[5:15]
"""Done most often below 40 % in the study below."""
PROBED = {"miniwob_heldout_zero", "miniwob_heldout_50", "miniwob_heldout_500"}
"""Means whose names do not say so."""
BESIDE_RUNS = {"store.db", "store.db-shm", "store.db-wal", "blobs", "lock"}
"""In a study's folder."""


def success(task: str | None, rate: float, episodes: int = 100) -> dict[str, Any]:
    name = "greedy" if task is None else f"greedy:{task}"
    return {
        f"success_{name}": rate,
        f"success_{name}_low": max(0.0, rate - 0.1),
        f"success_{name}_high": min(1.0, rate + 0.1),
        f"episodes_{name}": episodes,
        "episodes_greedy": episodes,
    } | ({f"episodes_greedy:{task}": episodes} if task else {})


def leave(folder: Path, metrics: dict[str, Any], policy: str | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"policy_out": policy, "metrics": metrics, "seconds": 1}))


def leave_measured(study: Path, part: str, metrics: dict[str, Any], tasks: Sequence[str]) -> None:
    """By as many runs as the tasks take."""
    for index in range(0, len(tasks), AT_ONCE):
        leave(study / measuring(part, tasks[index : index + AT_ONCE]), metrics)


@pytest.fixture
def study(tmp_path: Path, packaged: Path) -> Path:
    """A folder in which every run is done."""
    folder = tmp_path / "study"
    for part, tasks, rate in (
        ("train", train_tasks(), 0.8),
        ("never-shown", NEVER_SHOWN, 0.5),
        ("held-out", sorted(HELD_OUT_TASKS), 0.1),
        (CANDIDATE, CANDIDATES, 0.4),
    ):
        found = success(None, rate)  # of a task that a run has to itself
        for task in tasks:
            found |= success(task, 0.3 if task in CHOSEN else rate)
        leave_measured(folder, part, found, tasks)
    tried: dict[str, Any] = {}
    for task in CHOSEN:
        rate = success(task, 0.75)
        tried |= {
            f"passed_sampled:{task}{end}": rate[f"success_greedy:{task}{end}"]
            for end in ("", "_low", "_high")
        }
        tried[f"episodes_sampled:{task}"] = 96
    leave_measured(folder, LEARNABLE, tried, CHOSEN)
    for episodes, rate in ((50, 0.2), (500, 0.3)):
        for task in HELD_OUT_TASKS:
            place = folder / f"probe-{episodes}" / task.removeprefix("miniwob/")
            leave(place / "ppo", {"minutes": 1.0, "episodes": episodes}, policy="probed")
            leave(place / "after", success(None, rate))
    for number, task in enumerate(CHOSEN):
        short = short_name(task)
        leave(folder / short / "before", success(None, 0.2 + number / 100, 200))
        for seed in range(3):
            leave(folder / short / f"ppo-{seed}", {"minutes": 9.0, "episodes": 1234}, policy="trained")
            leave(folder / short / f"after-{seed}", success(None, 0.9 + seed / 100, 200))
    return folder


def test_the_tasks_fall_apart_into_four() -> None:
    miniwob = {task for task in oracle_tasks() if task.startswith("miniwob/")}
    parts = [set(train_tasks()), set(NEVER_SHOWN), set(HELD_OUT_TASKS), set(CANDIDATES)]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert parts[0] | parts[1] == miniwob - parts[2] and len(miniwob) >= 40
    every = {info.id for info in list_tasks()}
    assert parts[3] <= every and len(parts[3]) == len(CANDIDATES) >= 20
    assert {task for task in CANDIDATES if not 2 <= make_task(task, 0).limits.turns <= 25} == set()


def measured(part: str, rates: dict[str, float], policy: str = "p") -> list[Figure]:
    return [
        Figure(
            name=task_figure_name(part, task),
            value=rate,
            unit="share",
            config={"policy": policy},
        )
        for task, rate in rates.items()
    ]


def test_a_task_of_another_family_has_a_name_of_its_own() -> None:
    assert short_name("miniwob/tic-tac-toe") == "tic-tac-toe"
    assert short_name("worlds/tic-tac-toe") == "worlds-tic-tac-toe"
    assert task_figure_name("held-out", "miniwob/drag-box") == "miniwob_heldout_drag-box"
    assert len({task_figure_name(CANDIDATE, task) for task in CANDIDATES}) == len(CANDIDATES)


def test_the_ten_are_those_done_seldom_that_one_of_several_tries_succeeds_at() -> None:
    greedy = measured("candidate", {task: n / 50 for n, task in enumerate(CANDIDATES)})
    seldom = done_seldom(greedy, "p")
    assert seldom == CANDIDATES[:20]  # .38 and less
    rates = {task: 0.1 if n % 2 else 0.9 for n, task in enumerate(seldom)}
    assert the_ten([*greedy, *measured("learnable", rates)], "p") == tuple(sorted(seldom[::2]))
    level = dict.fromkeys(seldom, 0.5)  # then those done most often
    assert the_ten([*greedy, *measured("learnable", level)], "p") == tuple(sorted(seldom[10:]))
    assert the_ten(greedy, "p") == the_ten(greedy[1:], "p") == done_seldom(greedy[1:], "p") == ()
    assert done_seldom(greedy, "another") == ()


def test_what_it_tells_the_runs_is_understood() -> None:
    for config in (evaluation(train_tasks(), 100), ppo_config(CHOSEN[0], 2)):
        values = json.loads(json.dumps({name: getattr(config, name) for name in ("tasks", "max_tokens")}))
        assert parse_config(type(config), values).tasks == config.tasks
    assert isinstance(evaluation(CHOSEN, 1), EvaluateConfig) and evaluation(CHOSEN, 1).split == "test"
    for episodes in PROBE_EPISODES:
        probe = probe_config(min(HELD_OUT_TASKS), episodes)
        assert probe.iterations * probe.episodes_per_iteration == episodes and probe.probe
    offsets = {ppo_config(CHOSEN[0], seed).seed_offset for seed in range(3)}
    assert len(offsets) == 3 and isinstance(ppo_config(CHOSEN[0], 0), PpoConfig)


def test_figures_come_with_their_means(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results/base.json"
    assert main([str(study), "--parts", "ten", "--seeds", "0", "1", "--results", str(results)]) == 0
    known = {figure.name: figure for figure in read_figures(results)}
    assert "ppo_ten_tasks_before_mean" in known and "ppo_ten_tasks_after_mean" not in known
    assert main([str(study), "--results", str(results)]) == 0
    known = {figure.name: figure for figure in read_figures(results)}
    assert known["miniwob_train_mean"].value == 0.8 and known["miniwob_train_mean"].met
    assert known["miniwob_never_shown_click-option"].note == "greedy, 100 test seeds"
    assert known["miniwob_heldout_zero"].value == 0.1
    assert known["miniwob_heldout_50"].value == 0.2
    assert known["miniwob_heldout_500"].value == 0.3
    assert known["ppo_ten_tasks_before_mean"].value == pytest.approx(0.245)
    after, low = known["ppo_ten_tasks_after_mean"], known["ppo_ten_tasks_after_low"]
    assert after.value == 0.91 and after.met
    # Student's: t(.975, 2) = 4.3027, the seeds' means are .90, .91, .92
    assert low.value == after.low == pytest.approx(0.91 - 4.3027 * 0.01 / math.sqrt(3), abs=1e-4)
    minutes = known[f"ppo_ten_{short_name(CHOSEN[0])}_minutes_1"]
    assert (minutes.value, minutes.goal, minutes.seeds) == (9.0, "<= 15", [1])
    chosen = known[task_figure_name(LEARNABLE, CHOSEN[0])]
    assert (chosen.value, chosen.note, chosen.seeds) == (0.75, "pass@8, 12 validation seeds", "validation")
    # runs that do not say where they were made were not made here and now
    assert {figure.commit for figure in known.values()} == {"unknown"}
    assert "ppo_ten_tasks_after_low" in capsys.readouterr().out
    assert "miniwob_train_mean" in (tmp_path / "results/README.md").read_text()


def test_means_are_written_where_all_they_are_of_was_known(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results/base.json"
    assert main([str(study), "--results", str(results)]) == 0
    found = json.loads(results.read_text())["figures"]
    gone = {name: figure for name, figure in found.items() if name not in _means_in(found)}
    results.write_text(json.dumps({"figures": gone}))
    capsys.readouterr()
    assert main([str(tmp_path / "elsewhere"), "--parts", "train", "--results", str(results)]) == 0
    assert json.loads(results.read_text())["figures"] == found
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == _means_in(found)


def _means_in(figures: Mapping[str, Any]) -> set[str]:
    return {name for name in figures if name.endswith(("_mean", "_low")) or name in PROBED}


def test_the_mean_after_ppo_is_over_the_seeds_asked_for(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in CHOSEN:
        for seed in range(3):
            for run in ("ppo", "after"):
                place = study / short_name(task)
                (place / f"{run}-{seed}").rename(place / f"{run}-{seed + 3}")
    asked = [str(study), "--parts", "ten", "--seeds", "3", "4", "5"]
    assert main(asked) == 1
    assert "are of deskhand-tiny and the seeds 0, 1, 2: name another place" in capsys.readouterr().err
    results = tmp_path / "results/base.json"
    assert main([*asked, "--results", str(results)]) == 0
    known = {figure.name: figure for figure in read_figures(results)}
    after = known["ppo_ten_tasks_after_mean"]
    assert (after.value, after.seeds) == (pytest.approx(0.91), [3, 4, 5])
    alone = tmp_path / "alone.json"
    assert main([*asked[:-2], "--results", str(alone)]) == 0  # one seed makes no interval
    assert "ppo_ten_tasks_after_mean" not in alone.read_text()
    assert main([str(study), "--policy", "policy-0"]) == 1
    assert "name another place" in capsys.readouterr().err


def test_a_task_whose_training_diverges_counts_as_the_base_does_of_it(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, short = tmp_path / "results/base.json", short_name(CHOSEN[0])
    ten = [str(study), "--parts", "ten", "--results", str(results)]
    assert main(ten) == 0  # as it was before it diverged
    assert f"ppo_ten_{short}_minutes_1" in results.read_text()
    probe = f"probe-50/{min(HELD_OUT_TASKS).removeprefix('miniwob/')}"
    for name in (f"{short}/ppo-1", f"{probe}/ppo"):
        (study / name / "result.json").unlink()
    for name in (f"{short}/after-1", f"{probe}/after"):
        (study / name / "result.json").unlink()
    begun: dict[str, str] = {}

    def ended(runs: StudyRuns, folder: Path, log: object) -> None:
        begun[name := str(folder.relative_to(runs.folder))] = RunFolder(folder).spec().policy_in or ""
        if "ppo" in name:
            (folder / "error.json").write_text('{"type": "TrainingDiverged", "message": "no gradient"}')
        else:
            leave(folder, success(None, 0.25, 200))

    monkeypatch.setattr(StudyRuns, "_wait", ended)
    kept = json.loads(results.read_text())
    del kept["figures"][f"ppo_ten_{short}_after_1"]
    results.write_text(json.dumps(kept))
    assert main([str(study), "--parts", "probe", "ten", "--results", str(results)]) == 0
    assert begun[f"{short}/after-1"] == begun[f"{short}/ppo-1"] and len(begun) == 4
    known = {figure.name: figure for figure in read_figures(results)}
    lost = known[f"ppo_ten_{short}_after_1"]
    said = "; training diverged, counted as its start is: PPO after 0 iterations (no gradient)"
    assert lost.value == 0.25 and lost.note == f"greedy, 200 test seeds{said}"
    assert f"ppo_ten_{short}_minutes_1" not in known and f"ppo_ten_{short}_minutes_0" in known
    assert known["ppo_ten_tasks_after_mean"].note.endswith(
        "; training diverged in 1 of 30, counted as their starts are"
    )
    assert known["miniwob_heldout_50"].note.endswith(
        "; training diverged in 1 of 20, counted as their starts are"
    )
    assert "diverged" not in known["miniwob_heldout_500"].note
    # where the folder is not, either
    begun.clear()
    assert main([str(tmp_path / "elsewhere"), "--parts", "probe", "ten", "--results", str(results)]) == 0
    assert begun == {}


def test_a_mean_over_tasks_is_as_sure_as_its_tasks() -> None:
    """Two independent halves: the deviation of the mean is a root of two smaller."""
    names = ("miniwob/a", "miniwob/b")
    each = [
        Figure(
            name=f"miniwob_train_{name[-1]}",
            value=0.5,
            unit="share",
            low=0.4,
            high=0.6,
            config={"policy": "p", "tasks": [name]},
            date=f"2026-01-0{number}",
            commit=f"c{number}",
            machine="a small one",
        )
        for number, name in enumerate(names, 1)
    ]
    other = ("miniwob/z",)
    tasks = {**dict.fromkeys(MEANS, other), "train": names}
    (found,) = means(each, policy="p", measured=tasks, ten=other)
    assert found.low == pytest.approx(0.5 - 0.1 / math.sqrt(2), abs=1e-4)
    # as old as its parts, and from where they are
    assert (found.date, found.commit, found.machine) == ("2026-01-02", "c1, c2", "a small one")
    assert found.config == {"policy": "p", "tasks": [*names]}
    assert means(each[:1], policy="p", measured=tasks, ten=other) == []
    assert means(each, policy="another", measured=tasks, ten=other) == []
    # one that was measured by other settings makes no mean with them
    mixed = [each[0], replace(each[1], config={**each[1].config, "max_tokens": 12})]
    assert means(mixed, policy="p", measured=tasks, ten=other) == []


def test_a_mean_over_seeds_is_of_one_setting() -> None:
    ten, none = [f"miniwob/t{number}" for number in range(10)], dict.fromkeys(MEANS, ("miniwob/none",))
    after = [
        Figure(
            name=ten_figure_names(task.removeprefix("miniwob/"), seed)[1], value=0.9, unit="share",
            config={"policy": "p", "lr": 1e-4, "tasks": [task], "seed": seed, "seed_offset": 20_000 * seed},
        )
        for task in ten
        for seed in (0, 1, 2)
    ]  # fmt: skip
    assert [each.name for each in means(after, policy="p", measured=none, ten=ten)] == [
        "ppo_ten_tasks_after_mean",
        "ppo_ten_tasks_after_low",
    ]
    # what came since has its default
    after[0] = replace(after[0], config={**after[0].config, "shuffled_rewards": False})
    assert len(means(after, policy="p", measured=none, ten=ten)) == 2
    after[0] = replace(after[0], config={**after[0].config, "lr": 5e-4})
    assert means(after, policy="p", measured=none, ten=ten) == []


@pytest.mark.slow
def test_what_the_results_have_of_the_same_policy_is_not_measured_again(study: Path, tmp_path: Path) -> None:
    results = tmp_path / "results/base.json"
    assert main([str(study), "--results", str(results)]) == 0
    found = results.read_text()
    elsewhere = tmp_path / "elsewhere"
    assert main([str(elsewhere), "--results", str(results)]) == 0
    assert results.read_text() == found and {each.name for each in elsewhere.iterdir()} <= BESIDE_RUNS
    # a setting that came since has its default in what was found before
    early = json.loads(found)
    for figure in early["figures"].values():
        figure["config"].pop("compile", None)
    results.write_text(json.dumps(early))
    assert main([str(tmp_path / "later"), "--results", str(results)]) == 0
    assert {each.name for each in (tmp_path / "later").iterdir()} <= BESIDE_RUNS
    other = json.loads(found)
    other["figures"][f"ppo_ten_{short_name(CHOSEN[0])}_after_1"]["config"]["policy"] = "policy-of-before"
    results.write_text(json.dumps(other))
    assert main([str(study), "--results", str(results)]) == 0
    assert json.loads(results.read_text()) == json.loads(found)


def test_what_is_known_is_read_once(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results/base.json"
    asked = [str(study), "--parts", "held-out", "--results", str(results)]
    assert main(asked) == 0
    reads: list[Path] = []

    def counted(path: Path) -> list[Figure]:
        reads.append(path)
        return read_figures(path)

    monkeypatch.setattr("deskhand_trainer.studies.base.read_figures", counted)
    assert main(asked) == 0
    assert reads == [results]


def test_a_policy_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "study"), "--policy", "policy-0", "--results", str(tmp_path / "b.json")]) == 1
    assert "no policy 'policy-0'" in capsys.readouterr().err
