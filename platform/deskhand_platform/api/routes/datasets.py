"""/v1/datasets and /v1/lineage: what was chosen, by which recipe, and what came of what."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Query

from deskhand_flywheel.errors import EmptySelection, HeldOutRefused, InvalidRoutes, UnknownDataset
from deskhand_flywheel.holdings import DatasetHead, dataset_heads
from deskhand_flywheel.lineage import trace_dataset, trace_policy
from deskhand_flywheel.routing import Route, read_routes
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.api.deps import Have, Label, labelled
from deskhand_platform.api.flywheel_models import (
    DatasetDetail,
    DatasetModel,
    LineageModel,
    RoutedModel,
    RouteOrder,
    SelectionModel,
)
from deskhand_platform.api.recorded import plain
from deskhand_platform.api.rules import mapping_in
from deskhand_platform.errors import InvalidField

router = APIRouter(tags=["flywheel"])
SHOWN_IDS = 1000
SAMPLE = 5


@router.get("/datasets")
async def list_datasets(have: Have) -> list[DatasetModel]:
    """Every version of every dataset, newest first."""
    return [_shown(head) for head in await dataset_heads(have.store)]


@router.get("/datasets/selection")
async def preview_selection(
    have: Have,
    task_id: str | None = None,
    policy_id: str | None = None,
    label: Label = None,
) -> SelectionModel:
    """How many trajectories a filter lets through, by how they went."""
    counts: dict[OutcomeFilter, int] = {}
    for outcome in OutcomeFilter:
        chosen = TrajectoryFilter(
            task_ids=None if task_id is None else (task_id,),
            policy_id=policy_id,
            labels=labelled(label or []),
            outcome=outcome,
        )
        counts[outcome] = await have.store.count_trajectories(chosen)
    return SelectionModel(trajectories=sum(counts.values()), by_outcome=counts)


@router.post("/datasets/preview")
async def preview_routes(have: Have, body: RouteOrder) -> list[RoutedModel]:
    """What each route would take now, and leave out; nothing is kept."""
    found: list[RoutedModel] = []
    for route in _routes(body.rules):
        with _task_named():
            sifted = await have.store.preview_dataset(route.rule, _chosen(body), sieve=route.sieve)
        found.append(
            RoutedModel(
                dataset=f"{body.name}/{route.name}",
                kind=route.rule.kind,
                trajectories=len(sifted.ids),
                left_out=sifted.left_out,
                sample=sifted.ids[:SAMPLE],
            )
        )
    return found


@router.post("/datasets", status_code=201)
async def route_episodes(have: Have, body: RouteOrder) -> list[RoutedModel]:
    """Make the next version of a dataset for each route; one that takes nothing makes none."""
    found: list[RoutedModel] = []
    for route in _routes(body.rules):
        name = f"{body.name}/{route.name}"
        try:
            with _task_named():
                made = await have.store.select_dataset(name, route.rule, _chosen(body), sieve=route.sieve)
        except EmptySelection as error:
            left_out = dict(error.left_out)
            found.append(
                RoutedModel(dataset=name, kind=route.rule.kind, trajectories=0, left_out=left_out, sample=[])
            )
            continue
        found.append(
            RoutedModel(
                dataset=f"{made.name}@{made.version}",
                kind=made.kind,
                trajectories=len(made.trajectory_ids),
                left_out=cast("dict[str, int]", made.recipe["left_out"]),
                sample=list(made.trajectory_ids[:SAMPLE]),
            )
        )
    return found


@router.get("/datasets/{name:path}")
async def get_dataset(
    have: Have,
    name: str,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="the newest without")] = None,
) -> DatasetDetail:
    """One dataset with its recipe and trajectories."""
    heads = await dataset_heads(have.store, name)
    head = next((one for one in heads if version is None or one.version == version), None)
    if head is None:
        which = "" if version is None else f"version {version} of "
        raise UnknownDataset(f"no {which}dataset {name!r} in the store")
    whole = await have.store.dataset(name, head.version)
    return DatasetDetail(
        **_shown(head).model_dump(),
        versions=[one.version for one in heads],
        trajectory_ids=list(whole.trajectory_ids[:SHOWN_IDS]),
    )


@router.get("/lineage")
async def get_lineage(
    have: Have,
    policy: Annotated[str | None, Query(description="id of a policy")] = None,
    dataset: Annotated[str | None, Query(description="NAME@VERSION of a dataset")] = None,
) -> LineageModel:
    """Where a policy, or a dataset, comes from: trajectory ← policy ← dataset ← trajectory ← …"""
    if (policy is None) == (dataset is None):
        raise InvalidField("policy", "give either policy or dataset")
    if policy is not None:
        named = await have.store.policy_named(policy)
        return LineageModel.model_validate(asdict(await trace_policy(have.store, named.id)))
    assert dataset is not None
    name, _, version = dataset.rpartition("@")
    if not name or not version.isascii() or not version.isdecimal() or len(version) > 9:
        raise InvalidField("dataset", f"{dataset!r} is not of the form NAME@VERSION, e.g. round-3/sft@1")
    return LineageModel.model_validate(asdict(await trace_dataset(have.store, name, int(version))))


def _shown(head: DatasetHead) -> DatasetModel:
    return DatasetModel(
        name=head.name,
        version=head.version,
        kind=head.kind,
        trajectories=head.trajectories,
        successes=head.successes,
        created_at_s=head.created_at_s,
        recipe=plain(head.recipe),
    )


def _routes(rules: str) -> tuple[Route, ...]:
    """Routes of a YAML text laid on the flywheel's own.

    Raises:
        InvalidField: it is no YAML, or holds something else than routes.
    """
    values = mapping_in(rules, "routes by name, e.g. sft: {outcome: success}")
    try:
        return read_routes(values)
    except InvalidRoutes as error:
        raise InvalidField("rules", str(error)) from error


@contextmanager
def _task_named() -> Generator[None]:
    """
    Raises:
        InvalidField: the task that an order names is held out.
    """
    try:
        yield
    except HeldOutRefused as error:
        raise InvalidField("task_id", str(error)) from error


def _chosen(body: RouteOrder) -> TrajectoryFilter:
    return TrajectoryFilter(
        task_ids=None if body.task_id is None else (body.task_id,),
        policy_id=body.policy_id,
        labels=body.labels,
    )
