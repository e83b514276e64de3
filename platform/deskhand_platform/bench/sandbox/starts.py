"""The task each kind of sandbox is measured on, and where on its screen a click does no harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deskhand_sandbox.errors import BackendMissing, SandboxError
from deskhand_sandbox.registry import backend_kinds, create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Point, Task, VerifierSpec

MINIWOB = "miniwob/click-test-2"
SETTINGS: Mapping[str, dict[str, JsonValue]] = {
    "desktop": {"applications": [["xterm", "-geometry", "80x24+40+40"]]},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What is measured of one kind."""

    kind: str
    task: Task
    click_at: Point


def measured(kind: str, seed: int = 1) -> Measured:
    """The measured task of a kind."""
    if kind == "browser":
        return Measured(kind=kind, task=make_task(MINIWOB, seed), click_at=(50, 120))
    if kind == "fake":
        return Measured(kind=kind, task=make_task("fake/press-button", seed), click_at=(5, 5))
    task = Task(
        id=f"bench/{kind}",
        environment=EnvironmentSpec(kind=kind, settings=SETTINGS.get(kind, {})),
        verifier=VerifierSpec(name="expression"),
        instruction="Nothing is to be done.",
        seed=seed,
    )
    return Measured(kind=kind, task=task, click_at=(5, 5))


def kinds_here() -> tuple[str, ...]:
    """Kinds of which this machine can make sandboxes, the fake one left out."""
    found: list[str] = []
    for kind in backend_kinds():
        try:
            create_backend(kind)
        except (BackendMissing, SandboxError):
            continue
        if kind != "fake":
            found.append(kind)
    return tuple(found)
