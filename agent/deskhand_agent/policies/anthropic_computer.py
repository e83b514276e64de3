"""Anthropic's computer-use loop (docs: agents-and-tools/tool-use/computer-use-tool; the Messages API).

Each turn sends the conversation whole and gets `thinking`, `text` and `tool_use` blocks; the next turn
answers every `tool_use` with a `tool_result`, the last of them with the screen; where they failed it stands
beside them, for the API takes nothing but text in the result of an error.

Their `zoom` is our `Zoom`, after which their coordinates stay those of the whole screen. The last call of a
turn is answered with the part; what lies beyond that part has to be looked at again before it is acted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from deskhand_agent.apis import ApiClient, Nonsense, Usage, whole
from deskhand_agent.coordinates import Frame, Part
from deskhand_agent.policies.computer_use import (
    ACT,
    ACT_SAYS,
    ACT_TAKES,
    DONE,
    SYSTEM,
    ComputerUseSettings,
    Item,
    LookCall,
    Said,
    act_call,
    came_to,
    decide,
    items_of,
    objects,
    part_of,
    pointer_at,
    pointer_on_screen,
    written,
)
from deskhand_agent.policies.conversation import Exchange, base64_of, conversation, summed_up
from deskhand_agent.policies.settings import BySettings, read_settings
from deskhand_agent.prompt import NO_ACTION, Text
from deskhand_agent.types import Context, Decision, Fault, Step
from deskhand_sandbox.dialects.anthropic.reading import COMPUTER, zoom_region
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Image, Zoom

BASE_URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
API_VERSION = "2023-06-01"
_BETAS = {"20250124": "computer-use-2025-01-24", "20251124": "computer-use-2025-11-24"}
"""Version of the tool -> the beta that brings it; later ones need none."""
_ENLARGED = (
    "That part of the screen, enlarged. Coordinates stay those of the whole screen; to act beyond this part, "
    "take a screenshot first."
)
_UNSEEN = "Not shown: one call came after it, and only the last is answered with a picture."
_KINDS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_FAULTS = {
    "refusal": Fault.REFUSED,
    "max_tokens": Fault.CUT_OFF,
    "model_context_window_exceeded": Fault.CUT_OFF,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AnthropicComputerSettings(ComputerUseSettings):
    """Which model, and how to ask it."""

    tool: Literal["20250124", "20251124", "20260801"] = "20251124"
    """Version of the computer tool; each model takes some."""
    thinking: Mapping[str, object] | None = None
    """As the API has it, such as {"type": "enabled", "budget_tokens": 1024}; None: the model's own."""


class AnthropicComputerPolicy(BySettings[AnthropicComputerSettings]):
    """Asks the Messages API once a turn."""

    def __init__(self, **settings: Any) -> None:
        """Takes the fields of `AnthropicComputerSettings`; records in them may be given as objects.

        Raises:
            TypeError: a setting that there is not, or with a value that makes no sense.
            EndpointError: Anthropic's own endpoint is asked for without a key.
        """
        self.settings = read_settings(AnthropicComputerSettings, settings)
        self.id = f"anthropic-computer:{self.settings.model}"
        self._dialect = f"anthropic_{self.settings.tool}" if self.settings.tool in _BETAS else "anthropic"
        beta = _BETAS.get(self.settings.tool)
        self._client = ApiClient(
            self.settings,
            name=self.id,
            base_url=BASE_URL,
            key_variable=KEY_VARIABLE,
            headers=lambda key: {
                "x-api-key": key,
                "anthropic-version": API_VERSION,
                **({"anthropic-beta": beta} if beta else {}),
            },
        )

    async def act(self, context: Context) -> Decision:
        """One reply, read as actions, as the end, or as the summary it was asked for.

        Raises:
            InferenceTimeout: the endpoint passed its deadline, further requests included.
            EndpointError: it refused or broke, or what came back is no message.
        """
        settings, memory = self.settings, self.settings.memory
        size_px, part = _coordinates_of(context)
        shown = conversation(context, memory=memory, coordinates=settings, system=SYSTEM)
        body: Item = {
            "model": settings.model,
            "system": SYSTEM,
            "messages": self._messages(shown.exchanges),
            "tools": self._tools(size_px),
            "tool_choice": {"type": "none" if shown.summing_up else "auto"},
            "max_tokens": settings.max_tokens,
        }
        if settings.thinking is not None:
            body["thinking"] = dict(settings.thinking)
        reply = await self._client.post("/v1/messages", body, read_message)
        said = reply.content
        if shown.summing_up:
            return summed_up(said.text, memory, reply.cost, fault=said.fault)
        pointer = pointer_at(context) if part is None else pointer_on_screen(context)
        return decide(said, self._dialect, settings.frame(size_px), pointer, reply.cost, part=part)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    # ---- what is sent

    def _tools(self, size_px: tuple[int, int]) -> list[Item]:
        width, height = self.settings.shown_px(size_px)
        if self.settings.tool in _BETAS:
            computer: Item = {
                "type": f"computer_{self.settings.tool}",
                "name": "computer",
                "display_width_px": width,
                "display_height_px": height,
                **({"enable_zoom": True} if self.settings.tool >= "20251124" else {}),
            }
        else:
            # the pointer is where they left it
            unasked = {"cursor_position": {"enabled": False}}
            computer = {"type": f"computer_toolset_{self.settings.tool}", "configs": unasked}
        return [computer, {"name": ACT, "description": ACT_SAYS, "input_schema": ACT_TAKES}]

    def _messages(self, exchanges: tuple[Exchange, ...]) -> list[Item]:
        messages: list[Item] = []
        calls: list[Item] = []
        came = DONE
        for exchange in exchanges:
            messages.append({"role": "user", "content": self._shown(exchange, calls, came)})
            if exchange.step is None:
                continue
            blocks = self._reply(exchange.step, exchange.said)
            messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            came = came_to(exchange.step)
        return messages

    def _shown(self, exchange: Exchange, calls: list[Item], came: str) -> list[Item]:
        picture = _picture(self.settings.picture(exchange.seen.screenshot))
        results: list[Item] = [_result(call, came) for call in calls]
        holds = bool(results) and came == DONE
        if holds:
            # a person who took over has seen all of the screen instead
            looked = _asks_to_look(calls[-1]) and exchange.seen.region is not None
            enlarged = [{"type": "text", "text": _ENLARGED}] if looked else []
            results[-1]["content"] = [*enlarged, picture]
        parts: list[Item] = [
            {"type": "text", "text": segment.text} if isinstance(segment, Text) else picture
            for segment in exchange.shown.segments
            if isinstance(segment, Text) or not holds
        ]
        return results + parts

    def _reply(self, step: Step, said: str) -> list[Item]:
        """A past turn as the model's own: as it came, or as it would have said it."""
        if not step.decision.actions:
            return [{"type": "text", "text": said}]
        came = items_of(step, _KINDS)
        if came is not None:
            # the API refuses text that is white space, and a message of nothing
            kept = [
                block for block in came if block["type"] != "text" or str(block.get("text") or "").strip()
            ]
            return kept or [{"type": "text", "text": NO_ACTION}]
        calls = written(step, self._dialect, self.settings.frame(step.observation.size_px))
        if isinstance(calls, str):
            calls = ({"name": ACT, "input": {"calls": calls}},)
        return [
            {"type": "tool_use", "id": f"toolu_{step.index}_{number}", **call}
            for number, call in enumerate(calls)
        ]


