"""What may stand behind the `?` of an address: a parameter that its route does not have is refused by name.

A filter that was misspelt would let everything through.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection

from deskhand_platform.api.description import route_in
from deskhand_platform.errors import InvalidField, near_ones


async def refuse_unknown(connection: HTTPConnection) -> None:
    """
    Raises:
        InvalidField: the route has no such parameter; names the nearest.
    """
    if connection.scope["type"] != "http" or not connection.query_params:
        return
    description, path = route_in(connection)
    told = description["paths"].get(path, {}).get(connection.scope["method"].lower())
    if told is None:  # it describes the others
        return
    known = [one["name"] for one in told.get("parameters", ()) if one["in"] == "query"]
    for name in connection.query_params:
        if name not in known:
            hint, near = near_ones(name, known)
            reason = f"there is no such parameter{hint}" if known else "there are no parameters here"
            raise InvalidField(name, reason, suggestions=near)
