from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.evaluations.desk import EvaluationDesk
from deskhand_platform.evaluations.desk import asked as all_asked
from deskhand_platform.evaluations.records import compare, evaluations
from deskhand_platform.evaluations.suites import SuiteShelf
from deskhand_platform.evaluations.verdicts import Verdict
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.rounds.run_queue import pending
from deskhand_platform.rounds.runs import write_spec
from deskhand_platform.services import Services
from deskhand_platform.settings import JobSettings, Settings, load_settings
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.runs import RunKind, RunSpec
from deskhand_trainer.wilson import wilson


def rate(name: str, successes: int, trials: int) -> dict[str, Any]:
    found = wilson(successes, trials)
    ends = {f"success_{name}_low": found.low, f"success_{name}_high": found.high}
    return {f"success_{name}": found.value, **ends, f"episodes_{name}": trials}


def write(
    runs: Path, name: str, policy: str, metrics: dict[str, Any] | None, *, at: float, **config: Any
) -> None:
    folder = runs / name
    folder.mkdir(parents=True)
    spec = {"id": name, "kind": "evaluate", "policy_in": policy, "labels": {"round": "3"}, "config": config}
    (folder / "spec.json").write_text(json.dumps(spec))
    os.utime(folder / "spec.json", (at, at))
    if metrics is not None:
        result = {"policy_out": None, "metrics": metrics, "seconds": 1.0}
        (folder / "result.json").write_text(json.dumps(result))


def test_runs_are_read_newest_first_and_others_passed_over(tmp_path: Path) -> None:
    assert evaluations(tmp_path / "none") == ()
    both = rate("sampled", 5, 10) | rate("sampled:a", 4, 5) | rate("sampled:b", 1, 5)
    write(tmp_path, "round-3-evaluate-sft", "p1", both, at=10.0, tasks=["a", "b"])
    write(tmp_path, "alone", "p2", rate("greedy", 3, 4), at=20.0, tasks=["a"], split="validation")
    write(tmp_path, "begun", "p2", None, at=30.0, tasks=["a"])
    (tmp_path / "ppo").mkdir()
    (tmp_path / "ppo/spec.json").write_text('{"kind": "ppo"}')
    (tmp_path / "empty").mkdir()
    begun, alone, of_round = evaluations(tmp_path)
    assert (begun.state, begun.rows, alone.split) == (WorkState.QUEUED, (), "validation")
    assert [(row.task, row.mode, row.episodes) for row in alone.rows] == [("a", "greedy", 4)]
    assert [(row.task, row.success) for row in of_round.rows] == [("all", 0.5), ("a", 0.8), ("b", 0.2)]
    assert (of_round.round, of_round.state) == ("3", WorkState.DONE)


def test_its_run_keeps_frames_as_the_home_says(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, near_frames=0.01)
    asked = EvaluationDesk(settings).ask(None, {"tasks": ["fake/press-button"]})
    assert RunFolder(settings.runs / asked.id).spec().near_frames == 0.01


def test_one_that_is_started_again_was_asked_for_when_it_was(tmp_path: Path) -> None:
    spec = RunSpec(id="one", kind=RunKind.EVALUATE, config={}, store_url="", blobs_url="")
    write_spec(tmp_path / "one", spec)
    before = evaluations(tmp_path)
    write_spec(tmp_path / "one", spec)
    later = before[0].asked_at_s + 3600.0
    os.utime(tmp_path / "one/spec.json", (later, later))
    assert evaluations(tmp_path) == before


