"""Any chat endpoint that speaks OpenAI's protocol and takes pictures, as a policy.

Its token ids are unknown, so its turns are never trained on as sampled (`trainable=False`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deskhand_agent.apis import ApiReply, ApiSettings
from deskhand_agent.chat import ChatEndpoint, ChatMessage, ChatReply
from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.formats import Format, find_format
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies.conversation import conversation, data_url, summed_up, why_void
from deskhand_agent.policies.settings import BySettings, read_settings
from deskhand_agent.prompt import PromptMessage, Segment, Text
from deskhand_agent.types import Context, Decision


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenAISettings(ApiSettings):
    """Which endpoint and model, and how to ask."""

    format: str = "deskhand"
    """How it is told to reply: "deskhand", or "ui_tars", "ui_tars_1_0", "ui_tars_mobile" and
    "ui_tars_mobile_1_0" in the words those models were trained with."""
    coordinates: CoordinateSystem | None = None
    """The frame the model writes coordinates in: "normalised" for Qwen3-VL, "resized" for Qwen2.5-VL; None:
    the format's own, which is pixels for "deskhand"."""
    memory: WindowMemory = field(default_factory=lambda: WindowMemory(n_screenshots=3, text_bytes=32_768))
    temperature: float = 1.0
    max_tokens: int = 1024


class OpenAIPolicy(BySettings[OpenAISettings]):
    """Asks the endpoint once a turn."""

    def __init__(self, **settings: Any) -> None:
        """Takes the fields of `OpenAISettings`; records in them may be given as objects.

        Raises:
            TypeError: a setting that there is not, or with a value that makes no sense.
            UnknownName: no such format.
            EndpointError: OpenAI's own endpoint is asked for without a key.
        """
        self.settings = read_settings(OpenAISettings, settings)
        self._format: Format = find_format(self.settings.format, self.settings.coordinates)
        self._endpoint = ChatEndpoint(self.settings)
        self.id = self._endpoint.id

    async def act(self, context: Context) -> Decision:
        """One reply, read as actions or as the summary it was asked for; a void turn when it holds none.

        Raises:
            InferenceTimeout: the endpoint passed its deadline, further requests included.
            EndpointError: it refused or broke, or what came back is no chat completion.
        """
        reply, summing_up = await self._replied(context)
        said, cost = reply.content, reply.cost
        if summing_up:
            return summed_up(said.text, self.settings.memory, cost, fault=said.fault)
        if said.fault is not None:
            error = why_void(said.fault, said.text)
            return Decision(actions=(), text=said.text, error=error, fault=said.fault, cost=cost)
        return self._format.decision(said.text, context.observation, cost)

    async def ask(self, context: Context, question: str) -> Decision:
        """What the model says to a question; see `Answering.ask`."""
        reply, _ = await self._replied(context, question)
        said = reply.content
        return Decision(actions=(), text=said.text, fault=said.fault, cost=reply.cost)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _replied(self, context: Context, asking: str = "") -> tuple[ApiReply[ChatReply], bool]:
        """The reply, and whether it is the summary that was asked for."""
        memory = self.settings.memory
        shown = conversation(
            context,
            memory=memory,
            coordinates=self._format.coordinates,
            system=self._format.system,
            form=self._format,
            asking=asking,
        )
        messages: list[ChatMessage] = [{"role": "system", "content": shown.system}] if shown.system else []
        for exchange in shown.exchanges:
            messages.append(_user(exchange.shown))
            if exchange.step is not None:
                messages.append({"role": "assistant", "content": exchange.said})
        reply = await self._endpoint.ask(
            messages,
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
        )
        return reply, shown.summing_up


def _user(message: PromptMessage) -> ChatMessage:
    return {"role": "user", "content": [_part(each) for each in message.segments]}


def _part(segment: Segment) -> dict[str, object]:
    if isinstance(segment, Text):
        return {"type": "text", "text": segment.text}
    return {"type": "image_url", "image_url": {"url": data_url(segment.image)}}
