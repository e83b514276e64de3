"""`deskhand rounds schedules`: rounds that begin by themselves."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from deskhand_platform.cli import overrides
from deskhand_platform.cli.client import Client, Url, connect
from deskhand_platform.cli.console import out, table, when
from deskhand_platform.settings import load_settings

app = typer.Typer(help="Rounds that begin by themselves.", no_args_is_help=True)
Number = Annotated[int, typer.Argument(help="number of the schedule")]
SENT = ("preset", "overrides", "cron", "timezone", "new_successes", "enabled")


@app.command("list")
def list_schedules(url: Url = None) -> None:
    """Every schedule, with its next time."""
    asyncio.run(_list(url))


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
    values = (preset, changed, cron, timezone, new_successes, True)
    asyncio.run(_add(dict(zip(SENT, values, strict=True)), url))


@app.command()
def on(number: Number, url: Url = None) -> None:
    """Switch a schedule on."""
    asyncio.run(_switch(number, True, url))


@app.command()
def off(number: Number, url: Url = None) -> None:
    """Switch a schedule off; it is kept."""
    asyncio.run(_switch(number, False, url))


@app.command()
def remove(number: Number, url: Url = None) -> None:
    """Forget a schedule; rounds that it began stay."""
    asyncio.run(_remove(number, url))


async def _list(url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        _show(await client.get("/v1/schedules"))


async def _add(body: dict[str, Any], url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        _show([await client.post("/v1/schedules", body)])


async def _switch(number: int, enabled: bool, url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        found = await _one(client, number)
        body = {name: found[name] for name in SENT} | {"enabled": enabled}
        _show([await client.put(f"/v1/schedules/{number}", body)])


async def _one(client: Client, number: int) -> dict[str, Any]:
    for one in await client.get("/v1/schedules"):
        if one["id"] == number:
            return one
    raise typer.BadParameter(f"no schedule {number}; `deskhand rounds schedules list` shows them")


async def _remove(number: int, url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        await client.delete(f"/v1/schedules/{number}")
        out.print(f"Schedule {number} is gone")


def _show(found: list[dict[str, Any]]) -> None:
    lines = table("schedule", "preset", "when", "", "next", "last round", "")
    for one in found:
        begins = one["cron"] and f"{one['cron']} {one['timezone']}"
        begins = begins or f"{one['successes']} of {one['new_successes']} new successes"
        state = "on" if one["enabled"] else "off"
        last = "" if one["last_round"] is None else str(one["last_round"])
        lines.add_row(
            str(one["id"]), one["preset"], begins, state, when(one["next_at_s"]), last, one["note"] or ""
        )
    out.print(lines)
