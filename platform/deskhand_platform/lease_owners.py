"""The name under which a submitted task leases its sandbox: by it the page finds the task of a lease."""

from __future__ import annotations

import re

_NAME = re.compile(r"task-([0-9a-f]{32})(-\d+)?")


def lease_owner(queued_id: str) -> str:
    """The owner of its lease; whoever runs the episodes may add a number."""
    return f"task-{queued_id}"


def leasing_task(owner: str) -> str | None:
    """Id of the submitted task; None where another has the lease."""
    found = _NAME.fullmatch(owner)
    return None if found is None else found[1]
