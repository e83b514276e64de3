"""Errors in OpenAI's form, for the routes that speak it."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from deskhand_flywheel.errors import FlywheelError, InvalidQuery, StoreUnavailable, UnknownPolicy
from deskhand_platform.api.chat_models import OpenAIError, OpenAIErrorBody
from deskhand_platform.api.errors import meant, refused_field, status_of
from deskhand_platform.errors import Forbidden, InvalidField, NoRoom, PlatformError, TooMuch, Unauthorized


class ChatRefused(PlatformError):
    """A request that no reply comes to."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code


class OpenAIRoute(APIRoute):
    """A route whose errors, those of its dependencies too, have OpenAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except (RequestValidationError, HTTPException, PlatformError, FlywheelError) as error:
                return _answer(request, error)

        return handled


def error_body(error: Exception) -> OpenAIError:
    """What is said of an error."""
    status, param, code = _read(error)
    message = str(error.detail) if isinstance(error, HTTPException) else str(error)
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return OpenAIError(error=OpenAIErrorBody(message=message, type=kind, param=param, code=code))


def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        error = meant(error)
    if isinstance(error, RequestValidationError):
        where, said, _near = refused_field(request, error)
        error = ChatRefused(400, said, param=where, code="invalid_value")
    status = _read(error)[0]
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, TooMuch):
        headers["Retry-After"] = str(math.ceil(error.retry_s))
    if isinstance(error, NoRoom):
        headers["Retry-After"] = f"{error.retry_after_s:.0f}"
    return JSONResponse(error_body(error).model_dump(), status_code=status, headers=headers)


def _read(error: Exception) -> tuple[int, str | None, str | None]:
    """Status, parameter and code."""
    match error:
        case HTTPException():
            return error.status_code, None, None
        case ChatRefused():
            return error.status, error.param, error.code
        case UnknownPolicy():
            return 404, "model", "model_not_found"
        case Unauthorized():
            return 401, None, "invalid_api_key"
        case Forbidden():
            return 403, None, None
        case NoRoom() | StoreUnavailable():
            return 503, None, "overloaded"
        case InvalidField():
            return 400, error.field, "invalid_value"
        case InvalidQuery():
            return 400, None, "invalid_value"
        case TooMuch():
            return 429, None, "rate_limit_exceeded"
        case _:
            return status_of(error), None, None
