"""`deskhand sandbox leased` and `screen`: the sandboxes of a platform that are on loan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deskhand_platform.cli.client import Url, asked
from deskhand_platform.cli.console import Json, out, print_json, say, table


def register(app: typer.Typer) -> None:
    """Add them."""
    app.command(epilog="Example:  deskhand sandbox leased --url https://deskhand.example.com")(leased)
    app.command(epilog="Example:  deskhand sandbox screen ID now.jpg")(screen)


def leased(as_json: Json = False, url: Url = None) -> None:
    """What works in a platform's sandboxes now, the oldest loan first."""
    found = asked(lambda client: client.sandboxes(), url)
    if as_json:
        print_json(found)
        return
    lines = table("lease", "kind", "owner", "seconds", "task", "trajectory", "controls")
    for one in found:
        by = one.taken_by or ""
        age, task = f"{one.age_s:.0f}", one.task_id or ""
        lines.add_row(one.id, one.kind, one.owner, age, task, one.trajectory_id or "", by)
    out.print(lines)


def screen(
    id: Annotated[str, typer.Argument(help="of the lease, as `deskhand sandbox leased` shows it")],
    file: Annotated[Path, typer.Argument(help="JPEG to write")],
    url: Url = None,
) -> None:
    """Write what is on a sandbox's screen now; exit status 1 where nothing has been seen yet."""
    picture = asked(lambda client: client.screen(id), url)
    if picture is None:
        say("nothing has been seen in it yet")
        raise typer.Exit(1)
    file.write_bytes(picture)
