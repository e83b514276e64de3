"""The task that a body means, refused where nothing here could work it, or its labels would mislead."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deskhand_platform.api.models import TaskBody, TaskSubmission
from deskhand_platform.errors import InvalidField
from deskhand_platform.lent import check_lent
from deskhand_platform.naming import named_in
from deskhand_sandbox.errors import BackendMissing, InvalidTask
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import EnvironmentSpec, Limits, Task, VerifierSpec

WRITTEN = frozenset({
    "branch_exact", "branch_of", "folder", "iteration", "mode", "owner", "phase", "purpose", "reviewed",
    "round", "run", "shared_turns", "stage", "start", "task",
})  # fmt: skip
"""Labels that are written on episodes by what plays them, and that training sets are chosen by."""


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels that would pass an episode off as another's.

    Raises:
        InvalidField: names the first of them.
    """
    for name in sorted(WRITTEN & labels.keys()):
        raise InvalidField(
            f"labels.{name}", "what plays an episode writes this label: choose another name, e.g. mine"
        )


def wanted_task(body: TaskSubmission, lent: Collection[str]) -> Task:
    """The task a submission means.

    Args:
        lent: kinds of sandbox that there are here.

    Raises:
        InvalidField: neither or both of `task_id` and `task`; no such task, environment or verifier; settings
            that the verifier refuses; or an environment that is not lent here.
    """
    from deskhand_sandbox.tasks import make_task

    if (body.task_id is None) == (body.task is None):
        raise InvalidField("task_id", "give either task_id (a task of the catalog) or task (one in full)")
    if body.task_id is not None:
        with named_in("task_id"):
            task = make_task(body.task_id, body.seed)
        check_lent(task.environment.kind, lent, "task_id")
        return task
    assert body.task is not None
    task = full_task(body.task, body.seed)
    check_lent(task.environment.kind, lent, "task.environment.kind")
    _check_verifier(task.verifier)
    return task


def full_task(body: TaskBody, seed: int) -> Task:
    """A task given in full."""
    return Task(
        id=body.id,
        environment=EnvironmentSpec(kind=body.environment.kind, settings=body.environment.settings),
        verifier=VerifierSpec(name=body.verifier.name, settings=body.verifier.settings),
        instruction=body.instruction,
        seed=seed,
        details=body.details,
        limits=Limits(turns=body.limits.turns, seconds=body.limits.seconds, questions=body.limits.questions),
        labels=body.labels,
    )


def _check_verifier(spec: VerifierSpec) -> None:
    try:
        with named_in("task.verifier.name"):
            create_verifier(spec)
    except InvalidTask as error:
        raise InvalidField("task.verifier.settings", str(error)) from error
    except BackendMissing:
        # whoever works it may have what is missing here
        return
