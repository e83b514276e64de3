"""`deskhand status`, `settings`, `audit` and `events`: how a platform stands, and what happened on it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from pydantic import BaseModel

from deskhand_platform.api.alarm_models import Overview
from deskhand_platform.api.models import Info
from deskhand_platform.cli.client import Client, HomeUrl, Url, asked, first, looked_up
from deskhand_platform.cli.console import Json, out, print_json, table, unix_time, when


class Standing(BaseModel):
    """What `status` prints."""

    platform: Info
    now: Overview


def register(root: typer.Typer) -> None:
    """Add them to the root."""
    root.command(epilog="Example:  deskhand status --url https://deskhand.example.com")(status)
    root.command(epilog="Examples:  deskhand settings --changed   ·   deskhand settings quotas --json")(
        settings
    )
    root.command(
        epilog="Examples:  deskhand audit --user ada --since 2026-01-31   ·   deskhand audit --refused"
    )(audit)
    root.command(
        epilog="Examples:  deskhand events round:3   ·   deskhand events run:round-3-ppo --no-follow"
    )(events)


def status(as_json: Json = False, url: Url = None) -> None:
    """What runs now: queue, sandboxes, the round, the last hour, alarms; and as whom you ask."""
    found = asked(_standing, url)
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    about, now = found.platform, found.now
    waits = "" if now.oldest_wait_s is None else f", the oldest for {now.oldest_wait_s:.0f} s"
    counts = ", ".join(f"{count} {state}" for state, count in now.tasks.items() if count)
    ended = f"the newest {now.recent.ended}" if now.recent.more else str(now.recent.ended)
    lines = [
        f"deskhand {about.version}, sandbox host {about.sandbox_host}; you are {about.user}, {about.role}",
        f"tasks: {counts or 'none'}{waits}",
        f"last hour: {ended} episodes ended, {now.recent.succeeded} succeeded, {now.recent.broken} broken",
    ]
    if now.round is not None:
        lines.append(f"round {now.round.id} ({now.round.preset}): {now.round.state}")
    if now.last_round is not None:
        lines.append(f"last done: round {now.last_round.id} ({now.last_round.preset})")
    lines += [f"alarm {one.id}: {one.subject} {one.name}, {one.state}" for one in now.alarms]
    for line in lines:
        out.print(line, soft_wrap=True)
    if now.pools:
        shown = table("sandboxes", "leased", "idle", "creating", "wait", "most", "lost")
        for one in now.pools:
            counted = (one.leased, one.idle, one.creating, one.queued, one.most, one.lost)
            shown.add_row(one.kind, *map(str, counted))
        out.print(shown)


async def _standing(client: Client) -> Standing:
    return Standing(platform=await client.info(), now=await client.overview())


def settings(
    part: Annotated[str, typer.Argument(help="part of the name")] = "",
    changed: Annotated[bool, typer.Option("--changed", help="those that are not the default")] = False,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """The settings in force, passwords hidden."""
    every = looked_up(lambda client: client.settings_in_force(), url)
    found = [one for one in every if part in one.name and (one.changed or not changed)]
    if as_json:
        print_json(found)
        return
    lines = table("setting", "value", "")
    for one in found:
        lines.add_row(one.name, str(one.value), "changed" if one.changed else "")
    out.print(lines)


def audit(
    user: Annotated[str | None, typer.Option(help="who did it")] = None,
    action: Annotated[str | None, typer.Option(help="part of it, e.g. DELETE or /v1/tasks")] = None,
    target: Annotated[str | None, typer.Option(help="part of it")] = None,
    since: Annotated[datetime | None, typer.Option(help="at or after")] = None,
    until: Annotated[datetime | None, typer.Option(help="before")] = None,
    refused: Annotated[bool, typer.Option("--refused", help="only what was refused")] = False,
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Who did what, on what, from where, and what came of it; newest first."""
    found = looked_up(
        lambda client: first(
            client.audit(
                user=user,
                action=action,
                target=target,
                since_s=unix_time(since, "--since"),
                until_s=unix_time(until, "--until"),
                refused=True if refused else None,
            ),
            limit,
        ),
        url,
    )
    if as_json:
        print_json(found)
        return
    lines = table("when", "who", "what", "on", "from", "came to", "")
    for one in found:
        lines.add_row(
            when(one.at_s), one.who, one.action, one.target, one.source, str(one.status), one.detail
        )
    out.print(lines)


def events(
    subjects: Annotated[
        list[str] | None, typer.Argument(help="e.g. round:3 or run:round-3-ppo; every one when none")
    ] = None,
    after: Annotated[int, typer.Option(min=0, help="the last event seen")] = 0,
    follow: Annotated[bool, typer.Option(help="wait for what comes")] = True,
    url: Url = None,
) -> None:
    """Metrics, states and alarms as they come, a line of JSON each; earlier ones first. Ctrl-C ends it."""

    async def told(client: Client) -> None:
        async for event in client.events(subjects or [], after=after, follow=follow):
            out.print(event.model_dump_json(), soft_wrap=True)

    asked(told, url)
