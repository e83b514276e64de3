"""What goes over HTTP in the form of OpenAI's chat completions.

What a request asks for and no policy does is refused, never ignored; what only names who asks is taken.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from deskhand_platform.api.models import Incoming, JsonObject

MAX_MESSAGES = 1000
MAX_TOKENS = 256
"""Of a reply, where the request does not say."""
DATA_URL = r"^data:image/(png|jpeg|webp);base64,"
One = Annotated[float, Field(ge=1, le=1)]
Zero = Annotated[float, Field(ge=0, le=0)]


class TextPart(Incoming):
    type: Literal["text"]
    text: str


class ImageUrl(Incoming):
    url: Annotated[str, Field(pattern=DATA_URL)]
    """A data URL, e.g. "data:image/png;base64,…": nothing is fetched."""
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(Incoming):
    type: Literal["image_url"]
    image_url: ImageUrl


Part: TypeAlias = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class ChatMessage(Incoming):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part] | None
    name: str | None = None
    refusal: None = None


class StreamOptions(Incoming):
    include_usage: bool = False
    include_obfuscation: bool | None = None


class ResponseFormat(Incoming):
    type: Literal["text"]


class ChatBody(Incoming):
    """One request for a reply."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "model": "deskhand-tiny",
                "messages": [{"role": "user", "content": "Click the button."}],
                "max_tokens": 32,
                "temperature": 0,
            }
        },
    )

    model: Annotated[str, Field(min_length=1, max_length=128)]
    """Id of a kept policy, or "deskhand-tiny"; `GET /v1/models` lists them."""
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """The same, by its newer name."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 takes the likeliest token; 1 when not given."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    """The same request has the same reply under the same seed."""
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    top_p: One | None = None
    frequency_penalty: Zero | None = None
    presence_penalty: Zero | None = None
    logprobs: Literal[False] | None = None
    tools: Annotated[list[JsonObject], Field(max_length=0)] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    store: Literal[False] | None = None
    service_tier: Literal["auto", "default"] | None = None


class ChatUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReplyMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str


class ChatChoice(BaseModel):
    index: int = 0
    message: ChatReplyMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class ChatCompletion(BaseModel):
    """A reply."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage


class ModelCard(BaseModel):
    """A policy that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "deskhand"


class ModelCards(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class OpenAIErrorBody(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """An error in OpenAI's form."""

    error: OpenAIErrorBody
