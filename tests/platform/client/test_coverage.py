"""Every operation of the API is a method of both clients, which sends what the description says."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_platform.api.app import create_app
from deskhand_platform.client import AsyncDeskhand, Deskhand

FOR_A_BROWSER = "signs a browser in or out by its cookie; programs show their token"
FOR_WHOEVER_KEEPS_IT_UP = "asked by orchestrators and Prometheus, which speak HTTP themselves"
FOR_OPENAI_CLIENTS = "has OpenAI's form, so that OpenAI's own client, and all that stands on it, speaks it"
WITHOUT_A_METHOD = {
    "POST /login": FOR_A_BROWSER,
    "POST /logout": FOR_A_BROWSER,
    "GET /healthz": FOR_WHOEVER_KEEPS_IT_UP,
    "GET /readyz": FOR_WHOEVER_KEEPS_IT_UP,
    "GET /metrics": FOR_WHOEVER_KEEPS_IT_UP,
    "POST /v1/chat/completions": FOR_OPENAI_CLIENTS,
    "GET /v1/models": FOR_OPENAI_CLIENTS,
    "GET /v1/models/{id}": FOR_OPENAI_CLIENTS,
    "GET /v1/sandboxes/{id}/screen.mjpeg": "is for an <img> in a page; `screen` is the picture of the moment",
}
NOT_SENT: dict[str, set[str]] = {
    "GET /v1/events": {"last-event-id", "after"},
    "GET /v1/tasks/events": {"last-event-id", "after"},
    "GET /v1/sandboxes/{id}/screen.jpg": {"if-none-match"},
}
"""Parameters that no method has: headers, and what a stream says in one."""
CALLERS_OWN = {"POST /v1/jobs", "POST /v1/tasks/preview"}
"""Bodies that the caller puts together."""
UNTYPED = {"get", "post", "put", "delete", "close"}
OWN_NAMES = {"self", "filters", "guidance", "folder", "path", "examples"}
"""Parameters that are given to each method by itself, or not at all."""
BODY = {"task_id": "fake/press-button", "task": {"id": "mine"}}
FILTERS = {
    "task_id": "fake/press-button", "policy_id": "p", "split": "train", "outcome": "success", "ended": True,
    "text": "door", "failure": "sandbox_died", "min_score": 0.1, "max_score": 1.0, "min_turns": 1,
    "max_turns": 9, "since_s": 1.0, "until_s": 2.0,
}  # fmt: skip
GIVEN: dict[str, Any] = {
    "about": "tasks", "action": "DELETE", "afresh": True, "after": 3, "annotator": "ada",
    "answer": "blue", "bytes": 1,
    "cron": "0 3 * * *", "current": "the old one", "cursor": "c", "dataset": None, "deadline_s": 1.0,
    "delivery_id": "d", "digest": "0" * 64, "disabled": True, "enabled": False, "episodes": 2,
    "follow": False, "format": "parquet", "held_out": True, "html": False, "id": "an-id", "ids": ["an-id"],
    "index": 1, "key": "mine", "kind": "fsck", "label": "nightly", "labels": {"batch": "a"},
    "lasts_s": 60.0, "limit": 20, "modes": ["greedy"], "name": "ada", "new": "policy-b", "new_successes": 3,
    "note_id": "n", "number": 7, "offset": 0, "old": "policy-a", "open": True, "order": {"kind": "gc"},
    "overrides": {"ppo": {}}, "owner": "ada", "password": "a new one", "phase": "ppo", "policy": "scripted",
    "policy_id": "policy-a", "preset": "smoke", "priority": 1, "progress": None, "reason": "why",
    "refused": True, "replace": "wait()", "reply": "wait()", "review_s": 5.0, "role": "annotator",
    "rules": "sft: {}", "sandboxes": 1, "scopes": ["tasks:read"], "score": 0.5, "search": "fake", "seed": 3,
    "settings": {"a": 1}, "since_s": 1.0, "sources": ["human"], "split": "test", "state": "done",
    "states": ["done"], "step": 1, "subjects": ["round:3"], "tail": 10, "target": "x",
    "task": "fake/press-button", "task_id": "fake/press-button", "tasks": ["fake/press-button"],
    "text": "a thought", "text_tree": True, "timeout_s": 5.0, "timezone": "UTC", "token_only": True,
    "until_s": 2.0, "url": "https://example.com", "user": "ada", "version": 1, "wait_s": 1.0, "width": 64,
}  # fmt: skip
"""What every parameter of that name is given."""


@dataclass
class Recorder:
    """Answers with the description's examples, and keeps what was asked."""

    description: Mapping[str, Any]
    sent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Operation -> names in its queries and bodies."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        operation, about = self._operation(request)
        named = set(request.url.params) | set(_body(request))
        assert named <= parameters(self.description, about), f"{operation} has no such parameters"
        self.sent[operation] |= named
        status, answer = next((code, one) for code, one in about["responses"].items() if code[0] == "2")
        kinds: Mapping[str, Any] = answer.get("content", {})
        if "text/event-stream" in kinds:
            example = _example(self.description, about, status)
            return httpx.Response(200, text=f"id: 9\ndata: {json.dumps(example)}\n\n")
        if "application/json" in kinds:
            return httpx.Response(200, json=self._answer(request, kinds["application/json"]["example"]))
        # two empty blocks end a tar archive; whatever else holds bytes takes them too
        return httpx.Response(int(status), content=bytes(1024) if kinds else b"")

    def _operation(self, request: httpx.Request) -> tuple[str, Mapping[str, Any]]:
        """The one that the platform would choose: names of its own before parameters."""
        found: list[str] = []
        for inside in ("[^/]+", ".+"):  # names of datasets have slashes
            for path in self.description["paths"]:
                if re.fullmatch(re.sub(r"\\\{\w+\\\}", inside, re.escape(path)), request.url.path):
                    found.append(path)
            if found:
                break
        path = min(found, key=lambda each: each.count("{"), default="")
        about = self.description["paths"].get(path, {}).get(request.method.lower())
        assert about is not None, f"{request.method} {request.url.path} is no operation"
        return f"{request.method} {path}", about

    def _answer(self, request: httpx.Request, example: Any) -> Any:
        if isinstance(example, dict) and "items" in example:
            return {**example, "next_cursor": None if "cursor" in request.url.params else "c"}
        if isinstance(example, dict) and example.get("state") in ("queued", "running"):
            return {**example, "state": "done"}
        return example


