"""A task as it is written: with a seed it becomes a `Task` and, where it has one, its oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from deskhand_sandbox.tasks.written.actions import AnswerOf, WaitUntil, read_step
from deskhand_sandbox.tasks.written.parameters import Parameter, Value, draw, every_draw, fill
from deskhand_sandbox.types import Action, EnvironmentSpec, JsonValue, Limits, Task, VerifierSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """One task of a file."""

    id: str
    instruction: str
    description: str
    kind: str
    """Of sandbox."""
    settings: Mapping[str, object]
    """Of the environment, with holes."""
    verifier: str
    verifier_settings: Mapping[str, object]
    limits: Limits
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the user says when asked, with holes."""
    parameters: tuple[Parameter, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    actions: Sequence[object] | None = None
    """The oracle's, in order, with holes; None: it has no oracle, and is unproven."""

    @property
    def fixed(self) -> bool:
        """There is one start state: nothing is drawn, or from one value alone."""
        return all(each == of.choices[0] for of in self.parameters for each in of.choices)

    def make(self, seed: int) -> Task:
        """One start state; no two splits share one."""
        drawn = self._filled(seed)
        return Task(
            id=self.id,
            environment=EnvironmentSpec(kind=self.kind, settings=_settings(self.settings, drawn)),
            verifier=VerifierSpec(name=self.verifier, settings=_settings(self.verifier_settings, drawn)),
            instruction=str(fill(self.instruction, drawn)),
            seed=seed,
            limits=self.limits,
            labels={"family": self.id.partition("/")[0], "description": self.description, **self.labels},
            details={topic: str(it) for topic, it in _settings(self.details, drawn).items()},
        )

    def oracle(self, seed: int) -> tuple[Action | AnswerOf | WaitUntil, ...] | None:
        """What works the start state of this seed; None where there is no oracle."""
        if self.actions is None:
            return None
        drawn = self._filled(seed)
        return tuple(read_step(fill(each, drawn)) for each in self.actions)

    def _filled(self, seed: int) -> Mapping[str, Value]:
        """What the holes are filled with: what is drawn, and the seed, which the script `prepare` knows."""
        return {"seed": seed, **self._drawn(seed)}

    def _drawn(self, seed: int) -> Mapping[str, Value]:
        # splits ask the families what they have
        from deskhand_sandbox.tasks.splits import FEW, drawn_apart

        few = every_draw(self.parameters, FEW)
        return drawn_apart(self.id, seed, partial(draw, self.parameters), name=_name, few=few)


def _name(drawn: Mapping[str, Value]) -> str:
    return json.dumps(drawn, sort_keys=True)


def _settings(values: Mapping[str, object], drawn: Mapping[str, object]) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", fill(values, drawn))  # type: ignore[arg-type]
