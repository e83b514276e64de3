"""Submitted tasks as rows of the `tasks` table, and back."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from deskhand_agent.ids import new_id
from deskhand_flywheel.records import decode, encode
from deskhand_platform.states import WorkState
from deskhand_platform.submissions import Row
from deskhand_platform.task_orders import BranchRef, PolicyRef, QueuedTask, TaskOrder
from deskhand_sandbox.types import Outcome, Task


def row_of(order: TaskOrder) -> dict[str, Any]:
    """What is written of a task that waits."""
    return {
        "id": new_id(),
        "state": WorkState.QUEUED,
        "task": encode(order.task),
        "policy": {
            "name": order.policy.name,
            "settings": dict(order.policy.settings),
            "review_s": order.policy.review_s,
        },
        "labels": dict(order.labels),
        "rank": -order.priority,
        "deadline_s": order.deadline_s,
        "key": order.key,
        "owner": order.owner,
        "attempts": 0,
        "cancel_requested": False,
        **dict.fromkeys(("trajectory_id", "outcome", "reason", "started_at_s", "ended_at_s")),
        "branch": None if order.branch is None else asdict(order.branch),
        "created_at_s": time.time(),
    }


def record_of(row: Row) -> QueuedTask:
    """The task of a row."""
    return QueuedTask(
        id=row["id"],
        state=WorkState(row["state"]),
        task=decode(Task, row["task"]),
        policy=PolicyRef(**row["policy"]),
        labels=row["labels"],
        priority=-row["rank"],
        deadline_s=row["deadline_s"],
        key=row["key"],
        owner=row["owner"],
        branch=None if row["branch"] is None else BranchRef(**row["branch"]),
        attempts=row["attempts"],
        cancel_requested=row["cancel_requested"],
        trajectory_id=row["trajectory_id"],
        outcome=None if row["outcome"] is None else decode(Outcome, row["outcome"]),
        reason=row["reason"],
        created_at_s=row["created_at_s"],
        started_at_s=row["started_at_s"],
        ended_at_s=row["ended_at_s"],
    )
