"""Every error in one shape: {"error": {type, message, field?, suggestions?}}."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from deskhand_flywheel.errors import (
    ConflictingRecord,
    CorruptBlob,
    DamagedInput,
    DatasetRefused,
    ExchangeExtraMissing,
    FlywheelError,
    InvalidCursor,
    InvalidQuery,
    InvalidScore,
    MissingBlob,
    NotTheirs,
    StillRunning,
    StorageFull,
    StoreUnavailable,
    UnknownFormat,
)
from deskhand_flywheel.errors import NotFound as NotStored
from deskhand_platform.api.description import route_in
from deskhand_platform.api.examples import example_at, fields_at
from deskhand_platform.api.models import ErrorAnswer, ErrorBody
from deskhand_platform.api.unheld import unheld_field
from deskhand_platform.api.whole_text import WholeText
from deskhand_platform.errors import (
    Forbidden,
    InvalidField,
    NoLongerKept,
    NoRoom,
    NotFound,
    PlatformError,
    PreviewFailed,
    SandboxFailed,
    ScreenUnavailable,
    TooLarge,
    TooMuch,
    Unauthorized,
    WrongState,
)
from deskhand_sandbox.errors import HostUnreachable, SandboxError, UnknownName, near_ones

STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    NotStored: 404,
    MissingBlob: 404,
    CorruptBlob: 422,
    UnknownName: 404,
    NoRoom: 503,
    WrongState: 409,
    StillRunning: 409,
    NoLongerKept: 410,
    ConflictingRecord: 409,
    InvalidField: 422,
    DamagedInput: 422,
    UnknownFormat: 422,
    InvalidQuery: 422,
    InvalidScore: 422,
    DatasetRefused: 422,
    Forbidden: 403,
    NotTheirs: 403,
    Unauthorized: 401,
    TooMuch: 429,
    TooLarge: 413,
    ExchangeExtraMissing: 501,
    StorageFull: 507,
    StoreUnavailable: 503,
    HostUnreachable: 503,
    PreviewFailed: 503,
    SandboxFailed: 503,
    ScreenUnavailable: 503,
}
NAMES = {404: "not_found", 403: "forbidden"}
"""What errors of a status are called, whichever they are; the others by their own names."""
HTTP_NAMES = {404: "not_found", 405: "method_not_allowed", 400: "bad_request", 413: "too_large"}


def install(app: FastAPI) -> None:
    """Make the application answer every error in the one shape."""
    for root in (PlatformError, FlywheelError, SandboxError):
        app.add_exception_handler(root, _typed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def answer(status: int, kind: str, message: str, **more: object) -> JSONResponse:
    """An error as a response."""
    body = ErrorAnswer(error=ErrorBody.model_validate({"type": kind, "message": message, **more}))
    return WholeText(body.model_dump(exclude_defaults=True), status_code=status)


def most_precise(errors: Sequence[Any]) -> Any:
    """What lies deepest of what is wrong with a request: of several forms, that is the one that was meant."""
    return max(errors, key=lambda error: len(error["loc"]))


def meant(error: HTTPException) -> Exception:
    """The error of ours that it stands for; itself where it stands for none."""
    ours = error.__cause__
    return ours if isinstance(ours, PlatformError | FlywheelError) else error


def status_of(error: Exception) -> int:
    """Of an error of ours; 500 where it stands for none."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


async def _typed(connection: HTTPConnection, error: Exception) -> JSONResponse:
    status = status_of(error)
    kind = NAMES.get(status) or re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
    if isinstance(error, InvalidCursor):
        kind, error = "invalid_field", InvalidField("cursor", "is not one that this list gave out")
    elif isinstance(error, InvalidQuery) and (field := unheld_field(connection)) is not None:
        kind, error = "invalid_field", InvalidField(field, str(error))
    response = answer(
        status,
        kind,
        _with_example(connection, error) if isinstance(error, InvalidField) else str(error),
        field=getattr(error, "field", None),
        suggestions=list(getattr(error, "suggestions", ())),
        **{name: getattr(error, name, None) for name in ("state", "retry_s", "used", "limit", "asked")},
    )
    if isinstance(error, TooMuch):
        response.headers["Retry-After"] = str(math.ceil(error.retry_s))
    if isinstance(error, NoRoom):
        response.headers["Retry-After"] = f"{error.retry_after_s:.0f}"
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _with_example(connection: HTTPConnection, error: InvalidField) -> str:
    """What is wrong with the field, and what would be right, by the description unless it says so itself."""
    says_itself = any(words in error.reason for words in ("e.g.", "for example", "there are", "there is no"))
    told = error.suggestions or says_itself
    if told or connection.scope["type"] != "http":
        return str(error)
    way = [int(part) if part.isdigit() else part for part in error.field.split(".")]
    found = (_example(connection, connection.scope["method"], [where, *way]) for where in ("body", "query"))
    example = next((one for one in found if one is not None), None)
    return str(error) if example is None else f"{error}, e.g. {example}"


def _example(connection: HTTPConnection, method: str, where: Sequence[object]) -> str | None:
    description, path = route_in(connection)
    return example_at(description, method, path, where)


def refused_field(request: Request, error: RequestValidationError) -> tuple[str, str, tuple[str, ...]]:
    """The field that is wrong; what is wrong with it, with an example of what would be right or with the
    fields that there are; and those that look like it."""
    first = most_precise(error.errors())
    if first["type"] == "json_invalid":  # its place is a position in the text
        at = f"{first['msg']} at character {first['loc'][-1]}: {first['ctx']['error']}"
        first = {**first, "loc": ("body",), "msg": at}
    elif tuple(first["loc"]) == ("body",) and "json" not in request.headers.get("content-type", "json"):
        sent = request.headers["content-type"]
        return "body", f"body: send it with the header Content-Type: application/json; it came as {sent}", ()
    # the leading part says body, query or path
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    said = f"{where}: {first['msg']}"
    if first["type"] == "extra_forbidden":
        description, path = route_in(request)
        known = fields_at(description, request.method, path, first["loc"][:-1])
        hint, near = near_ones(str(first["loc"][-1]), known)
        return where, f"{said}{hint}", near
    example = _example(request, request.method, first["loc"])
    return where, said if example is None else f"{said}, e.g. {example}", ()


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    where, said, near = refused_field(request, error)
    return answer(422, "invalid_field", said, field=where, suggestions=list(near))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if (ours := meant(error)) is not error:
        return await _typed(request, ours)
    response = answer(error.status_code, HTTP_NAMES.get(error.status_code, "http_error"), str(error.detail))
    response.headers.update(error.headers or {})
    return response
