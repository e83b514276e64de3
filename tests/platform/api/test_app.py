from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.api import page
from deskhand_platform.api.app import create_app
from deskhand_platform.api.bounded import MOST_BYTES, UNKNOWN_BYTES
from deskhand_platform.cli.unserved import answered_here
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.services import Services
from deskhand_platform.settings import Settings
from deskhand_platform.states import AlarmState, WorkState

ROOT = Path(__file__).parents[3]


def test_the_description_the_page_is_built_from_is_current() -> None:
    assert json.loads((ROOT / "web_ui/openapi.json").read_text()) == create_app().openapi()


def test_the_description_prints_without_a_store() -> None:
    command = [sys.executable, "-m", "deskhand_platform.api.openapi"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "/v1/rounds" in json.loads(printed)["paths"]


@pytest.mark.parametrize("told", [True, False])
async def test_a_body_without_end_is_not_read_to_its_end(client: httpx.AsyncClient, told: bool) -> None:
    piece, sent = b" " * 2**20, 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield piece

    headers = {"content-type": "application/json", **({"content-length": "1048576000"} if told else {})}
    answer = await client.post("/v1/tasks", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")
    assert sent <= (0 if told else MOST_BYTES // len(piece) + 1)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/chat/completions"])
async def test_a_large_body_is_not_read_for_who_is_not_let_in(
    anonymous: httpx.AsyncClient, told: bool, path: str
) -> None:
    piece, sent = b" " * 2**14, 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield piece

    headers = {"content-type": "application/json", **({"content-length": str(1000 * 2**14)} if told else {})}
    answer = await anonymous.post(path, content=endless(), headers=headers)
    small = await anonymous.post(path, json={})
    assert (answer.status_code, answer.json()) == (401, small.json())
    assert answer.headers["WWW-Authenticate"] == small.headers["WWW-Authenticate"] == "Bearer"
    assert sent <= (0 if told else UNKNOWN_BYTES // len(piece) + 1)


async def test_a_large_body_is_read_for_who_is_let_in_and_signing_in_bounds_its_own(
    client: httpx.AsyncClient, person: Any
) -> None:
    order = {"task_id": "fake/press-button"}
    body = json.dumps(order).encode() + b" " * UNKNOWN_BYTES
    as_json = {"content-type": "application/json"}
    assert (await client.post("/v1/tasks", content=body, headers=as_json)).status_code == 201
    reader = as_json | {"Authorization": f"Bearer {await person('ada')}"}
    refused = await client.post("/v1/tasks", content=body, headers=reader)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "forbidden")
    del client.headers["Authorization"]
    login = await client.post("/login", content=body, headers=as_json)
    assert login.status_code == 422 and "is longer than any token" in login.json()["error"]["message"]


async def test_a_large_body_is_taken_from_who_sits_at_the_home(settings: Settings, monkeypatch: Any) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(settings.home))
    body = json.dumps({"tasks": [{"task_id": "fake/press-button"}]}).encode() + b" " * UNKNOWN_BYTES
    async with (
        answered_here(settings, first_admin=False) as transport,
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        taken = await client.post(
            "/v1/tasks/batch", content=body, headers={"content-type": "application/json"}
        )
    assert taken.status_code < 300, taken.text


async def test_an_episode_can_be_listed_and_fetched(
    client: httpx.AsyncClient, store: Store, record_episode: object
) -> None:
    kept = await record_episode(store, round="1")  # type: ignore[operator]
    await record_episode(store, success=False)  # type: ignore[operator]
    await store.add_scores([StepScore(trajectory_id=kept, step_index=0, score=0.75, scorer="prm:x")])

    page_one = (await client.get("/v1/trajectories", params={"limit": 1})).json()
    page_two = (await client.get("/v1/trajectories", params={"cursor": page_one["next_cursor"]})).json()
    assert [one["success"] for one in page_one["items"] + page_two["items"]] == [False, True]
    assert page_two["next_cursor"] is None
    labelled = (await client.get("/v1/trajectories", params={"label": "round=1"})).json()["items"]
    assert [one["id"] for one in labelled] == [kept]
    failures = (await client.get("/v1/trajectories", params={"outcome": "failure"})).json()["items"]
    assert [one["success"] for one in failures] == [False]

    detail = (await client.get(f"/v1/trajectories/{kept}")).json()
    assert (detail["turns"], detail["reward"], detail["outcome_detail"]) == (2, 1.0, "looked")
    steps = (await client.get(f"/v1/trajectories/{kept}/steps")).json()["items"]
    click, typing = steps
    assert click["actions"][0] == {
        "type": "click",
        "text": "click(point='<point>7 9</point>')",
        "points": [[7, 9]],
        "arguments": {"x": 7, "y": 9, "button": "left", "count": 1},
    }
    assert typing["actions"][0]["points"] == []
    assert click["thought"] == "the handle" and click["scores"][0]["score"] == 0.75
    later = (await client.get(f"/v1/trajectories/{kept}/steps", params={"offset": 1})).json()
    assert later == {"items": [typing], "offset": 1, "total": 2}
    beyond = (await client.get(f"/v1/trajectories/{kept}/steps", params={"offset": 9})).json()
    assert beyond == {"items": [], "offset": 9, "total": 2}

    image = await client.get(click["image"]["url"])
    assert image.headers["content-type"] == "image/png" and image.content.startswith(b"\x89PNG")
    assert "immutable" in image.headers["cache-control"]
    scores = (await client.get(f"/v1/trajectories/{kept}/scores")).json()
    assert scores[0]["scorer"] == "prm:x"


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/v1/trajectories/nothing", 404, None),
        ("/v1/trajectories/nothing/scores", 404, None),
        ("/v1/trajectories/nothing/steps", 404, None),
        ("/v1/trajectories/nothing/steps?offset=-1", 422, "offset"),
        ("/v1/trajectories/nothing/steps?limit=201", 422, "limit"),
        ("/v1/events?" + "subject=x&" * 101, 422, "subject"),
        ("/v1/images/" + "0" * 64, 404, None),
        ("/v1/images/short", 422, "digest"),
        ("/v1/policies/nothing", 404, None),
        ("/v1/rounds/99", 404, None),
        ("/v1/rounds/x", 422, "id"),
        ("/v1/rounds?cursor=x", 422, "cursor"),
        ("/v1/rounds?cursor=" + "0" * 20 + "9" * 4400, 422, "cursor"),
        ("/v1/tasks?cursor=zz", 422, "cursor"),
        ("/v1/jobs?cursor=gc-0", 422, "cursor"),
        ("/v1/evaluations?cursor=x", 422, "cursor"),
        ("/v1/alarms?cursor=x", 422, "cursor"),
        ("/v1/proposals?cursor=zz", 422, "cursor"),
        ("/v1/trajectories?cursor=zz", 422, "cursor"),
        ("/v1/tasks/nothing", 404, None),
        ("/v1/trajectories?limit=0", 422, "limit"),
        ("/v1/trajectories?label=x", 422, "label"),
        ("/v1/trajectories?text=...", 422, "text"),
        ("/v1/trajectories?failure=boredom", 422, "failure"),
        ("/v1/nothing", 404, None),
    ],
)
async def test_errors_have_one_shape(
    client: httpx.AsyncClient, path: str, status: int, field: str | None
) -> None:
    response = await client.get(path)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["message"] and error["type"] == ("not_found" if status == 404 else "invalid_field")
    assert error.get("field") == field


async def test_a_round_is_started_listed_and_cancelled(client: httpx.AsyncClient) -> None:
    body = {"preset": "smoke", "overrides": {"ppo": {"iterations": 1}}}
    started = (await client.post("/v1/rounds", json=body)).json()
    assert started["state"] == "queued" and started["config"]["ppo"]["iterations"] == 1
    assert started["config"]["ppo"]["episodes_per_iteration"] == 8  # the rest of the preset stays
    listed = (await client.get("/v1/rounds")).json()["items"]
    assert [one["id"] for one in listed] == [started["id"]]
    cancelled = (await client.post(f"/v1/rounds/{started['id']}/cancel")).json()
    assert cancelled["cancelling"] is True


async def test_the_list_of_rounds_has_their_figures(client: httpx.AsyncClient, services: Services) -> None:
    book = services.book
    kinds = {"evaluate-start": "evaluate", "ppo": "ppo", "evaluate-ppo": "evaluate"}
    phases = [PhasePlan(name=name, kind=kind, config={}) for name, kind in kinds.items()]
    bodies = [{"preset": "smoke", "key": key} for key in "ab"]
    first, second = [(await client.post("/v1/rounds", json=body)).json()["id"] for body in bodies]
    await book.plan(first, "s", phases)
    await book.set_going(first, 0)
    assert (await client.get("/v1/info")).json()["active_round"] == first
    for name, success in (("evaluate-start", 0.25), ("evaluate-ppo", 0.75)):
        [now, *_] = (await client.get("/v1/rounds?limit=1&cursor=" + str(second))).json()["items"]
        assert now["after"] is None
        rates: dict[str, float] = {}
        for mode in ("sampled", "greedy"):
            values = {"": success, "_low": success - 0.1, "_high": success + 0.1}
            rates |= {f"success_{mode}{end}": value for end, value in values.items()}
        metrics = {**rates, "episodes_sampled": 64, "episodes_greedy": 32}
        await book.update_phase(first, name, state=WorkState.DONE, policy_in="s", metrics=metrics)
        await book.update_phase(first, "ppo", state=WorkState.DONE, metrics={"episodes": 40}, seconds=90.0)
    await book.update(first, policy_out="p", promoted=True)
    await book.close(first, WorkState.DONE, None, 0)

    waiting, done = (await client.get("/v1/rounds")).json()["items"]
    assert (waiting["id"], waiting["before"], waiting["promoted"]) == (second, None, None)
    assert (done["state"], done["promoted"], done["reason"]) == ("done", True, None)
    sampled, greedy = done["after"]["sampled"], done["after"]["greedy"]
    assert (sampled["success"], sampled["episodes"], greedy["episodes"]) == (0.75, 64, 32)
    assert (done["after"]["minutes"], done["after"]["training_episodes"]) == (1.5, 40)
    assert (done["before"]["label"], done["before"]["greedy"]["success"]) == ("start", 0.25)
    whole = (await client.get(f"/v1/rounds/{first}")).json()
    assert whole["rows"] == [done["before"], done["after"]]
    assert (await client.get("/v1/info")).json()["active_round"] is None


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"preset": "smok"}, 422, "did you mean smoke"),
        ({"preset": "smoke", "overrides": {"pp": {}}}, 422, "did you mean ppo"),
        ({"preset": "smoke", "overrides": {"ppo": {"iteration": 1}}}, 422, "did you mean iterations"),
        ({"preset": "smoke", "overrides": {"ppo": 3}}, 422, "mapping"),
        ({"preset": "smoke", "overrides": {"promote": {"measure": "x"}}}, 422, "sampled or greedy"),
        ({"preset": "smoke", "surprise": 1}, 422, "surprise"),
    ],
)
async def test_a_wrong_round_is_refused_by_name(
    client: httpx.AsyncClient, body: dict[str, object], status: int, said: str
) -> None:
    response = await client.post("/v1/rounds", json=body)
    assert response.status_code == status
    assert said in response.json()["error"]["message"]


