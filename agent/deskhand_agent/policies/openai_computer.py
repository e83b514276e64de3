"""OpenAI's computer-use loop (docs: guides/tools-computer-use; the Responses API of the `openai` package).

Each turn sends the conversation whole (`store: false`, reasoning encrypted) and gets `reasoning`, `message`,
`computer_call` and `function_call` items; the next turn answers every `computer_call` with a
`computer_call_output` that holds the screen after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from deskhand_agent.accounts import spending
from deskhand_agent.apis import Nonsense, Usage, whole
from deskhand_agent.chat import openai_client
from deskhand_agent.errors import EndpointError, Trouble
from deskhand_agent.policies.computer_use import (
    ACT,
    ACT_SAYS,
    ACT_TAKES,
    DONE,
    SYSTEM,
    ComputerUseSettings,
    Item,
    Said,
    act_call,
    came_to,
    decide,
    items_of,
    objects,
    pointer_at,
    written,
)
from deskhand_agent.policies.conversation import Exchange, conversation, data_url, summed_up
from deskhand_agent.policies.settings import BySettings, read_settings
from deskhand_agent.prompt import Text
from deskhand_agent.types import Context, Decision, Fault, Step

DIALECT = "openai"
_KINDS = frozenset({"reasoning", "message", "computer_call", "function_call"})
_CALLS = ("computer_call", "function_call")


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenAIComputerSettings(ComputerUseSettings):
    """Which model, and how to ask it."""

    tool: Literal["computer", "computer_use_preview"] = "computer"
    """The second is the tool of the model of that name: one action a call."""
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"] = "browser"
    """What "computer_use_preview" is told."""
    effort: str | None = None
    """Of reasoning; None: the model's own."""
    acknowledge_safety_checks: bool = False
    """Go on where the API asks that a person look first; otherwise the episode ends with an error."""


