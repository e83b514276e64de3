"""What routes ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, cast

from fastapi import Depends, Query, Request

from deskhand_platform.auth import OWNER
from deskhand_platform.errors import Forbidden, InvalidField, Unauthorized
from deskhand_platform.feed import EventFeed
from deskhand_platform.services import Services

MAX_PAGE = 200


async def services(request: Request) -> Services:
    """The services the application was made with."""
    return cast(Services, request.app.state.services)


async def feed(request: Request) -> EventFeed:
    """The event table as it grows."""
    return cast(EventFeed, request.app.state.feed)


Have = Annotated[Services, Depends(services)]
Feed = Annotated[EventFeed, Depends(feed)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="how many at most")]
Label = Annotated[list[str] | None, Query(description="`key=value`; all of them must match")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before")]


async def signed_in(request: Request, have: Have) -> str:
    """Who asks: by the token they send as bearer, or by their session cookie.

    Raises:
        Unauthorized: neither, or a wrong one.
    """
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and (name := await holder(have, token.strip())) is not None:
            return name
        raise Unauthorized(f"the token is not this platform's; it lies in {have.settings.home / 'token'}")
    cookie = request.cookies.get(have.gate.cookie)
    if cookie is not None:
        name = OWNER if have.gate.knows_session(cookie) else await have.annotators.with_session(cookie)
        if name is not None:
            return name
    raise Unauthorized(
        "a token is needed: send `Authorization: Bearer TOKEN`, or sign the browser in with `POST /login`"
    )


async def holder(have: Services, token: str) -> str | None:
    """Whose token it is; None: nobody's."""
    return OWNER if have.gate.knows_token(token) else await have.annotators.with_token(token)


User = Annotated[str, Depends(signed_in)]


async def owner_changes(request: Request, user: User) -> None:
    """Lets annotators read and nobody but the owner change anything.

    Raises:
        Unauthorized: as `signed_in`.
        Forbidden: it is an annotator's token.
    """
    if user != OWNER and request.method not in ("GET", "HEAD"):
        raise Forbidden(
            f"{user}'s token reads and annotates; for this, sign in with the platform's own token"
        )


def labelled(pairs: Iterable[str]) -> dict[str, str]:
    """The labels that a query asks for.

    Raises:
        InvalidField: one is not of the form key=value.
    """
    labels: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InvalidField("label", f"{pair!r} is not of the form key=value")
        labels[key] = value
    return labels
