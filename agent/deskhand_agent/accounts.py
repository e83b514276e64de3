"""What turns cost, and what was wrong with their replies, added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from deskhand_agent.types import Decision, Fault, Step


@dataclass(kw_only=True, slots=True)
class Account:
    """Of any number of turns."""

    faults: Counter[Fault] = field(default_factory=Counter[Fault])
    """Void turns, by kind."""
    repairs: Counter[str] = field(default_factory=Counter[str])
    """What had to be mended in replies, by name."""
    cost: dict[str, float] = field(default_factory=dict[str, float])
    """As in `Decision.cost`."""

    def add(self, steps: Iterable[Step]) -> None:
        """Add turns."""
        for decision in (step.decision for step in steps):
            if decision.fault is not None:
                self.faults[decision.fault] += 1
            self.repairs.update(decision.repairs)
            self.cost = together((self.cost, decision.cost))

    def __str__(self) -> str:
        """On one line, for a person; empty where there is nothing to say."""
        parts = [f"{_figure(amount)} {name}" for name, amount in self.cost.items() if amount]
        parts += [f"{count} {fault} faults" for fault, count in self.faults.items()]
        parts += [f"{count} {repair} repairs" for repair, count in self.repairs.items()]
        return ", ".join(parts)


def spent(decision: Decision) -> Mapping[str, float]:
    """What a decision cost; in tokens, where nobody counted and they are known. Prompts are counted whole,
    also where an engine remembers their beginnings."""
    if "completion_tokens" in decision.cost or decision.request is None or decision.completion is None:
        return decision.cost
    counted = {
        "prompt_tokens": float(len(decision.request.prompt_ids)),
        "completion_tokens": float(len(decision.completion.ids)),
    }
    return {**decision.cost, **counted}


def charged(decision: Decision, *costs: Mapping[str, float]) -> Decision:
    """The decision with what was asked of others for its turn on top of what it cost itself."""
    return replace(decision, cost=together((spent(decision), *costs)))


def together(costs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Costs added up by name."""
    total: dict[str, float] = {}
    for cost in costs:
        for name, amount in cost.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def spending(cost: Mapping[str, float]) -> str:
    """What came to nothing cost, to be told after the error; empty where it cost nothing."""
    told = str(Account(cost=dict(cost)))
    return f" (spent: {told})" if told else ""


def _figure(amount: float) -> str:
    return f"{amount:.0f}" if amount == int(amount) else f"{amount:.4g}"
