"""/v1/evaluations: success of policies on suites, asked for and measured, and what got worse."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from deskhand_agent.policies.scripted import has_oracle
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_platform.api.deps import Cursor, Have, Limit, Noted, after
from deskhand_platform.api.evaluation_models import (
    ComparisonModel,
    EvaluationModel,
    EvaluationOrder,
    SuiteModel,
    SuiteOrder,
)
from deskhand_platform.api.models import Page
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.evaluations.desk import EvaluationDesk
from deskhand_platform.evaluations.of_rounds import as_rounds_say
from deskhand_platform.evaluations.records import EvaluationRecord, compare, evaluations
from deskhand_platform.evaluations.suites import Suite, SuiteShelf
from deskhand_platform.lent import check_lent
from deskhand_platform.naming import named_in
from deskhand_platform.rounds.presets import preset, preset_names
from deskhand_platform.services import Services
from deskhand_sandbox.types import JsonValue

if TYPE_CHECKING:
    from deskhand_sandbox.tasks import TaskInfo

router = APIRouter(tags=["evaluations"])
SuiteName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
AT_ONCE = 4
"""Episodes: tasks and rounds need sandboxes too."""


@router.get("/evaluations")
async def list_evaluations(
    have: Have,
    policy_id: str | None = None,
    task: str | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[EvaluationModel]:
    """Evaluations, newest first."""
    if policy_id == DESKHAND_TINY:
        policy_id = (await have.store.policy_named(policy_id)).id
    found = after(cursor, await _known(have), lambda one: one.id)
    chosen = [
        one
        for one in found
        if (policy_id is None or one.policy_id == policy_id) and (task is None or task in one.tasks)
    ]
    more = chosen[limit - 1].id if len(chosen) > limit else None
    return Page[EvaluationModel](items=[shown(one) for one in chosen[:limit]], next_cursor=more)


@router.post("/evaluations", status_code=201)
async def ask_evaluation(have: Have, note: Noted, body: EvaluationOrder) -> EvaluationModel:
    """Queue one; they are worked one after the other, whatever dies meanwhile."""
    kinds = await _check(body.tasks)
    for number, kind in enumerate(kinds):
        check_lent(kind, have.settings.sandbox.lent, f"tasks.{number}")
    if body.policy_id is None:
        for number, task in enumerate(body.tasks):
            if not has_oracle(task):
                raise InvalidField(
                    f"tasks.{number}",
                    f"no oracle is known for {task!r}, so that the scripted policy cannot work it: "
                    "name a policy (policy_id) to be measured",
                )
    with named_in("policy_id"):
        policy = None if body.policy_id is None else (await have.store.policy_named(body.policy_id)).id
    config: dict[str, JsonValue] = {
        "tasks": [*dict.fromkeys(body.tasks)],
        "episodes": body.episodes,
        "modes": [*dict.fromkeys(body.modes)],
        "split": body.split,
        "policy": "scripted" if policy is None else "local",
        "targets": False,
        "concurrency": AT_ONCE,
        "unproven": True,
    }
    desk = EvaluationDesk(have.settings)
    asked = await asyncio.to_thread(desk.ask, policy, config)
    note(asked.id)
    return shown(asked)


@router.get("/evaluations/suites")
async def list_suites(have: Have) -> list[SuiteModel]:
    """Those held out, those that presets measure together, and those that people put together."""
    return await asyncio.to_thread(_suites, SuiteShelf(have.settings.suites))


@router.put("/evaluations/suites/{name}")
async def keep_suite(have: Have, note: Noted, name: SuiteName, body: SuiteOrder) -> SuiteModel:
    """Put a suite together, or other tasks into one of that name."""
    if name in {suite.name for suite in await asyncio.to_thread(_given)}:
        raise WrongState(f"the suite {name} comes with Deskhand and stays as it is; choose another name")
    await _check(body.tasks)
    note(body.model_dump_json())
    kept = await asyncio.to_thread(SuiteShelf(have.settings.suites).keep, name, body.tasks)
    return _own(kept)


@router.delete("/evaluations/suites/{name}", status_code=204)
async def delete_suite(have: Have, name: SuiteName) -> None:
    """Forget a suite that somebody put together; what was measured on it stays."""
    if name in {suite.name for suite in await asyncio.to_thread(_given)}:
        raise WrongState(f"the suite {name} comes with Deskhand and stays")
    await asyncio.to_thread(SuiteShelf(have.settings.suites).forget, name)


@router.get("/evaluations/compare")
async def compare_policies(
    have: Have,
    old: Annotated[str, Query(description="id of a policy")],
    new: Annotated[str, Query(description="id of another")],
) -> list[ComparisonModel]:
    """Their newest measurements of the same tasks, what got worse first."""
    before, after = [(await have.store.policy_named(policy)).id for policy in (old, new)]
    found = await _known(have)
    return [ComparisonModel.model_validate(asdict(one)) for one in compare(found, before, after)]


@router.get("/evaluations/{id}")
async def get_evaluation(have: Have, id: str) -> EvaluationModel:
    """One of them, with how far it is."""
    found = await _known(have)
    one = next((each for each in found if each.id == id), None)
    if one is None:
        raise NotFound("evaluation", id)
    return shown(one)


@router.post("/evaluations/{id}/cancel")
async def cancel_evaluation(have: Have, id: str) -> EvaluationModel:
    """Take it out of the queue, or stop it; those of rounds end with their round."""
    return shown(await asyncio.to_thread(EvaluationDesk(have.settings).cancel, id))


def shown(record: EvaluationRecord) -> EvaluationModel:
    """An evaluation for the wire."""
    return EvaluationModel.model_validate(asdict(record))


async def _known(have: Services) -> tuple[EvaluationRecord, ...]:
    """All there are, newest first."""
    found = await asyncio.to_thread(evaluations, have.settings.runs)
    rounds = [int(one.round) for one in found if one.round is not None and one.round.isdecimal()]
    phases = await have.book.phases(rounds)
    return as_rounds_say(found, {(str(number), phase.name): phase for number, phase in phases})


def _catalog() -> Sequence[TaskInfo]:
    from deskhand_sandbox.tasks import list_tasks

    return list_tasks()


async def _check(tasks: Sequence[str]) -> list[str]:
    """The kinds of sandbox that they need, in their order."""
    known = {task.id: task.kind for task in await asyncio.to_thread(_catalog)}
    for number, task in enumerate(tasks):
        if task not in known:
            with named_in(f"tasks.{number}"):
                raise NotFound("task", task, known)
    return [known[task] for task in tasks]


def _suites(shelf: SuiteShelf) -> list[SuiteModel]:
    return [*_given(), *map(_own, shelf.all())]


def _own(suite: Suite) -> SuiteModel:
    return SuiteModel(name=suite.name, tasks=[*suite.tasks], own=True)


def _given() -> list[SuiteModel]:
    from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS

    known = {task.id for task in _catalog()}
    suites = [SuiteModel(name="held-out", tasks=sorted(set(HELD_OUT_TASKS) & known), own=False)]
    for name in preset_names():
        tasks = (preset(name).evaluate or {}).get("tasks")
        if isinstance(tasks, list):
            suites.append(SuiteModel(name=name, tasks=[str(task) for task in tasks], own=False))
    return suites
