"""`deskhand rounds schedules`: rounds that begin by themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from deskhand_platform.api.models_rounds import ScheduleModel
from deskhand_platform.cli import overrides
from deskhand_platform.cli.client import Client, Url, asked
from deskhand_platform.cli.console import Json, out, print_json, table, when

app = typer.Typer(help="Rounds that begin by themselves.", no_args_is_help=True)
Number = Annotated[int, typer.Argument(help="number of the schedule")]


@app.command("list", epilog="Example:  deskhand rounds schedules list")
def list_schedules(as_json: Json = False, url: Url = None) -> None:
    """Every schedule, with its next time."""
    found = asked(lambda client: client.schedules(), url)
    if as_json:
        print_json(found)
        return
    _show(found)


@app.command(epilog='Example:  deskhand rounds schedules add flywheel --cron "0 3 * * 1-5"')
def add(
    preset: Annotated[str, typer.Argument(help="preset of its rounds")],
    cron: Annotated[str | None, typer.Option(help='when, e.g. "0 3 * * 1-5"')] = None,
    timezone: Annotated[str, typer.Option(help="in which that is read")] = "UTC",
    new_successes: Annotated[int | None, typer.Option(min=1, help="or: so many since the last round")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="override, e.g. ppo.iterations=10")] = None,
    url: Url = None,
) -> None:
    """Let rounds begin by the clock, or when there are enough new successes; never two at a time."""
    changed = overrides.parse(set_ or [])
    made = asked(
        lambda client: client.add_schedule(
            preset, changed, cron=cron, timezone=timezone, new_successes=new_successes
        ),
        url,
    )
    _show([made])


@app.command(epilog="Example:  deskhand rounds schedules on 2")
def on(number: Number, url: Url = None) -> None:
    """Switch a schedule on."""
    _show([asked(lambda client: _switched(client, number, True), url)])


@app.command(epilog="Example:  deskhand rounds schedules off 2")
def off(number: Number, url: Url = None) -> None:
    """Switch a schedule off; it is kept."""
    _show([asked(lambda client: _switched(client, number, False), url)])


@app.command(epilog="Example:  deskhand rounds schedules remove 2")
def remove(number: Number, url: Url = None) -> None:
    """Forget a schedule; rounds that it began stay."""
    asked(lambda client: client.remove_schedule(number), url)
    out.print(f"Schedule {number} is gone")


async def _switched(client: Client, number: int, enabled: bool) -> ScheduleModel:
    found = next((one for one in await client.schedules() if one.id == number), None)
    if found is None:
        raise typer.BadParameter(f"no schedule {number}; `deskhand rounds schedules list` shows them")
    return await client.replace_schedule(
        number,
        found.preset,
        found.overrides,
        cron=found.cron,
        timezone=found.timezone,
        new_successes=found.new_successes,
        enabled=enabled,
    )


def _show(found: list[ScheduleModel]) -> None:
    lines = table("schedule", "preset", "when", "", "next", "last round", "")
    for one in found:
        begins = one.cron and f"{one.cron} {one.timezone}"
        begins = begins or f"{one.successes} of {one.new_successes} new successes"
        state = "on" if one.enabled else "off"
        last = "" if one.last_round is None else str(one.last_round)
        lines.add_row(str(one.id), one.preset, begins, state, when(one.next_at_s), last, one.note or "")
    out.print(lines)
