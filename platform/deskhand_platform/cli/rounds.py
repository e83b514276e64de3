"""`deskhand rounds`: start, watch, pause, resume, cancel, retry, clone; what is promoted."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from deskhand_platform.api.models import Preset
from deskhand_platform.cli import overrides, schedules
from deskhand_platform.cli.client import FOLLOWING_S, HereUrl, Url, asked, connect, first
from deskhand_platform.cli.console import Json, out, print_json, table, when
from deskhand_platform.cli.progress import LOOK_S, follow, print_round
from deskhand_platform.settings import load_settings
from deskhand_platform.states import WorkState

app = typer.Typer(help="Training rounds.", no_args_is_help=True)
app.add_typer(schedules.app, name="schedules")
Key = Annotated[str | None, typer.Option(help="your name for this start: under it, twice is once")]
Number = Annotated[int, typer.Argument(help="number of the round")]


@app.command("list", epilog="Example:  deskhand rounds list --limit 5")
def list_rounds(
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20, as_json: Json = False, url: Url = None
) -> None:
    """Rounds, newest first."""
    found = asked(lambda client: first(client.rounds(), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("round", "preset", "state", "started", "from", "to", "")
    for one in found:
        note = one.reason or ("promoted" if one.promoted else "")
        lines.add_row(
            str(one.id),
            one.preset,
            one.state,
            when(one.started_at_s),
            one.policy_in or "",
            one.policy_out or "",
            note,
        )
    out.print(lines)


@app.command(epilog="Example:  deskhand rounds presets")
def presets(as_json: Json = False, url: HereUrl = None) -> None:
    """The presets a round can be started with."""
    if url is not None:
        found = asked(lambda client: client.presets(), url)
    else:
        from deskhand_platform.rounds.config import as_json as plain
        from deskhand_platform.rounds.presets import preset, preset_names

        known = [(name, preset(name)) for name in preset_names()]
        found = [Preset(name=name, description=one.description, config=plain(one)) for name, one in known]
    if as_json:
        print_json(found)
        return
    lines = table("preset", "")
    for one in found:
        lines.add_row(one.name, one.description)
    out.print(lines)


@app.command(epilog="Example:  deskhand rounds show 3")
def show(number: Number, as_json: Json = False, url: Url = None) -> None:
    """A round's phases and table."""
    shown = asked(lambda client: client.round(number), url)
    if as_json:
        out.print(shown.model_dump_json(indent=1), soft_wrap=True)
        return
    lines = table("phase", "state", "policy", "")
    for phase in shown.phases:
        lines.add_row(phase.name, phase.state, phase.policy_out or "", phase.reason or "")
    out.print(lines)
    print_round(shown)


@app.command(epilog="Example:  deskhand rounds start smoke --set ppo.iterations=1 --follow")
def start(
    preset: Annotated[str, typer.Argument(help="preset of the round")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="override, e.g. ppo.iterations=10")] = None,
    key: Key = None,
    watch: Annotated[bool, typer.Option("--follow", help="show it until it is over")] = False,
    url: Url = None,
) -> None:
    """Start a round; the same one again while it is not over, unless keys tell them apart."""
    raise typer.Exit(asyncio.run(_start(preset, overrides.parse(set_ or []), key, watch, url)))


@app.command(epilog="Example:  deskhand rounds cancel 3")
def cancel(number: Number, url: Url = None) -> None:
    """Stop a round; what it has stored stays."""
    shown = asked(lambda client: client.cancel_round(number), url)
    out.print(f"Round {number}: {'stopping' if shown.cancelling else shown.state}")


@app.command(epilog="Example:  deskhand rounds pause 3")
def pause(number: Number, url: Url = None) -> None:
    """Stop a round with its state safe, until it is resumed; other rounds take their turn."""
    shown = asked(lambda client: client.pause_round(number), url)
    out.print(f"Round {number}: {'pausing' if shown.pausing else shown.state}")


