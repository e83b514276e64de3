"""The API's own description, OpenAPI: how one signs in, and an example of every body, parameter and
answer.

The same examples stand in the errors about a field (`deskhand_platform.api.examples`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.requests import HTTPConnection

from deskhand_platform.api.examples import Json, takes, value_of

OPEN = ("/healthz", "/readyz", "/login", "/logout")
"""Who has no token has to be able to ask these."""
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "an API token"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "deskhand_00000000",
        "description": "what `POST /login` sets; its name ends in the platform's own digits",
    },
}
TASK = "miniwob/click-test"
POLICY = "policy-cdba5f85db6383cb"
ID = "01900b4a7c3e7d2f9c4b1a2d3e4f5a6b"
"""Of a task or an episode."""
LABELS = {"batch": "nightly"}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "BranchBody": {
        "step": 4,
        "policy": {"name": "local", "settings": {"policy_id": POLICY}},
        "episodes": 8,
        "labels": LABELS,
        "priority": 5,
    },
    "EvaluationOrder": {
        "tasks": [TASK],
        "policy_id": POLICY,
        "episodes": 64,
        "modes": ["sampled", "greedy"],
        "split": "test",
    },
    "LoanAction": {"reply": "click(point='<point>80 149</point>')"},
    "LoanOrder": {"kind": "browser", "wait_s": 20, "labels": {"image": "office"}},
    "LoanReset": {"task_id": TASK, "seed": 3},
    "MarkBody": {"score": 0.0, "reason": "the wrong button"},
    "NewPassword": {"password": "correct horse battery staple"},
    "NewToken": {
        "label": "nightly",
        "owner": "ada",
        "scopes": ["tasks:read", "tasks:write"],
        "lasts_s": 7776000,
    },
    "NewUser": {"name": "ada", "role": "researcher", "password": "correct horse battery staple"},
    "NoteBody": {"text": "The list was sorted the other way round."},
    "OwnPassword": {"current": "what it is now", "password": "correct horse battery staple"},
    "PolicyChoice": {"name": "local", "settings": {"policy_id": POLICY}, "review_s": 60},
    "PromotionBody": {"policy_id": POLICY, "reason": "better on held-out tasks by eye, too"},
    "ProposalAnswer": {
        "verdict": "replaced",
        "reply": "click(point='<point>80 149</point>')",
        "answer": "",
        "reason": "the other button",
    },
    "QuotaBody": {"tasks": 1000, "sandboxes": 4, "bytes": 10_000_000_000},
    "ReviewOrder": {"rules": "verifier_judge: {threshold: 0.4}", "task_id": TASK, "labels": LABELS},
    "ReviewRulesBody": {"rules": "verifier_judge: {threshold: 0.4}"},
    "RoundClone": {"overrides": {"ppo": {"iterations": 60}}, "key": "longer-1"},
    "RoundRetry": {"phase": "ppo", "afresh": True},
    "RoundStart": {"preset": "smoke", "overrides": {"ppo": {"iterations": 4}}, "key": "tuesday-1"},
    "RouteOrder": {"rules": "sft: {outcome: success}", "name": "mine", "task_id": TASK, "labels": LABELS},
    "ScheduleBody": {
        "preset": "flywheel",
        "overrides": {"ppo": {"minutes": 30}},
        "cron": "0 3 * * 1-5",
        "timezone": "Europe/Berlin",
        "enabled": True,
    },
    "SuiteOrder": {"tasks": ["miniwob/login-user", "miniwob/enter-text"]},
    "SteeringAction": {"reply": "click(point='<point>80 149</point>')"},
    "TaskEvent": {
        "event_id": 812,
        "at_s": 1767225600.0,
        "id": ID,
        "task_id": TASK,
        "seed": 3,
        "state": "done",
        "owner": "ada",
        "labels": LABELS,
        "attempts": 1,
        "trajectory_id": ID,
        "reason": None,
        "outcome": {"score": 1.0, "success": True, "detail": "reward 1"},
    },
    "TaskBatch": {"tasks": [{"task_id": TASK, "seed": 3, "labels": LABELS}, {"task_id": TASK, "seed": 4}]},
    "TaskSubmission": {
        "task_id": TASK,
        "seed": 3,
        "policy": {"name": "local", "settings": {"policy_id": POLICY}},
        "labels": LABELS,
        "priority": 5,
        "deadline_s": 1893456000.0,
        "key": "mine-3",
    },
    "UserChange": {"role": "operator", "disabled": False},
    "WebhookBody": {
        "url": "https://example.com/hooks/deskhand",
        "about": "tasks",
        "labels": LABELS,
        "states": ["done", "failed"],
    },
}
"""By name of the schema; their fields are examples of these fields."""
IDS: Mapping[str, str] = {
    "evaluations": "evaluation-01900b4a",
    "jobs": f"gc-{ID}",
    "models": POLICY,
    "notes": ID,
    "policies": POLICY,
    "proposals": ID,
    "sandboxes": "lease-01900b4a",
    "tasks": ID,
    "tokens": "3f9a0c11d2e4",
    "trajectories": ID,
    "webhooks": ID,
}
"""What `{id}` of a path may be, by what comes before it; of the others it is a number."""
NAMES: Mapping[str, str] = {
    "datasets": "round-3/sft",
    "phases": "ppo",
    "quotas": "ada",
    "suites": "forms",
    "users": "ada",
}
"""The same of `{name}`."""
PARAMETERS: Mapping[str, Any] = {
    "action": "DELETE",
    "annotator": "ada",
    "cursor": ID,
    "dataset": "round-3/sft@1",
    "delivery_id": ID,
    "digest": "a8d547d563ac3ff284e8a659a9a0003f71db7a2624b5230ad4b6f41f47fd1fef",
    "if-none-match": '"a8d547d563ac"',
    "label": ["batch=nightly"],
    "last-event-id": 4711,
    "max_score": 1.0,
    "max_turns": 30,
    "min_score": 0.5,
    "min_turns": 1,
    "new": POLICY,
    "offset": 0,
    "old": "policy-1a2b",
    "owner": "ada",
    "policy": POLICY,
    "policy_id": POLICY,
    "search": "click",
    "since_s": 1767225600.0,
    "source": ["human", "judge"],
    "subject": ["round:3"],
    "target": "/v1/rounds/3",
    "task": TASK,
    "task_id": TASK,
    "text": "sign in",
    "until_s": 1769904000.0,
    "user": "ada",
    "version": 1,
    "width": 320,
}
"""By name. What has a default or is one of a few says for itself what it may be."""


VALUES: Mapping[str, Any] = {
    "AuditEntry.action": "POST /v1/rounds",
    "CatalogTask.kind": "browser",
    "DatasetDetail.name": "round-3/sft",
    "DatasetModel.name": "round-3/sft",
    "EvaluationRow.label": "after PPO",
    "LiveSandbox.kind": "browser",
    "LoanModel.kind": "browser",
    "Phase.kind": "ppo",
    "Phase.name": "ppo",
    "Preset.name": "smoke",
    "PromotionModel.reason": "better on held-out tasks",
    "ReviewItem.kind": "verifier_judge",
    "UserModel.name": "ada",
    "actions": [],
    "branch_of": ID,
    "by": "ada",
    "cron": "0 3 * * 1-5",
    "digest": "a8d547d563ac3ff284e8a659a9a0003f71db7a2624b5230ad4b6f41f47fd1fef",
    "episodes": 64,
    "format": "png",
    "height_px": 800,
    "high": 0.93,
    "id": ID,
    "instruction": 'Click the button "ok".',
    "key": "mine-3",
    "labels": LABELS,
    "low": 0.76,
    "model": POLICY,
    "next_cursor": ID,
    "owner": "ada",
    "policy_id": POLICY,
    "policy_in": POLICY,
    "policy_out": POLICY,
    "preset": "smoke",
    "role": "researcher",
    "seed": 3,
    "source": "127.0.0.1",
    "run_id": "round-3-ppo",
    "subject": "run:round-3-ppo",
    "success": 0.86,
    "task": TASK,
    "task_id": TASK,
    "tasks": [TASK],
    "trajectory_id": ID,
    "url": "https://example.com/hooks/deskhand",
    "user": "ada",
    "who": "ada",
    "width_px": 1280,
}
"""Of what is answered, by name of the field, with its schema's or without, where it takes such a value."""
MOMENT = 1767225600.0
"""Of every field that ends in `_at_s`."""