async def test_the_page_or_what_makes_it(
    anonymous: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "STATIC", tmp_path / "static")
    missing = await anonymous.get("/")
    assert missing.status_code == 503 and "make setup" in missing.text
    (tmp_path / "static/assets").mkdir(parents=True)
    (tmp_path / "static/index.html").write_text("<title>the page</title>")
    (tmp_path / "static/assets/app-1.js").write_text("1")
    (tmp_path / "secret").write_text("secret")
    assert "the page" in (await anonymous.get("/rounds/3")).text
    script = await anonymous.get("/assets/app-1.js")
    assert script.text == "1" and "immutable" in script.headers["cache-control"]
    assert (await anonymous.get("/assets/gone.js")).status_code == 404
    assert "secret" not in (await anonymous.get("/%2e%2e/secret")).text
    for odd in ("/%00", "/" + "a" * 300, "/" + "a/" * 2500, "/assets/%00"):
        assert (await anonymous.get(odd)).status_code == 404, odd
    policy = script.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert (await anonymous.get("/healthz")).text == "ok\n"


async def test_many_tasks_are_queued_or_none(client: httpx.AsyncClient) -> None:
    bodies = [{"task_id": "fake/press-button", "seed": seed, "key": f"k{seed}"} for seed in range(300)]
    first = (await client.post("/v1/tasks/batch", json={"tasks": bodies})).json()["ids"]
    again = await client.post("/v1/tasks/batch", json={"tasks": bodies})
    assert again.json()["ids"] == first and len(set(first)) == 300
    one = (await client.post("/v1/tasks", json={**bodies[7], "priority": 0})).json()
    assert (one["id"], one["key"], one["priority"]) == (first[7], "k7", 0)
    other = await client.post("/v1/tasks", json={**bodies[7], "seed": 8})
    assert other.status_code == 409 and "'k7'" in other.json()["error"]["message"]
    for wrong, field in (
        ({"task_id": "fake/press-buton"}, "tasks.1.task_id"),
        ({"task_id": "fake/press-button", "policy": {"name": "nobody"}}, "tasks.1.policy.name"),
        ({"task_id": "fake/press-button", "priority": 101}, "tasks.1.priority"),
        ({}, "tasks.1.task_id"),
    ):
        refused = await client.post("/v1/tasks/batch", json={"tasks": [{**bodies[0], "key": "new"}, wrong]})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)
    listed = (await client.get("/v1/tasks", params={"limit": 1})).json()["items"]
    assert [one["id"] for one in listed] == [first[-1]]


