"""The calls of the API: what each sends, and what its answer is read as."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, JsonValue, TypeAdapter

from deskhand_platform.api.models import (
    CatalogTask,
    Info,
    Page,
    SubmittedBatch,
    SubmittedTask,
    TaskPreview,
    TaskSubmission,
)
from deskhand_platform.api.result_models import DeliveryModel, NewWebhook, WebhookModel
from deskhand_platform.client.errors import Missing
from deskhand_platform.client.flows import Call
from deskhand_platform.states import WorkState
from deskhand_platform.webhooks.about import About

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
PAGE = 200
"""Things in one page of a list, the most there can be."""
BATCH = 2000
"""Tasks in one request."""
LONG_S = 600.0
"""For an answer that takes the platform through much of the store."""


def reading(kind: type[Model]) -> Callable[[httpx.Response], Model]:
    """Reads an answer as one record."""
    return lambda response: kind.model_validate_json(response.content)


def reading_list(kind: type[Model]) -> Callable[[httpx.Response], list[Model]]:
    """Reads an answer as a list of records."""
    read = TypeAdapter[list[Model]](list[kind]).validate_json  # pyright: ignore[reportInvalidTypeForm]
    return lambda response: read(response.content)


def nothing(_said: httpx.Response) -> None:
    """Reads an answer that holds nothing."""


def get(path: str, read: Callable[[httpx.Response], T], **params: Any) -> Call[T]:
    """A GET; parameters that are None are left out."""
    return Call(method="GET", path=path, read=read, params=given(params))


def part(id: str) -> str:
    """An id as a part of an address.

    Raises:
        Missing: nothing has such a one, and its address would be another thing's.
    """
    if id in ("", ".", "..") or "/" in id:
        raise Missing(404, f"nothing is called {id!r}", kind="not_found")
    return quote(id, safe="")


def long(call: Call[T]) -> Call[T]:
    """The same, with time to go through much of the store."""
    return replace(call, timeout_s=LONG_S)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that are None."""
    return {name: value for name, value in values.items() if value is not None}


def page(path: str, kind: type[Model], /, **params: Any) -> Callable[[str | None], Call[Page[Model]]]:
    """A list's page after a cursor."""
    read = reading(Page[kind])
    return lambda cursor: get(path, read, **{"limit": PAGE, **params, "cursor": cursor})


def labelled(labels: Mapping[str, str] | None) -> list[str] | None:
    """Labels as a query has them."""
    return None if labels is None else [f"{key}={value}" for key, value in labels.items()]


def info() -> Call[Info]:
    return get("/v1/info", reading(Info))


# ---- tasks ------------------------------------------------------------------------------------------


def catalog(search: str, held_out: bool | None) -> Call[list[CatalogTask]]:
    return get("/v1/catalog", reading_list(CatalogTask), search=search or None, held_out=held_out)


def preview(task: str | Mapping[str, Any] | TaskSubmission, seed: int) -> Call[TaskPreview]:
    body = {"task_id": task, "seed": seed} if isinstance(task, str) else body_of(task)
    return long(Call(method="POST", path="/v1/tasks/preview", read=reading(TaskPreview), body=body))


def submission(
    task: str | Mapping[str, Any] | TaskSubmission,
    *,
    seed: int,
    policy: str,
    settings: Mapping[str, JsonValue] | None,
    review_s: float | None,
    labels: Mapping[str, str] | None,
    priority: int,
    deadline_s: float | None,
    key: str | None,
) -> dict[str, Any]:
    """The body of a submission; what was put together by the caller goes as it is."""
    if not isinstance(task, str):
        return body_of(task)
    return {
        "task_id": task,
        "seed": seed,
        "policy": {"name": policy, "settings": dict(settings or {}), "review_s": review_s},
        "labels": dict(labels or {}),
        "priority": priority,
        "deadline_s": deadline_s,
        "key": key,
    }


def body_of(task: Mapping[str, Any] | TaskSubmission) -> Any:
    """A submission as JSON."""
    return task.model_dump(mode="json", exclude_unset=True) if isinstance(task, TaskSubmission) else task


