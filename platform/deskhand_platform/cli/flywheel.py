"""`deskhand flywheel …`: what the store holds, brought out, brought in, routed and traced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.cli.client import Client, WorkUrl, connect
from deskhand_platform.cli.console import bars, out, say
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import load_settings

if TYPE_CHECKING:
    from deskhand_flywheel.exchange import Exported, Guidance, Imported
    from deskhand_platform.api.exchange_models import ImportedModel

app = typer.Typer(help="The store: trajectories out and in, routes, lineage, upkeep.", no_args_is_help=True)

Label = Annotated[list[str] | None, typer.Option("--label", help="only with this label, name=value")]


@app.command(
    epilog="Examples:  deskhand flywheel export ./sft --dataset round-3/sft@1   ·   deskhand flywheel export "
    "./wins --outcome success --format osworld   ·   deskhand flywheel export ./two --id ID --id ID"
)
def export(
    folder: Annotated[Path, typer.Argument(help="folder to write; must not be there, or be empty")],
    format: Annotated[
        str, typer.Option("--format", help="parquet, osworld, ui-tars, webdataset or experience")
    ] = "parquet",
    dataset: Annotated[
        str | None, typer.Option(help="trajectories of a dataset, NAME or NAME@VERSION")
    ] = None,
    id: Annotated[list[str] | None, typer.Option(help="this trajectory; repeatable")] = None,
    task: Annotated[str | None, typer.Option(help="only of this task")] = None,
    policy: Annotated[str | None, typer.Option(help="only of this policy")] = None,
    outcome: Annotated[OutcomeFilter | None, typer.Option(help="only those that went so")] = None,
    label: Label = None,
    url: WorkUrl = None,
) -> None:
    """Write trajectories, with pictures and scores, as files that others read.

    Parquet is loaded by `datasets.load_dataset(FOLDER)`, and WebDataset shards by its name; osworld and
    ui-tars are what their own runners and trainers use. They can be imported again, equal to the last bit;
    webdataset and experience, which is what actions led to, only go out. Without a choice every episode that
    has ended is written. With --url they are those of a platform elsewhere.
    """
    narrowed = task is not None or policy is not None or outcome is not None or bool(label)
    if sum((dataset is not None, bool(id), narrowed)) > 1:
        raise InvalidField("--dataset", "choose by dataset, by id or by a filter, not by several")
    chosen = TrajectoryFilter(
        task_ids=None if task is None else (task,),
        policy_id=policy,
        outcome=outcome,
        labels=labels_of(label or []),
        ended=True,
    )
    settings = load_settings()
    if url is not None or settings.url is not None:
        asyncio.run(_export_from(connect(settings, url), folder, format, dataset, id or [], chosen))
        say(f"written to {folder}")
        return
    with bars() as told:
        shown = partial(told, "trajectories")
        done = asyncio.run(_export(folder, format, dataset, id or [], chosen, shown))
    say(f"written to {folder}: {done.trajectories} trajectories, {done.steps} steps")


@app.command(
    "import",
    epilog="Examples:  deskhand flywheel import ./sft   ·   deskhand flywheel import results --examples "
    "OSWorld/evaluation_examples   ·   deskhand flywheel import data.jsonl --dialect ui_tars_1_0 --succeeded",
)
def import_(
    path: Annotated[Path, typer.Argument(help="folder, or file of conversations")],
    format: Annotated[
        str | None, typer.Option("--format", help="parquet, osworld or ui-tars; seen from the files without")
    ] = None,
    policy: Annotated[str, typer.Option(help="who played, where the files do not say")] = "imported",
    examples: Annotated[
        Path | None, typer.Option(help="OSWorld's evaluation_examples, which hold the instructions")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="conversations of others are in: ui_tars, ui_tars_1_0, ui_tars_mobile, …")
    ] = "ui_tars",
    succeeded: Annotated[
        bool, typer.Option("--succeeded", help="take episodes of others without a verdict for successes")
    ] = False,
    url: WorkUrl = None,
) -> None:
    """Bring trajectories into the store: what was exported, OSWorld's results, UI-TARS-style conversations.

    All files are read before anything is written: a damaged one is named, and nothing comes in. What is here
    already stays as it is, so that importing twice is importing once. With --url all is sent to a platform
    elsewhere.
    """
    from deskhand_flywheel.exchange import Guidance
    from deskhand_sandbox.dialects import usual_frame

    usual_frame(dialect, (1, 1))  # refuses a name that there is not
    settings = load_settings()
    guidance = Guidance(policy_id=policy, examples=examples, dialect=dialect, succeeded=succeeded)
    if url is not None or settings.url is not None:
        done = asyncio.run(_import_to(connect(settings, url), path, format, guidance))
    else:
        with bars() as told:
            done = asyncio.run(_import(path, format, guidance, partial(told, "trajectories")))
    out.print(f"{done.format}: {len(done.added)} new, {len(done.present)} here already")
    if done.unread:
        say(f"{done.unread} turns hold an action that could not be read: they stand as turns without one")
    if done.without_first:
        say(f"{done.without_first} episodes kept no first picture: their first turn is left out")


async def _export(
    folder: Path,
    format: str,
    dataset: str | None,
    ids: list[str],
    chosen: TrajectoryFilter,
    told: Callable[[int, int | None], None],
) -> Exported:
    from deskhand_flywheel.exchange import export_trajectories, format_named

    format_named(format)  # before the store is asked for anything
    async with opened_store() as store:
        if dataset is not None:
            name, version = _versioned(dataset)
            ids = [*(await store.dataset(name, version)).trajectory_ids]
        elif not ids:
            ids = [*await store.trajectory_ids(chosen)]
        if not ids:
            raise InvalidField("FOLDER", "nothing to export: no trajectory is chosen")
        return await export_trajectories(store, ids, folder, format, progress=told)


async def _import(
    path: Path, format: str | None, guidance: Guidance, told: Callable[[int, int | None], None]
) -> Imported:
    from deskhand_flywheel.exchange import import_trajectories

    async with opened_store() as store:
        return await import_trajectories(store, path, format=format, guidance=guidance, progress=told)


async def _export_from(
    there: Client, folder: Path, format: str, dataset: str | None, ids: list[str], chosen: TrajectoryFilter
) -> None:
    filters = {
        "task_id": None if chosen.task_ids is None else chosen.task_ids[0],
        "policy_id": chosen.policy_id,
        "outcome": chosen.outcome,
    }
    async with there as client:
        await client.export_trajectories(
            folder, format, ids=ids, dataset=dataset, labels=chosen.labels, **filters
        )


async def _import_to(there: Client, path: Path, format: str | None, guidance: Guidance) -> ImportedModel:
    async with there as client:
        return await client.import_trajectories(
            path,
            format,
            examples=guidance.examples,
            policy=guidance.policy_id,
            dialect=guidance.dialect,
            succeeded=guidance.succeeded,
        )


def labels_of(pairs: list[str]) -> dict[str, str]:
    """`--label` of several commands.

    Raises:
        InvalidField: one is not of the form name=value.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidField("--label", f"{pair!r} is not of the form name=value, e.g. run=round-3-ppo")
        found[name] = value
    return found


def _versioned(dataset: str) -> tuple[str, int | None]:
    name, at, version = dataset.rpartition("@")
    if not at:
        return dataset, None
    if not name or not version.isdecimal():
        raise InvalidField("--dataset", f"{dataset!r} is not of the form NAME or NAME@VERSION")
    return name, int(version)