def test_two_policies_are_compared_by_their_newest_and_what_got_worse_stands_first(tmp_path: Path) -> None:
    old = rate("sampled", 140, 200) | rate("sampled:a", 90, 100) | rate("sampled:b", 50, 100)
    new = rate("sampled", 135, 200) | rate("sampled:a", 30, 100) | rate("sampled:b", 90, 100)
    write(tmp_path, "one", "old", old, at=1.0, tasks=["a", "b"])
    write(tmp_path, "two", "new", new, at=2.0, tasks=["b", "a"])
    write(tmp_path, "stale", "new", old, at=0.5, tasks=["a", "b"])
    write(tmp_path, "other", "new", rate("sampled", 1, 2), at=3.0, tasks=["a"], split="validation")
    worse, unclear, better = compare(evaluations(tmp_path), "old", "new")
    assert (worse.task, worse.verdict, better.task, better.verdict) == (
        "a",
        Verdict.WORSE,
        "b",
        Verdict.BETTER,
    )
    assert (unclear.task, unclear.verdict) == ("all: a, b", Verdict.UNCLEAR)
    assert worse.difference == pytest.approx(-0.6) and worse.low < -0.6 < worse.high < 0


def test_newcombes_interval_is_as_published(tmp_path: Path) -> None:
    # 56/70 and 48/80: 0.0524 to 0.3339 (Newcombe 1998, table II, method 10)
    write(tmp_path, "one", "old", rate("sampled", 48, 80), at=1.0, tasks=["a"])
    write(tmp_path, "two", "new", rate("sampled", 56, 70), at=1.0, tasks=["a"])
    [found] = compare(evaluations(tmp_path), "old", "new")
    assert (found.difference, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


async def test_one_is_asked_for_listed_and_cancelled(
    client: httpx.AsyncClient, settings: Settings, store: Store
) -> None:
    asked = await client.post("/v1/evaluations", json={"tasks": ["fake/press-button"], "episodes": 2})
    assert asked.status_code == 201
    found = asked.json()
    assert (found["state"], found["scripted"], found["tasks"]) == ("queued", True, ["fake/press-button"])
    waiting = pending(all_asked(settings.runs))
    assert waiting is not None and waiting.name == found["id"]
    assert [one["id"] for one in (await client.get("/v1/evaluations")).json()["items"]] == [found["id"]]
    assert (await client.get(f"/v1/evaluations/{found['id']}")).json() == found
    assert (await client.get("/v1/evaluations", params={"policy_id": "x"})).json()["items"] == []
    assert (await client.post(f"/v1/evaluations/{found['id']}/cancel")).status_code == 200
    assert (waiting / "cancel").exists()
    (waiting / "ended.json").write_text('{"state": "cancelled", "reason": "cancelled"}')
    assert (await client.post(f"/v1/evaluations/{found['id']}/cancel")).status_code == 409
    assert pending(all_asked(settings.runs)) is None


async def test_so_many_wait_and_no_more(client: httpx.AsyncClient, settings: Settings) -> None:
    object.__setattr__(settings, "jobs", JobSettings(waiting=1))
    order = {"tasks": ["fake/press-button"]}
    first = (await client.post("/v1/evaluations", json=order)).json()
    refused = await client.post("/v1/evaluations", json=order)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert "1 evaluations have not ended" in refused.json()["error"]["message"]
    (settings.runs / first["id"] / "ended.json").write_text('{"state": "cancelled", "reason": "cancelled"}')
    assert (await client.post("/v1/evaluations", json=order)).status_code == 201


@pytest.mark.parametrize(
    ("state", "run", "shown"),
    [
        (WorkState.CANCELLED, "round-1-evaluate-start", "cancelled"),
        (WorkState.FAILED, "round-1-evaluate-start", "failed"),
        (WorkState.PAUSED, "round-1-evaluate-start", "paused"),
        (WorkState.SKIPPED, None, "cancelled"),
        (WorkState.QUEUED, "round-1-evaluate-start-2", "cancelled"),
    ],
)
async def test_one_of_a_round_stands_as_its_phase_does(
    client: httpx.AsyncClient,
    services: Services,
    settings: Settings,
    state: WorkState,
    run: str | None,
    shown: str,
) -> None:
    number = (await client.post("/v1/rounds", json={"preset": "smoke"})).json()["id"]
    await services.book.plan(number, None, [PhasePlan(name="evaluate-start", kind="evaluate", config={})])
    await services.book.update_phase(number, "evaluate-start", state=state, run_id=run, reason="why")
    folder = settings.runs / f"round-{number}-evaluate-start"
    folder.mkdir(parents=True)
    labels = {"round": str(number), "phase": "evaluate-start"}
    (folder / "spec.json").write_text(json.dumps({"kind": "evaluate", "labels": labels, "config": {}}))
    [found] = (await client.get("/v1/evaluations")).json()["items"]
    assert (found["state"], found["phase"]) == (shown, "evaluate-start")
    assert found["reason"] == ("its phase was done anew" if run and run.endswith("-2") else "why")
    # what has a result is done, whatever became of the round
    result = {"policy_out": None, "metrics": {}, "seconds": 1.0}
    (folder / "result.json").write_text(json.dumps(result))
    assert (await client.get(f"/v1/evaluations/{folder.name}")).json()["state"] == "done"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"tasks": ["fake/nothing"]}, 422, "tasks.0"),
        ({"tasks": []}, 422, "tasks"),
        ({"tasks": ["fake/press-button"], "policy_id": "policy-none"}, 422, "policy_id"),
        ({"tasks": ["fake/press-button"], "modes": ["loud"]}, 422, "modes.0"),
        ({"tasks": ["fake/press-button", "miniwob/stock-market"]}, 422, "tasks.1"),
    ],
)
async def test_what_cannot_be_measured_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = await client.post("/v1/evaluations", json=body)
    assert (answer.status_code, answer.json()["error"].get("field")) == (status, field)


