"""An `InferenceEngine` that asks a server by ids."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import httpx

from deskhand_agent.apis.key import key_of
from deskhand_agent.endpoint.wire import PATHS, Form, Vocabulary, read_completion, write_request
from deskhand_agent.errors import EndpointError, InferenceError, InferenceTimeout
from deskhand_agent.inference import Completion, CompletionRequest

TOKEN_VARIABLE = "DESKHAND_ENGINE_TOKEN"
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


class HttpEngine:
    """An `InferenceEngine` on a server; close it, or use it as an async context."""

    def __init__(self, settings: EndpointSettings, vocabulary: Vocabulary, *, policy_id: str) -> None:
        """
        Args:
            vocabulary: of the policy whose prompts are sent.
            policy_id: of the policy whose replies are wanted; stands on completions.

        Raises:
            EndpointError: the token has signs that no header takes.
        """
        self.settings = settings
        self.policy_id = policy_id
        self._vocabulary = vocabulary
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

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`.

        Raises:
            InferenceTimeout: the server passed the deadline.
            EndpointError: it cannot be reached, refused, or what it sent is no completion of this prompt.
            InferenceError: it serves another policy, or its form cannot say the request.
        """
        await self.agree(request.processor_hash)
        form = self.settings.form
        body = write_request(request, form, self._vocabulary, model=self.settings.model)
        answer = await self._ask("POST", PATHS[form], body)
        return read_completion(answer, form, request, policy_id=self.policy_id)

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
        if "processor_hash" in self._info and self._info.get("model_path") != self.policy_id:
            raise InferenceError(
                f"{self.settings.url} serves {self._info.get('model_path')}, not {self.policy_id}"
            )

    async def _told(self) -> dict[str, Any]:
        try:
            told = await self._ask("GET", "/get_model_info", None)
        except EndpointError as error:
            if error.status == 404:
                return {}
            raise
        return cast("dict[str, Any]", told) if isinstance(told, dict) else {}

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        where = f"{self.settings.url}{path}"
        for left in reversed(range(self.settings.retries + 1)):
            try:
                got = await self._client.request(method, path, json=body)
                if got.status_code not in _AGAIN or not left:
                    return _content(got, where)
            except httpx.TimeoutException as error:
                raise InferenceTimeout(f"{where}: no reply within {self.settings.timeout_s:g} s") from error
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