class OpenAIComputerPolicy(BySettings[OpenAIComputerSettings]):
    """Asks the Responses API once a turn."""

    def __init__(self, **settings: Any) -> None:
        """Takes the fields of `OpenAIComputerSettings`; records in them may be given as objects.

        Raises:
            TypeError: a setting that there is not, or with a value that makes no sense.
            EndpointError: OpenAI's own endpoint is asked for without a key.
        """
        self.settings = read_settings(OpenAIComputerSettings, settings)
        self.id = f"openai-computer:{self.settings.model}"
        self._client = openai_client(self.settings)

    async def act(self, context: Context) -> Decision:
        """One reply, read as actions, as the end, or as the summary it was asked for.

        Raises:
            InferenceTimeout: the endpoint passed its deadline, further requests included.
            EndpointError: it refused or broke, what came back is no response, or it asks for a person.
        """
        settings, memory = self.settings, self.settings.memory
        shown = conversation(context, memory=memory, coordinates=settings, system=SYSTEM)
        body: Item = {
            "model": settings.model,
            "instructions": SYSTEM,
            "input": [item for exchange in self._linked(shown.exchanges) for item in exchange],
            "tools": self._tools(context.observation.size_px),
            "tool_choice": "none" if shown.summing_up else "auto",
            "max_output_tokens": settings.max_tokens,
            "truncation": "auto",
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if settings.effort is not None:
            body["reasoning"] = {"effort": settings.effort}
        reply = await self._client.post("/responses", body, read_response)
        said = reply.content
        if shown.summing_up:
            return summed_up(said.text, memory, reply.cost, fault=said.fault)
        self._check(said, reply.cost)
        frame = settings.frame(context.observation.size_px)
        return decide(said, DIALECT, frame, pointer_at(context), reply.cost)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    # ---- what is sent

    def _tools(self, size_px: tuple[int, int]) -> list[Item]:
        width, height = self.settings.shown_px(size_px)
        computer: Item = {"type": self.settings.tool}
        if self.settings.tool == "computer_use_preview":
            computer |= {
                "display_width": width,
                "display_height": height,
                "environment": self.settings.environment,
            }
        act = {
            "type": "function",
            "name": ACT,
            "description": ACT_SAYS,
            "parameters": ACT_TAKES,
            "strict": True,
        }
        return [computer, act]

    def _linked(self, exchanges: tuple[Exchange, ...]) -> list[list[Item]]:
        """The items of each exchange: what was shown, as the output of the calls before, and the reply."""
        linked: list[list[Item]] = []
        calls: list[Item] = []
        came = DONE
        for exchange in exchanges:
            items = self._shown(exchange, calls, came)
            reply = [] if exchange.step is None else self._reply(exchange.step, exchange.said)
            calls = [item for item in reply if item["type"] in _CALLS]
            came = DONE if exchange.step is None else came_to(exchange.step)
            linked.append(items + reply)
        return linked

    def _shown(self, exchange: Exchange, calls: list[Item], came: str) -> list[Item]:
        url = data_url(self.settings.picture(exchange.seen.screenshot))
        outputs = [_output(call, url, came) for call in calls]
        pictured = any(call["type"] == "computer_call" for call in calls)
        parts = [
            {"type": "input_text", "text": segment.text}
            if isinstance(segment, Text)
            else {"type": "input_image", "image_url": url, "detail": "auto"}
            for segment in exchange.shown.segments
            if isinstance(segment, Text) or not pictured
        ]
        return [*outputs, {"type": "message", "role": "user", "content": parts}] if parts else outputs

    def _reply(self, step: Step, said: str) -> list[Item]:
        """A past turn as the model's own: as it came, or as it would have said it."""
        if not step.decision.actions:
            return [{"type": "message", "role": "assistant", "content": said}]
        came = items_of(step, _KINDS)
        if came is not None:
            return came
        frame = self.settings.frame(step.observation.size_px)
        calls = written(step, DIALECT, frame)
        if isinstance(calls, str):
            arguments = json.dumps({"calls": calls})
            return [
                {
                    "type": "function_call",
                    "call_id": f"call_{step.index}",
                    "name": ACT,
                    "arguments": arguments,
                }
            ]
        # a request has to say that none are held, a reply has not
        calls = [{"keys": None, **each} if each["type"] == "double_click" else each for each in calls]
        if self.settings.tool == "computer":
            return [_call(f"call_{step.index}", {"actions": calls})]
        return [_call(f"call_{step.index}_{n}", {"action": each}) for n, each in enumerate(calls)]

    def _check(self, said: Said, cost: Mapping[str, float]) -> None:
        checks = [
            str(check.get("message") or check.get("code"))
            for item in said.items
            if item.get("type") == "computer_call"
            for check in item.get("pending_safety_checks") or ()
        ]
        if checks and not self.settings.acknowledge_safety_checks:
            raise EndpointError(
                f"{self.id} asks that a person look first ({'; '.join(checks)[:500]}): have one look, or set "
                f"acknowledge_safety_checks to go on without{spending(cost)}",
                trouble=Trouble.REFUSED,
                cost=cost,
            )


def _output(call: Item, url: str, came: str) -> Item:
    """What a call came to: the screen after it."""
    if call["type"] == "function_call":
        return {"type": "function_call_output", "call_id": call["call_id"], "output": came}
    checks = call.get("pending_safety_checks")
    return {
        "type": "computer_call_output",
        "call_id": call["call_id"],
        "output": {"type": "computer_screenshot", "image_url": url},
        **({"acknowledged_safety_checks": checks} if checks else {}),
    }


def _call(call_id: str, actions: Item) -> Item:
    return {
        "type": "computer_call",
        "id": f"cu_{call_id}",
        "call_id": call_id,
        "status": "completed",
        "pending_safety_checks": [],
        **actions,
    }


# ---- what comes back


def read_response(body: object) -> tuple[Said, Usage | None]:
    """What a response of the Responses API says, and what it cost.

    Raises:
        Nonsense: it is none; nothing else is ever raised.
    """
    try:
        items = objects(body, "output")
        calls = [_called(item) for item in items if item.get("type") in _CALLS]
        messages = [
            part for item in items if item.get("type") == "message" for part in objects(item, "content")
        ]
        thoughts = [
            part for item in items if item.get("type") == "reasoning" for part in objects(item, "summary")
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise Nonsense(f"it is no response ({error!r}): {str(body)[:200]}", usage=_usage(body)) from None
    response = cast("Item", body)
    if response.get("status") == "failed":
        failed = f"the response failed: {str(response.get('error'))[:300]}"
        raise Nonsense(failed, usage=_usage(body))
    refusals = [str(part["refusal"]) for part in messages if part.get("refusal")]
    said = Said(
        items=items,
        calls=calls,
        text="\n".join(refusals or [str(part["text"]) for part in messages if part.get("text")]),
        thought="\n".join(str(part["text"]) for part in thoughts if part.get("text")),
        fault=_fault(response, refused=bool(refusals)),
    )
    return said, _usage(body)


def _called(item: Item) -> object:
    """A call as its reader takes it.

    Raises:
        KeyError, TypeError: it cannot be answered, for it has no id.
    """
    if not isinstance(item["call_id"], str):
        raise TypeError("call_id is no text")
    if item["type"] == "computer_call":
        if item.get("pending_safety_checks"):
            objects(item, "pending_safety_checks")
        return item
    return act_call(item.get("name"), item.get("arguments"))


def _fault(response: Item, *, refused: bool) -> Fault | None:
    details = response.get("incomplete_details")
    filtered = isinstance(details, dict) and cast("Item", details).get("reason") == "content_filter"
    if refused or filtered:
        return Fault.REFUSED
    return Fault.CUT_OFF if response.get("status") == "incomplete" else None


def _usage(body: object) -> Usage | None:
    prompt, written_ = (whole(body, "usage", f"{which}_tokens") for which in ("input", "output"))
    if prompt is None or written_ is None:
        return None
    cached = whole(body, "usage", "input_tokens_details", "cached_tokens") or 0
    return Usage(prompt_tokens=prompt, completion_tokens=written_, cached_tokens=min(prompt, cached))
