"""`deskhand flywheel review` and `agreement`, and `deskhand annotators`: what people are asked and say."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deskhand_flywheel.agreement import Agreement, agreement
from deskhand_flywheel.review_rules import load_review_rules, read_review_rules
from deskhand_flywheel.types import HUMAN, ReviewPage, TrajectoryFilter
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.users import User
from deskhand_platform.cli.console import out, say, table, when
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.cli.opening import opened_accounts, opened_store
from deskhand_platform.errors import WrongState

people = typer.Typer(help="People who annotate, each with a token of their own.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="as JSON")]
Task = Annotated[str | None, typer.Option(help="only of this task")]
Policy = Annotated[str | None, typer.Option(help="only of this policy")]


def register(app: typer.Typer) -> None:
    """Add `review` and `agreement`."""
    app.command(
        epilog="Examples:  deskhand flywheel review   ·   deskhand flywheel review --rules rules.yaml"
    )(review)
    app.command("agreement", epilog="Example:  deskhand flywheel agreement --source human --source judge")(
        show_agreement
    )


def review(
    rules: Annotated[
        Path | None, typer.Option(help="YAML of what counts as a disagreement, laid on the flywheel's own")
    ] = None,
    task: Task = None,
    policy: Policy = None,
    label: Label = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="list what people have marked already")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="entries at most")] = 20,
    as_json: Json = False,
) -> None:
    """Find what verifier, judges and step scores disagree on, and list it, most strongly first.

    The filter says whose entries are brought up to date; the list is of all. A person's mark on the step, or
    on the episode, resolves an entry.
    """
    chosen = TrajectoryFilter(
        task_ids=None if task is None else (task,), policy_id=policy, labels=labels_of(label or [])
    )
    page = asyncio.run(_review(rules, chosen, limit, resolved=resolved))
    if as_json:
        out.print(json.dumps([asdict(item) for item in page.items], indent=1), markup=False, soft_wrap=True)
        return
    lines = table("trajectory", "step", "strength", "lower", "higher", "instruction", "marked by")
    for item in page.items:
        one = item.disagreement
        sides = [f"{side.scorer} {side.score:.2f}" for side in one.said]
        step = "" if one.step_index is None else str(one.step_index)
        marked = ", ".join(item.resolved_by)
        lines.add_row(one.trajectory_id, step, f"{one.strength:.2f}", *sides, item.instruction, marked)
    out.print(lines)
    if page.next_cursor is not None:
        say(f"there are more than {limit}; --limit shows them")


async def _review(rules: Path | None, chosen: TrajectoryFilter, limit: int, *, resolved: bool) -> ReviewPage:
    read = read_review_rules({}) if rules is None else await asyncio.to_thread(load_review_rules, rules)
    async with opened_store() as store:
        await store.find_disagreements(read, chosen)
        return await store.review_queue("resolved" if resolved else "open", limit=limit)


def show_agreement(
    source: Annotated[
        list[str] | None,
        typer.Option(help="human, judge, prm, or a scorer's name; repeatable; people alone without"),
    ] = None,
    task: Task = None,
    policy: Policy = None,
    label: Label = None,
    as_json: Json = False,
) -> None:
    """How far annotators agree on the steps that several marked: Krippendorff's alpha, and Cohen's kappa."""
    chosen = TrajectoryFilter(
        task_ids=None if task is None else (task,), policy_id=policy, labels=labels_of(label or [])
    )
    found = asyncio.run(_agreement(chosen, source or [HUMAN]))
    if as_json:
        out.print(json.dumps(asdict(found), indent=1), markup=False, soft_wrap=True)
        return
    alphas = f"alpha {_figure(found.alpha_good)} of good and bad, {_figure(found.alpha_score)} of the scores"
    out.print(f"{found.steps} steps marked by several, {found.marks} marks: {alphas}", soft_wrap=True)
    lines = table("first", "second", "steps", "agreed", "kappa")
    for pair in found.pairs:
        lines.add_row(pair.first, pair.second, str(pair.steps), f"{pair.agreed:.0%}", _figure(pair.kappa))
    out.print(lines)


async def _agreement(chosen: TrajectoryFilter, sources: list[str]) -> Agreement:
    async with opened_store() as store:
        return await agreement(store, chosen, sources=sources)


@people.command(epilog="Example:  deskhand annotators add ada")
def add(name: Annotated[str, typer.Argument(help="a-z, 0-9, _, . and -")]) -> None:
    """Open an account of the role annotator; prints a token for it, which is shown this once.

    With it they sign in at the page, or send it as DESKHAND_TOKEN: they read everything and annotate, and
    change nothing else.
    """
    out.print(asyncio.run(_add(name)), markup=False)


@people.command()
def remove(name: Annotated[str, typer.Argument(help="of the annotator")]) -> None:
    """Let somebody in no more (`deskhand users disable`); their marks and notes stay."""
    asyncio.run(_remove(name))


@people.command("list")
def list_people() -> None:
    """Everybody of the role annotator."""
    lines = table("annotator", "since")
    for one in asyncio.run(_list()):
        lines.add_row(one.name, when(one.created_at_s))
    out.print(lines)


async def _add(name: str) -> str:
    async with opened_accounts("deskhand annotators add", name) as accounts:
        gone = [one.name for one in await accounts.users.list(Role.ANNOTATOR) if one.disabled]
        if name in gone:
            await accounts.users.change(name, disabled=False)
        else:
            await accounts.users.add(name, Role.ANNOTATOR)
        return (await accounts.tokens.create(name, "annotator"))[1]


async def _remove(name: str) -> None:
    async with opened_accounts("deskhand annotators remove", name) as accounts:
        if (await accounts.users.get(name)).role is not Role.ANNOTATOR:
            raise WrongState(f"{name} is no annotator; `deskhand users disable` is for everybody else")
        for token in await accounts.tokens.list(name):
            await accounts.tokens.revoke(token.id)
        await accounts.users.change(name, disabled=True)


async def _list() -> list[User]:
    async with opened_accounts() as accounts:
        return [one for one in await accounts.users.list(Role.ANNOTATOR) if not one.disabled]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
