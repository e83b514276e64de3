"""A trajectory's turns as lines of text."""

from __future__ import annotations

from deskhand_agent.accounts import Account
from deskhand_agent.types import Trajectory


def render_text(trajectory: Trajectory) -> str:
    """What was asked, each turn's index, reward and reply, and what they cost where that is known."""
    start = trajectory.start
    head = f"{start.task.id} seed {start.task.seed}: {start.instruction}\n"
    turns = [f"{step.index:>3}  {step.reward:+.3f}  {step.decision.text}\n" for step in trajectory.steps]
    account = Account()
    account.add(trajectory.steps)
    return head + "".join(turns) + (f"{account}\n" if str(account) else "")