def submit(body: Any) -> Call[SubmittedTask]:
    """Without a key it is given one: a lost answer is asked for again, and the task is there once."""
    return Call(method="POST", path="/v1/tasks", read=reading(SubmittedTask), body=keyed(body))


def submit_batch(bodies: Sequence[Any]) -> Call[SubmittedBatch]:
    body = {"tasks": [keyed(each) for each in bodies]}
    return Call(method="POST", path="/v1/tasks/batch", read=reading(SubmittedBatch), body=body)


def keyed(body: Any) -> Any:
    """The submission under a key of its own, where it has none."""
    if isinstance(body, Mapping) and body.get("key") is None:
        return {**body, "key": f"client-{uuid.uuid4().hex}"}
    return body


def task(id: str) -> Call[SubmittedTask]:
    return get(f"/v1/tasks/{part(id)}", reading(SubmittedTask))


def tasks(
    state: WorkState | None, owner: str | None, task_id: str | None, labels: Mapping[str, str] | None
) -> Callable[[str | None], Call[Page[SubmittedTask]]]:
    of = {"owner": owner, "task_id": task_id, "label": labelled(labels)}
    return page("/v1/tasks", SubmittedTask, state=state, **of)


def cancel(id: str) -> Call[SubmittedTask]:
    return Call(method="DELETE", path=f"/v1/tasks/{part(id)}", read=reading(SubmittedTask), safe=False)


def retry(id: str) -> Call[SubmittedTask]:
    return Call(method="POST", path=f"/v1/tasks/{part(id)}/retry", read=reading(SubmittedTask), safe=False)


# ---- webhooks ---------------------------------------------------------------------------------------


def add_webhook(
    url: str, about: About, labels: Mapping[str, str] | None, states: Sequence[WorkState] | None
) -> Call[NewWebhook]:
    body: dict[str, Any] = {"url": url, "about": about, "labels": dict(labels or {})}
    if states is not None:
        body["states"] = [*states]
    return Call(method="POST", path="/v1/webhooks", read=reading(NewWebhook), body=body, safe=False)


def webhooks() -> Call[list[WebhookModel]]:
    return get("/v1/webhooks", reading_list(WebhookModel))


def webhook(id: str) -> Call[WebhookModel]:
    return get(f"/v1/webhooks/{part(id)}", reading(WebhookModel))


def remove_webhook(id: str) -> Call[WebhookModel]:
    return Call(method="DELETE", path=f"/v1/webhooks/{part(id)}", read=reading(WebhookModel), safe=False)


def deliveries(id: str, state: str | None) -> Callable[[str | None], Call[Page[DeliveryModel]]]:
    return page(f"/v1/webhooks/{part(id)}/deliveries", DeliveryModel, state=state)


def retry_delivery(id: str, delivery_id: str) -> Call[DeliveryModel]:
    path = f"/v1/webhooks/{part(id)}/deliveries/{part(delivery_id)}/retry"
    return Call(method="POST", path=path, read=reading(DeliveryModel), safe=False)


# ---- streams ----------------------------------------------------------------------------------------


def task_events(ids: Sequence[str], labels: Mapping[str, str] | None, follow: bool) -> Call[bytes]:
    return stream("/v1/tasks/events", follow, id=list(ids), label=labelled(labels) or [])


def events(subjects: Sequence[str], follow: bool) -> Call[bytes]:
    return stream("/v1/events", follow, subject=list(subjects))


def stream(path: str, follow: bool, **params: list[str]) -> Call[bytes]:
    """A stream of events; read as it comes, not by `Call.read`."""
    asked: dict[str, Any] = {name: values for name, values in params.items() if values}
    return Call(
        method="GET", path=path, read=lambda response: response.content, params={**asked, "follow": follow}
    )


# ---- anything else ----------------------------------------------------------------------------------


def anything(
    method: str, path: str, body: Any = None, *, params: Mapping[str, Any] | None = None
) -> Call[Any]:
    """A route that has no call of its own; its answer as plain JSON."""
    return Call(
        method=method,
        path=path,
        read=lambda response: response.json() if response.content else None,
        params=given(params or {}),
        body=body,
        safe=method in ("GET", "PUT"),
    )
