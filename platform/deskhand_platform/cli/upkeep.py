"""`deskhand flywheel fsck` and `gc`: keep the store sound and small; platform or not."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import yaml

from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.upkeep import Collected, Report, RetentionRule, collect, retention_rule
from deskhand_flywheel.upkeep import fsck as check
from deskhand_platform.cli.console import bars, out, say, table
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.runs import read_result
from deskhand_platform.settings import load_settings

Json = Annotated[bool, typer.Option("--json", help="one JSON object instead of a table")]


def register(app: typer.Typer) -> None:
    """Add `fsck` and `gc`."""
    app.command(epilog="Example:  deskhand flywheel fsck --repair --spare file:///backup/blobs")(fsck)
    app.command("gc", epilog="Example:  deskhand flywheel gc --rule retention.yaml --apply")(collect_garbage)


def fsck(
    repair: Annotated[bool, typer.Option("--repair", help="mend what can be; drops nothing whole")] = False,
    spare: Annotated[
        str | None, typer.Option(help="URL of a blob store, such as a backup, to take lost blobs from")
    ] = None,
    settle_hours: Annotated[
        float, typer.Option(min=0, help="pass over blobs and silent episodes younger than this")
    ] = 1.0,
    as_json: Json = False,
) -> None:
    """Check every row and blob; exit status 1 when something is lost or damaged and not mended."""
    report = asyncio.run(_fsck(repair, spare, settle_hours * 3600))
    if as_json:
        out.print(json.dumps(_report_json(report), indent=1), markup=False, soft_wrap=True)
    else:
        _print_report(report)
    if not report.ok:
        raise typer.Exit(1)


def collect_garbage(
    rule: Annotated[
        Path | None, typer.Option(help="YAML file of what may go; without, blobs that nothing cites")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="drop it; without, only say what would go")] = False,
    as_json: Json = False,
) -> None:
    """Drop old trajectories by a rule, and blobs nothing cites; never what a dataset, policy or run cites."""
    done = asyncio.run(_collect(RetentionRule() if rule is None else _read(rule), apply))
    if as_json:
        out.print(json.dumps(asdict(done), indent=1), markup=False, soft_wrap=True)
        return
    for what, count in done.kept:
        out.print(f"kept: {count} trajectories by {what}", markup=False, soft_wrap=True)
    verb = "dropped" if apply else "would drop"
    out.print(
        f"{verb}: {len(done.trajectories)} trajectories of {done.steps} steps, "
        f"{done.blobs} blobs of {done.bytes / 1e6:.1f} MB",
        soft_wrap=True,
    )
    if not apply:
        say("nothing was changed; --apply does it")


async def _collect(rule: RetentionRule, apply: bool) -> Collected:
    runs = unfinished_runs(load_settings().runs)
    async with opened_store() as store:
        with bars() as progress:
            return await collect(store, rule, apply=apply, runs=runs, progress=progress)


def unfinished_runs(folder: Path) -> list[str]:
    """Ids of the runs that may go on from a checkpoint."""
    return [spec.parent.name for spec in folder.glob("*/spec.json") if read_result(spec.parent) is None]


def _read(file: Path) -> RetentionRule:
    try:
        return retention_rule(yaml.safe_load(file.read_text()))
    except (yaml.YAMLError, InvalidQuery) as error:
        raise InvalidField("--rule", f"{file}: {error}") from error


async def _fsck(repair: bool, spare: str | None, settle_s: float) -> Report:
    taken_from = None if spare is None else BlobStore(spare)
    async with opened_store() as store:
        with bars() as progress:
            return await check(store, repair=repair, spare=taken_from, settle_s=settle_s, progress=progress)


def _print_report(report: Report) -> None:
    if report.findings:
        lines = table("found", "where", "what", "repair")
        for one in report.findings:
            lines.add_row(one.kind, one.subject, one.detail, one.done)
        out.print(lines)
    out.print(
        f"{report.trajectories} trajectories, {report.steps} steps, {report.policies} policies, "
        f"{report.blobs} blobs of {report.bytes / 1e6:.1f} MB",
        soft_wrap=True,
    )
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(report.counts.items()))
    out.print(f"found: {counted or 'nothing'}", soft_wrap=True)


def _report_json(report: Report) -> dict[str, object]:
    return {
        "ok": report.ok,
        "trajectories": report.trajectories,
        "steps": report.steps,
        "policies": report.policies,
        "blobs": report.blobs,
        "bytes": report.bytes,
        "counts": dict(report.counts),
        "findings": [
            {
                "kind": one.kind,
                "subject": one.subject,
                "detail": one.detail,
                "harmless": one.kind.harmless,
                "done": one.done,
                "mended": one.mended,
            }
            for one in report.findings
        ],
    }
