"""Whether a round's phases take their tasks and success on them can be measured: asked before it starts, not
after hours of training."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deskhand_platform.errors import InvalidField
from deskhand_platform.lent import check_lent
from deskhand_platform.rounds.config import RUN_FIELDS, RoundConfig, check_phase, run_record
from deskhand_platform.rounds.plan import promotion_settings
from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import JsonValue, Split

if TYPE_CHECKING:
    from deskhand_trainer.config import EvaluateConfig


TASK_LISTS = ("tasks", "perception_tasks", "demonstration_tasks")
"""Settings of phases that name tasks."""


def check_tasks(config: RoundConfig) -> None:
    """Look at the tasks that success is reported on, at those that promotion goes by, and at every phase's.

    Raises:
        InvalidField: there is no such task, it has no seeds for that, no verifier, nothing is known to solve
            it, or it is held out and would be trained on; names its place. Or promotion would choose by seeds
            that are reported.
    """
    _check_measured(config)
    for name in RUN_FIELDS:
        values = getattr(config, name)
        if values is not None:
            _admitted(name, check_phase(name, values))


def check_tasks_lent(config: RoundConfig, lent: Collection[str]) -> None:
    """Look whether there are sandboxes for every phase's tasks, of a config that `check_tasks` has passed.

    Args:
        lent: kinds of sandbox that there are here.

    Raises:
        InvalidField: a task needs another kind; names its place.
    """
    measured = [(f"promote.tasks[{at}]", task) for at, task in enumerate(config.promote.tasks)]
    phases = {name: values for name in RUN_FIELDS if (values := getattr(config, name)) is not None}
    named = [one for name, values in phases.items() for one in _tasks(name, check_phase(name, values))]
    for field, task in named + measured:
        check_lent(make_task(task, seed=0).environment.kind, lent, field)


def _tasks(name: str, told: Any) -> Iterator[tuple[str, str]]:
    """A phase's tasks with their places."""
    for listed in TASK_LISTS:
        tasks: Iterable[str] = getattr(told, listed, ())
        for at, task in enumerate(tasks):
            yield f"{name}.{listed}[{at}]", task


def _check_measured(config: RoundConfig) -> None:
    gate = promotion_settings(config)
    if config.evaluate is None or gate is None:
        for at, task in enumerate(config.promote.tasks):
            _named(f"promote.tasks[{at}]", task)
        return
    reported, chosen = _told(config.evaluate), _told(gate)
    whose = "promote" if config.promote.tasks else "evaluate"
    for section, told in (("evaluate", reported), (whose, chosen)):
        for at, task in enumerate(told.tasks):
            _measurable(f"{section}.tasks[{at}]", task, told)
    for task in chosen.tasks:
        if task in reported.tasks and _meet(task, reported, chosen):
            raise InvalidField(
                "evaluate.seed_offset",
                f"promotion goes by seeds of {task} that would be reported too, so that what is reported "
                f"would be chosen by luck: take others, or fewer than {reported.episodes} episodes",
            )


def _admitted(name: str, told: Any) -> None:
    """A phase would begin with its settings."""
    from deskhand_trainer.admission import admit
    from deskhand_trainer.errors import RunRefused

    for field, task in _tasks(name, told):
        _named(field, task)
    try:
        admit(told)
    except RunRefused as error:
        field = error.field or "tasks"
        why = str(error).removeprefix(f"field '{field}': ").replace("set unproven", f"set {name}.unproven")
        raise InvalidField(f"{name}.{field}", why) from error


def _told(values: Mapping[str, JsonValue]) -> EvaluateConfig:
    from deskhand_trainer.config import parse_config

    return parse_config(run_record("evaluate"), values)


def _named(field: str, task: str) -> None:
    try:
        make_task(task, seed=0)
    except UnknownName as error:
        raise InvalidField(field, str(error), suggestions=error.suggestions) from error
    except InvalidTask as error:
        raise InvalidField(field, str(error)) from error


def _measurable(field: str, task: str, told: EvaluateConfig) -> None:
    # here and not above: oracles come with the agent's policies
    from deskhand_trainer.admission import measured_on, refuse_unproven, refuse_unverified
    from deskhand_trainer.errors import RunRefused

    _named(field, task)
    try:
        split, _ = measured_on(task, Split(told.split), 0)
        seeds(task, split, 1)
        refuse_unverified((task,))
        refuse_unproven((task,), allowed=told.unproven)
    except InvalidTask as error:
        also = (
            "; promotion goes by validation seeds, of the tasks that promote.tasks names or of all of these"
        )
        raise InvalidField(field, f"{error}{also if told.split == 'validation' else ''}") from error
    except RunRefused as error:
        raise InvalidField(field, str(error).replace("set unproven", "set evaluate.unproven")) from error


def _meet(task: str, one: EvaluateConfig, other: EvaluateConfig) -> bool:
    """Whether both measure a task by a seed."""
    from deskhand_trainer.admission import measured_on

    (split, begin), (its, at) = (
        measured_on(task, Split(told.split), told.seed_offset) for told in (one, other)
    )
    return split is its and begin < at + other.episodes and at < begin + one.episodes
