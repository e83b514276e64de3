"""One model of one HTTP API, asked for JSON.

What passes (429, 5xx, a lost connection, a timeout, an answer that makes no sense) is tried again, after the
pause the server asks for or a growing one. Each trouble is counted by its kind and stands with the reply that
came in the end, or on the error.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import httpx

from deskhand_agent.accounts import spending, together
from deskhand_agent.addresses import names_a_server
from deskhand_agent.apis.key import key_of
from deskhand_agent.apis.pace import Pace
from deskhand_agent.errors import EndpointError, InferenceTimeout, Trouble

T = TypeVar("T")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0
"""Of the pauses no server asked for; each is twice the one before, less a random part of a quarter."""
_PASSING = frozenset({408, 409, 429})
_READS: Mapping[str, float] = {"retry-after-ms": 1e-3, "retry-after": 1.0}
"""Header -> seconds of its unit, the finer one first."""
MOST = 10**12
"""Tokens that no reply has: sums and prices of fewer are finite."""


class Nonsense(ValueError):
    """What came is no reply; says what is wrong with it."""

    def __init__(self, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage
        """What it cost all the same, where it says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiSettings:
    """Which model of which server, and how to ask."""

    model: str
    base_url: str | None = None
    """None: the provider's own."""
    api_key: str | None = field(default=None, repr=False)
    """None: from the provider's variable; servers of one's own that want none need none."""
    timeout_s: float = 50.0
    """For one request."""
    retries: int = 2
    """Further requests after trouble that passes."""
    patience_s: float = 100.0
    """No further request begins so long after the first; a pause that would pass it is not waited for."""
    requests_per_minute: float = math.inf
    tokens_per_minute: float = math.inf
    """Prompt and reply together."""
    usd_per_million_prompt_tokens: float = 0.0
    usd_per_million_cached_tokens: float | None = None
    """Of a prompt that the server had seen before; None: as the others."""
    usd_per_million_completion_tokens: float = 0.0

    def __post_init__(self) -> None:
        for name in ("timeout_s", "patience_s", "requests_per_minute", "tokens_per_minute"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give more than 0")
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}: give 0 or more")

    @property
    def longest_s(self) -> float:
        """Seconds until there is a reply or an error, waits for a turn at a rate limit left out."""
        return self.timeout_s + (self.patience_s if self.retries else 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one reply, as the server reports them."""

    prompt_tokens: int
    """All, the cached ones included."""
    completion_tokens: int
    """Hidden reasoning included."""
    cached_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiReply(Generic[T]):
    """What came back."""

    content: T
    cost: Mapping[str, float]
    """As in `Decision.cost`."""


class ApiClient:
    """Asks; keeps its connections and its pace between requests."""

    def __init__(
        self,
        settings: ApiSettings,
        *,
        name: str,
        base_url: str,
        key_variable: str,
        headers: Callable[[str], dict[str, str]],
    ) -> None:
        """
        Args:
            name: of the model, in messages.
            base_url: the provider's own.
            key_variable: where the environment has the key.
            headers: what is sent besides, given the key.

        Raises:
            EndpointError: the provider itself is asked for without a key, or the key or the URL is none.
        """
        self._settings, self._name = settings, name
        key = key_of(settings.api_key, key_variable)
        if not key and settings.base_url is None:
            raise EndpointError(
                f"no key for the endpoint: set {key_variable}, or give the base_url of a server",
                trouble=Trouble.REFUSED,
            )
        url = settings.base_url or base_url
        if not names_a_server(url):
            raise EndpointError(f"{url!r} is no URL of a server", trouble=Trouble.REFUSED)
        self._client = httpx.AsyncClient(
            base_url=url,
            timeout=settings.timeout_s,
            headers={"Content-Type": "application/json", **headers(key or "none")},
            limits=httpx.Limits(max_connections=None),
        )
        self._pace = Pace(
            requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute
        )
        self.troubles: Counter[Trouble] = Counter()
        """Of all requests so far."""

    async def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[object], tuple[T, Usage | None]]
    ) -> ApiReply[T]:
        """One reply.

        Args:
            read: the content and what it cost, from the JSON that came; raises `Nonsense` where it is none.

        Raises:
            InferenceTimeout: the last request passed its deadline.
            EndpointError: the last request was refused or broke, or what came back makes no sense.
        """
        began_s, troubles, waited_s = math.inf, Counter[Trouble](), 0.0
        used: list[Usage] = []
        while True:
            asked_s = time.monotonic()
            taken = await self._pace.begin()
            waited_s += time.monotonic() - asked_s
            began_s = min(began_s, time.monotonic())
            got = await self._once(path, body, read)
            usage = got.usage if isinstance(got, _Missed) else got[1]
            if usage is not None:
                used.append(usage)
                self._pace.settle(taken, usage.prompt_tokens + usage.completion_tokens)
            elif isinstance(got, _Missed):
                self._pace.settle(taken, 0)
            if not isinstance(got, _Missed):
                return ApiReply(content=got[0], cost=self._cost(used, troubles, waited_s))
            troubles[got.trouble] += 1
            self.troubles[got.trouble] += 1
            tried = troubles.total()
            pause_s = growing_pause_s(tried) if got.pause_s is None else got.pause_s
            late = time.monotonic() + pause_s > began_s + self._settings.patience_s
            if got.trouble is Trouble.RATE_LIMITED:
                # the others too, whether or not this one gives up; beyond its patience they may ask again
                self._pace.hold(min(pause_s, self._settings.patience_s))
            if not got.passing or tried > self._settings.retries or late:
                raise self._error(got, troubles, used, waited_s)
            if got.trouble is not Trouble.RATE_LIMITED:
                waited_s += pause_s
                await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _once(
        self, path: str, body: Mapping[str, Any], read: Callable[[object], tuple[T, Usage | None]]
    ) -> tuple[T, Usage | None] | _Missed:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                # escaped: what a model wrote may hold half a surrogate pair, which UTF-8 has no bytes for
                got = await self._client.post(path, content=json.dumps(body))
        except (TimeoutError, httpx.TimeoutException):
            said = f"did not reply within {self._settings.timeout_s:g} s"
            return _Missed(trouble=Trouble.TIMEOUT, said=said, passing=True)
        except httpx.LocalProtocolError:
            # its text quotes what may not be sent, which may be a key
            said = "cannot be asked: the request breaks the rules of HTTP"
            return _Missed(trouble=Trouble.REFUSED, said=said, passing=False)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = f"could not be asked: {error or type(error).__name__}"
            return _Missed(trouble=Trouble.UNREACHABLE, said=said, passing=True)
        if got.status_code != 200:
            return _refusal(got)
        try:
            return read(cast("object", got.json()))
        except (ValueError, RecursionError) as error:
            known = isinstance(error, Nonsense)
            said = f"sent back no reply: {error if known else f'{got.text[:200]!r}'}"
            return _Missed(
                trouble=Trouble.NONSENSE, said=said, passing=True, usage=error.usage if known else None
            )

    def _error(
        self, missed: _Missed, troubles: Counter[Trouble], used: Sequence[Usage], waited_s: float
    ) -> EndpointError | InferenceTimeout:
        tried = ", ".join(f"{trouble} {count}" for trouble, count in troubles.items())
        several = f" ({troubles.total()} requests: {tried})" if troubles.total() > 1 else ""
        message = f"{self._name} {missed.said}{several}{spending(together(map(self._priced, used)))}"
        cost = self._cost(used, troubles, waited_s)
        if missed.trouble is Trouble.TIMEOUT:
            return InferenceTimeout(message, cost=cost)
        return EndpointError(message, status=missed.status, trouble=missed.trouble, cost=cost)

    def _cost(self, used: Sequence[Usage], troubles: Counter[Trouble], waited_s: float) -> dict[str, float]:
        cost = together(map(self._priced, used))
        cost |= {str(trouble): float(count) for trouble, count in troubles.items()}
        return cost | ({"waited_s": waited_s} if waited_s >= 0.01 else {})

    def _priced(self, usage: Usage) -> dict[str, float]:
        prices = self._settings
        cached_price = prices.usd_per_million_cached_tokens
        whole_price = prices.usd_per_million_prompt_tokens
        usd = (
            (usage.prompt_tokens - usage.cached_tokens) * whole_price
            + usage.cached_tokens * (whole_price if cached_price is None else cached_price)
            + usage.completion_tokens * prices.usd_per_million_completion_tokens
        ) / 1e6
        cost = {
            "prompt_tokens": float(usage.prompt_tokens),
            "completion_tokens": float(usage.completion_tokens),
            "usd": usd,
        }
        return cost | ({"cached_tokens": float(usage.cached_tokens)} if usage.cached_tokens else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Missed:
    """A request without a reply."""

    trouble: Trouble
    said: str
    passing: bool
    """Another request may do better."""
    status: int | None = None
    pause_s: float | None = None
    """What the server asks to wait; None: it does not say."""
    usage: Usage | None = None
    """What came was counted, though it is no reply; None: nothing came, or it does not say."""


def whole(body: object, *path: str) -> int | None:
    """A whole number in JSON, not negative and no more than `MOST`; None where there is none."""
    value = body
    for name in path:
        value = cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def _refusal(got: httpx.Response) -> _Missed:
    status = got.status_code
    if status == 429:
        trouble = Trouble.RATE_LIMITED
    else:
        trouble = Trouble.SERVER_ERROR if status >= 500 else Trouble.REFUSED
    passing = status in _PASSING or status >= 500
    wished = got.headers.get("x-should-retry")
    return _Missed(
        trouble=trouble,
        said=f"answered {status}: {_message(got)}",
        passing=passing if wished not in ("true", "false") else wished == "true",
        status=status,
        pause_s=asked_pause_s(got.headers),
    )


def _message(got: httpx.Response) -> str:
    """What the server says is wrong, in short."""
    try:
        error = got.json()["error"]
        return str(error["message"] if isinstance(error, Mapping) else error)[:500]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return got.text[:500]


def asked_pause_s(headers: httpx.Headers) -> float | None:
    """What `Retry-After` says (RFC 9110, section 10.2.3), in seconds or as a date; None: nothing."""
    for name, unit_s in _READS.items():
        try:
            pause_s = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if 0 <= pause_s < math.inf:
            return pause_s
    try:
        return max(0.0, email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def growing_pause_s(tried: int) -> float:
    """How long to wait before the next request after so many that failed."""
    longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tried - 1, 30))
    return longest * random.uniform(0.75, 1.0)