async def test_suites_are_those_of_presets_and_the_held_out(client: httpx.AsyncClient) -> None:
    suites = {one["name"]: one["tasks"] for one in (await client.get("/v1/evaluations/suites")).json()}
    assert {"held-out", "smoke"} <= set(suites) and all(suites.values())
    assert (await client.get("/v1/evaluations/none")).status_code == 404
    assert (await client.get("/v1/evaluations/compare?old=a&new=b")).status_code == 404


async def test_people_put_suites_together_and_forget_them(client: httpx.AsyncClient) -> None:
    path = "/v1/evaluations/suites/ours"
    names = ["fake/press-button", "fake/press-in-order", "fake/press-button"]
    kept = (await client.put(path, json={"tasks": names})).json()
    assert kept == {"name": "ours", "tasks": names[:2], "own": True}
    listed = (await client.get("/v1/evaluations/suites")).json()
    assert listed[-1] == kept and not any(one["own"] for one in listed[:-1])
    again = await client.put(path, json={"tasks": names[:1]})
    assert again.json()["tasks"] == names[:1]
    assert (await client.get("/v1/evaluations/suites")).json()[-1] == again.json()
    assert (await client.delete(path)).status_code == 204
    assert (await client.get("/v1/evaluations/suites")).json() == listed[:-1]
    assert (await client.delete(path)).status_code == 404


@pytest.mark.parametrize("name", ["smoke", "held-out"])
async def test_a_suite_that_was_there_stays_as_it_is(client: httpx.AsyncClient, name: str) -> None:
    before = (await client.get("/v1/evaluations/suites")).json()
    path = f"/v1/evaluations/suites/{name}"
    assert (await client.put(path, json={"tasks": ["fake/press-button"]})).status_code == 409
    assert (await client.delete(path)).status_code == 409
    assert (await client.get("/v1/evaluations/suites")).json() == before


@pytest.mark.parametrize(
    ("name", "tasks"), [("ours", ["fake/nothing"]), ("ours", []), ("Ours", None), (".x", None)]
)
async def test_a_suite_of_no_tasks_or_no_name_is_refused(
    client: httpx.AsyncClient, name: str, tasks: list[str] | None
) -> None:
    body = {"tasks": ["fake/press-button"] if tasks is None else tasks}
    assert (await client.put(f"/v1/evaluations/suites/{name}", json=body)).status_code == 422
    assert not any(one["own"] for one in (await client.get("/v1/evaluations/suites")).json())


def test_a_suite_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    shelf = SuiteShelf(tmp_path / "suites")
    assert shelf.all() == ()
    shelf.keep("one", ["a"])
    (tmp_path / "suites/two.json").write_text("{")
    (tmp_path / "suites/three.json").write_text("[]")
    assert [suite.name for suite in shelf.all()] == ["one"]
