"""Several people mark and note one episode over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from deskhand_agent.ids import new_id
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore


@pytest.fixture
async def tokens(person: Callable[..., Awaitable[str]]) -> dict[str, str]:
    return {name: f"Bearer {await person(name)}" for name in ("ada", "bob")}


async def call(
    client: httpx.AsyncClient, method: str, path: str, token: str | None = None, body: object = None
) -> httpx.Response:
    headers = {} if token is None else {"Authorization": token}
    return await client.request(method, f"/v1{path}", headers=headers, json=body)


async def test_several_people_mark_a_step(
    client: httpx.AsyncClient, store: Store, record_episode: Any, tokens: dict[str, str]
) -> None:
    kept = await record_episode(store)
    step = f"/trajectories/{kept}/steps/1/marks"
    for name, score in (("ada", 0.0), ("bob", 1.0), ("ada", 0.25)):
        body = {"score": score, "reason": f"says {name}"}
        marked = await call(client, "PUT", f"{step}/{name}", tokens[name], body)
        assert marked.status_code == 200
        assert marked.json() == {
            "annotator": name,
            "step_index": 1,
            "score": score,
            "reason": f"says {name}",
        }
    whole = f"/trajectories/{kept}/marks/owner"
    assert (await call(client, "PUT", whole, body={"score": 1})).json()["step_index"] is None
    found = (await call(client, "GET", f"/trajectories/{kept}/annotations", tokens["bob"])).json()
    assert [(m["annotator"], m["step_index"], m["score"]) for m in found["marks"]] == [
        ("owner", None, 1.0),
        ("ada", 1, 0.25),
        ("bob", 1, 1.0),
    ]
    scores = (await client.get(f"/v1/trajectories/{kept}/scores")).json()
    assert [(s["scorer"], s["score"]) for s in scores] == [("human:ada", 0.25), ("human:bob", 1.0)]
    assert (await call(client, "DELETE", f"{step}/ada", tokens["ada"])).status_code == 204
    assert (await call(client, "DELETE", f"{step}/ada", tokens["ada"])).status_code == 404
    assert (await call(client, "DELETE", whole)).status_code == 204
    left = (await call(client, "GET", f"/trajectories/{kept}/annotations")).json()["marks"]
    assert [mark["annotator"] for mark in left] == ["bob"]


async def test_where_two_people_contradict_each_other_a_third_is_asked(
    client: httpx.AsyncClient, store: Store, record_episode: Any, tokens: dict[str, str]
) -> None:
    kept = await record_episode(store)
    for scorer, score in (("prm:one", 0.0), ("judge:two", 1.0)):
        await store.add_scores([StepScore(trajectory_id=kept, step_index=0, score=score, scorer=scorer)])

    async def waiting() -> list[str]:
        queue = (await call(client, "GET", "/review-queue", tokens["ada"])).json()
        return [item["kind"] for item in queue["items"]]

    for marks in (f"/trajectories/{kept}/steps/1/marks", f"/trajectories/{kept}/marks"):
        await call(client, "PUT", f"{marks}/ada", tokens["ada"], {"score": 0})
        assert await waiting() == []
        await call(client, "PUT", f"{marks}/bob", tokens["bob"], {"score": 1})
        assert await waiting() == ["people"]
        await call(client, "DELETE", f"{marks}/bob", tokens["bob"])
        assert await waiting() == []


async def test_notes_are_their_authors(
    client: httpx.AsyncClient, store: Store, record_episode: Any, tokens: dict[str, str]
) -> None:
    kept = await record_episode(store)
    path = f"/trajectories/{kept}/steps/0/notes"
    written = await call(client, "POST", path, tokens["ada"], {"text": "It reads."})
    assert written.status_code == 201
    note = written.json()
    assert (note["author"], note["text"], note["edited_at_s"]) == ("ada", "It reads.", None)
    for method, body in (("PUT", {"text": "mine"}), ("DELETE", None)):
        refused = await call(client, method, f"/notes/{note['id']}", tokens["bob"], body)
        assert refused.status_code == 403 and refused.json()["error"]["type"] == "forbidden"
        missing = await call(client, method, f"/notes/{new_id()}", tokens["bob"], body)
        assert missing.status_code == 404
    edited = (
        await call(client, "PUT", f"/notes/{note['id']}", tokens["ada"], {"text": "It reads on."})
    ).json()
    assert edited["text"] == "It reads on." and edited["edited_at_s"] is not None
    assert (await call(client, "GET", f"/trajectories/{kept}/annotations")).json()["notes"] == [edited]
    assert (await call(client, "DELETE", f"/notes/{note['id']}", tokens["ada"])).status_code == 204
    assert (await call(client, "GET", f"/trajectories/{kept}/annotations")).json()["notes"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/trajectories/nothing/steps/0/marks/owner", {"score": 1}, 404, None),
        ("/trajectories/{kept}/steps/9/marks/owner", {"score": 1}, 404, None),
        ("/trajectories/{kept}/steps/-1/marks/owner", {"score": 1}, 422, "index"),
        ("/trajectories/{kept}/steps/99999999999/marks/owner", {"score": 1}, 422, "index"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"score": 1.01}, 422, "score"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"score": -1}, 422, "score"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"score": "good"}, 422, "score"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"reason": "…"}, 422, "score"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"score": 1, "good": True}, 422, "good"),
        ("/trajectories/{kept}/steps/0/marks/owner", {"score": 1, "reason": "x" * 10_001}, 422, "reason"),
        ("/trajectories/{kept}/steps/0/marks/ada", {"score": 1}, 403, None),
        ("/trajectories/{kept}/marks/ada", {"score": 1}, 403, None),
        ("/trajectories/nothing/marks/owner", {"score": 1}, 404, None),
        ("/trajectories/{running}/marks/owner", {"score": 1}, 409, None),
        ("/trajectories/{running}/steps/0/marks/owner", {"score": 1}, 409, None),
    ],
)
async def test_a_mark_that_cannot_be_is_refused_by_name(
    client: httpx.AsyncClient,
    store: Store,
    record_episode: Any,
    path: str,
    body: object,
    status: int,
    field: str | None,
) -> None:
    kept = await record_episode(store)
    whole = await store.trajectory(kept)
    start, running = whole.start, new_id()
    await store.begin(replace(start, id=running))
    await store.step(running, whole.steps[0])
    refused = await call(client, "PUT", path.format(kept=kept, running=running), body=body)
    assert refused.status_code == status
    error = refused.json()["error"]
    assert error["message"] and error.get("field", "").rpartition(".")[2] == (field or "")
    assert (await call(client, "GET", f"/trajectories/{kept}/annotations")).json()["marks"] == []


@pytest.mark.parametrize("text", ["", "x" * 10_001])
async def test_a_note_has_some_length(
    client: httpx.AsyncClient, store: Store, record_episode: Any, text: str
) -> None:
    kept = await record_episode(store)
    refused = await call(client, "POST", f"/trajectories/{kept}/steps/0/notes", body={"text": text})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "text"
