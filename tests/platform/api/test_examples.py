from __future__ import annotations

from typing import Any

import httpx
import pytest

from deskhand_platform.api.app import create_app
from deskhand_platform.api.examples import example_at

BUTTON = {"task_id": "fake/press-button"}


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "example"),
    [
        ("POST", "/v1/tasks", {**BUTTON, "seed": "x"}, "seed", "e.g. 0"),
        ("POST", "/v1/tasks", {**BUTTON, "priority": 101}, "priority", "e.g. -100"),
        ("POST", "/v1/tasks", {**BUTTON, "policy": {"review_s": 0}}, "policy.review_s", "e.g. "),
        ("POST", "/v1/tasks", {"task": {"id": "t"}}, "task.environment", 'e.g. {"kind": "text"}'),
        ("POST", "/v1/tasks", {**BUTTON, "labels": {"a": 3}}, "labels.a", 'e.g. "text"'),
        ("POST", "/v1/tasks/batch", {"tasks": []}, "tasks", "e.g. ["),
        ("POST", "/v1/webhooks", {}, "url", 'e.g. "'),
        ("GET", "/v1/tasks?state=gone", None, "state", 'e.g. "queued"'),
        ("GET", "/v1/tasks?limit=0", None, "limit", "e.g. 1"),
        ("GET", "/v1/rounds/x", None, "id", "e.g. 1"),
    ],
)
async def test_an_error_names_the_field_and_an_example(
    client: httpx.AsyncClient, method: str, path: str, body: Any, field: str, example: str
) -> None:
    refused = await client.request(method, path, json=body)
    error = refused.json()["error"]
    assert (refused.status_code, error["field"]) == (422, field)
    assert example in error["message"], error["message"]


async def test_a_field_that_there_is_not_has_no_example(client: httpx.AsyncClient) -> None:
    refused = (await client.post("/v1/tasks", json={**BUTTON, "sed": 1})).json()["error"]
    assert refused["field"] == "sed" and "e.g." not in refused["message"]
    assert example_at(create_app().openapi(), "POST", "/v1/tasks", ["body", "sed"]) is None
    assert example_at(create_app().openapi(), "GET", "/nowhere", ["query", "x"]) is None
