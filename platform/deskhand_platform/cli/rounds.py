"""`deskhand rounds`: list, show, start, cancel."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from deskhand_platform.cli import overrides
from deskhand_platform.cli.client import connect
from deskhand_platform.cli.console import out, table, when
from deskhand_platform.cli.progress import follow, print_round
from deskhand_platform.settings import load_settings

app = typer.Typer(help="Training rounds.", no_args_is_help=True)
Number = Annotated[int, typer.Argument(help="number of the round")]


@app.command("list")
def list_rounds(limit: Annotated[int, typer.Option(min=1, max=200)] = 20) -> None:
    """Rounds, newest first."""
    found = asyncio.run(_get("/v1/rounds", limit=limit))
    lines = table("round", "preset", "state", "started", "from", "to", "")
    for one in found["items"]:
        note = one["reason"] or ("promoted" if one["promoted"] else "")
        lines.add_row(
            str(one["id"]),
            one["preset"],
            one["state"],
            when(one["started_at_s"]),
            one["policy_in"] or "",
            one["policy_out"] or "",
            note,
        )
    out.print(lines)


@app.command()
def presets() -> None:
    """The presets a round can be started with."""
    from deskhand_platform.rounds.presets import preset, preset_names

    lines = table("preset", "")
    for name in preset_names():
        lines.add_row(name, preset(name).description)
    out.print(lines)


@app.command()
def show(number: Number) -> None:
    """A round's phases and table."""
    shown = asyncio.run(_get(f"/v1/rounds/{number}"))
    lines = table("phase", "state", "policy", "")
    for phase in shown["phases"]:
        lines.add_row(phase["name"], phase["state"], phase["policy_out"] or "", phase["reason"] or "")
    out.print(lines)
    print_round(shown)


@app.command(epilog="Example:  deskhand rounds start smoke --set ppo.iterations=1 --follow")
def start(
    preset: Annotated[str, typer.Argument(help="preset of the round")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="override, e.g. ppo.iterations=10")] = None,
    watch: Annotated[bool, typer.Option("--follow", help="show it until it is over")] = False,
) -> None:
    """Start a round on the platform that serves this home."""
    raise typer.Exit(asyncio.run(_start(preset, overrides.parse(set_ or []), watch)))


@app.command()
def cancel(number: Number) -> None:
    """Stop a round; what it has stored stays."""
    shown = asyncio.run(_cancel(number))
    out.print(f"Round {number}: {'stopping' if shown['cancelling'] else shown['state']}")


async def _start(preset: str, changed: dict[str, Any], watch: bool) -> int:
    async with connect(load_settings()) as client:
        started = await client.post("/v1/rounds", {"preset": preset, "overrides": changed})
        out.print(f"Round {started['id']}")
        if not watch:
            return 0
        over = await follow(client, int(started["id"]))
        print_round(over)
        return 0 if over["state"] == "done" else 1


async def _cancel(number: int) -> dict[str, Any]:
    async with connect(load_settings()) as client:
        return await client.post(f"/v1/rounds/{number}/cancel")


async def _get(path: str, **query: Any) -> Any:
    async with connect(load_settings()) as client:
        return await client.get(path, **query)
