"""A round as it goes on, and its table."""

from __future__ import annotations

import asyncio
import time

from rich.live import Live

from deskhand_platform.api.models import Phase, Rate, Round
from deskhand_platform.cli.client import Client
from deskhand_platform.cli.console import err, out, percent, say, table
from deskhand_platform.states import WorkState

LOOK_S = 1.0
MARKS = {
    "done": "✓",
    "running": "▸",
    "failed": "✗",
    "cancelled": "–",
    "skipped": "·",
    "queued": " ",
    "paused": "‖",
}


async def follow(client: Client, round_id: int, *, through_pauses: bool = False) -> Round:
    """Show a round until it is over, or paused unless that is waited for; the round as it is then."""
    shown = _live if err.is_terminal else _lines
    return await shown(client, round_id, through_pauses)


async def _live(client: Client, round_id: int, through_pauses: bool) -> Round:
    with Live(console=err, refresh_per_second=4) as live:
        while True:
            now = await client.round(round_id)
            lines = [_line(phase) for phase in now.phases] or ["waiting for its turn …"]
            if through_pauses and now.state is WorkState.PAUSED:
                lines.append(_paused(now))
            live.update("\n".join(lines))
            if not _goes_on(now, through_pauses):
                return now
            await asyncio.sleep(LOOK_S)


async def _lines(client: Client, round_id: int, through_pauses: bool) -> Round:
    """For logs: a line when a phase changes its state, and when a pause is waited for."""
    seen, before = dict[str, str](), WorkState.QUEUED
    while True:
        now = await client.round(round_id)
        for phase in now.phases:
            if phase.state not in (seen.get(phase.name, "queued"),):
                say(_line(phase))
            seen[phase.name] = phase.state
        if not _goes_on(now, through_pauses):
            return now
        if now.state is WorkState.PAUSED and before is not WorkState.PAUSED:
            say(_paused(now))
        before = now.state
        await asyncio.sleep(LOOK_S)


def _goes_on(shown: Round, through_pauses: bool) -> bool:
    return not shown.state.over and (through_pauses or shown.state is not WorkState.PAUSED)


def _paused(shown: Round) -> str:
    return f"Round {shown.id} is paused: resume it in the page, or by `deskhand rounds resume {shown.id}`."


def _line(phase: Phase) -> str:
    took = _took(phase)
    progress, detail = phase.progress, ""
    if phase.state == "running" and progress:
        detail = progress.phase
        if progress.total:
            detail += f"  {progress.done}/{progress.total}"
    elif phase.reason:
        detail = phase.reason
    return f"{MARKS[phase.state]} {phase.name:<20} {took:>7}  {detail}".rstrip()


def _took(phase: Phase) -> str:
    if phase.started_at_s is None:
        return ""
    seconds = (phase.ended_at_s or time.time()) - phase.started_at_s
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def print_round(shown: Round) -> None:
    """The round's table, and what became of it."""
    lines = table("", "sampled", "95 %", "greedy", "95 %", "episodes", "minutes")
    for row in shown.rows:
        cells = [*_rate(row.sampled), *_rate(row.greedy)]
        lines.add_row(row.label, *cells, str(row.training_episodes), f"{row.minutes:.1f}")
    if shown.rows:
        out.print(lines)
    out.print(_ending(shown), soft_wrap=True)


def _ending(shown: Round) -> str:
    head = f"Round {shown.id} ({shown.preset}): {shown.state}"
    if shown.state == "failed":
        return f"{head}: {shown.reason}"
    if shown.state == "paused":
        return f"{head}; `deskhand rounds resume {shown.id}` lets it go on"
    if shown.state != "done":
        return head
    if shown.promoted:
        return f"{head}; the next round starts from {shown.policy_out}"
    why = shown.reason or "nothing to promote"
    return f"{head}; {why}.\nThe next round starts from what was promoted before, or from its preset's base."


def _rate(rate: Rate | None) -> tuple[str, str]:
    if rate is None:
        return "", ""
    # eighty columns hold seven of these
    return percent(rate.success, 1), f"{percent(rate.low)}–{percent(rate.high)}"
