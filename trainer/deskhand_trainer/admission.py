"""Which tasks a run may work at: none held out where it trains, and none that nothing is known to solve."""

from __future__ import annotations

from collections.abc import Sequence

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.errors import RunRefused


def refuse_held_out(tasks: Sequence[str]) -> None:
    """Held-out tasks are never trained on.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    held = sorted(set(tasks) & set(HELD_OUT_TASKS))
    if held:
        raise RunRefused(f"{', '.join(held)}: held-out tasks are never trained on; take others")


def refuse_unproven(tasks: Sequence[str], *, allowed: bool) -> None:
    """A task without an oracle may be broken: what is learned or reported from it may be noise.

    Args:
        allowed: the config's `unproven`.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    without = sorted(set(tasks) - set(oracle_tasks()))
    if without and not allowed:
        raise RunRefused(
            f"{', '.join(without)}: nothing is known to solve it, so nothing shows that it can be solved; "
            "take tasks that `deskhand tasks list` marks with an oracle, or set unproven=true"
        )
