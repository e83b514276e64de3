"""The queue of disagreements, and agreement, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import yaml

from deskhand_flywheel.review_rules import read_review_rules
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore


async def test_a_queue_is_paged_and_emptied_by_marks(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    ids = [await record_episode(store) for _ in range(3)]
    for kept, score in zip(ids, (0.2, 0.0, 0.4), strict=True):
        judged = OutcomeScore(trajectory_id=kept, score=score, scorer="judge:m@1", rationale="No.")
        await store.add_outcome_scores([judged])
    await store.find_disagreements(read_review_rules({}))
    first = (await client.get("/v1/review-queue", params={"limit": 2})).json()
    rest = (await client.get("/v1/review-queue", params={"cursor": first["next_cursor"]})).json()
    items = first["items"] + rest["items"]
    assert [one["trajectory_id"] for one in items] == [ids[1], ids[0], ids[2]] and rest["next_cursor"] is None
    assert {
        name: items[0][name] for name in ("kind", "step_index", "strength", "instruction", "resolved_by")
    } == {
        "kind": "verifier_judge",
        "step_index": None,
        "strength": 1.0,
        "instruction": "Open the door",
        "resolved_by": [],
    }
    assert items[0]["sides"][0] == {"scorer": "judge:m@1", "score": 0.0, "rationale": "No."}
    await client.put(f"/v1/trajectories/{ids[1]}/marks/owner", json={"score": 1})
    left = (await client.get("/v1/review-queue")).json()["items"]
    assert [one["trajectory_id"] for one in left] == [ids[0], ids[2]]
    (resolved,) = (await client.get("/v1/review-queue", params={"state": "resolved"})).json()["items"]
    assert (resolved["trajectory_id"], resolved["resolved_by"]) == (ids[1], ["owner"])


async def test_agreement_of_people_and_judges(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    kept = await record_episode(store, run="1")
    for index, (ada, bob) in enumerate(((1.0, 1.0), (0.0, 1.0))):
        await store.mark(kept, index, "ada", ada)
        await store.mark(kept, index, "bob", bob)
    found = (await client.get("/v1/agreement", params={"label": "run=1"})).json()
    assert (found["sources"], found["steps"]) == (["human:ada", "human:bob"], 2)
    assert found["alpha_good"] == found["alpha_score"] == pytest.approx(0.0)
    assert found["pairs"] == [
        {"first": "human:ada", "second": "human:bob", "steps": 2, "agreed": 0.5, "kappa": 0.0}
    ]
    none = (await client.get("/v1/agreement", params={"source": "judge", "task_id": "x"})).json()
    assert (none["steps"], none["alpha_good"], none["pairs"]) == (0, None, [])


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/review-queue?state=closed", "state"),
        ("/v1/review-queue?limit=201", "limit"),
        ("/v1/review-queue?cursor=x", "cursor"),
        (f"/v1/review-queue?cursor=1/{10**30}/verifier_judge/x", "cursor"),
        ("/v1/agreement?label=x", "label"),
        ("/v1/agreement?" + "source=human&" * 21, "source"),
    ],
)
async def test_what_is_asked_wrongly_is_refused(client: httpx.AsyncClient, path: str, field: str) -> None:
    refused = await client.get(path)
    assert refused.status_code == 422 and refused.json()["error"].get("field") == field


async def test_disagreements_are_found_by_rules_on_demand(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    ids = [await record_episode(store, run=run) for run in ("1", "2")]
    for kept in ids:
        await store.add_outcome_scores([OutcomeScore(trajectory_id=kept, score=0.2, scorer="judge:m@1")])
    path = "/v1/review-queue"
    assert (await client.post(path, json={"labels": {"run": "1"}})).json() == {"entries": 1}
    assert [one["trajectory_id"] for one in (await client.get(path)).json()["items"]] == ids[:1]
    assert (await client.post(path, json={})).json() == {"entries": 2}
    none = {"rules": "verifier_judge: {threshold: 0.9}"}
    assert (await client.post(path, json=none)).json() == {"entries": 0}
    assert (await client.get(path)).json()["items"] == []
    for rules, why in (
        ("verifier_juge: null", "did you mean verifier_judge"),
        ("- x", "mapping"),
        ("a: [", "YAML"),
    ):
        refused = await client.post(path, json={"rules": rules})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "rules")
        assert why in refused.json()["error"]["message"]


async def test_rules_are_kept_with_the_store(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    kept = await record_episode(store)
    await store.add_outcome_scores([OutcomeScore(trajectory_id=kept, score=0.6, scorer="judge:m@1")])
    own = (await client.get("/v1/review-rules")).json()
    assert own["set_by"] is None and yaml.safe_load(own["rules"])["verifier_judge"]["threshold"] == 0.5
    assert (await client.post("/v1/review-queue", json={})).json() == {"entries": 0}
    changed = await client.put("/v1/review-rules", json={"rules": "verifier_judge: {threshold: 0.4}"})
    assert changed.status_code == 200 and changed.json()["set_by"] == "owner"
    assert (await client.get("/v1/review-rules")).json() == changed.json()
    assert (await client.post("/v1/review-queue", json={})).json() == {"entries": 1}
    (entry,) = (await client.get("/v1/review-queue")).json()["items"]
    assert entry["found_by"] == {"threshold": 0.4, "weight": 1.0, "last_steps": 3}
    once = {"rules": "verifier_judge: {weight: 0.5}"}
    assert (await client.post("/v1/review-queue", json=once)).json() == {"entries": 1}
    refused = await client.put("/v1/review-rules", json={"rules": "verifier_juge: null"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "rules")
    back = (await client.put("/v1/review-rules", json={})).json()
    assert (back["rules"], back["set_by"]) == (own["rules"], "owner")