def parameters(description: Mapping[str, Any], about: Mapping[str, Any]) -> set[str]:
    """Names of an operation's query, headers and body."""
    names = {one["name"] for one in about.get("parameters", ()) if one["in"] != "path"}
    schema = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    for each in schema.get("oneOf", [schema]):
        model = description["components"]["schemas"].get(each.get("$ref", "").rpartition("/")[2], {})
        names |= set(model.get("properties", ()))
    return names


def _example(description: Mapping[str, Any], about: Mapping[str, Any], status: str) -> Any:
    return about["responses"][status]["content"]["application/json"]["example"]


def _body(request: httpx.Request) -> Mapping[str, Any]:
    told = request.headers.get("content-type") == "application/json"
    return json.loads(request.content) if told else {}


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: one for name, one in found if not name.startswith("_") and name not in UNTYPED}


def arguments(name: str, method: Callable[..., Any], folder: Path) -> list[dict[str, Any]]:
    """What a method is called with, every parameter given; of some, in several ways."""
    named = [one for one in inspect.signature(method).parameters if one not in OWN_NAMES]
    files = folder / "files"
    files.mkdir(exist_ok=True)
    (files / "a.txt").write_text("a")
    own: dict[str, list[dict[str, Any]]] = {
        "answer_proposal": [{}, {"replace": None}],
        "dataset": [{"name": "routed/sft"}],
        "download_policy": [{"folder": folder / "policy"}],
        "export_trajectories": [{"folder": folder / "export", **FILTERS, "dataset": "routed/sft@1"}],
        "import_trajectories": [
            {"path": files, "examples": None, "policy": "p", "dialect": "ui_tars", "succeeded": True}
        ],
        "lineage": [{"dataset": "routed/sft@1"}],
        "mark_step": [{}, {"annotator": None}],
        "preview_task": [{}, {"task": BODY}],
        "replay": [{"html": html} for html in (False, True)],
        "reset_sandbox": [{}, {"task": {"id": "mine"}}],
        "set_quota": [{"tasks": 1}],
        "submit": [{}, {"task": BODY}],
        "submit_batch": [{"tasks": [BODY]}],
        "trajectories": [FILTERS],
        "trajectory_page": [FILTERS],
        "upload_policy": [{"folder": files}],
    }
    return [{**{one: GIVEN[one] for one in named}, **changed} for changed in own.get(name, [{}])]


def blocking(recorder: Recorder, folder: Path) -> None:
    with Deskhand("http://127.0.0.1:9", "t", patience_s=0, transport=httpx.MockTransport(recorder)) as client:
        for name, method in methods(Deskhand).items():
            for given in arguments(name, method, folder):
                done = getattr(client, name)(**given)
                if isinstance(done, AbstractContextManager):
                    with done:
                        pass
                elif isinstance(done, Iterator):
                    assert list(done)


async def awaiting(recorder: Recorder, folder: Path) -> None:
    transport = httpx.MockTransport(recorder)
    async with AsyncDeskhand("http://127.0.0.1:9", "t", patience_s=0, transport=transport) as client:
        for name, method in methods(AsyncDeskhand).items():
            for given in arguments(name, method, folder):
                done = getattr(client, name)(**given)
                if isinstance(done, AbstractAsyncContextManager):
                    async with done:
                        pass
                elif isinstance(done, AsyncIterator):
                    assert [one async for one in done]
                elif isinstance(done, Awaitable):
                    await done


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], list[Recorder]]:
    """The description, and what both clients sent."""
    description = create_app().openapi()
    recorders = [Recorder(description), Recorder(description)]
    blocking(recorders[0], tmp_path_factory.mktemp("blocking"))
    asyncio.run(awaiting(recorders[1], tmp_path_factory.mktemp("awaiting")))
    return description, recorders


def test_every_operation_has_a_method(sent: tuple[Mapping[str, Any], list[Recorder]]) -> None:
    description, recorders = sent
    operations = {f"{method.upper()} {path}" for path, of in description["paths"].items() for method in of}
    for recorder in recorders:
        assert operations - set(recorder.sent) == set(WITHOUT_A_METHOD)


def test_every_parameter_has_one(sent: tuple[Mapping[str, Any], list[Recorder]]) -> None:
    description, recorders = sent
    for recorder in recorders:
        missing = {
            operation: left
            for operation, told in recorder.sent.items()
            if operation not in CALLERS_OWN
            and (left := _parameters_of(description, operation) - told - NOT_SENT.get(operation, set()))
        }
        assert missing == {}


def _parameters_of(description: Mapping[str, Any], operation: str) -> set[str]:
    method, path = operation.split(" ")
    return parameters(description, description["paths"][path][method.lower()])
