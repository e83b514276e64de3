"""What a task looks like when it begins: its instruction and first screen, through a sandbox of its own."""

from __future__ import annotations

import asyncio

from deskhand_platform import host_address
from deskhand_platform.errors import InvalidField, PreviewFailed
from deskhand_platform.settings import Settings
from deskhand_sandbox.errors import InvalidTask, SandboxError, UnknownName
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import Start, Task

AT_ONCE = 2
"""Previews: episodes come first."""
WAIT_S = 20.0
LIMIT_S = 60.0
_rooms = asyncio.Semaphore(AT_ONCE)


async def first_screen(settings: Settings, task: Task) -> Start:
    """Set the task up, look once, and give the sandbox back.

    Raises:
        PreviewFailed: no sandbox is to be had, or the task could not be set up in one.
        InvalidField: it can be set up in none.
        UnknownName: the host lends no sandbox of its kind.
    """
    from deskhand_sandbox.host import SandboxClient

    address = host_address.published(settings.home)
    if address is None:
        raise PreviewFailed("the sandbox host is not up; try again in a moment")
    try:
        async with (
            asyncio.timeout(LIMIT_S),
            _rooms,
            SandboxClient(*address) as client,
            client.lease(task.environment.kind, owner="preview", wait_s=WAIT_S) as sandbox,
        ):
            return await set_up(sandbox, task)
    except UnknownName:
        raise
    except InvalidTask as error:
        raise InvalidField("task", str(error)) from error
    except SandboxError as error:
        raise PreviewFailed(f"{task.id} cannot be shown: {error}") from error
    except TimeoutError as error:
        raise PreviewFailed(f"{task.id} was not set up within {LIMIT_S:.0f} s") from error
