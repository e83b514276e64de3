"""What both clients do, without doing any of it: flows say what to send and how long to pause.

A flow is a generator. It yields a request or a pause, is sent what came of it, and returns the result; one
client carries flows out by blocking, the other by awaiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import httpx

from deskhand_agent.apis.client import growing_pause_s
from deskhand_platform.api.evaluation_models import EvaluationModel
from deskhand_platform.api.job_models import JobModel
from deskhand_platform.api.models import Round, SubmittedTask
from deskhand_platform.client.errors import NotOver, ServerTrouble, Unreachable, refusal

T = TypeVar("T")
Asked = TypeVar("Asked", SubmittedTask, JobModel, EvaluationModel, Round)

BUSY = frozenset({429, 503})
"""The platform did not take the request: it can be sent again, whatever it asked for."""
FIRST_LOOK_S, LONGEST_LOOK_S = 0.1, 2.0
"""Pauses between looks at a task that is waited for; each is half as long again as the one before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[T]):
    """One request and how its answer is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Any = None
    """What is sent as JSON; None: nothing."""
    safe: bool = True
    """Sent twice it does what it does once: it goes again when the connection breaks off."""
    content: Callable[[], Iterator[bytes]] | None = None
    """What is sent in the body's place, as it is; asked for anew whenever it is sent."""
    into: Path | None = None
    """The file that the answer is written to as it comes, unless that is an error."""
    timeout_s: float | None = None
    """For this answer; None: the client's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Nothing is sent for so long."""

    seconds: float


Answer: TypeAlias = httpx.Response | httpx.TransportError | None
"""None: a pause is over."""
Flow: TypeAlias = Generator[Call[Any] | Pause, Answer, T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """With whom, and for how long after the first time a call is sent again."""

    address: str
    seconds: float

    def lost(self, error: httpx.TransportError) -> Unreachable:
        """What it is called in the end."""
        return Unreachable(
            f"no platform answers at {self.address} ({error}); is it up? `deskhand serve` starts one"
        )


def exchange(call: Call[T], patience: Patience) -> Flow[T]:
    """One call, again after trouble that passes, for as long as the patience lasts.

    Raises:
        Unreachable, ApiError: as their module says.
    """
    until, tried = time.monotonic() + patience.seconds, 0
    while True:
        answer = yield call
        tried += 1
        if isinstance(answer, httpx.Response) and not answer.is_error:
            return _read(call, answer, patience.address)
        pause_s = growing_pause_s(tried)
        if isinstance(answer, httpx.Response):
            error: Exception = (refused := refusal(answer))
            passes = answer.status_code in BUSY
            pause_s = pause_s if refused.retry_after_s is None else refused.retry_after_s
        else:
            assert answer is not None
            error = patience.lost(answer)
            # a connection that was never made carried no request
            passes = call.safe or isinstance(answer, httpx.ConnectError | httpx.ConnectTimeout)
        if not passes or time.monotonic() + pause_s > until:
            raise error
        yield Pause(seconds=pause_s)


def _read(call: Call[T], answer: httpx.Response, address: str) -> T:
    try:
        return call.read(answer)
    except ValueError as error:
        raise ServerTrouble(
            answer.status_code, f"{address} does not answer as a platform of this version does; is it one?"
        ) from error


def until_over(look: Call[Asked], timeout_s: float | None, patience: Patience) -> Flow[Asked]:
    """What was asked for when it is over.

    Raises:
        NotOver: the time has passed before; it goes on.
        Unreachable, ApiError: as `exchange`.
    """
    began, pause_s = time.monotonic(), FIRST_LOOK_S
    while True:
        found = yield from exchange(look, patience)
        if found.state.over:
            return found
        if timeout_s is not None:
            left_s = began + timeout_s - time.monotonic()
            if left_s <= 0:
                raise NotOver(f"{_name(found)} is {found.state} after {timeout_s:g} s")
            pause_s = min(pause_s, left_s)
        yield Pause(seconds=pause_s)
        pause_s = min(LONGEST_LOOK_S, pause_s * 1.5)


def _name(found: SubmittedTask | JobModel | EvaluationModel | Round) -> str:
    return f"round {found.id}" if isinstance(found, Round) else found.id
