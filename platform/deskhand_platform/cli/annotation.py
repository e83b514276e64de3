"""`deskhand flywheel review`, `review-rules`, `agreement` and `deskhand annotators`: what people say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from deskhand_platform.accounts.access import Role
from deskhand_platform.api.account_models import UserModel
from deskhand_platform.api.annotation_models import AgreementModel, ReviewItem, ReviewRulesModel
from deskhand_platform.cli.choosing import Policy, Task, read_rules
from deskhand_platform.cli.client import HomeUrl, first, reached
from deskhand_platform.cli.console import Json, out, percent, print_json, say, table, when
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.errors import InvalidField, NotFound, WrongState

people = typer.Typer(help="People who annotate, each with a token of their own.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add `review`, `review-rules` and `agreement`."""
    app.command(
        epilog="Examples:  deskhand flywheel review   ·   deskhand flywheel review --rules rules.yaml   ·   "
        "deskhand flywheel review --url https://deskhand.example.com"
    )(review)
    app.command(
        "review-rules",
        epilog="Examples:  deskhand flywheel review-rules   ·   "
        "deskhand flywheel review-rules rules.yaml   ·   "
        "deskhand flywheel review-rules --reset --url https://deskhand.example.com",
    )(review_rules)
    app.command(
        "agreement",
        epilog="Examples:  deskhand flywheel agreement --source human --source judge   ·   "
        "deskhand flywheel agreement --url https://deskhand.example.com",
    )(show_agreement)


def review(
    rules: Annotated[
        Path | None,
        typer.Option(help="YAML of what counts as a disagreement, laid on the store's own for this once"),
    ] = None,
    task: Task = None,
    policy: Policy = None,
    label: Label = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="list what people have marked already")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="entries at most")] = 20,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Find what verifier, judges, step scores and people disagree on, and list it, most strongly first.

    The filter says whose entries are brought up to date; the list is of all. A person's mark on the step, or
    on the episode, resolves an entry; a third person's, where two contradict each other.
    """
    chosen = {"task_id": task, "policy_id": policy, "labels": labels_of(label or [])}
    state = "resolved" if resolved else "open"
    found = asyncio.run(_review(read_rules(rules), chosen, state, limit + 1, url))
    if as_json:
        shown = [item.model_dump(mode="json") for item in found[:limit]]
        out.print(json.dumps(shown, indent=1), soft_wrap=True)
        return
    lines = table("trajectory", "step", "strength", "lower", "higher", "instruction", "marked by")
    for one in found[:limit]:
        sides = [f"{side.scorer} {side.score:.2f}" for side in one.sides]
        step = "" if one.step_index is None else str(one.step_index)
        marked = ", ".join(one.resolved_by)
        lines.add_row(one.trajectory_id, step, f"{one.strength:.2f}", *sides, one.instruction, marked)
    out.print(lines)
    if len(found) > limit:
        say(f"there are more than {limit}; --limit shows them")


def review_rules(
    rules: Annotated[
        Path | None,
        typer.Argument(help="YAML of what counts as a disagreement from now on, laid on the flywheel's own"),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="go back to the flywheel's own")] = False,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Show what counts as a disagreement, or keep other rules with the store.

    Whatever scores goes by them; what is queued stays until `deskhand flywheel review` looks for it again.
    """
    if reset and rules is not None:
        raise InvalidField("reset", "goes without rules")
    found = asyncio.run(_review_rules(read_rules(rules) if rules or reset else None, url))
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    since = (
        "the flywheel's own" if found.set_at_s is None else f"set by {found.set_by} {when(found.set_at_s)}"
    )
    out.print(f"# {since}\n{found.rules}", soft_wrap=True, end="")


async def _review_rules(rules: str | None, url: str | None) -> ReviewRulesModel:
    async with reached(url) as client:
        return await client.review_rules() if rules is None else await client.set_review_rules(rules)


