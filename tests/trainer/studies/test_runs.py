"""Runs of a study: a result is had again only for what it was asked for, and a stopped run goes on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_trainer.config import CollectConfig, EvaluateConfig
from deskhand_trainer.errors import DiskFull, ResultsError
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.publishing import made_by
from deskhand_trainer.studies.runs import (
    NotDone,
    StudyDiffers,
    StudyRuns,
    if_done,
    model_named,
    until_done,
)

ASKED = EvaluateConfig(tasks=("fake/press-button",), episodes=5, targets=False)


class Left(StudyRuns):
    """Runs that leave a result at once, and are counted."""

    count = 0

    def _wait(self, folder: Path, log: object) -> None:
        self.count += 1
        (folder / "result.json").write_text(json.dumps({"metrics": {"count": self.count}}))


def run(runs: StudyRuns, policy: str = "policy-a", /, **changed: Any) -> dict[str, Any]:
    return runs.run("part/arm", RunKind.EVALUATE, asdict(replace(ASKED, **changed)), policy)


def test_a_result_is_had_again_for_the_same_alone(tmp_path: Path) -> None:
    runs = Left(tmp_path)
    assert run(runs) == run(runs) == {"metrics": {"count": 1}}
    with pytest.raises(StudyDiffers, match=r"part/arm is not .*: episodes is 5 there and 7 now\. .*another"):
        run(runs, episodes=7)
    with pytest.raises(StudyDiffers, match='the policy is "policy-a" there and "policy-b" now'):
        run(runs, "policy-b")
    with pytest.raises(StudyDiffers, match=r"test_time\.samples is 1 there and 3 now"):
        run(runs, test_time=replace(ASKED.test_time, samples=3))
    with pytest.raises(StudyDiffers, match="the reward model is null there"):
        runs.run("part/arm", RunKind.EVALUATE, asdict(ASKED), "policy-a", reward_model="prm")
    with pytest.raises(StudyDiffers, match='the kind is "evaluate" there and "collect" now'):
        runs.run("part/arm", RunKind.COLLECT, asdict(ASKED), "policy-a")
    assert runs.count == 1


def test_a_stopped_run_goes_on_as_what_it_was_and_as_nothing_else(tmp_path: Path) -> None:
    spec, result = tmp_path / "part/arm/spec.json", tmp_path / "part/arm/result.json"
    run(Left(tmp_path))
    result.unlink()
    told = json.loads(spec.read_text())
    told["labels"] = {"commit": "of before", "date": "2020-01-01"}
    spec.write_text(json.dumps(told))
    with pytest.raises(StudyDiffers):
        run(Left(tmp_path), episodes=6)
    run(Left(tmp_path))
    assert json.loads(spec.read_text())["labels"] == told["labels"]


def test_a_figure_is_made_where_its_runs_were(tmp_path: Path) -> None:
    runs = Left(tmp_path)
    assert runs.made("nothing") == {"date": "unknown", "commit": "unknown", "machine": "unknown"}
    for number, name in enumerate(("first", "second")):
        runs.run(name, RunKind.EVALUATE, asdict(ASKED), "policy-a")
        told = json.loads((tmp_path / name / "spec.json").read_text())
        assert set(told["labels"]) == {"date", "commit", "machine"}
        told["labels"] = {"date": f"2020-01-0{number + 1}", "commit": f"c{number}", "machine": "a, b"}
        (tmp_path / name / "spec.json").write_text(json.dumps(told))
    assert runs.made("first", "second") == {"date": "2020-01-02", "commit": "c0, c1", "machine": "a, b"}
    # by several, and by one of them: each is told once
    parts = [runs.made("first", "second"), runs.made("second")]
    assert made_by(parts) == runs.made("first", "second")
    # what was made of them is as old as it is, whoever finds it again
    made = runs.kept("both", lambda: {"value": 1})
    (tmp_path / "both/result.json").write_text(json.dumps({**made, "made": {**made["made"], "commit": "c2"}}))
    assert runs.kept("both", lambda: {"value": 2})["value"] == 1
    assert runs.made("first", "both")["commit"] == "c0, c2"
    with pytest.raises(NotDone):
        StudyRuns(tmp_path, only_done=True).kept("another", lambda: {"value": 1})


def test_it_works_again_after_its_jobs_are_done(tmp_path: Path) -> None:
    """What is done first may say what is to be done next."""
    runs = Left(tmp_path)
    for name in ("first", "second"):
        runs.work([lambda name=name: runs.run(name, RunKind.EVALUATE, asdict(ASKED), "policy-a")])
    assert runs.count == 2


def test_a_setting_that_came_since_counts_as_its_default(tmp_path: Path) -> None:
    spec = tmp_path / "part/arm/spec.json"
    run(Left(tmp_path))
    told = json.loads(spec.read_text())
    del told["config"]["void_limit"]
    spec.write_text(json.dumps(told))
    assert run(Left(tmp_path))["metrics"] == {"count": 1}
    with pytest.raises(StudyDiffers, match="void_limit"):
        run(Left(tmp_path), void_limit=ASKED.void_limit + 1)
    spec.write_text("{")
    with pytest.raises(StudyDiffers, match="cannot be read"):
        run(Left(tmp_path))


def test_where_only_what_is_done_is_wanted_nothing_is_begun(tmp_path: Path) -> None:
    done = Left(tmp_path, only_done=True)
    with pytest.raises(NotDone):
        run(done)
    assert if_done(lambda: run(done)) is None and not any(tmp_path.iterdir())
    run(Left(tmp_path))
    assert if_done(lambda: run(done)) == {"metrics": {"count": 1}} and done.count == 0


@pytest.mark.slow
def test_a_run_that_goes_on_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deskhand_trainer.studies.runs.TOLD_EVERY_S", 0.05)
    found = StudyRuns(tmp_path).run(
        "part/arm",
        RunKind.COLLECT,
        asdict(CollectConfig(tasks=("worlds/chain",), episodes_per_task=40)),
        None,
    )
    assert found["metrics"]["episodes"] == 40
    told = capsys.readouterr().err.splitlines()
    assert told and all(line.startswith("  part/arm: ") for line in told)
    assert any(line.endswith("/40") for line in told)


@pytest.mark.parametrize("error", [ResultsError("mend or remove it"), DiskFull("free some space")])
def test_what_the_trainer_refuses_is_told_in_a_sentence(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def study() -> None:
        raise error

    assert until_done(study) == 1
    assert capsys.readouterr().err == f"{error}\n"


def test_a_model_keeps_its_name_when_its_card_learns_of_the_figures() -> None:
    files = {"model.safetensors": "a", "tokenizer.json": "b", "README.md": "c", "SHA256SUMS": "d"}
    assert model_named(files) == model_named({**files, "README.md": "e", "SHA256SUMS": "f"})
    assert model_named(files) != model_named({**files, "model.safetensors": "e"})


def test_a_policy_trained_again_to_the_same_weights_has_the_same_name(tmp_path: Path) -> None:
    runs = StudyRuns(tmp_path)

    async def keep(weights: str, run: str) -> str:
        folder = tmp_path / run
        folder.mkdir()
        (folder / "model.safetensors").write_text(weights)
        async with await Store.open(*runs.store) as store:
            kept = await store.keep_policy(folder, parent_id=None, metadata={"run": run})
            return kept.id

    ids = [asyncio.run(keep(weights, run)) for weights, run in (("a", "here"), ("a", "there"), ("b", "else"))]
    assert len(set(ids)) == 3  # an id is of where it came from, too
    first, again, other = (asyncio.run(runs.model_of(each)) for each in ids)
    assert first == again != other
