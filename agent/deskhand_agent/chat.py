"""Any chat endpoint that speaks OpenAI's protocol, asked once at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from deskhand_agent.apis import ApiClient, ApiReply, ApiSettings, Nonsense, Usage, whole
from deskhand_agent.types import Fault

BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
REASONED_TOKENS = 4096
"""Room that a reply has at least where OpenAI itself is asked: its bound counts what was reasoned before."""

ChatMessage: TypeAlias = Mapping[str, Any]
"""A message as it goes over the wire: its role, and its content as text or as parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """What a model said."""

    text: str
    """Empty where nothing was; of a refusal its words."""
    fault: Fault | None = None
    """Why it is not all that was asked for: refused, or cut off at its longest; None where it is."""


def openai_client(settings: ApiSettings) -> ApiClient:
    """A client of OpenAI's API, or of a server that speaks it.

    Raises:
        EndpointError: OpenAI's own is asked for without a key.
    """
    return ApiClient(
        settings,
        name=f"openai:{settings.model}",
        base_url=BASE_URL,
        key_variable=KEY_VARIABLE,
        headers=lambda key: {"Authorization": f"Bearer {key}"},
    )


class ChatEndpoint:
    """One model of one endpoint."""

    def __init__(self, settings: ApiSettings) -> None:
        """
        Raises:
            EndpointError: OpenAI's own endpoint is asked for without a key.
        """
        self.id = f"openai:{settings.model}"
        self._model = settings.model
        self._openai = (settings.base_url or BASE_URL).rstrip("/") == BASE_URL
        self._client = openai_client(settings)

    @property
    def steady(self) -> float | None:
        """The temperature of replies that are to be alike: 0; None (the model's own) where OpenAI is asked.

        Its reasoning models refuse any other.
        """
        return None if self._openai else 0.0

    async def ask(
        self, messages: Sequence[ChatMessage], *, temperature: float | None, max_tokens: int
    ) -> ApiReply[ChatReply]:
        """One reply.

        Args:
            temperature: None: the model's own.

        Raises:
            InferenceTimeout: the endpoint passed its deadline, further requests included.
            EndpointError: it refused or broke, or what came back is no chat completion.
        """
        body: dict[str, object] = {"model": self._model, "messages": list(messages)}
        if temperature is not None:
            body["temperature"] = temperature
        if self._openai:  # its reasoning models refuse `max_tokens`
            body["max_completion_tokens"] = max(max_tokens, REASONED_TOKENS)
        else:
            body["max_tokens"] = max_tokens
        return await self._client.post("/chat/completions", body, _read)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _read(body: object) -> tuple[ChatReply, Usage | None]:
    try:
        choice = cast("Any", body)["choices"][0]
        message, ended = choice["message"], choice.get("finish_reason")
        content, refusal = message["content"], message.get("refusal")
    except (KeyError, IndexError, TypeError):
        content = refusal = ended = 0
    if content is not None and not isinstance(content, str):
        raise Nonsense(f"it is no chat completion: {str(body)[:200]}", usage=_usage(body))
    refused = bool(refusal) or ended == "content_filter"
    fault = Fault.REFUSED if refused else Fault.CUT_OFF if ended == "length" else None
    reply = ChatReply(text=str(refusal or content or ""), fault=fault)
    return reply, _usage(body)


def _usage(body: object) -> Usage | None:
    prompt, written = (whole(body, "usage", f"{which}_tokens") for which in ("prompt", "completion"))
    if prompt is None or written is None:
        return None
    cached = min(prompt, whole(body, "usage", "prompt_tokens_details", "cached_tokens") or 0)
    return Usage(prompt_tokens=prompt, completion_tokens=written, cached_tokens=cached)