def _picture(image: Image) -> Item:
    source = {"type": "base64", "media_type": f"image/{image.format}", "data": base64_of(image)}
    return {"type": "image", "source": source}


def _result(call: Item, came: str) -> Item:
    """What a call came to; the message says what went wrong."""
    family = call.get("toolset_name")
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": _UNSEEN if came == DONE and _asks_to_look(call) else came,
        **({} if came == DONE else {"is_error": True}),
        **({"toolset_name": family} if family else {}),
    }


def _coordinates_of(context: Context) -> tuple[tuple[int, int], Part | None]:
    """The size of what coordinates are pixels of, and the part of it that is shown after a `zoom`."""
    seen = context.observation
    part = part_of(seen)
    # the turn that asked for a part saw another one, or all of the screen
    asked = next((step for step in reversed(context.steps) if step.observation.region != seen.region), None)
    whole = next((step for step in reversed(context.steps) if step.observation.region is None), None)
    if part is None or asked is None or whole is None:
        return seen.size_px, None
    if not any(_asks_to_look(block) for block in items_of(asked, _KINDS) or ()):
        return seen.size_px, None  # by `act`, whose coordinates are the part's
    return whole.observation.size_px, part


# ---- what comes back


def read_message(body: object) -> tuple[Said, Usage | None]:
    """What a message of the Messages API says, and what it cost.

    Raises:
        Nonsense: it is none; nothing else is ever raised.
    """
    try:
        blocks = objects(body, "content")
        calls = [_called(block) for block in blocks if block.get("type") == "tool_use"]
    except (KeyError, TypeError) as error:
        raise Nonsense(f"it is no message ({error!r}): {str(body)[:200]}", usage=_usage(body)) from None
    message = cast("Item", body)
    said = Said(
        items=blocks,
        calls=calls,
        text="\n".join(str(block["text"]) for block in blocks if block.get("text")),
        thought="\n".join(str(block["thinking"]) for block in blocks if block.get("thinking")),
        fault=_FAULTS.get(str(message.get("stop_reason"))),
    )
    return said, _usage(body)


def _called(block: Item) -> object:
    """A call as its reader takes it.

    Raises:
        KeyError, TypeError: it cannot be answered, for it has no id.
    """
    if not isinstance(block["id"], str):
        raise TypeError("id is no text")
    if _asks_to_look(block):
        return LookCall(partial(_zoom, block))
    return act_call(ACT, block.get("input")) if block.get("name") == ACT else block


def _asks_to_look(block: Item) -> bool:
    """Whether it is a `zoom`, of either form."""
    if block.get("toolset_name") == COMPUTER:
        return block.get("name") == "zoom"
    told = block.get("input")
    return (
        block.get("name") == COMPUTER
        and isinstance(told, dict)
        and cast("Item", told).get("action") == "zoom"
    )


def _zoom(block: Item, frame: Frame) -> Zoom:
    """What a `zoom` asks for.

    Raises:
        InvalidAction: its region is none.
    """
    box = zoom_region(block, View(frame=frame))
    if box is None:
        raise InvalidAction("zoom needs a region")
    left, top, right, bottom = (int(edge) for edge in box)
    return Zoom(start=(left, top), end=(right - 1, bottom - 1))


def _usage(body: object) -> Usage | None:
    fresh, written_ = (whole(body, "usage", f"{which}_tokens") for which in ("input", "output"))
    if fresh is None or written_ is None:
        return None
    read, kept = (whole(body, "usage", f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
    return Usage(prompt_tokens=fresh + read + kept, completion_tokens=written_, cached_tokens=read)
