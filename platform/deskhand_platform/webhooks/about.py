"""What a webhook can be told of."""

from __future__ import annotations

from enum import StrEnum


class About(StrEnum):
    """What a webhook is told of."""

    TASKS = "tasks"
    ALARMS = "alarms"
