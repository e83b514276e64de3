"""Operating rounds over HTTP: pause, resume, clone, retry, logs, promotions, schedules, the form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState

DATABASES = ("sqlite", "postgresql")


async def start(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/v1/rounds", json={"preset": "smoke", **body})
    assert response.status_code == 201
    return response.json()


async def refused(client: httpx.AsyncClient, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    response = await client.post(path, json=body)
    return response.status_code, response.json()["error"]


async def test_a_round_is_paused_resumed_and_cloned(client: httpx.AsyncClient, services: Services) -> None:
    number = (await start(client))["id"]
    assert (await start(client))["id"] == number
    assert (await start(client, key="mine"))["id"] == (await start(client, key="mine"))["id"] != number
    assert (await client.post(f"/v1/rounds/{number}/pause")).json()["state"] == "paused"
    status, error = await refused(client, f"/v1/rounds/{number}/pause")
    assert (status, error["type"]) == (409, "wrong_state") and "is paused" in error["message"]
    assert (await client.post(f"/v1/rounds/{number}/resume")).json()["state"] == "queued"

    await services.book.set_going(number, 1)
    pausing = (await client.post(f"/v1/rounds/{number}/pause")).json()
    assert (pausing["state"], pausing["pausing"]) == ("running", True)
    status, error = await refused(client, f"/v1/rounds/{number}/resume")
    assert status == 409 and "is running and still stopping to pause" in error["message"]
    await services.book.park(number, 0)  # of a life that is over: it resumed once
    assert (await services.book.get(number)).state is WorkState.RUNNING
    await services.book.park(number, 1)
    assert (await client.get(f"/v1/rounds/{number}")).json()["state"] == "paused"

    body = {"overrides": {"ppo": {"iterations": 7}}, "key": "once"}
    clone = (await client.post(f"/v1/rounds/{number}/clone", json=body)).json()
    assert clone["config"]["ppo"]["iterations"] == 7 and clone["id"] != number
    assert (await client.post(f"/v1/rounds/{number}/clone", json=body)).json()["id"] == clone["id"]
    status, error = await refused(client, f"/v1/rounds/{number}/clone", {"overrides": {"ppo": {"lr": "x"}}})
    assert (status, error["field"]) == (422, "ppo.lr") and "for example ppo.lr=0.0005" in error["message"]
    assert (await refused(client, "/v1/rounds/99/pause"))[0] == 404


async def test_a_phase_is_retried_and_its_log_read(client: httpx.AsyncClient, services: Services) -> None:
    book, number = services.book, (await start(client))["id"]
    phases = [PhasePlan(name=name, kind=name, config={}) for name in ("sft", "ppo", "promote")]
    await book.plan(number, None, phases)
    await book.set_going(number, 0)
    assert (await refused(client, f"/v1/rounds/{number}/retry", {}))[0] == 409
    await book.update_phase(number, "sft", state=WorkState.DONE, run_id=f"round-{number}-sft")
    failed = {"state": WorkState.FAILED, "run_id": f"round-{number}-ppo", "reason": "out of luck"}
    await book.update_phase(number, "ppo", **failed)
    await book.close(number, WorkState.FAILED, "ppo: out of luck", 0)
    status, error = await refused(client, f"/v1/rounds/{number}/retry", {"phase": "pp"})
    assert (status, error["field"], error["suggestions"]) == (422, "phase", ["ppo"])
    again = (await client.post(f"/v1/rounds/{number}/retry", json={"phase": "sft"})).json()
    assert (again["state"], again["reason"]) == ("queued", None)
    assert [(one["state"], one["attempt"]) for one in again["phases"]] == [("queued", n) for n in (1, 1, 0)]

    path = f"/v1/rounds/{number}/phases/sft/log"
    await book.update_phase(number, "sft", run_id=f"round-{number}-sft-2", state=WorkState.RUNNING)
    nothing = (await client.get(path)).json()
    assert (nothing["text"], nothing["over"]) == ("", False)
    folder = services.settings.runs / f"round-{number}-sft-2"
    folder.mkdir(parents=True)
    text = "".join(f"line {at} ✓\n" for at in range(100))
    (folder / "log.txt").write_bytes(text.encode()[:-3])
    tail = (await client.get(path, params={"tail": 60})).json()
    assert tail["text"].startswith("line 9") and tail["text"].endswith("line 99 ")
    (folder / "log.txt").write_text(text)
    rest = (await client.get(path, params={"offset": tail["next_offset"]})).json()
    assert (rest["text"], rest["next_offset"]) == ("✓\n", len(text.encode()))
    assert (await client.get(path, params={"offset": 0})).json()["text"] == text
    await book.update_phase(number, "sft", state=WorkState.DONE)
    assert (await client.get(path, params={"offset": rest["next_offset"]})).json()["over"] is True
    assert (await client.get(f"/v1/rounds/{number}/phases/stf/log")).json()["error"]["suggestions"] == ["sft"]
    assert (await client.get(path, params={"offset": -1})).status_code == 422


async def test_the_form_has_every_field_with_its_help(client: httpx.AsyncClient) -> None:
    form = (await client.get("/v1/rounds/form")).json()
    parts = form["config_schema"]["properties"]
    for preset in form["presets"]:
        for name, values in preset["config"].items():
            assert name in parts
            if isinstance(values, dict) and name != "routes":
                assert set(values) <= set(parts[name]["properties"])
    ppo = parts["ppo"]["properties"]
    said = "The learning-rate schedule ends here."
    assert ppo["iterations"] == {"type": "integer", "default": 50, "minimum": 1, "description": said}
    assert ppo["clip_low"]["maximum"] == 1 and "enum" in ppo["algorithm"]
    assert ppo["value_pretraining"]["properties"]["patience"]["description"].startswith(
        "Held-out loss is flat"
    )


async def test_a_policy_is_promoted_by_hand_and_gone_back_to(
    client: httpx.AsyncClient, store: Store, packaged: Path
) -> None:
    kept = [(await store.keep_policy(packaged, parent_id=None, metadata={"n": n})).id for n in range(2)]
    judge = (await store.keep_policy(packaged, parent_id=None, metadata={"reward_model": True})).id
    probe = (await store.keep_policy(packaged, parent_id=None, metadata={"probe": True})).id

    async def promote(policy: str, reason: str = "looks better") -> httpx.Response:
        return await client.post("/v1/promotions", json={"policy_id": policy, "reason": reason})

    kinds = [(await promote(kept[at])).json()["kind"] for at in (0, 1, 0)]
    assert kinds == ["manual", "manual", "rollback"]
    for policy, reason, field in (
        (kept[0], "again", "policy_id"),
        (kept[1], " ", "reason"),
        (judge, "x", "policy_id"),
        (probe, "x", "policy_id"),
        ("policy-0", "x", "policy_id"),
    ):
        answer = await promote(policy, reason)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    page = (await client.get("/v1/promotions", params={"limit": 2})).json()
    assert [one["policy_id"] for one in page["items"]] == [kept[0], kept[1]]
    assert (page["items"][0]["by"], page["items"][0]["reason"]) == ("owner", "looks better")
    rest = (await client.get("/v1/promotions", params={"cursor": page["next_cursor"]})).json()
    assert len(rest["items"]) == 1 and rest["next_cursor"] is None
    promoted = [one["id"] for one in (await client.get("/v1/policies")).json() if one["promoted"]]
    assert promoted == [kept[0]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "cron"),
        ({"cron": "0 3 * * *", "new_successes": 5}, "cron"),
        ({"cron": "0 3 * *"}, "cron"),
        ({"cron": "61 3 * * *"}, "cron"),
        ({"cron": "0 3 31 2 *"}, "cron"),
        ({"cron": "99 99 99 99 99", "enabled": False}, "cron"),
        ({"cron": "0 3 * * *", "timezone": "Mars/Base"}, "timezone"),
        ({"new_successes": 0}, "new_successes"),
        ({"new_successes": 5, "overrides": {"ppo": {"iterations": 0}}}, "ppo.iterations"),
    ],
)
async def test_a_schedule_that_could_begin_nothing_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    response = await client.post("/v1/schedules", json={"preset": "smoke", **body})
    assert (response.status_code, response.json()["error"]["field"]) == (422, field)


async def test_a_schedule_is_kept_switched_and_deleted(client: httpx.AsyncClient) -> None:
    body = {"preset": "smoke", "cron": "30 3 * * *", "timezone": "Asia/Kolkata"}
    made = (await client.post("/v1/schedules", json=body)).json()
    assert made["enabled"] and made["next_at_s"] % 86400 == 22 * 3600  # 3:30 in UTC+5:30
    off = (await client.put(f"/v1/schedules/{made['id']}", json={**body, "enabled": False})).json()
    assert (off["enabled"], off["next_at_s"]) == (False, None)
    await client.post("/v1/schedules", json={"preset": "smoke", "new_successes": 5})
    assert [one["successes"] for one in (await client.get("/v1/schedules")).json()] == [None, 0]
    assert (await client.delete(f"/v1/schedules/{made['id']}")).status_code == 204
    assert (await client.delete(f"/v1/schedules/{made['id']}")).status_code == 404
    assert (await client.put("/v1/schedules/99", json=body)).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["rounds/99999999999999999999", "rounds?cursor=99999999999", "promotions?cursor=x", "rounds?cursor=²"],
)
async def test_numbers_that_no_row_has_are_refused(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(f"/v1/{path}")).status_code == 422


async def test_a_round_that_is_retried_is_the_one_of_its_config_again(
    client: httpx.AsyncClient, services: Services
) -> None:
    first = (await start(client))["id"]
    await services.book.close(first, WorkState.FAILED, "out of luck", 0)
    retried = await client.post(f"/v1/rounds/{first}/retry", json={})
    assert retried.json()["state"] == "queued"
    assert (await start(client))["id"] == first
    await services.book.close(first, WorkState.FAILED, "out of luck", 1)
    second = (await start(client))["id"]
    assert second != first
    # another one of the config is not over: a start goes on being that one
    assert (await client.post(f"/v1/rounds/{first}/retry", json={})).status_code == 200
    assert (await start(client))["id"] == second