@app.command(epilog="Example:  deskhand rounds resume 3")
def resume(number: Number, url: Url = None) -> None:
    """Let a paused round go on at the step where it was."""
    out.print(f"Round {number}: {asked(lambda client: client.resume_round(number), url).state}")


@app.command(epilog="Example:  deskhand rounds retry 3 --phase ppo")
def retry(
    number: Number,
    phase: Annotated[str | None, typer.Option(help="where to begin; else the first that is not done")] = None,
    afresh: Annotated[bool, typer.Option("--afresh", help="anew, not at its checkpoint")] = False,
    url: Url = None,
) -> None:
    """Let a round that is over, or paused, go on from one of its phases; one that was done is done anew."""
    retried = asked(lambda client: client.retry_round(number, phase, afresh=afresh), url)
    out.print(f"Round {number}: {retried.state}")


@app.command(epilog="Example:  deskhand rounds clone 3 --set ppo.minutes=30")
def clone(
    number: Number,
    set_: Annotated[list[str] | None, typer.Option("--set", help="override, e.g. ppo.iterations=10")] = None,
    key: Key = None,
    url: Url = None,
) -> None:
    """Start a round that is told what this one was."""
    changed = overrides.parse(set_ or [])
    out.print(f"Round {asked(lambda client: client.clone_round(number, changed, key=key), url).id}")


@app.command(epilog="Example:  deskhand rounds log 3 ppo --follow")
def log(
    number: Number,
    phase: Annotated[str, typer.Argument(help="name of the phase")],
    tail: Annotated[int, typer.Option(min=1, max=65536, help="bytes from the end to begin with")] = 16384,
    watch: Annotated[bool, typer.Option("--follow", help="go on until the phase is over")] = False,
    url: Url = None,
) -> None:
    """What the run of a phase wrote."""
    asyncio.run(_log(number, phase, tail, watch, url))


@app.command(epilog="Example:  deskhand rounds promotions --limit 5")
def promotions(
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20, as_json: Json = False, url: Url = None
) -> None:
    """Which policies rounds started from, the present one first."""
    found = asked(lambda client: first(client.promotions(), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("policy", "how", "by", "when", "reason")
    for one in found:
        how = one.kind if one.round_id is None else f"round {one.round_id}"
        lines.add_row(one.policy_id, how, one.by, when(one.at_s), one.reason)
    out.print(lines)


@app.command(epilog='Example:  deskhand rounds promote policy-1a2b --reason "the last one regressed"')
def promote(
    policy: Annotated[str, typer.Argument(help="its id; one that was promoted before is gone back to")],
    reason: Annotated[str, typer.Option(help="for whoever reads the history")],
    url: Url = None,
) -> None:
    """Let rounds start from a policy from now on."""
    made = asked(lambda client: client.promote(policy, reason), url)
    out.print(f"Rounds start from {made.policy_id} ({made.kind})", soft_wrap=True)


async def _log(number: int, phase: str, tail: int, watch: bool, url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        piece = await client.phase_log(number, phase, tail=tail)
    async with connect(load_settings(), url, patience_s=FOLLOWING_S) as client:
        while True:
            out.print(piece.text, end="", highlight=False, soft_wrap=True)
            if piece.next_offset == piece.size:
                if piece.over or not watch:
                    return
                await asyncio.sleep(LOOK_S)
            piece = await client.phase_log(number, phase, piece.next_offset)


async def _start(preset: str, changed: dict[str, Any], key: str | None, watch: bool, url: str | None) -> int:
    async with connect(load_settings(), url) as client:
        started = await client.start_round(preset, changed, key=key)
    out.print(f"Round {started.id}")
    if not watch:
        return 0
    async with connect(load_settings(), url, patience_s=FOLLOWING_S) as client:
        over = await follow(client, started.id)
    print_round(over)
    return 0 if over.state is WorkState.DONE else 1
