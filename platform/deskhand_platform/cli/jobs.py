"""`deskhand jobs`, and how commands have their work done: here, or by a platform at an address."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from deskhand_platform.api.job_models import JobModel
from deskhand_platform.cli.client import FOLLOWING_S, Url, asked, connect, first
from deskhand_platform.cli.console import Json, bars, complain, out, print_json, say, shown, table, when
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.states import WorkState

if TYPE_CHECKING:
    from deskhand_platform.jobs.place import Place

Order = TypeVar("Order", bound=BaseModel)
app = typer.Typer(help="Work on a platform's store: checks, collections, scoring.", no_args_is_help=True)
LOOK_S = 0.5
OPTIONS = {"sources": "labels", "tasks": "task", "policy-id": "by"}
"""What commands call a field otherwise."""
Id = Annotated[str, typer.Argument(help="of the job")]


@app.command("list", epilog="Example:  deskhand jobs list --kind fsck")
def list_jobs(
    kind: Annotated[str | None, typer.Option(help="only of this one")] = None,
    state: Annotated[WorkState | None, typer.Option(help="only in this one")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Jobs, newest first."""
    found = asked(lambda client: first(client.jobs(kind, state), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("job", "state", "now", "by", "asked", "ended", "")
    for one in found:
        now = "" if one.state.over or not one.phase else f"{one.phase} {one.done} of {one.total}"
        lines.add_row(
            one.id, one.state, now, one.by, when(one.asked_at_s), when(one.ended_at_s), one.reason or ""
        )
    out.print(lines)


@app.command(epilog="Example:  deskhand jobs show ID")
def show(id: Id, url: Url = None) -> None:
    """One of them, as JSON: what was asked for, how far it is, what came of it."""
    out.print(asked(lambda client: client.job(id), url).model_dump_json(indent=1), soft_wrap=True)


@app.command(epilog="Example:  deskhand jobs cancel ID")
def cancel(id: Id, url: Url = None) -> None:
    """Take it out of the queue, or stop it; what it has done stays done."""
    asked(lambda client: client.cancel_job(id), url)
    out.print(f"{id} is stopping", soft_wrap=True)


@app.command(epilog="Example:  deskhand jobs log ID")
def log(id: Id, url: Url = None) -> None:
    """What it wrote, the last of it where that is long."""
    typer.echo(shown(asked(lambda client: client.job_log(id), url).text), nl=False)


def made(kind: type[Order], **values: Any) -> Order:
    """An order as a command has it.

    Raises:
        InvalidField: a value is refused; names the option.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-") if first["loc"] else "order"
        name = OPTIONS.get(name, name)
        raise InvalidField(f"--{name}", str(first["msg"])) from error


def here(settings: Settings) -> Place:
    """This home, with sandboxes of this process's own."""
    from deskhand_platform.jobs.place import Place

    return Place(
        store_url=settings.db_url,
        blobs_url=settings.blobs_url,
        home=settings.home,
        lending=settings.sandbox.lending,
    )


def done(order: BaseModel, url: str | None) -> dict[str, Any]:
    """What came of an order, done on this home, or by the platform at `url` or of the settings.

    Raises:
        typer.Exit: it was stopped, or came to nothing; the reason has been said.
    """
    outcome: dict[str, Any] = {}

    async def work() -> int:
        settings = load_settings()
        with bars() as told:
            if url is not None or settings.url is not None:
                over = await _followed(settings, url, order, told)
                outcome.update(over.result or {})
                if over.state is not WorkState.DONE:
                    complain(f"{over.id} is {over.state}: {over.reason or 'its log says why'}")
                    return 1
            else:
                from deskhand_platform.jobs.work import WORK

                kind: str = getattr(order, "kind")  # noqa: B009  every order has one
                outcome.update(await WORK[kind](here(settings), order, told))
        return 0

    status = run_until_signal(work())
    if status:
        raise typer.Exit(status)
    return outcome


async def _followed(settings: Settings, url: str | None, order: BaseModel, told: Any) -> JobModel:
    async with connect(settings, url) as client:
        begun = await client.start_job(order)
    say(f"job {begun.id}: `deskhand jobs show` looks at it, `deskhand jobs cancel` stops it")
    async with connect(settings, url, patience_s=FOLLOWING_S) as client:
        while True:
            now = await client.job(begun.id)
            if now.state.over:
                return now
            if now.phase:
                told(now.phase, now.done, now.total or None)
            await asyncio.sleep(LOOK_S)


def as_text(outcome: dict[str, Any]) -> str:
    """For `--json`."""
    return json.dumps(outcome, indent=1)
