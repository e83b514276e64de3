"""`deskhand webhooks …`: who is told what becomes of tasks, or of alarms."""

from __future__ import annotations

from typing import Annotated

import typer

from deskhand_platform.cli.client import Url, asked, first
from deskhand_platform.cli.console import Json, out, print_json, say, table, when
from deskhand_platform.cli.tasks import labels_of
from deskhand_platform.states import WorkState
from deskhand_platform.webhooks.about import About

app = typer.Typer(help="Results of tasks, and alarms, sent to where you wait for them.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(help="of the webhook")]


@app.command(epilog="Example:  deskhand webhooks add https://example.com/deskhand --label batch=nightly")
def add(
    to: Annotated[str, typer.Argument(help="URL that takes a POST", metavar="TO")],
    about: Annotated[About, typer.Option(help="what is sent")] = About.TASKS,
    label: Annotated[list[str] | None, typer.Option(help="name=value of the tasks; repeatable")] = None,
    state: Annotated[list[WorkState] | None, typer.Option(help="told of these; repeatable")] = None,
    url: Url = None,
) -> None:
    """Have results, or alarms, sent somewhere from now on. Prints the id and the secret, shown this once."""
    labels = labels_of(label or [])
    made = asked(lambda client: client.add_webhook(to, about=about, labels=labels, states=state), url)
    say("What is sent is signed with the secret below; keep it, it is not shown again.")
    out.print(f"{made.id} {made.secret}")


@app.command("list", epilog="Example:  deskhand webhooks list")
def list_webhooks(as_json: Json = False, url: Url = None) -> None:
    """Who is told, and of what; submitters see their own."""
    found = asked(lambda client: client.webhooks(), url)
    if as_json:
        print_json(found)
        return
    lines = table("id", "owner", "to", "about", "labels", "states", "since")
    for one in found:
        labels = " ".join(f"{key}={value}" for key, value in one.labels.items())
        states = " ".join(one.states) if one.about is About.TASKS else ""
        lines.add_row(one.id, one.owner or "", one.url, one.about, labels, states, when(one.created_at_s))
    out.print(lines)


@app.command(epilog="Example:  deskhand webhooks remove ID")
def remove(id: Id, url: Url = None) -> None:
    """Tell somebody no more; what has not arrived yet never does."""
    out.print(asked(lambda client: client.remove_webhook(id), url).url)


@app.command(epilog="Example:  deskhand webhooks deliveries ID --state dead")
def deliveries(
    id: Id,
    state: Annotated[str | None, typer.Option(help="pending, delivered or dead")] = None,
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """What a webhook was and is to be told, newest first."""
    found = asked(lambda client: first(client.deliveries(id, state), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("delivery", "about", "tells", "state", "attempts", "next", "")
    for one in found:
        data = one.payload["data"]
        about = str(data.get("id") or data.get("name")) if isinstance(data, dict) else ""
        tells, tried = str(one.payload["type"]), str(one.attempts)
        lines.add_row(one.id, about, tells, one.state, tried, when(one.due_at_s), one.reason or "")
    out.print(lines)


@app.command(epilog="Example:  deskhand webhooks retry ID DELIVERY")
def retry(
    id: Id, delivery: Annotated[str, typer.Argument(help="that was given up")], url: Url = None
) -> None:
    """Send again what was given up."""
    out.print(asked(lambda client: client.retry_delivery(id, delivery), url).state)
