"""`deskhand alarms`: what somebody should look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from deskhand_platform.cli.client import Url, asked, first
from deskhand_platform.cli.console import Json, out, print_json, table, when

app = typer.Typer(help="What somebody should look at.", no_args_is_help=True)


@app.command("list", epilog="Example:  deskhand alarms list --all")
def list_alarms(
    over: Annotated[bool, typer.Option("--all", help="those that are over too")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Alarms that are not over, newest first."""
    found = asked(lambda client: first(client.alarms(open=None if over else True), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("alarm", "of", "name", "state", "since", "times", "")
    for one in found:
        lines.add_row(
            str(one.id),
            one.subject,
            one.name,
            one.state,
            when(one.raised_at_s),
            str(one.times),
            _figures(one.data),
        )
    out.print(lines)


@app.command(epilog="Example:  deskhand alarms acknowledge 7")
def acknowledge(id: Annotated[int, typer.Argument(help="of the alarm")], url: Url = None) -> None:
    """Say that you have seen it."""
    out.print(f"Alarm {id} is {asked(lambda client: client.acknowledge_alarm(id), url).state}")


def _figures(data: Mapping[str, Any]) -> str:
    """ "0.8 GB free, limit 2; …", as far as it is said."""
    value, limit = data.get("value"), data.get("limit")
    said = [] if value is None else [f"{value:g} {data.get('unit', '')}".strip()]
    if value is not None and limit is not None:
        said = [f"{said[0]}, limit {limit:g}"]
    return "; ".join([*said, *([str(data["advice"])] if data.get("advice") else [])])
