"""What routes ask for, and the one door that every request comes through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Query, Request
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.requests import HTTPConnection

from deskhand_agent.ids import is_id
from deskhand_flywheel.errors import InvalidCursor
from deskhand_platform.accounts.access import OPEN, ROLES, ROUTES, Own, Principal, Rule
from deskhand_platform.api.origin import refuse_other_sites
from deskhand_platform.errors import Forbidden, InvalidField, NotFound, PlatformError, Unauthorized
from deskhand_platform.feed import EventFeed
from deskhand_platform.rounds.logs import PIECE_BYTES
from deskhand_platform.services import Services
from deskhand_platform.webhooks.book import WebhookBook

T = TypeVar("T")
MAX_PAGE = 200
PREFIX = "/v1"
"""Of the API's routes."""


async def services(connection: HTTPConnection) -> Services:
    """The services the application was made with."""
    return cast(Services, connection.app.state.services)


async def feed(request: Request) -> EventFeed:
    """The event table as it grows."""
    return cast(EventFeed, request.app.state.feed)


Have = Annotated[Services, Depends(services)]
Feed = Annotated[EventFeed, Depends(feed)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="how many at most")]
Label = Annotated[list[str] | None, Query(description="`key=value`; all of them must match")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before")]


RowId = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""The number of a row that is counted up."""


LogOffset = Annotated[
    int | None,
    Query(ge=0, le=2**53, description="where to begin, in bytes: `next_offset` of the piece before"),
]
LogTail = Annotated[
    int, Query(ge=1, le=PIECE_BYTES, description="without an offset: so many bytes at the end")
]
"""Of a log that grows."""


def before(cursor: str | None, below: int = 2**31) -> int | None:
    """The number that the cursor of a list of such rows stands for.

    Args:
        below: what every such number is.

    Raises:
        InvalidCursor: no list gave it out.
    """
    if cursor is None:
        return None
    # not too many digits for `int`
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 20 or int(cursor) >= below:
        raise InvalidCursor(cursor)
    return int(cursor)


def cursor_id(cursor: str | None) -> str | None:
    """The id that the cursor of a list of such things stands for.

    Raises:
        InvalidCursor: no list gave it out.
    """
    if cursor is not None and not is_id(cursor):
        raise InvalidCursor(cursor)
    return cursor


def after(cursor: str | None, every: Sequence[T], id_of: Callable[[T], str]) -> Sequence[T]:
    """Those of a list after the one whose id its cursor is.

    Raises:
        InvalidCursor: it has none of that id.
    """
    if cursor is None:
        return every
    at = next((at for at, each in enumerate(every) if id_of(each) == cursor), None)
    if at is None:
        raise InvalidCursor(cursor)
    return every[at + 1 :]


async def admit(connection: HTTPConnection, have: Have) -> Principal | None:
    """Lets nobody through to a route who is not meant for it; None: the route is for anybody.

    Raises:
        Unauthorized: they did not say who they are, or that is not so.
        Forbidden: their role or their token is not for this route, or another site's page sent them.
        NotFound: the task, episode or webhook is not theirs to see.
    """
    route = route_of(connection)
    if route in OPEN:
        return None
    who = await _signed_in(connection, have)
    connection.state.who = who.name
    rule = ROUTES.get(route)
    if rule is None or not who.may(rule):
        raise Forbidden(_refusal(who, rule))
    if who.only is not None and rule.own.of_id:
        await _check_own(have, rule.own, connection.path_params["id"], who.only)
    return who


def route_of(connection: HTTPConnection) -> str:
    """The route as `accounts.access` names it; empty when there is none. A WebSocket's method is `WS`."""
    route = connection.scope.get("route")
    if not isinstance(route, APIRoute | APIWebSocketRoute):
        return ""
    # FastAPI names a route of an included router without the router's prefix, or with it, by version
    prefix = "" if route.path_regex.match(connection.url.path) else PREFIX
    path = route.path.replace(":path}", "}")
    return f"{connection.scope.get('method', 'WS')} {prefix}{path}"


def _refusal(who: Principal, rule: Rule | None) -> str:
    if rule is None:
        return "nobody may do this: the route is not in the table of who may do what"
    if rule.scope in ROLES[who.role] and rule.scope not in who.scopes:
        return f"{who.name}'s token is not for this: it needs the scope {rule.scope!r}"
    if rule.unlimited and who.limited:
        return "a token for some scopes or for a time is not traded for more: sign in by password"
    return f"{who.name} is {who.role}, and this is not for that role; an administrator can give another"


async def _check_own(have: Services, own: Own, id: str, name: str) -> None:
    if own is Own.TASK:
        whose, what = (await have.queue.get(id)).owner, "submitted task"
    elif own is Own.WEBHOOK:
        whose, what = (await WebhookBook(have.store.database).get(id)).owner, "webhook"
    else:
        whose, what = (await have.store.summary(id)).labels.get("owner"), "trajectory"
    if whose != name:
        raise NotFound(what, id)


async def _signed_in(connection: HTTPConnection, have: Services) -> Principal:
    """Who asks: by the token they send as bearer, or by their session cookie."""
    header = connection.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and (who := await have.accounts.tokens.holder(token.strip())):
            return who
        raise Unauthorized("the token is not this platform's, or it has expired or was revoked")
    cookie = connection.cookies.get(have.accounts.cookie)
    if cookie is not None and (who := await have.accounts.sessions.holder(cookie)) is not None:
        refuse_other_sites(connection, have.settings.hosts)
        return who
    raise Unauthorized(
        "a token is needed: send `Authorization: Bearer TOKEN`, or sign the browser in with `POST /login`"
    )


# Dependencies are asynchronous though they wait for nothing: FastAPI sends a plain one to a thread.


async def who(found: Annotated[Principal | None, Depends(admit)]) -> Principal:
    """Who asks.

    Raises:
        Unauthorized: the route is for anybody, and so nobody was asked.
    """
    if found is None:
        raise Unauthorized("this needs somebody who is signed in")
    return found


Who = Annotated[Principal, Depends(who)]


async def still_in(connection: HTTPConnection, have: Have, who: Who) -> Callable[[], Awaitable[bool]]:
    """For what goes on for long: whether who asked would be let in now, too, for the same."""

    async def ask() -> bool:
        try:
            now = await admit(connection, have)
        except PlatformError:
            return False
        return now is not None and (now.only, now.scopes) == (who.only, who.scopes)

    return ask


StillIn = Annotated[Callable[[], Awaitable[bool]], Depends(still_in)]


async def user(who: Who) -> str:
    """The name of who asks."""
    return who.name


User = Annotated[str, Depends(user)]


async def noted(request: Request) -> Callable[[str], None]:
    """Takes down for the audit log what the address does not say."""

    def note(detail: str) -> None:
        request.state.detail = detail

    return note


Noted = Annotated[Callable[[str], None], Depends(noted)]


def state_of(request: Request, name: str) -> Any:
    """What a dependency left with the request; empty when it did not come so far."""
    return getattr(request.state, name, "")


def source_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else ""


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
