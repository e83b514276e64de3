"""POST /login and POST /logout: the page trades the token for a cookie, and gives the cookie back.

The token comes in the body only: an address stays in histories, logs and screenshots.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from deskhand_platform.annotators import annotator_session
from deskhand_platform.api.deps import Have, holder
from deskhand_platform.auth import OWNER
from deskhand_platform.errors import InvalidField, Unauthorized

router = APIRouter(include_in_schema=False)
MAX_BODY_BYTES = 4096
"""Anybody may send one: no more of it than a token needs is read."""


@router.post("/login")
async def login(request: Request, have: Have) -> Response:
    """Sign a browser in. JSON `{"token": …}` answers 204; a form field `token` leads on to the page.

    Raises:
        InvalidField: there is no token in the body.
        Unauthorized: it is not this platform's.
    """
    as_json = request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
    body = await _body(request)
    token = _from_json(body) if as_json else parse_qs(body).get("token", [""])[0]
    if not token.strip():
        raise InvalidField("token", "send it as JSON or as a form field")
    name = await holder(have, token.strip())
    if name is None:
        raise Unauthorized("that is not this platform's token")
    response = Response(status_code=204) if as_json else RedirectResponse("/", status_code=303)
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        have.gate.cookie,
        have.gate.session if name == OWNER else annotator_session(name, token.strip()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


@router.post("/logout")
async def logout(request: Request, have: Have) -> Response:
    """Sign a browser out; one that is not signed in stays as it is."""
    response = Response(status_code=204, headers={"Cache-Control": "no-store"})
    # another site's page cannot send the cookie, and so cannot sign anybody out
    if have.gate.cookie in request.cookies:
        response.delete_cookie(have.gate.cookie, httponly=True, samesite="strict", path="/")
    return response


async def _body(request: Request) -> str:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise InvalidField("token", "is longer than any token")
    return body.decode(errors="replace")


def _from_json(body: str) -> str:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidField("token", "the body is not JSON") from error
    token = cast("Mapping[str, object]", values).get("token") if isinstance(values, dict) else None
    return token if isinstance(token, str) else ""
