"""The platform over HTTP, for commands that need one that runs: on this machine or another."""

from __future__ import annotations

from typing import Annotated

import typer

from deskhand_platform.client import AsyncDeskhand as Client
from deskhand_platform.settings import Settings

__all__ = ["Client", "Url", "connect"]

PATIENCE_S = 3.0
"""A person waits: what does not answer by then is said."""
Url = Annotated[
    str | None,
    typer.Option("--url", help="the platform's address; DESKHAND_URL, or this home's own, when not given"),
]


def connect(settings: Settings, url: str | None = None) -> Client:
    """A client of the platform at `url`, else of the configured one, else of the one that serves this home.

    Raises:
        NotServing: nobody serves this home.
        Unauthorized: there is no token to show.
    """
    return Client(url or settings.url, home=settings.home, patience_s=PATIENCE_S)
