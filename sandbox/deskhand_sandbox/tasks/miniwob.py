"""MiniWoB++ (Liu et al. 2018): small pages with an instruction, a seed and a reward of their own.

The pages come with the PyPI package `miniwob` and are served by the browser backend. The page's own clock is
switched off (`core.EPISODE_MAX_TIME`): an episode is limited by turns and seconds of the task, and its reward
is the raw one, not the one that melts with time.
"""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_sandbox.tasks.miniwob_names import DESCRIPTIONS, EXCLUDED, RELOADED, TURNS
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Limits, Task, VerifierSpec

__all__ = ["EXCLUDED", "READY", "START", "VIEWPORT_PX", "make", "task_ids"]

FAMILY = "miniwob"
VIEWPORT_PX = (160, 210)
DEFAULT_TURNS = 12
SECONDS_PER_TURN = 20.0
SETTLE_DEADLINE_MS = 1000
LONG_SETTLE_DEADLINES_MS = {"click-pie": 2500}
"""Of pages whose own animations take longer: their start states are not to be seen half-way."""

READY = "typeof core === 'object' && core.cover_div !== null"
"""True once the page has loaded and shows its START cover."""

START = """(seed) => {
  core.EPISODE_MAX_TIME = 1e8;
  Math.seedrandom(String(seed));
  core.startEpisodeReal();
  const utterance = core.getUtterance();
  return typeof utterance === 'string' ? utterance : utterance.utterance;
}"""
"""Draws the episode from the seed and returns the instruction (some pages return a record that holds it)."""

_TASK_IDS = tuple(f"{FAMILY}/{name}" for name in DESCRIPTIONS)


def task_ids() -> tuple[str, ...]:
    """Every MiniWoB++ task that can be worked here, sorted."""
    return _TASK_IDS


def make(task_id: str, seed: int) -> Task:
    """One start state of a task of `task_ids()`."""
    name = task_id.removeprefix(f"{FAMILY}/")
    turns = TURNS.get(name, DEFAULT_TURNS)
    settings: Mapping[str, JsonValue] = {
        "site": FAMILY,
        "url": f"miniwob/{name}.html",
        "viewport_px": list(VIEWPORT_PX),
        "settle_deadline_ms": LONG_SETTLE_DEADLINES_MS.get(name, SETTLE_DEADLINE_MS),
        "ready": READY,
        "start": START,
        "restartable": name not in RELOADED,
    }
    return Task(
        id=task_id,
        environment=EnvironmentSpec(kind="browser", settings=settings),
        verifier=VerifierSpec(
            name=FAMILY, settings={"page": f"http://miniwob.localhost/miniwob/{name}.html"}
        ),
        seed=seed,
        limits=Limits(turns=turns, seconds=turns * SECONDS_PER_TURN),
        labels={"family": FAMILY, "description": DESCRIPTIONS[name]},
    )
