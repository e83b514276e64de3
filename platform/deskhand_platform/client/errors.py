"""What a call of the platform can end in.

ClientError
├── Unreachable              nobody answers at the address, or the connection broke off
├── BrokenOff                an export stopped in the middle: something of an episode is lost; says what
├── NotOver                  a task was still under way when the time to wait for it had passed
└── ApiError                 the platform refused; has the status, the stable name, the field and suggestions
    ├── InvalidRequest       422, 400: a value is refused; `field` names it
    ├── NotSignedIn          401: no token, or a wrong one
    ├── NotAllowed           403: the role or the token is not for this
    ├── Missing              404: no such thing; `suggestions` are names that exist and look alike
    ├── Conflict             409: the thing exists and cannot do that now, or the key is another task's
    ├── TooMany              429: a limit is reached; `retry_after_s` says when to try again
    └── ServerTrouble        5xx: the platform's own fault, or it is overloaded; or it is no platform
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import httpx

from deskhand_agent.apis.client import asked_pause_s


class ClientError(Exception):
    """Root of the client's errors."""


class Unreachable(ClientError):
    """Nobody answers at the address."""


class BrokenOff(ClientError):
    """An export stopped in the middle, and says why; nothing was written."""


class NotOver(ClientError):
    """A task was still under way when the time to wait for it had passed."""


class ApiError(ClientError):
    """The platform refused; the message is its own sentence."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "",
        field: str | None = None,
        suggestions: tuple[str, ...] = (),
        state: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        """Its stable name, e.g. "wrong_state"."""
        self.field = field
        self.suggestions = suggestions
        self.state = state
        """Of a conflict: the state that the thing is in; None: the message alone says it."""
        self.retry_after_s = retry_after_s
        """What the platform asks to wait before the next try; None: it does not say."""


class InvalidRequest(ApiError):
    """A value is refused."""


class NotSignedIn(ApiError):
    """No token, or a wrong one."""


class NotAllowed(ApiError):
    """The role or the token is not for this."""


class Missing(ApiError):
    """No such thing."""


class Conflict(ApiError):
    """It cannot be done as things stand."""


class TooMany(ApiError):
    """A limit is reached."""


class ServerTrouble(ApiError):
    """The platform's own fault, or it is overloaded; or what answers is no platform of this version."""


_KINDS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: NotSignedIn,
    403: NotAllowed,
    404: Missing,
    409: Conflict,
    422: InvalidRequest,
    429: TooMany,
}


def name_by_place(error: ApiError, place: Callable[[int], str]) -> None:
    """Have a refusal of one in a list of tasks name it by another place than the one in its request."""
    found = re.match(r"tasks\.(\d+)", error.field or "")
    if error.field is None or found is None:
        return
    there = place(int(found[1]))
    error.field = there + error.field.removeprefix(found[0])
    error.args = (str(error).replace(found[0], there, 1),)


def refusal(response: httpx.Response) -> ApiError:
    """The error that an answer is; its body has to be read already."""
    kind = ServerTrouble if response.status_code >= 500 else _KINDS.get(response.status_code, ApiError)
    try:
        told = cast("dict[str, Any]", response.json()["error"])
        message = str(told["message"])
    except (ValueError, KeyError, TypeError):
        told, message = {}, f"the platform answered {response.status_code}"
    return kind(
        response.status_code,
        message,
        kind=str(told.get("type", "")),
        field=told.get("field"),
        suggestions=tuple(told.get("suggestions") or ()),
        state=told.get("state"),
        retry_after_s=asked_pause_s(response.headers),
    )