async def _review(
    rules: str, chosen: Mapping[str, Any], state: str, limit: int, url: str | None
) -> list[ReviewItem]:
    async with reached(url) as client:
        await client.find_reviews(rules=rules, **chosen)
        return await first(client.reviews(state), limit)


def show_agreement(
    source: Annotated[
        list[str] | None,
        typer.Option(help="human, judge, prm, or a scorer's name; repeatable; people alone without"),
    ] = None,
    task: Task = None,
    policy: Policy = None,
    label: Label = None,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """How far annotators agree on the steps that several marked: Krippendorff's alpha, and Cohen's kappa."""
    chosen = {"task_id": task, "policy_id": policy, "labels": labels_of(label or [])}
    found = asyncio.run(_agreement(source or [], chosen, url))
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    alphas = f"alpha {_figure(found.alpha_good)} of good and bad, {_figure(found.alpha_score)} of the scores"
    out.print(f"{found.steps} steps marked by several, {found.marks} marks: {alphas}", soft_wrap=True)
    lines = table("first", "second", "steps", "agreed", "kappa")
    for pair in found.pairs:
        lines.add_row(pair.first, pair.second, str(pair.steps), percent(pair.agreed), _figure(pair.kappa))
    out.print(lines)


async def _agreement(sources: list[str], chosen: Mapping[str, Any], url: str | None) -> AgreementModel:
    async with reached(url) as client:
        return await client.agreement(sources, **chosen)


@people.command(
    epilog="Examples:  deskhand annotators add ada   ·   "
    "deskhand annotators add ada --url https://deskhand.example.com"
)
def add(name: Annotated[str, typer.Argument(help="a-z, 0-9, _, . and -")], url: HomeUrl = None) -> None:
    """Open an account of the role annotator; prints a token for it, which is shown this once.

    With it they sign in at the page, or send it as DESKHAND_TOKEN: they read everything, annotate,
    answer proposals and take over running episodes, and change nothing else.
    """
    out.print(asyncio.run(_add(name, url)), soft_wrap=True)


@people.command(
    epilog="Examples:  deskhand annotators remove ada   ·   "
    "deskhand annotators remove ada --url https://deskhand.example.com"
)
def remove(name: Annotated[str, typer.Argument(help="of the annotator")], url: HomeUrl = None) -> None:
    """Let somebody in no more (`deskhand users disable`); their marks and notes stay."""
    asyncio.run(_remove(name, url))


@people.command(
    "list",
    epilog="Examples:  deskhand annotators list   ·   "
    "deskhand annotators list --url https://deskhand.example.com",
)
def list_people(as_json: Json = False, url: HomeUrl = None) -> None:
    """Everybody of the role annotator."""
    found = asyncio.run(_list(url))
    if as_json:
        print_json(found)
        return
    lines = table("annotator", "since")
    for one in found:
        lines.add_row(one.name, when(one.created_at_s))
    out.print(lines)


async def _add(name: str, url: str | None) -> str:
    async with reached(url, first_admin=True) as client:
        known = [one for one in await client.users() if one.name == name and one.role is Role.ANNOTATOR]
        if any(one.disabled for one in known):
            await client.change_user(name, disabled=False)
        else:
            await client.add_user(name, Role.ANNOTATOR, token_only=True)
        return (await client.create_token("annotator", owner=name)).token


async def _remove(name: str, url: str | None) -> None:
    async with reached(url, first_admin=True) as client:
        everybody = {one.name: one for one in await client.users()}
        if name not in everybody:
            raise NotFound("user", name, everybody)
        if everybody[name].role is not Role.ANNOTATOR:
            raise WrongState(f"{name} is no annotator; `deskhand users disable` is for everybody else")
        for token in await client.tokens(name):
            await client.revoke_token(token.id)
        await client.change_user(name, disabled=True)


async def _list(url: str | None) -> list[UserModel]:
    async with reached(url, first_admin=True) as client:
        everybody = await client.users()
    return [one for one in everybody if one.role is Role.ANNOTATOR and not one.disabled]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