async def test_a_cancelled_task_is_tried_again(client: httpx.AsyncClient) -> None:
    id = (await client.post("/v1/tasks", json={"task_id": "fake/press-button"})).json()["id"]
    assert (await client.post(f"/v1/tasks/{id}/retry")).status_code == 409
    assert (await client.delete(f"/v1/tasks/{id}")).json()["state"] == "cancelled"
    again = (await client.post(f"/v1/tasks/{id}/retry")).json()
    assert (again["state"], again["reason"], again["ended_at_s"]) == ("queued", None, None)
    assert (await client.post("/v1/tasks/nothing/retry")).status_code == 404


async def test_a_key_is_not_taken_where_it_would_be_shown(client: httpx.AsyncClient) -> None:
    policy = {"name": "openai", "settings": {"model": "m", "api_key": "secret"}}
    refused = await client.post("/v1/tasks", json={"task_id": "miniwob/click-test", "policy": policy})
    assert refused.status_code == 422
    assert "policy.settings.api_key" in refused.text
    assert "secret" not in refused.text


async def _asked_thrice(client: httpx.AsyncClient, store: Store, what: str) -> list[Any]:
    """Ids of three of a list, newest first."""
    body = {"tasks": ["fake/press-button"]} if what == "evaluations" else {"kind": "gc"}
    found: list[Any] = []
    for at in range(3):
        if what == "alarms":
            told = await AlarmBook(store).tell("platform", f"alarm_{at}", AlarmState.RAISED)
            found.insert(0, told.id)
        else:
            found.insert(0, (await client.post(f"/v1/{what}", json=body)).json()["id"])
    return found


@pytest.mark.parametrize("what", ["evaluations", "jobs", "alarms"])
async def test_lists_go_on_where_a_page_ended(client: httpx.AsyncClient, store: Store, what: str) -> None:
    ids = await _asked_thrice(client, store, what)
    first = (await client.get(f"/v1/{what}?limit=2")).json()
    assert [one["id"] for one in first["items"]] == ids[:2]
    rest = (await client.get(f"/v1/{what}", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert ([one["id"] for one in rest["items"]], rest["next_cursor"]) == (ids[2:], None)
    assert (await client.get(f"/v1/{what}?limit=3")).json()["next_cursor"] is None
