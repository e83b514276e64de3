"""What is asked of the task's own page alone: an agent may open others, and they answer what they like."""

from __future__ import annotations

import json

from deskhand_sandbox.errors import InvalidTask


def asked_of(page: str, expression: str) -> str:
    """The expression, null where another page than this is in front.

    A page cannot change its `location`, nor what "===" does; anything else in it may be its own.

    Args:
        page: its address without query and fragment; one that ends at the host means all pages of it, and an
            empty one those of any host.
    """
    origin = page.removesuffix("/")
    if not origin:
        mine = "location.hostname !== ''"
    elif "/" in origin.partition("://")[2]:
        mine = f"location.origin + location.pathname === {json.dumps(page)}"
    else:
        mine = f"location.origin === {json.dumps(origin)}"
    return f"!({mine}) ? null : {expression}"


def checked_page(page: object) -> str:
    """An address for `asked_of`.

    Raises:
        InvalidTask: it is none.
    """
    if not isinstance(page, str) or (page and not page.startswith(("http://", "https://"))):
        raise InvalidTask(f"page must be the address of the task's page, not {page!r}")
    return page
