from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from deskhand_platform.api.app import create_app
from deskhand_platform.api.examples import example_at
from deskhand_platform.services import Services

DESCRIPTION = json.loads((Path(__file__).parents[3] / "web_ui/openapi.json").read_text())
"""Current, as test_app.py proves; every worker that collects this file would make it anew, for seconds."""

BUTTON = {"task_id": "fake/press-button"}


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "example"),
    [
        ("POST", "/v1/tasks", {**BUTTON, "seed": "x"}, "seed", "e.g. 3"),
        ("POST", "/v1/tasks", {**BUTTON, "seed": 2**63}, "seed", "e.g. 3"),
        ("POST", "/v1/tasks", {**BUTTON, "priority": 101}, "priority", "e.g. 5"),
        ("POST", "/v1/tasks", {**BUTTON, "policy": {"review_s": 0}}, "policy.review_s", "e.g. "),
        ("POST", "/v1/tasks", {"task": {"id": "t"}}, "task.environment", 'e.g. {"kind": "text"}'),
        ("POST", "/v1/tasks", {**BUTTON, "labels": {"a": 3}}, "labels.a", 'e.g. "text"'),
        ("POST", "/v1/tasks/batch", {"tasks": []}, "tasks", "e.g. ["),
        ("POST", "/v1/webhooks", {}, "url", 'e.g. "https://'),
        ("GET", "/v1/tasks?state=gone", None, "state", 'e.g. "queued"'),
        ("GET", "/v1/tasks?limit=0", None, "limit", "e.g. 50"),
        ("POST", "/v1/tokens", {"label": "t", "lasts_s": 0}, "lasts_s", "e.g. 7776000"),
        ("POST", "/v1/tasks", [], "body", 'e.g. {"task_id": "miniwob/click-test"'),
        ("GET", "/v1/rounds/x", None, "id", "e.g. 3"),
        ("GET", "/v1/images/short", None, "digest", 'e.g. "'),
        ("GET", f"/v1/trajectories?min_turns={10**30}", None, "min_turns", "e.g. "),
        ("GET", "/v1/review-queue?cursor=x", None, "cursor", "e.g. "),
    ],
)
async def test_an_error_names_the_field_and_an_example(
    client: httpx.AsyncClient, method: str, path: str, body: Any, field: str, example: str
) -> None:
    refused = await client.request(method, path, json=body)
    error = refused.json()["error"]
    assert (refused.status_code, error["field"]) == (422, field)
    assert example in error["message"], error["message"]


@pytest.mark.parametrize(
    ("path", "body", "field", "near"),
    [
        ("/v1/tasks", {**BUTTON, "sed": 1}, "sed", ["seed"]),
        ("/v1/tasks", {**BUTTON, "policy": {"nme": "x"}}, "policy.nme", ["name"]),
        ("/v1/tasks/batch", {"tasks": [{**BUTTON, "labls": {}}]}, "tasks.0.labls", ["labels"]),
        ("/v1/jobs", {"kind": "gc", "aply": True}, "gc.aply", ["apply"]),
        ("/v1/webhooks", {"url": "https://example.org", "zzzz": 1}, "zzzz", []),
    ],
)
async def test_a_field_that_there_is_not_says_which_there_are(
    client: httpx.AsyncClient, path: str, body: Any, field: str, near: list[str]
) -> None:
    error = (await client.post(path, json=body)).json()["error"]
    assert (error["field"], error.get("suggestions", [])) == (field, near)
    assert ("; did you mean " if near else "; there are: ") in error["message"]
    assert "e.g." not in error["message"]


@pytest.mark.parametrize(
    ("method", "address", "field", "near"),
    [
        ("GET", "/v1/tasks?stat=done", "stat", ["state"]),
        ("GET", "/v1/trajectories?task=fake/press-button", "task", ["task_id"]),
        ("GET", "/v1/trajectories?task_id=a&zzzz=1", "zzzz", []),
        ("GET", "/v1/export?outcom=success", "outcom", ["outcome"]),
        ("GET", "/v1/datasets/round-1/pool?versio=2", "versio", ["version"]),
        ("POST", "/v1/tasks?seed=3", "seed", []),
    ],
)
async def test_a_parameter_that_there_is_not_says_which_there_are(
    client: httpx.AsyncClient, method: str, address: str, field: str, near: list[str]
) -> None:
    refused = await client.request(method, address, json=BUTTON if method == "POST" else None)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["field"]) == (422, "invalid_field", field)
    assert error.get("suggestions", [])[: len(near)] == near
    assert "there are" in error["message"] or "did you mean" in error["message"]


