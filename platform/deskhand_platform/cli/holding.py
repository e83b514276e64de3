"""`deskhand flywheel status` and `datasets`: what the store holds, and what was chosen from it."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import BaseModel

from deskhand_platform.api.flywheel_models import (
    CalibrationModel,
    DatasetDetail,
    DatasetModel,
    RoutingModel,
    ScorerModel,
    StorageModel,
)
from deskhand_platform.cli.client import Client, HomeUrl, looked_up
from deskhand_platform.cli.console import Json, out, print_json, table, when
from deskhand_platform.errors import InvalidField


class Held(BaseModel):
    """What `status` prints."""

    storage: StorageModel
    routing: RoutingModel
    scorers: list[ScorerModel]
    calibrations: list[CalibrationModel]


def register(app: typer.Typer) -> None:
    """Add them."""
    app.command(epilog="Example:  deskhand flywheel status --json")(status)
    app.command(
        epilog="Examples:  deskhand flywheel datasets   ·   deskhand flywheel datasets round-3/sft@1"
    )(datasets)


def status(as_json: Json = False, url: HomeUrl = None) -> None:
    """Rows and bytes, where episodes went, who scored steps, and how reliable reward models are."""
    found = looked_up(_held, url)
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    rows = ", ".join(f"{count} {name}" for name, count in found.storage.rows.items())
    pictures, models = found.storage.pictures.bytes / 1e6, found.storage.models.bytes / 1e6
    went = ", ".join(f"{count} {kind}" for kind, count in found.routing.by_kind.items())
    for line in (
        f"rows: {rows}",
        f"{found.storage.database_bytes / 1e6:.1f} MB of rows, {pictures:.1f} MB of pictures, "
        f"{models:.1f} MB of models",
        f"{found.routing.episodes} training episodes: {went or 'none routed'}, "
        f"{found.routing.unrouted} unrouted",
    ):
        out.print(line, soft_wrap=True)
    lines = table("scorer", "scores", "trajectories", "mean", "last")
    for one in found.scorers:
        lines.add_row(
            one.name, str(one.scores), str(one.trajectories), f"{one.mean:.3f}", when(one.last_at_s)
        )
    out.print(lines)
    lines = table("reward model", "of", "measured on", "AUC", "calibration error")
    for one in found.calibrations:
        figures = (_figure(one.after.auc), _figure(one.after.calibration_error))
        lines.add_row(one.policy_id, one.scorer, one.measured_on, *figures)
    if found.calibrations:
        out.print(lines)


async def _held(client: Client) -> Held:
    return Held(
        storage=await client.storage(),
        routing=await client.routing(),
        scorers=await client.scorers(),
        calibrations=await client.calibrations(),
    )


def datasets(
    dataset: Annotated[
        str | None, typer.Argument(help="NAME or NAME@VERSION, shown as JSON; a list of all without")
    ] = None,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Datasets, newest first, or one of them with its recipe and trajectories."""
    if dataset is not None:
        out.print(_one(dataset, url).model_dump_json(indent=1), soft_wrap=True)
        return
    found = looked_up(lambda client: client.datasets(), url)
    if as_json:
        print_json(found)
        return
    lines = table("dataset", "for", "trajectories", "successes", "made")
    for one in found:
        counts = (str(one.trajectories), str(one.successes))
        lines.add_row(_name(one), one.kind, *counts, when(one.created_at_s))
    out.print(lines)


def _one(dataset: str, url: str | None) -> DatasetDetail:
    name, at, version = dataset.rpartition("@")
    if at and not (name and version.isascii() and version.isdecimal()):
        raise InvalidField("DATASET", f"{dataset!r} is not of the form NAME or NAME@VERSION")
    return looked_up(lambda client: client.dataset(name or dataset, int(version) if at else None), url)


def _name(one: DatasetModel) -> str:
    return f"{one.name}@{one.version}"


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
