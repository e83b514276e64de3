"""What each click hit: the right element, a wrong one, or nothing. For evaluation only.

An oracle says where it would click now, and the page says which elements lie under both points. Training
never sees any of it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted import ScriptedPolicy, oracle_tasks
from deskhand_agent.test_time.zoom import on_screen
from deskhand_agent.types import Context, Decision, Policy, patience_s, reads_tree
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Action, Click, Observation


class Hit(StrEnum):
    """What a click of a model hit."""

    RIGHT = "right"
    """The element the oracle would click now."""
    WRONG = "wrong"
    """Another element that reacts to clicks."""
    MISS = "miss"
    """Nothing that reacts to clicks."""
    NO_CLICK = "no_click"
    """The oracle would click, the model did something else or nothing that could be read."""


@dataclass(slots=True)
class HitCounts:
    """Counts over an evaluation."""

    counts: Counter[Hit]
    first: Counter[Hit]
    """Of first turns only: the choice no earlier mistake has spoiled."""


REACTS = "button,a,input,select,textarea,label,option,summary,[onclick],[role],h3,li,td,.ui-widget"
UNDER = """
(() => {
  const at = (x, y) => {
    const e = document.elementFromPoint(x, y);
    if (!e) return null;
    const near = e.closest(%s);
    if (near) return near;
    return getComputedStyle(e).cursor === 'pointer' ? e : null;
  };
  const a = at(%d, %d), b = at(%d, %d);
  const bare = document.elementFromPoint(%d, %d), same = document.elementFromPoint(%d, %d);
  return {same: (a !== null && a === b) || bare === same, reacts: a !== null};
})()
"""


class TargetWatcher:
    """A policy that acts as the one inside and takes note of what its clicks hit."""

    reads_state = True

    def __init__(self, inside: Policy) -> None:
        self.id = inside.id
        self.longest_s = patience_s(inside)
        self.reads_tree = reads_tree(inside)
        self._inside, self._oracle = inside, ScriptedPolicy()
        self._known = frozenset(oracle_tasks())
        self.hits = HitCounts(counts=Counter(), first=Counter())

    async def act(self, context: Context) -> Decision:
        """Decide as the policy inside, which does not see the sandbox."""
        wanted = await self._wanted(context)
        decision = await self._inside.act(replace(context, sandbox=None))
        if wanted is not None and context.sandbox is not None:
            hit = await _hit(context.sandbox, wanted, _on_screen(decision.actions, context.observation))
            self.hits.counts[hit] += 1
            if not context.steps:
                self.hits.first[hit] += 1
        return decision

    async def _wanted(self, context: Context) -> Click | None:
        if context.task.id not in self._known:
            return None
        try:
            decision = await self._oracle.act(context)
        except OracleError:
            return None  # the episode went where no oracle goes: nothing is right there
        action = decision.actions[0]
        return action if isinstance(action, Click) else None


def _on_screen(actions: tuple[Action, ...], seen: Observation) -> tuple[Action, ...]:
    """The actions in pixels of the page; those where it was not shown are none."""
    try:
        return tuple(on_screen(action, seen) for action in actions)
    except InvalidAction:
        return ()


async def _hit(sandbox: Sandbox, wanted: Click, actions: tuple[Action, ...]) -> Hit:
    click = next((a for a in actions if isinstance(a, Click)), None)
    if click is None:
        return Hit.NO_CLICK
    points = (click.x, click.y, wanted.x, wanted.y)
    under = await sandbox.evaluate(UNDER % (json.dumps(REACTS), *points, *points))
    assert isinstance(under, dict)
    if under["same"] and (under["reacts"] or (click.x, click.y) == (wanted.x, wanted.y)):
        return Hit.RIGHT
    return Hit.WRONG if under["reacts"] else Hit.MISS