async def test_a_parameter_is_looked_for_without_the_description(
    services: Services, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(services)
    monkeypatch.setattr(app, "openapi", lambda: pytest.fail("the description of all routes takes a second"))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        client.headers["Authorization"] = f"Bearer {token}"
        assert (await client.get("/v1/tasks?state=done")).json()["items"] == []
        refused = await client.get("/v1/tasks?stat=done")
    assert refused.json()["error"]["message"] == "stat: there is no such parameter; did you mean state?"


async def test_who_may_not_come_in_is_not_told_of_parameters(anonymous: httpx.AsyncClient) -> None:
    assert (await anonymous.get("/v1/tasks?stat=done")).status_code == 401


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
async def test_a_number_that_is_none_is_refused(client: httpx.AsyncClient, number: str) -> None:
    body = f'{{"task_id": "fake/press-button", "deadline_s": {number}}}'
    refused = await client.post("/v1/tasks", content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "deadline_s")


async def test_a_body_that_is_not_said_to_be_json_is_told_how_to_be_sent(client: httpx.AsyncClient) -> None:
    kind = "application/x-www-form-urlencoded"
    refused = await client.post(
        "/v1/tasks", content='{"task_id": "fake/press-button"}', headers={"Content-Type": kind}
    )
    message = refused.json()["error"]["message"]
    assert refused.status_code == 422
    assert "Content-Type: application/json" in message and kind in message and "e.g." not in message


async def test_a_method_that_a_route_does_not_have_is_answered_with_those_it_has(
    client: httpx.AsyncClient,
) -> None:
    refused = await client.patch("/v1/tasks")
    assert refused.status_code == 405
    assert set(refused.headers["allow"].split(", ")) & {"GET", "POST"}


async def test_a_name_that_there_is_not_says_how_many_there_are(client: httpx.AsyncClient) -> None:
    error = (await client.post("/v1/tasks", json={"task_id": "zzz"})).json()["error"]
    assert re.search(r"there are: .* and \d+ more$", error["message"])


async def test_other_kinds_fields_are_not_suggested(client: httpx.AsyncClient) -> None:
    error = (await client.post("/v1/jobs", json={"kind": "gc", "endpoint": "x"})).json()["error"]
    assert error["field"] == "gc.endpoint" and "did you mean" not in error["message"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_field_that_the_database_cannot_hold_is_named(client: httpx.AsyncClient) -> None:
    for refused, field in (
        (await client.get("/v1/trajectories/%00"), "id"),
        (await client.get("/v1/trajectories?cursor=%00"), "cursor"),
        (await client.post("/v1/tasks", json={**BUTTON, "key": "a\0"}), "key"),
    ):
        error = refused.json()["error"]
        assert (refused.status_code, error["type"], error["field"]) == (422, "invalid_field", field)


async def test_a_field_that_there_is_not_has_no_example() -> None:
    assert example_at(DESCRIPTION, "POST", "/v1/tasks", ["body", "sed"]) is None
    assert example_at(DESCRIPTION, "GET", "/nowhere", ["query", "x"]) is None


@pytest.mark.parametrize("text", [b"{", b'{"task_id": ', b'{"task_id": "fake/press-button",}'])
async def test_a_body_that_is_no_json_is_called_the_body(client: httpx.AsyncClient, text: bytes) -> None:
    refused = await client.post("/v1/tasks", content=text, headers={"Content-Type": "application/json"})
    error = refused.json()["error"]
    assert (refused.status_code, error["field"]) == (422, "body")
    assert error["message"].startswith("body: JSON decode error at character ")
    assert 'e.g. {"task_id": "miniwob/click-test"' in error["message"]


def _examples() -> Iterator[Any]:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            for parameter in operation.get("parameters", ()):
                yield pytest.param(parameter["schema"], id=f"{name} {parameter['name']}")
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                schema = content["schema"]
                known = DESCRIPTION["components"]["schemas"].get(
                    schema.get("$ref", "").rpartition("/")[2], schema
                )
                if kind == "application/json":
                    yield pytest.param(known, id=f"{name} body")


@pytest.mark.parametrize("schema", list(_examples()))
def test_each_body_and_parameter_has_an_example_that_fits(schema: Any) -> None:
    examples = schema.get("examples") or [schema["example"]]
    judge = jsonschema.Draft202012Validator({**schema, "components": DESCRIPTION["components"]})
    assert [error.message for one in examples for error in judge.iter_errors(one)] == []


def _answers() -> Iterator[Any]:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            for status, answered in operation["responses"].items():
                content = answered.get("content", {}).get("application/json")
                if status.startswith("2") and content is not None:
                    yield pytest.param(content, id=f"{method.upper()} {path} {status}")


@pytest.mark.parametrize("content", list(_answers()))
def test_each_answer_has_an_example_that_fits(content: Any) -> None:
    judge = jsonschema.Draft202012Validator({**content["schema"], "components": DESCRIPTION["components"]})
    assert [error.message for error in judge.iter_errors(content["example"])] == []


async def test_the_platform_serves_its_description_to_who_is_signed_in(
    anonymous: httpx.AsyncClient, token: str
) -> None:
    assert (await anonymous.get("/v1/openapi.json")).status_code == 401
    served = await anonymous.get("/v1/openapi.json", headers={"Authorization": f"Bearer {token}"})
    assert served.json() == create_app().openapi()
