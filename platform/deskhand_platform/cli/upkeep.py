"""`deskhand flywheel fsck` and `gc`: keep the store sound and small, this home's or a platform's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError

from deskhand_platform.api.job_models import FsckOrder, GcOrder
from deskhand_platform.cli import jobs
from deskhand_platform.cli.client import WorkUrl
from deskhand_platform.cli.console import out, say, table
from deskhand_platform.cli.settings_yaml import read_yaml
from deskhand_platform.errors import InvalidField

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
    url: WorkUrl = None,
) -> None:
    """Check every row and blob; exit status 1 when something is lost or damaged and not mended."""
    order = jobs.made(FsckOrder, repair=repair, spare=spare, settle_hours=settle_hours)
    report = jobs.done(order, url)
    if as_json:
        out.print(jobs.as_text(report), soft_wrap=True)
    else:
        _print_report(report)
    if not report["ok"]:
        raise typer.Exit(1)


def collect_garbage(
    rule: Annotated[
        Path | None, typer.Option(help="YAML file of what may go; without, blobs that nothing cites")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="drop it; without, only say what would go")] = False,
    as_json: Json = False,
    url: WorkUrl = None,
) -> None:
    """Drop old trajectories by a rule, and blobs nothing cites; never what a dataset, policy or run cites.

    A run of another home that shares the store is taken for given up after a week of silence, and named here.
    """
    done = jobs.done(_order(rule, apply), url)
    if as_json:
        out.print(jobs.as_text(done), soft_wrap=True)
        return
    for what, count in done["kept"]:
        out.print(f"kept: {count} trajectories by {what}", soft_wrap=True)
    for run in done.get("given_up", ()):  # a platform of before does not say
        out.print(f"given up: run {run} of another home, which told nothing for a week", soft_wrap=True)
    verb = "dropped" if apply else "would drop"
    out.print(
        f"{verb}: {len(done['trajectories'])} trajectories of {done['steps']} steps, "
        f"{done['blobs']} blobs of {done['bytes'] / 1e6:.1f} MB",
        soft_wrap=True,
    )
    if not apply:
        say("nothing was changed; --apply does it")


def _order(rule: Path | None, apply: bool) -> GcOrder:
    """
    Raises:
        InvalidField: the file holds no rule; names it.
    """
    from deskhand_platform.jobs.work import rule_of

    if rule is None:
        return GcOrder(apply=apply)
    try:
        order = GcOrder.model_validate({"rule": read_yaml(rule.read_text()) or [], "apply": apply})
        rule_of(order)
    except OSError as error:
        raise InvalidField("--rule", f"{rule} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidField("--rule", f"{rule}: {error}") from error
    except ValidationError as error:
        raise InvalidField("--rule", f"{rule}: {error.errors()[0]['msg']}") from error
    except InvalidField as error:
        raise InvalidField("--rule", f"{rule}: {error.reason}") from error
    return order


def _print_report(report: dict[str, Any]) -> None:
    if report["findings"]:
        lines = table("found", "where", "what", "repair")
        for one in report["findings"]:
            lines.add_row(one["kind"], one["subject"], one["detail"], one["done"])
        out.print(lines)
    out.print(
        f"{report['trajectories']} trajectories, {report['steps']} steps, {report['policies']} policies, "
        f"{report['blobs']} blobs of {report['bytes'] / 1e6:.1f} MB",
        soft_wrap=True,
    )
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(report["counts"].items()))
    out.print(f"found: {counted or 'nothing'}", soft_wrap=True)
