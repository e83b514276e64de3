"""`deskhand run`: a platform, one round with progress, its table, and the page stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer
import uvloop

from deskhand_platform.cli import overrides
from deskhand_platform.cli.client import FOLLOWING_S, Client, connect, first
from deskhand_platform.cli.console import say
from deskhand_platform.cli.progress import follow, print_round
from deskhand_platform.cli.serve import Port, TakeOver, introduce
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.lock import serving
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.states import WorkState

Preset = Annotated[
    str | None,
    typer.Option("--round", help="preset of the round; without, the first of `deskhand rounds presets`"),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="override, e.g. ppo.iterations=10; repeatable")]
Exit = Annotated[bool, typer.Option("--exit", help="stop when the round is over")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example:  deskhand run --round from-scratch --set ppo.minutes=5")(run)


def run(
    preset: Preset = None,
    set_: Set = None,
    exit_: Exit = False,
    port: Port = None,
    take_over: TakeOver = False,
) -> None:
    """Run one training round and show it; a second one goes on from the promoted policy."""
    from deskhand_platform.rounds.presets import DEFAULT, checked_preset

    settings, changed = load_settings(port=port), overrides.parse(set_ or [])
    name = DEFAULT if preset is None else preset
    checked_preset(name, changed)  # what is wrong with it is said before anything starts
    raise typer.Exit(run_until_signal(_run(settings, name, changed, exit_, take_over), run=uvloop.run))


async def _run(settings: Settings, preset: str, changed: dict[str, Any], exit_: bool, take_over: bool) -> int:
    async with (
        _platform(settings, take_over) as url,
        connect(settings, url, patience_s=FOLLOWING_S) as client,
    ):
        wanted = await _resume_or_start(client, preset, changed)
        over = await follow(client, wanted, through_pauses=True)
        print_round(over)
        if not exit_:
            say(f"The page stays open at {url} until Ctrl-C.")
            await _until_stopped()
    return 0 if over.state is WorkState.DONE else 1


async def _until_stopped() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        # the round is over: this is how it is meant to end
        return


async def _resume_or_start(client: Client, preset: str, changed: dict[str, Any]) -> int:
    """The round that an earlier platform left unfinished, else a new one."""
    recent = [] if changed else await first(client.rounds(), 20)
    left = [one for one in recent if not one.state.over and one.preset == preset]
    going = [one for one in left if one.state is not WorkState.PAUSED]
    if going:
        say(f"Round {going[-1].id} was not finished: going on with it.")
        return going[-1].id
    # one of an equal config that is not over is the same round
    wanted = left[0] if left else await client.start_round(preset, changed)
    if wanted.state is WorkState.PAUSED:
        await client.resume_round(wanted.id)
        say(f"Round {wanted.id} was paused: going on with it.")
    else:
        say(f"Round {wanted.id} ({preset}) started.")
    return wanted.id


@asynccontextmanager
async def _platform(settings: Settings, take_over: bool) -> AsyncGenerator[str]:
    """The address of the platform that serves this home already, or of one that runs in here."""
    found = serving(settings.home)
    if found is not None and found.url is not None:
        say(f"Using the platform at {found.url}.")
        yield found.url
        return
    from deskhand_platform.serving import platform

    async with platform(settings, take_over=take_over) as up:
        introduce(up.url, up.first_admin)
        yield up.url
