"""Tasks from templates: what can be done with the things a page shows, one of them or two."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from deskhand_flywheel.growth.types import Page, Proposal, Source
from deskhand_sandbox.accessibility.outline import Node
from deskhand_sandbox.tasks.written.parameters import fill
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.outline import Condition, read_condition


@dataclass(frozen=True, kw_only=True, slots=True)
class PageTemplate:
    """Something to do with a thing of one role."""

    name: str
    role: str
    instruction: str
    actions: Sequence[JsonValue]
    after: Mapping[str, JsonValue]
    before: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    words: Sequence[str] = ("",)

    def fits(self, node: Node) -> bool:
        """Whether this can be done with the thing as it is."""
        if node.point is None or "disabled" in node.states or node.role != self.role:
            return False
        return read_condition({"role": node.role, "name": node.name, **self.before}).holds([node])


@cache
def page_templates() -> tuple[PageTemplate, ...]:
    """Those that come with the package."""
    text = files("deskhand_flywheel.growth").joinpath("templates.yaml").read_text(encoding="utf-8")
    entries = cast("list[dict[str, Any]]", yaml.safe_load(text))
    return tuple(PageTemplate(**each) for each in entries)


def from_templates(page: Page, *, count: int) -> tuple[Proposal, ...]:
    """At most so many tasks of a page, drawn by its seed: of one thing and of two in turns.

    Things that share their role and name with another are passed over: words could not tell them apart.
    """
    draw = random.Random(f"{page.name}/templates")
    known = Counter((node.role, node.name) for node in page.nodes)
    fitting = [
        (template, node)
        for node in page.nodes
        if node.name and known[node.role, node.name] == 1
        for template in page_templates()
        if template.fits(node)
    ]
    draw.shuffle(fitting)
    return tuple(_proposal(page, chosen, draw) for chosen in list(_chosen(fitting))[:count])


def _chosen(fitting: Sequence[tuple[PageTemplate, Node]]) -> Iterator[list[tuple[PageTemplate, Node]]]:
    for number, first in enumerate(fitting):
        yield [first]
        second = fitting[(number + 1) % len(fitting)]
        # one radio button takes another's place
        if second[1] is not first[1] and "radio" not in (first[1].role, second[1].role):
            yield [first, second]


def _proposal(page: Page, chosen: Sequence[tuple[PageTemplate, Node]], draw: random.Random) -> Proposal:
    said: list[str] = []
    actions: list[JsonValue] = []
    conditions: list[Condition] = []
    for template, node in chosen:
        assert node.point is not None
        x, y = node.point
        drawn = {"name": node.name, "x": x, "y": y, "word": draw.choice(template.words)}
        said.append(str(fill(template.instruction, drawn)).removesuffix("."))
        actions += cast("list[JsonValue]", fill(template.actions, drawn))
        after = cast("dict[str, JsonValue]", fill(template.after, drawn))
        conditions.append(read_condition({"role": node.role, "name": node.name, **after}))
    return Proposal(
        source=Source.TEMPLATE,
        by="+".join(template.name for template, _ in chosen),
        base=page.task,
        instruction=" and ".join([said[0], *(each[0].lower() + each[1:] for each in said[1:])]) + ".",
        conditions=conditions,
        actions=actions,
    )
