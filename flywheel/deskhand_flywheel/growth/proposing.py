"""Tasks that a model proposes: any chat endpoint that speaks OpenAI's protocol, asked for JSON.

What comes back is read strictly, and admitted like any other proposal: by what its actions do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from deskhand_agent.accounts import together
from deskhand_agent.chat import ChatEndpoint
from deskhand_agent.errors import InferenceError
from deskhand_flywheel.growth.types import Page, Proposal, Source
from deskhand_sandbox.accessibility.outline import Node
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.written.actions import read_action
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.outline import read_condition

ASKED = """\
You invent tasks for people who practise using computers. Below is what is on a screen: one thing a line,
with its role, its name in quotes, what it holds, its states in brackets, and where to click it.

{outline}

Propose {count} different tasks that can be done here. Reply with a JSON list and nothing else. Each entry
has these three fields:
"instruction": what to do, in one sentence that says all that is needed;
"conditions": how the screen is when it is done, which it must not be already: a list of
  {{"role": …, "name": …}} with "value" (what it holds), or "has" or "has_not" (lists of states such as
  "checked"), as far as they matter;
"actions": what does it, a list of such as {{"Click": {{"x": 10, "y": 20}}}},
  {{"TypeText": {{"text": "word"}}}} and {{"Press": {{"keys": ["Enter"]}}}}."""
TEMPERATURE = 1.0
MAX_TOKENS = 2048
MOST_ACTIONS = 20
LONGEST_INSTRUCTION = 500
_FENCED = re.compile(r"\s*```(?:json)?\n(.*)\n```\s*", re.DOTALL)
_FIELDS = {"instruction", "conditions", "actions"}


class TaskProposer:
    """One model."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self._endpoint = endpoint
        self.cost: Mapping[str, float] = {}
        """Of all that it was asked, as in `Decision.cost`."""

    async def propose(self, page: Page, *, count: int) -> tuple[list[Proposal], list[str]]:
        """Tasks for a page, and why each of the others that came could not be read.

        Raises:
            InferenceTimeout, EndpointError: the endpoint did not answer, further requests included.
        """
        told = ASKED.format(outline="\n".join(map(_line, page.nodes)), count=count)
        try:
            reply = await self._endpoint.ask(
                [{"role": "user", "content": told}], temperature=TEMPERATURE, max_tokens=MAX_TOKENS
            )
        except InferenceError as error:
            self.cost = together((self.cost, error.cost))
            raise
        self.cost = together((self.cost, reply.cost))
        return read_proposals(reply.content.text, page, by=self._endpoint.id)


def read_proposals(text: str, page: Page, *, by: str) -> tuple[list[Proposal], list[str]]:
    """The proposals of a reply, and why each of its other entries is none."""
    fenced = _FENCED.fullmatch(text)
    try:
        entries: object = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        return [], [f"the reply is no JSON: {error}"]
    if not isinstance(entries, list):
        return [], [f"the reply is no list: {text[:80]!r}"]
    read: list[Proposal] = []
    wrong: list[str] = []
    for entry in cast("list[object]", entries):
        try:
            read.append(_proposal(entry, page, by))
        except InvalidTask as error:
            wrong.append(str(error))
    return read, wrong


def _proposal(entry: object, page: Page, by: str) -> Proposal:
    if not isinstance(entry, Mapping) or set(cast("Mapping[str, object]", entry)) != _FIELDS:
        raise InvalidTask(f"a proposal has {', '.join(sorted(_FIELDS))} and nothing else, not {entry!r:.200}")
    given = cast("Mapping[str, JsonValue]", entry)
    instruction = given["instruction"]
    if not isinstance(instruction, str) or not 0 < len(instruction.strip()) <= LONGEST_INSTRUCTION:
        raise InvalidTask(f"an instruction is a sentence, not {instruction!r:.200}")
    actions, conditions = _list(given, "actions"), _list(given, "conditions")
    if len(actions) > MOST_ACTIONS:
        raise InvalidTask(f"{len(actions)} actions are more than {MOST_ACTIONS}")
    for action in actions:
        read_action(action)
    return Proposal(
        source=Source.MODEL,
        by=by,
        base=page.task,
        instruction=instruction.strip(),
        conditions=[read_condition(each) for each in conditions],
        actions=actions,
    )


def _list(given: Mapping[str, JsonValue], name: str) -> Sequence[JsonValue]:
    value = given[name]
    if not isinstance(value, list) or not value:
        raise InvalidTask(f"{name} is a list with something in it, not {value!r:.200}")
    return value


def _line(node: Node) -> str:
    parts = [node.role, json.dumps(node.name, ensure_ascii=False)]
    parts += [f"holds {json.dumps(node.value, ensure_ascii=False)}"] if node.value else []
    parts += [f"[{state}]" for state in sorted(node.states)]
    parts += [f"at {node.point}"] if node.point else []
    return " ".join(parts)