def described(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is None:
        made = FastAPI.openapi(app)
        made.setdefault("components", {})["securitySchemes"] = SCHEMES
        made["security"] = [{"token": []}, {"session": []}]
        for name, example in BODIES.items():
            _exemplify(made["components"]["schemas"][name], example)
        for name, schema in made["components"]["schemas"].items():
            _fill_in(made, name, schema)
        for path, operations in made["paths"].items():
            for operation in operations.values():
                for status, answered in operation["responses"].items():
                    content = answered.get("content", {}).get("application/json")
                    if status.startswith("2") and content is not None:
                        content["example"] = value_of(made, content["schema"])
                if path in OPEN:
                    operation["security"] = []
                for parameter in operation.get("parameters", ()):
                    schema = parameter["schema"]
                    example = _of_parameter(path, parameter)
                    schema["examples"] = [value_of(made, schema) if example is None else example]
    assert app.openapi_schema is not None
    return app.openapi_schema


def route_in(connection: HTTPConnection) -> tuple[Json, str]:
    """The API's description, and the path in it of a request's route; empty where it has none."""
    description = connection.app.openapi()
    path = getattr(connection.scope.get("route"), "path", "").replace(":path}", "}")
    # a route of a router that was included may or may not know its prefix
    return description, next((one for one in (path, f"/v1{path}") if one in description["paths"]), "")


def _exemplify(schema: dict[str, Any], example: Mapping[str, Any]) -> None:
    schema.pop("example", None)
    schema["examples"] = [example]
    for name, value in example.items():
        schema["properties"][name].setdefault("examples", [value])


def _fill_in(made: Mapping[str, Any], of: str, schema: Mapping[str, Any]) -> None:
    """Give fields whose name says enough an example, where they have none."""
    for name, field in schema.get("properties", {}).items():
        example = VALUES.get(f"{of}.{name}", MOMENT if name.endswith("_at_s") else VALUES.get(name))
        if example is not None and takes(made, field, example):
            field.setdefault("examples", [example])


def _of_parameter(path: str, parameter: Mapping[str, Any]) -> Any:
    name, schema = parameter["name"], parameter["schema"]
    if parameter["in"] == "path" and name in ("id", "name"):
        before = path.partition(f"/{{{name}}}")[0].rpartition("/")[2]
        return (IDS if name == "id" else NAMES).get(before, 3)
    if name == "id":
        return [ID]
    if name == "index":
        return 4
    return schema.get("default", PARAMETERS.get(name))
