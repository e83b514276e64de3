"""An `InferenceEngine` that asks a server by ids, and can give it other weights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import httpx

from deskhand_agent.addresses import names_a_server
from deskhand_agent.apis.key import key_of
from deskhand_agent.endpoint.wire import PATHS, Form, Vocabulary, read_completion, version_of, write_request
from deskhand_agent.errors import EndpointError, InferenceError, InferenceTimeout, Trouble
from deskhand_agent.inference import Completion, CompletionRequest

TOKEN_VARIABLE = "DESKHAND_ENGINE_TOKEN"
TAKING_S = 600.0
"""Seconds for reading new weights, beside those in which the replies under way end."""
_AGAIN = frozenset({429, 502, 503})


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointSettings:
    """Which server, and how to ask it."""

    url: str
    """http://HOST:PORT."""
    form: Form = "sglang"
    """What it speaks: "sglang" (our own does too), or "vllm"."""
    model: str = ""
    """The name vLLM serves it under."""
    token: str | None = field(default=None, repr=False)
    """None: from DESKHAND_ENGINE_TOKEN, or none."""
    timeout_s: float = 120.0
    """For one request."""
    retries: int = 2
    """Further requests after 429, 502, 503 or a connection that could not be made, with growing pauses."""
    pause_s: float = 0.5
    """Before the first further one; each pause is twice the one before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandedWeights:
    """Weights as a server is given them."""

    folder: Path
    """Of a model, whole, that the server can read at this path."""
    update: int
    """How many online updates they have seen."""
    version: str
    """What the server calls them in its replies; no other weights are called so."""


class HttpEngine:
    """An `InferenceEngine` on a server; close it, or use it as an async context."""

    def __init__(
        self, settings: EndpointSettings, vocabulary: Vocabulary, *, policy_id: str, any_weights: bool = False
    ) -> None:
        """
        Args:
            vocabulary: of the policy whose prompts are sent.
            policy_id: of the policy whose replies are wanted; stands on completions.
            any_weights: whatever it serves is fine, for it is given others before it is asked.

        Raises:
            EndpointError: the url is none, or the token has signs that no header takes.
        """
        self.settings = settings
        self.policy_id = policy_id
        self.waiting = 0
        """Requests that are not answered yet."""
        self._vocabulary, self._any_weights = vocabulary, any_weights
        if not names_a_server(settings.url):
            raise EndpointError(f"{settings.url!r} is no http://HOST:PORT", trouble=Trouble.REFUSED)
        token = key_of(settings.token, TOKEN_VARIABLE)
        self._client = httpx.AsyncClient(
            base_url=settings.url,
            timeout=settings.timeout_s,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
        )
        self._agreeing = asyncio.Lock()
        self._info: dict[str, Any] | None = None
        self._handing = asyncio.Lock()
        self._wanted: HandedWeights | None = None
        self._held: HandedWeights | None = None
        """What the server has of what it was given; None: nothing, or it does not have it any more."""
        self._updates: dict[str, int] = {}
        """Of all that it was given, by version."""
        self._busy_s, self._busy_since = 0.0, 0.0

    @property
    def busy_s(self) -> float:
        """Seconds in which at least one request was under way."""
        return self._busy_s + (time.monotonic() - self._busy_since if self.waiting else 0.0)

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`.

        Raises:
            InferenceTimeout: the server passed the deadline.
            EndpointError: it cannot be reached, refused, or what it sent is no completion of this prompt, or
                none by weights that it was given.
            InferenceError: it serves another policy, or its form cannot say the request.
        """
        with self._under_way():
            await self.agree(request.processor_hash)
            await self._hand_over()
            form = self.settings.form
            body = write_request(request, form, self._vocabulary, model=self.settings.model)
            answer = await self._ask("POST", PATHS[form], body)
            completion = read_completion(answer, form, request, policy_id=self.policy_id)
            return completion if self._wanted is None else self._dated(completion, version_of(answer))

    async def update_weights(self, weights: HandedWeights) -> None:
        """Have the server take other weights, by SGLang's `/update_weights_from_disk`.

        It ends the replies under way by those it had. Whatever is asked here meanwhile waits, and completions
        say from then on which of the weights given here drew them.

        Raises:
            EndpointError: it cannot be reached, or does not take them; it is asked again before the next
                reply.
            InferenceTimeout: it took longer than for a reply and `TAKING_S` beyond.
        """
        self._wanted = weights
        await self._hand_over()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> HttpEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def agree(self, processor_hash: str) -> None:
        """Make sure that the server is the one meant, as far as it tells: ours tells all, others nothing.

        Raises:
            InferenceError: it serves another policy, or one of another tokenizer, pictures or template.
            EndpointError, InferenceTimeout: it does not answer.
        """
        async with self._agreeing:
            if self._info is None:
                self._info = await self._told() if self.settings.form == "sglang" else {}
        theirs = self._info.get("processor_hash", processor_hash)
        if theirs != processor_hash:
            raise InferenceError(
                f"the prompt was made by processor {processor_hash[:12]}, the server has "
                f"{str(theirs)[:12]}: tokenise with the policy that it serves"
            )
        tells = "processor_hash" in self._info and not self._any_weights
        if tells and self._info.get("model_path") != self.policy_id:
            raise InferenceError(
                f"{self.settings.url} serves {self._info.get('model_path')}, not {self.policy_id}"
            )

    @contextmanager
    def _under_way(self) -> Generator[None]:
        if not self.waiting:
            self._busy_since = time.monotonic()
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
            if not self.waiting:
                self._busy_s += time.monotonic() - self._busy_since

    async def _hand_over(self) -> None:
        """Give the server what it is to have, unless it has it."""
        if self._held is self._wanted:
            return
        async with self._handing:
            wanted = self._wanted
            if wanted is None or wanted is self._held:
                return
            # a reply by them may be here before the answer to this is
            self._updates[wanted.version] = wanted.update
            body = {"model_path": str(wanted.folder), "weight_version": wanted.version}
            timeout_s = self.settings.timeout_s + TAKING_S
            said = await self._ask("POST", "/update_weights_from_disk", body, timeout_s=timeout_s)
            if not isinstance(said, dict) or cast("dict[str, Any]", said).get("success") is not True:
                raise EndpointError(f"{self.settings.url} does not take weights: {said}", status=400)
            self._held = wanted

    def _dated(self, completion: Completion, version: str | None) -> Completion:
        """With the number of the weights that drew it, which are some that were given here."""
        if version not in self._updates:
            self._held = None
            raise EndpointError(
                f"{self.settings.url} drew a reply by weights {version!r}, which it was not given: it was "
                "started again, and is given the run's anew, or another run uses it too, which wants one "
                "of its own; an SGLang that says no weight_version is too old"
            )
        return replace(completion, policy_id=self.policy_id, policy_update=self._updates[version])

    async def _told(self) -> dict[str, Any]:
        try:
            told = await self._ask("GET", "/get_model_info", None)
        except EndpointError as error:
            if error.status == 404:
                return {}
            raise
        return cast("dict[str, Any]", told) if isinstance(told, dict) else {}

    async def _ask(
        self, method: str, path: str, body: dict[str, Any] | None, *, timeout_s: float | None = None
    ) -> Any:
        where, timeout_s = f"{self.settings.url}{path}", timeout_s or self.settings.timeout_s
        for left in reversed(range(self.settings.retries + 1)):
            try:
                got = await self._client.request(method, path, json=body, timeout=timeout_s)
                if got.status_code not in _AGAIN or not left:
                    return _content(got, where)
            except httpx.TimeoutException as error:
                raise InferenceTimeout(f"{where}: no reply within {timeout_s:g} s") from error
            except httpx.ConnectError as error:
                if not left:
                    raise EndpointError(f"{where} cannot be reached: {error}") from error
            except httpx.LocalProtocolError:
                # its text quotes what may not be sent, which may be the token
                raise EndpointError(f"{where} cannot be asked: the request breaks HTTP's rules") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise EndpointError(f"{where} broke off: {error or type(error).__name__}") from error
            await asyncio.sleep(self.settings.pause_s * 2 ** (self.settings.retries - left))
        raise AssertionError("unreachable")


def _content(got: httpx.Response, where: str) -> Any:
    if got.status_code == 504:
        raise InferenceTimeout(f"{where}: {got.text[:500]}")
    if got.status_code != 200:
        raise EndpointError(f"{where} answered {got.status_code}: {got.text[:500]}", status=got.status_code)
    try:
        return got.json()
    except ValueError as error:
        raise EndpointError(f"{where} sent no JSON: {got.text[:200]!r}") from error
