"""Tasks from explored states: an explorer acts, and what it changed is told as what to do.

As in OS-Genesis (Sun et al., arXiv 2412.19723) the task comes after the acting; here its words come from the
difference of two outlines, and it counts when its actions reach the state again from the start.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import OracleError
from deskhand_agent.grammar import format_reply
from deskhand_agent.types import Context, Decision, StepSink, Trajectory
from deskhand_flywheel.growth.types import Page, Proposal, Source
from deskhand_flywheel.records import encode
from deskhand_sandbox.accessibility.outline import Node, read_outline
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import Action, Click, Finish, JsonValue, Split, Task, TypeText
from deskhand_sandbox.verifiers.outline import Condition

WORDS = ("maple", "north", "olive", "pearl", "quartz", "river", "stone", "tulip", "umber", "velvet", "willow")
TYPED = ("textbox", "searchbox")
TOGGLED = ("checkbox", "switch", "radio")
PRESSED = ("button", "link", "combobox", "option", "tab", "menuitem")
MOST_CHANGES = 3
"""Of more nobody makes one sentence."""


class Explorer:
    """Clicks and types where something can be clicked or typed; keeps what it saw before each action."""

    reads_state = True

    def __init__(self, *, seed: int, actions: int) -> None:
        self.id = "explorer"
        self.seen: list[tuple[Node, ...]] = []
        self.done: list[Action] = []
        self._draw, self._most = random.Random(f"explorer/{seed}"), actions
        self._typing = False

    async def act(self, context: Context) -> Decision:
        """The next action.

        Raises:
            OracleError: it sees no outline of the screen.
        """
        if context.sandbox is None:
            raise OracleError("an explorer reads the outline of the screen: run it through run_episode")
        outline = (await context.sandbox.observe(text_tree=True)).text_tree
        if outline is None:
            raise OracleError(f"a {context.sandbox.kind} sandbox gives no outline of its screen")
        self.seen.append(read_outline(outline))
        action = self._next(self.seen[-1])
        if not isinstance(action, Finish):
            self.done.append(action)
        return Decision(actions=(action,), text=format_reply(None, (action,)))

    def _next(self, nodes: Sequence[Node]) -> Action:
        if self._typing:
            self._typing = False
            return TypeText(text=self._draw.choice(WORDS))
        usable = [
            node
            for node in nodes
            if node.point is not None
            and "disabled" not in node.states
            and node.role in (*TYPED, *TOGGLED, *PRESSED)
        ]
        if len(self.done) >= self._most or not usable:
            return Finish()
        # buttons lead away from what was set: seldom
        weights = [1 if node.role in PRESSED else 4 for node in usable]
        (node,) = self._draw.choices(usable, weights)
        self._typing = node.role in TYPED
        assert node.point is not None
        return Click(x=node.point[0], y=node.point[1], count=3 if self._typing else 1)


async def explore(
    task: Task, *, sandbox: Sandbox, sink: StepSink, seed: int, actions: int
) -> tuple[Page | None, tuple[Proposal, ...], Trajectory]:
    """Explore from a start state; the page as it was, what may be asked for, and the recorded episode.

    Args:
        task: of the training split.
        actions: at most so many.

    Raises:
        Exception: the sink failed, or there is a bug; a sandbox that breaks ends the episode with that.
    """
    explorer = Explorer(seed=seed, actions=actions)
    trajectory = await run_episode(
        task,
        sandbox=sandbox,
        policy=explorer,
        verifier=create_verifier(task.verifier),
        sink=sink,
        split=Split.TRAIN,
        labels={"purpose": "explore"},
    )
    if not explorer.seen:
        return None, (), trajectory
    page = Page(task=task, nodes=explorer.seen[0])
    found: dict[str, Proposal] = {}
    for number, nodes in enumerate(explorer.seen[1:], 1):
        if number > len(explorer.done):
            break
        told = changes(explorer.seen[0], nodes)
        if told is None or not 1 <= len(told) <= MOST_CHANGES:
            continue
        proposal = Proposal(
            source=Source.EXPLORED,
            by=trajectory.id,
            base=task,
            instruction=" and ".join([told[0][0], *(words[0].lower() + words[1:] for words, _ in told[1:])])
            + ".",
            conditions=[condition for _, condition in told],
            actions=[written(action) for action in explorer.done[:number]],
        )
        found.setdefault(proposal.key, proposal)
    return page, tuple(found.values()), trajectory


def changes(before: Sequence[Node], after: Sequence[Node]) -> list[tuple[str, Condition]] | None:
    """What was set between two outlines, in words and as a condition.

    None where words do not tell it: the page has become another one, or two of its things have one name.
    """
    was, now = _by_name(before), _by_name(after)
    if was is None or now is None or was.keys() != now.keys():
        return None
    told: list[tuple[str, Condition]] = []
    for (role, name), node in now.items():
        old = was[role, name]
        if node.value != old.value:
            words = f'Enter "{node.value}" into "{name}"' if node.value else f'Empty "{name}"'
            told.append((words, Condition(role=role, name=name, value=node.value)))
        elif role in TOGGLED and ("checked" in node.states) != ("checked" in old.states):
            on = "checked" in node.states
            if role == "radio" and not on:
                continue  # another took its place, and is told
            verb = {"checkbox": ("Untick", "Tick"), "radio": ("", "Choose")}.get(
                role, ("Switch off", "Switch on")
            )
            has, has_not = (("checked",), ()) if on else ((), ("checked",))
            told.append((f'{verb[on]} "{name}"', Condition(role=role, name=name, has=has, has_not=has_not)))
    return told


def written(action: Action) -> JsonValue:
    """As tasks write the actions of their oracles."""
    told = encode(action)
    assert isinstance(told, dict)
    fields: dict[str, JsonValue] = {key: value for key, value in told.items() if value is not None}
    return {type(action).__name__: fields}


def _by_name(nodes: Sequence[Node]) -> dict[tuple[str, str], Node] | None:
    """Things that can be set; None where two have one name, and either may have been set."""
    settable = [node for node in nodes if node.role in (*TYPED, *TOGGLED)]
    known = Counter((node.role, node.name) for node in settable)
    if any(number > 1 for (_, name), number in known.items() if name):
        return None
    return {(node.role, node.name): node for node in settable if node.name}
