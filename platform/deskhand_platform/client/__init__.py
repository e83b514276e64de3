"""The platform from a program: submit tasks, get their results, read what was recorded.

Importing this loads no part of the server and no torch.
"""

from deskhand_platform.client.asynchronous import AsyncDeskhand
from deskhand_platform.client.blocking import Deskhand
from deskhand_platform.client.errors import (
    ApiError,
    BrokenOff,
    ClientError,
    Conflict,
    InvalidRequest,
    Missing,
    NotAllowed,
    NotOver,
    NotSignedIn,
    ServerTrouble,
    TooMany,
    Unreachable,
)

__all__ = [
    "ApiError",
    "AsyncDeskhand",
    "BrokenOff",
    "ClientError",
    "Conflict",
    "Deskhand",
    "InvalidRequest",
    "Missing",
    "NotAllowed",
    "NotOver",
    "NotSignedIn",
    "ServerTrouble",
    "TooMany",
    "Unreachable",
]
