"""A key as it may be sent in a header."""

from __future__ import annotations

import os

from deskhand_agent.errors import EndpointError, Trouble


def key_of(given: str | None, variable: str) -> str | None:
    """The key given, or else the environment's, without the white space around it; None: there is none.

    Raises:
        EndpointError: it has signs that no header takes; says so without quoting it.
    """
    key = (given or os.environ.get(variable) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise EndpointError(
            f"the endpoint's key (as it was given, or {variable}) has a line break in it or a sign beyond "
            "ASCII, which no header takes: give it as it was issued",
            trouble=Trouble.REFUSED,
        )
    return key or None
