"""What no worker could work is refused when it is submitted, by the name of its field."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import httpx
import pytest

from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.api.models import EnvironmentBody, LimitsBody, TaskBody, VerifierBody
from deskhand_platform.services import Services
from deskhand_platform.settings import JobSettings
from deskhand_sandbox.types import EnvironmentSpec, Limits, Task, VerifierSpec

BUTTON = {"task_id": "fake/press-button"}
WHOLE = {"id": "mine", "environment": {"kind": "fake"}, "verifier": {"name": "fake"}}


def by(name: str, **settings: Any) -> dict[str, Any]:
    return {**BUTTON, "policy": {"name": name, "settings": settings}}


def whole(**changed: Any) -> dict[str, Any]:
    return {"task": {**WHOLE, **changed}}


WRONG = [
    ({"task_id": "fake/press-buton"}, "task_id", "did you mean fake/press-button or "),
    (whole(environment={"kind": "brwser"}), "task.environment.kind", "did you mean browser"),
    (
        whole(environment={"kind": "vm"}),
        "task.environment.kind",
        "(the settings sandbox.kinds and sandbox.pools)",
    ),
    (whole(verifier={"name": "answr"}), "task.verifier.name", "did you mean answer"),
    (whole(verifier={"name": "fake", "settings": {"x": 1}}), "task.verifier.settings", "refuses"),
    (by("scripted", speed=3), "policy.settings.speed", "has no settings, e.g. {}"),
    (by("local", temprature=1), "policy.settings.temprature", "there are: executor, max_tokens, path"),
    (by("local", temperature="hot"), "policy.settings.temperature", "valid number, e.g. 0.0"),
    (by("local", temperature=-1), "policy.settings", "temperature is -1.0: give 0 or more"),
    (by("local", max_tokens=True), "policy.settings.max_tokens", "e.g. 64"),
    (by("local", max_tokens=1_000_000_000), "policy.settings.max_tokens", "less than or equal to 4096"),
    (by("local", policy_id="policy-none"), "policy.settings.policy_id", "no policy 'policy-none'"),
    (by("openai"), "policy.settings.model", "required"),
    (by("openai", model="m", memory={"n_screenshots": 0}), "policy.settings.memory", "give 1 or more"),
    (by("openai", model="m", coordinates={"frame": "resized"}), "policy.settings", "coordinates.frame is no"),
    (by("openai", model="m", memory={"text_bytes": 1024}), "policy.settings", "3072 or more for 3 screens"),
    (by("openai_computer", model="m", effort=3), "policy.settings.effort", "string"),
    (by("anthropic_computer", model="m", tool="1999"), "policy.settings.tool", 'e.g. "20251124"'),
    (by("openai", model="m", base_url="http://mine/v1"), "policy.settings.base_url", "jobs.endpoints"),
    (by("openai_computer", model="m", base_url=""), "policy.settings.base_url", "jobs.endpoints"),
    (by("anthropic_computer", model="m", base_url="http://mine"), "policy.settings.base_url", "has none"),
    (whole(), "policy.name", "no oracle is known for the task 'mine'"),
    ({**BUTTON, "labels": {"batch": "a", "round": "1"}}, "labels.round", "choose another name"),
    ({**BUTTON, "labels": {"owner": "bob"}}, "labels.owner", "choose another name"),
    (by("local", test_time=3), "policy.settings.test_time", ""),
    (by("scripted", test_time={"samples": 0}), "policy.settings.test_time", "samples is 0"),
    (
        by("openai", model="m", test_time={"samples": 10**9}),
        "policy.settings.test_time",
        "samples is 1000000000",
    ),
    *(
        (by(name, **model, test_time=asked), "policy.settings.test_time.check", f"{name} policy answers no")
        for name, model in (("scripted", {}), ("anthropic_computer", {"model": "m"}))
        for asked in ({"checks": 1}, {"attempts": 2})
    ),
    *(
        (
            by(name, test_time={"samples": 4}),
            "policy.settings.test_time.samples",
            f"the {name} policy draws no",
        )
        for name in ("scripted", "person")
    ),
    *(
        (by(name, **greedy, test_time={"samples": 4}), "policy.settings.temperature", "the same each time")
        for name, greedy in (("local", {}), ("openai", {"model": "m", "temperature": 0}))
    ),
    (by("scripted", test_time={"sample": 2}), "policy.settings.test_time.sample", "there are: attempts"),
]


@pytest.mark.parametrize(("body", "field", "said"), WRONG)
async def test_it_is_refused_by_the_name_of_its_field(
    client: httpx.AsyncClient, services: Services, body: dict[str, Any], field: str, said: str
) -> None:
    alone = await client.post("/v1/tasks", json=body)
    batch = await client.post("/v1/tasks/batch", json={"tasks": [BUTTON, body]})
    for answer, before in ((alone, ""), (batch, "tasks.1.")):
        error = answer.json()["error"]
        assert (answer.status_code, error["field"]) == (422, before + field), error
        assert said in error["message"], error
    assert await services.queue.list() == ()


async def test_half_a_character_names_no_policy(client: httpx.AsyncClient) -> None:
    # escaped: UTF-8, which httpx itself writes, has no bytes for it
    body, head = json.dumps(by("local", policy_id="\ud800")), {"Content-Type": "application/json"}
    answer = await client.post("/v1/tasks", content=body, headers=head)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "policy.settings.policy_id")
    assert "no policy '\\ud800'" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {**whole(), "policy": {"name": "local"}},
        by("local", temperature=1, max_tokens=8),
        by("local", policy_id="deskhand-tiny", temperature=1, test_time={"samples": 3, "radius_px": 4}),
        by("openai", model="m", test_time={"samples": 3}),
        by("anthropic_computer", model="m", test_time={"samples": 3}),
        by("openai", model="m", coordinates={"kind": "normalised"}, memory={"n_screenshots": 2}),
        by("anthropic_computer", model="m", thinking={"type": "enabled", "budget_tokens": 1024}),
    ],
)
async def test_what_a_worker_would_take_is_taken(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await client.post("/v1/tasks", json=body)
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(("role", "status"), [(Role.RESEARCHER, 422), (Role.OPERATOR, 201)])
async def test_a_folder_is_named_only_by_who_may_bring_policies_in(
    client: httpx.AsyncClient,
    services: Services,
    accounts: Accounts,
    record_episode: Any,
    role: Role,
    status: int,
) -> None:
    await accounts.users.add("ada", role)
    _, token = await accounts.tokens.create("ada", "x")
    client.headers["Authorization"] = f"Bearer {token}"
    body = by("local", path="/root")
    branch = {"step": 1, "policy": body["policy"]}
    path = f"/v1/trajectories/{await record_episode(services.store)}/branch"
    for address, sent, before in (
        ("/v1/tasks", body, ""),
        ("/v1/tasks/batch", {"tasks": [body]}, "tasks.0."),
        (path, branch, ""),
    ):
        answer = await client.post(address, json=sent)
        assert answer.status_code == status, answer.text
        if status == 422:
            assert answer.json()["error"]["field"] == f"{before}policy.settings.path"


async def test_the_platform_s_keys_go_only_where_its_settings_say(
    client: httpx.AsyncClient, services: Services, record_episode: Any
) -> None:
    url = "http://models:8000/v1"
    body = by("openai", model="m", base_url=url)
    branch = {"step": 1, "policy": body["policy"]}
    path = f"/v1/trajectories/{await record_episode(services.store)}/branch"
    one: dict[str, Any] = (await client.post("/v1/rounds", json={"preset": "smoke"})).json()
    asking: list[tuple[str, str, str, dict[str, Any]]] = [
        ("POST", "/v1/tasks", "policy.settings.base_url", body),
        ("POST", path, "policy.settings.base_url", branch),
    ]
    for phase, told, field in (
        ("explore", {"engine": url}, "explore.engine"),
        ("ppo", {"engine": f"{url}, http://listed"}, "ppo.engine"),
        ("ppo", {"user": url, "user_model": "m"}, "ppo.user"),
        ("ppo", {"outcome": {"by": "judge", "judge": url, "model": "m"}}, "ppo.outcome.judge"),
    ):
        overrides = {"overrides": {phase: told}}
        asking += [
            ("POST", "/v1/rounds", field, {"preset": "smoke", **overrides}),
            ("POST", f"/v1/rounds/{one['id']}/clone", field, overrides),
            ("POST", "/v1/schedules", field, {"preset": "smoke", "cron": "0 3 * * *", **overrides}),
            ("PUT", "/v1/schedules/1", field, {"preset": "smoke", "cron": "0 3 * * *", **overrides}),
        ]
    for method, address, field, sent in asking:
        refused = await client.request(method, address, json=sent)
        error = refused.json()["error"]
        assert (refused.status_code, error["field"]) == (422, field), (address, error)
        assert f"{url} is none of the setting jobs.endpoints" in error["message"]
    object.__setattr__(services.settings, "jobs", JobSettings(endpoints=(url, "http://listed")))
    for method, address, _, sent in asking:
        taken = await client.request(method, address, json=sent)
        assert taken.status_code in (200, 201), (address, taken.text)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/rounds", {"preset": "smok"}, "preset"),
        ("/v1/schedules", {"preset": "smok", "cron": "0 3 * * *"}, "preset"),
        ("/v1/tasks/preview", {"task_id": "fake/nothing"}, "task_id"),
        ("/v1/evaluations", {"tasks": ["fake/nothing"]}, "tasks.0"),
        ("/v1/evaluations", {"tasks": ["fake/press-button", "vm/calculate"]}, "tasks.1"),
        ("/v1/evaluations", {"tasks": ["fake/press-button"], "policy_id": "policy-none"}, "policy_id"),
        ("/v1/promotions", {"policy_id": "policy-none", "reason": "r"}, "policy_id"),
        ("/v1/tokens", {"label": "t", "owner": "nobody"}, "owner"),
        ("/v1/jobs", {"kind": "prm-score", "model": "policy-none"}, "model"),
        ("/v1/jobs", {"kind": "label", "policy": "policy-none"}, "policy"),
        ("/v1/jobs", {"kind": "merge", "policies": ["policy-none", "policy-no"]}, "policies.0"),
    ],
)
async def test_a_name_in_a_body_that_stands_for_nothing_is_a_wrong_field(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await client.post(path, json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error.get("field")) == (422, "invalid_field", field), error


async def test_a_task_in_full_says_what_its_user_knows(client: httpx.AsyncClient, services: Services) -> None:
    task = {**WHOLE, "details": {"color": "red"}, "limits": {"turns": 9, "seconds": 60, "questions": 1}}
    kept = (await client.post("/v1/tasks", json={"task": task, "policy": {"name": "local"}})).json()
    found = await services.queue.get(kept["id"])
    assert (found.task.details, found.task.limits) == (
        {"color": "red"},
        Limits(turns=9, seconds=60, questions=1),
    )


def test_a_task_in_full_can_say_all_that_a_task_is() -> None:
    said = set(TaskBody.model_fields)
    assert said == {each.name for each in dataclasses.fields(Task)} - {"seed"}
    for body, record in (
        (LimitsBody, Limits),
        (EnvironmentBody, EnvironmentSpec),
        (VerifierBody, VerifierSpec),
    ):
        assert set(body.model_fields) == {each.name for each in dataclasses.fields(record)}
