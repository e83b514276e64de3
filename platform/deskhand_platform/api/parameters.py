"""What may stand behind the `?` of an address: a parameter that its route does not have is refused by name.

A filter that was misspelt would let everything through.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from deskhand_platform.errors import InvalidField, near_ones


async def refuse_unknown(connection: HTTPConnection) -> None:
    """
    Raises:
        InvalidField: the route has no such parameter; names the nearest.
    """
    route = connection.scope.get("route")
    if not connection.query_params or not isinstance(route, APIRoute) or not route.include_in_schema:
        return
    # of the route itself: the API's description says the same, and takes a second to make
    known = list(_parameters(route.dependant))
    for name in connection.query_params:
        if name not in known:
            hint, near = near_ones(name, known)
            reason = f"there is no such parameter{hint}" if known else "there are no parameters here"
            raise InvalidField(name, reason, suggestions=near)


def _parameters(asked: Dependant) -> Iterator[str]:
    """What a route takes behind the `?`, by itself and through what it depends on."""
    yield from (field.alias for field in asked.query_params)
    for each in asked.dependencies:
        yield from _parameters(each)
