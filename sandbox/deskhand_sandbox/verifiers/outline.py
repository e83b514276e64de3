"""A verdict from what is on the screen, by the outline that the sandbox gives of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from deskhand_sandbox.accessibility.outline import Node, read_outline
from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.types import JsonValue, Outcome

FIELDS = ("role", "name", "value", "has", "has_not")


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A thing that is to be on the screen."""

    role: str
    name: str
    value: str | None = None
    """What it holds; None: whatever."""
    has: tuple[str, ...] = ()
    """States it is in."""
    has_not: tuple[str, ...] = ()
    """States it is not in."""

    def holds(self, nodes: Sequence[Node]) -> bool:
        """Whether one of these is as it should be."""
        return any(
            (each.role, each.name) == (self.role, self.name)
            and self.value in (None, each.value)
            and each.states.issuperset(self.has)
            and each.states.isdisjoint(self.has_not)
            for each in nodes
        )

    def settings(self) -> dict[str, JsonValue]:
        """As the verifier's settings have it; what says nothing is left out."""
        told: dict[str, JsonValue] = {"role": self.role, "name": self.name}
        if self.value is not None:
            told["value"] = self.value
        for key, states in (("has", self.has), ("has_not", self.has_not)):
            if states:
                told[key] = [*states]
        return told


class OutlineVerifier:
    """Success when every thing is as it should be; the detail names those that are not."""

    def __init__(self, conditions: Sequence[Condition], host: str) -> None:
        self._conditions = conditions
        self._host = host

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict now."""
        seen = await sandbox.observe(text_tree=True)
        if self._host and urlsplit(seen.url or "").hostname != self._host:
            return Outcome(score=0.0, success=False, detail=f"the page in front is not one of {self._host}")
        outline = seen.text_tree
        if outline is None:
            raise VerifierError(f"a {sandbox.kind} sandbox gives no outline of its screen")
        nodes = read_outline(outline)
        wrong = [f"{each.role} {each.name!r}" for each in self._conditions if not each.holds(nodes)]
        if wrong:
            return Outcome(score=0.0, success=False, detail=f"not as it should be: {', '.join(wrong)}")
        return Outcome(score=1.0, success=True, detail="everything is as it should be")


def create(*, conditions: JsonValue, host: str = "") -> Verifier:
    """The verifier `outline`.

    Args:
        conditions: a list of things that are to be on the screen, each with `role` and `name`, and with
            `value`, `has` and `has_not` (lists of states such as "checked") as far as they matter.
        host: whose page is to be in front, of a browser; without one a page of any host is judged.

    Raises:
        InvalidTask: it is something else; says what.
    """
    if not isinstance(cast("object", host), str):
        raise InvalidTask(f"host must be the name of a host, not {host!r}")
    if not isinstance(conditions, list) or not conditions:
        raise InvalidTask("conditions must be a list of at least one thing with a role and a name")
    return OutlineVerifier([read_condition(each) for each in conditions], host)


def read_condition(value: JsonValue) -> Condition:
    """A condition as its settings have it.

    Raises:
        InvalidTask: it is something else; says what.
    """
    if not isinstance(value, Mapping):
        raise InvalidTask(f"a condition is a mapping with role and name, not {value!r}")
    if unknown := set(value) - set(FIELDS):
        raise InvalidTask(f"a condition has no {min(unknown)!r}; there is: {', '.join(FIELDS)}")
    texts = {key: value[key] for key in ("role", "name", "value") if key in value}
    if not {"role", "name"} <= set(texts) or not all(isinstance(each, str) for each in texts.values()):
        raise InvalidTask(f"a condition needs role and name as text, and so is its value: {value!r}")
    return Condition(
        **cast("dict[str, Any]", texts),
        has=_states(value.get("has", []), "has"),
        has_not=_states(value.get("has_not", []), "has_not"),
    )


def _states(value: JsonValue, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidTask(f"{key} must be a list of states, not {value!r}")
    return tuple(cast("list[str]", value))
