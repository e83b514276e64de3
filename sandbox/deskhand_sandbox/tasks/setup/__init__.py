"""Setting a task up: the sandbox's reset, then the steps the task brings.

`task.environment.settings["setup"]` lists steps as OSWorld writes them, {"type": …, "parameters": {…}}. A
task with steps is begun by `set_up`; one that is reset without it is refused, not half set up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, InvalidTask, SandboxDied, SandboxTimeout
from deskhand_sandbox.tasks.setup.steps import STEPS, SetupContext, Step, check_steps
from deskhand_sandbox.types import Start, Task

__all__ = ["SETUP", "STEPS", "asked_s", "check_steps", "run_steps", "set_up"]

SETUP = "setup"
"""The setting of an environment that holds the steps."""


def asked_s(task: Task) -> float:
    """Seconds that the task's set-up steps may take by their own limits, beside the sandbox's reset.

    Raises:
        InvalidTask: a step is refused.
    """
    steps = check_steps(task.environment.settings.get(SETUP, []), f"task {task.id}: {SETUP}")
    return sum(step.asked_s for step in steps)


async def set_up(sandbox: Sandbox, task: Task) -> Start:
    """Bring up the task's start state, its set-up steps included.

    Raises:
        InvalidTask: the task is for another kind, or a setting or a step is refused.
        InfrastructureError: the computer failed, or a step did; says which.
    """
    settings = task.environment.settings
    if SETUP not in settings:
        return await sandbox.reset(task)
    steps = check_steps(settings[SETUP], f"task {task.id}: {SETUP}")
    bare = {name: value for name, value in settings.items() if name != SETUP}
    start = await sandbox.reset(replace(task, environment=replace(task.environment, settings=bare)))
    await run_steps(steps, SetupContext(sandbox=sandbox, screen_px=start.observation.size_px))
    return replace(start, observation=await sandbox.observe())


async def run_steps(steps: Sequence[Step], context: SetupContext) -> None:
    """Run steps in order.

    Raises:
        InvalidTask: a file to be downloaded is neither here nor to be had; says where to put it.
        InfrastructureError: a step failed; says which and why.
    """
    for number, step in enumerate(steps, start=1):
        try:
            await step.run(context)
        except (SandboxDied, SandboxTimeout, InvalidTask):
            raise
        except InfrastructureError as error:
            raise InfrastructureError(f"set-up step {number} ({step.type}) failed: {error}") from error
