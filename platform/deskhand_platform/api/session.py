"""POST /login and POST /logout: the page trades a password or a token for a cookie, and gives that back.

Both come in the body only: an address stays in histories, logs and screenshots.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from deskhand_platform.accounts.signing_in import Credentials
from deskhand_platform.api.deps import Have, source_of
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.api.origin import refuse_other_origin
from deskhand_platform.errors import InvalidField

router = APIRouter(tags=["accounts"])
REFUSED: dict[int | str, dict[str, Any]] = {status: {"model": ErrorAnswer} for status in (401, 403, 422, 429)}
_ANY = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("name", "password", "token")},
    "anyOf": [{"required": ["name", "password"]}, {"required": ["token"]}],
    "examples": [{"name": "ada", "password": "correct horse battery staple"}],
}
SHOWN: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {"schema": _ANY},
        "application/x-www-form-urlencoded": {"schema": _ANY},
    },
}
MAX_BODY_BYTES = 4096
"""Anybody may send one: no more of it than a name and a password need is read."""

COOKIE_S = 400 * 86400
"""As long as browsers keep any: the session itself ends when it was not used for `auth.session_s`."""


@router.post(
    "/login",
    status_code=204,
    responses={303: {"description": "of a form: on to the page"}, **REFUSED},
    openapi_extra={"requestBody": SHOWN},
)
async def login(request: Request, have: Have) -> Response:
    """Sign a browser in: JSON `{"name": …, "password": …}` or `{"token": …}` answers 204; form fields lead on
    to the page.

    Raises:
        InvalidField: there is neither in the body.
        Unauthorized: it is not right.
        TooManyTries: it went wrong too often.
        Forbidden: a page of another site sent it.
    """
    refuse_other_origin(request, have.settings.hosts)
    as_json = request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
    body = await _body(request)
    shown = _credentials(
        _from_json(body) if as_json else {key: each[0] for key, each in parse_qs(body).items()}
    )
    value = await have.accounts.sign_in(shown, source_of(request))
    response = Response(status_code=204) if as_json else RedirectResponse("/", status_code=303)
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        have.accounts.cookie,
        value,
        max_age=COOKIE_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


@router.post("/logout", status_code=204, responses={403: {"model": ErrorAnswer}})
async def logout(request: Request, have: Have) -> Response:
    """Sign a browser out; one that is not signed in stays as it is.

    Raises:
        Forbidden: a page of another site sent it.
    """
    refuse_other_origin(request, have.settings.hosts)
    response = Response(status_code=204, headers={"Cache-Control": "no-store"})
    # another site's page cannot send the cookie, and so cannot sign anybody out
    if (value := request.cookies.get(have.accounts.cookie)) is not None:
        await have.accounts.sessions.end(value)
        response.delete_cookie(have.accounts.cookie, httponly=True, samesite="strict", path="/")
    return response


def _credentials(given: Mapping[str, object]) -> Credentials:
    def text(key: str) -> str:
        value = given.get(key)
        return value if isinstance(value, str) else ""

    if token := text("token").strip():
        return Credentials(token=token)
    name, password = text("name").strip(), text("password")
    if "\0" in name:
        raise InvalidField("name", "is none that the database can hold")
    if name and password:
        return Credentials(name=name, password=password)
    missing = "password" if name else "name" if password else "token"
    raise InvalidField(missing, "send name and password, or a token, as JSON or as form fields")


async def _body(request: Request) -> str:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise InvalidField("token", "is longer than any token")
    return body.decode(errors="replace")


def _from_json(body: str) -> Mapping[str, object]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidField("token", "the body is not JSON") from error
    return cast("Mapping[str, object]", values) if isinstance(values, dict) else {}
