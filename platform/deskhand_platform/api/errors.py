"""Every error in one shape: {"error": {type, message, field?, suggestions?}}."""

from __future__ import annotations

import re

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from deskhand_flywheel.errors import (
    CorruptBlob,
    DatasetRefused,
    FlywheelError,
    InvalidQuery,
    InvalidScore,
    MissingBlob,
    NotTheirs,
    StillRunning,
    StorageFull,
    StoreUnavailable,
)
from deskhand_flywheel.errors import NotFound as NotStored
from deskhand_platform.api.models import ErrorAnswer, ErrorBody
from deskhand_platform.errors import (
    Forbidden,
    InvalidField,
    NotFound,
    PlatformError,
    PreviewFailed,
    Unauthorized,
    WrongState,
)
from deskhand_sandbox.errors import SandboxError, UnknownName

STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    NotStored: 404,
    MissingBlob: 404,
    CorruptBlob: 422,
    UnknownName: 404,
    WrongState: 409,
    StillRunning: 409,
    InvalidField: 422,
    InvalidQuery: 422,
    InvalidScore: 422,
    DatasetRefused: 422,
    Forbidden: 403,
    NotTheirs: 403,
    Unauthorized: 401,
    StorageFull: 507,
    StoreUnavailable: 503,
    PreviewFailed: 503,
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
    return JSONResponse(body.model_dump(exclude_defaults=True), status_code=status)


async def _typed(_request: Request, error: Exception) -> JSONResponse:
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    kind = NAMES.get(status) or re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
    response = answer(
        status,
        kind,
        str(error),
        field=getattr(error, "field", None),
        suggestions=list(getattr(error, "suggestions", ())),
    )
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # the leading part says body, query or path
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return answer(422, "invalid_field", f"{where}: {first['msg']}", field=where)


async def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return answer(error.status_code, HTTP_NAMES.get(error.status_code, "http_error"), str(error.detail))
