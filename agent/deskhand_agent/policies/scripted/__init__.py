"""Oracles: they read the state behind the page and act as an agent that sees the pixels would.

For demonstrations. One action per turn, clicks near the centres of elements.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from deskhand_agent.errors import OracleError
from deskhand_agent.grammar import format_reply
from deskhand_agent.policies.scripted import buttons, drawn, forms, pictures, widgets
from deskhand_agent.policies.scripted.page import Page
from deskhand_agent.types import Context, Decision
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks import oracles as tasks
from deskhand_sandbox.types import Action

OracleFunction: TypeAlias = Callable[[Page], Awaitable[Action]]
"""The next action for the page as it is now; keeps nothing between turns."""

_ORACLES: dict[str, OracleFunction] = {
    f"{family}/{task}": oracle
    for family, table in (
        ("miniwob", buttons.ORACLES),
        ("miniwob", forms.ORACLES),
        ("miniwob", pictures.ORACLES),
        ("miniwob", widgets.ORACLES),
        ("fake", drawn.ORACLES),
    )
    for task, oracle in table.items()
}


def oracle_tasks() -> tuple[str, ...]:
    """Ids of the tasks that have an oracle, sorted."""
    return tuple(sorted({*_ORACLES, *tasks.oracle_tasks()}))


def has_oracle(task_id: str) -> bool:
    """Whether a task is one of `oracle_tasks`."""
    return task_id in _ORACLES or tasks.brings_oracle(task_id)


class ScriptedPolicy:
    """Works every task of `oracle_tasks`."""

    reads_state = True

    def __init__(self, *, reads_tree: bool = False) -> None:
        """
        Args:
            reads_tree: it needs none, but whoever learns from what it did may.
        """
        self.id = "scripted"
        self.reads_tree = reads_tree

    async def act(self, context: Context) -> Decision:
        """The oracle's next action.

        Raises:
            OracleError: there is none for the task, or it does not know the screen.
        """
        oracle = _ORACLES.get(context.task.id)
        if oracle is None and context.sandbox is not None and tasks.brings_oracle(context.task.id):
            return await _own(context, context.sandbox)
        if oracle is None:
            raise OracleError(
                f"no oracle for task {context.task.id!r}: see deskhand_agent.policies.scripted.oracle_tasks()"
            )
        if context.sandbox is None:
            raise OracleError("an oracle reads the state behind the screen: run it through run_episode")
        page = Page(context.sandbox, context.instruction, turn=len(context.steps))
        actions = (await oracle(page),)
        return Decision(actions=actions, text=format_reply(None, actions))


async def _own(context: Context, sandbox: Sandbox) -> Decision:
    """What the task's own oracle does next."""
    try:
        actions = tuple(await tasks.next_actions(context.task, sandbox, len(context.steps)))
    except InvalidTask as error:
        raise OracleError(str(error)) from error
    return Decision(actions=actions, text=format_reply(None, actions))
