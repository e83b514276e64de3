"""`deskhand evaluations`: success of policies on tasks, measured by the platform and compared."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from deskhand_platform.api.evaluation_models import EvaluationModel
from deskhand_platform.cli.client import FOLLOWING_S, Client, Url, asked, first
from deskhand_platform.cli.console import Json, bars, complain, out, print_json, say, table, when
from deskhand_platform.evaluations.verdicts import Verdict
from deskhand_platform.states import WorkState

app = typer.Typer(help="Success of policies on tasks, measured and compared.", no_args_is_help=True)
LOOK_S = 1.0
Id = Annotated[str, typer.Argument(help="of the evaluation")]


@app.command("list", epilog="Example:  deskhand evaluations list --task miniwob/click-test")
def list_evaluations(
    policy: Annotated[str | None, typer.Option(help="only of this one")] = None,
    task: Annotated[str | None, typer.Option(help="only with this one among its tasks")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Evaluations, newest first."""
    found = asked(lambda client: first(client.evaluations(policy_id=policy, task=task), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("evaluation", "policy", "tasks", "state", "episodes", "asked", "")
    for one in found:
        lines.add_row(
            one.id,
            one.policy_id or "oracle",
            _tasks(one.tasks),
            one.state,
            f"{one.done} of {one.total}",
            when(one.asked_at_s),
            one.reason or "",
        )
    out.print(lines)


@app.command(epilog="Example:  deskhand evaluations show ID")
def show(id: Id, as_json: Json = False, url: Url = None) -> None:
    """Success on each of its tasks, with 95 % Wilson intervals."""
    found = asked(lambda client: client.evaluation(id), url)
    if as_json:
        out.print(found.model_dump_json(indent=1), soft_wrap=True)
        return
    _print(found)
    if found.state is not WorkState.DONE:
        why = f": {found.reason}" if found.reason else ""
        say(f"{id} is {found.state}, {found.done} of {found.total} episodes{why}")


@app.command(epilog="Example:  deskhand evaluations ask miniwob/click-test --policy deskhand-tiny --follow")
def ask(
    tasks: Annotated[list[str] | None, typer.Argument(help="names of tasks")] = None,
    suite: Annotated[str | None, typer.Option(help="or the tasks of a suite; `suites` shows them")] = None,
    policy: Annotated[str | None, typer.Option(help="a kept one; the oracle when not given")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=10_000, help="per task and mode")] = 32,
    mode: Annotated[list[str] | None, typer.Option(help="sampled or greedy; repeatable")] = None,
    split: Annotated[str, typer.Option(help="test or validation: which seeds")] = "test",
    watch: Annotated[bool, typer.Option("--follow", help="wait for it and show it")] = False,
    url: Url = None,
) -> None:
    """Have a policy measured. Prints the id."""

    async def started(client: Client) -> EvaluationModel:
        return await client.start_evaluation(
            await _with_suite(client, tasks or [], suite),
            policy_id=policy,
            episodes=episodes,
            modes=mode or ["sampled"],
            split=split,
        )

    begun = asked(started, url)
    out.print(begun.id, soft_wrap=True)
    if watch and not asked(lambda client: _followed(client, begun.id), url, patience_s=FOLLOWING_S):
        raise typer.Exit(1)


@app.command(epilog="Example:  deskhand evaluations cancel ID")
def cancel(id: Id, url: Url = None) -> None:
    """Take it out of the queue, or stop it."""
    state = asked(lambda client: client.cancel_evaluation(id), url).state
    out.print(f"{id} is {state if state.over else 'stopping'}", soft_wrap=True)


@app.command(epilog="Example:  deskhand evaluations suites")
def suites(as_json: Json = False, url: Url = None) -> None:
    """Tasks that are measured together."""
    found = asked(lambda client: client.suites(), url)
    if as_json:
        print_json(found)
        return
    lines = table("suite", "tasks", "")
    for one in found:
        lines.add_row(one.name, str(len(one.tasks)), _tasks(one.tasks))
    out.print(lines)


@app.command("keep-suite", epilog="Example:  deskhand evaluations keep-suite forms miniwob/login-user")
def keep_suite(
    name: Annotated[str, typer.Argument(help="small letters, digits, dots and dashes")],
    tasks: Annotated[list[str], typer.Argument(help="names of tasks")],
    url: Url = None,
) -> None:
    """Put tasks together as a suite, or others into one of that name."""
    kept = asked(lambda client: client.keep_suite(name, tasks), url)
    out.print(f"{kept.name} has {len(kept.tasks)} task{'' if len(kept.tasks) == 1 else 's'}")


@app.command("delete-suite", epilog="Example:  deskhand evaluations delete-suite forms")
def delete_suite(name: str, url: Url = None) -> None:
    """Forget a suite that somebody put together; what was measured on it stays."""
    asked(lambda client: client.delete_suite(name), url)
    out.print(f"{name} is forgotten", soft_wrap=True)


@app.command(epilog="Example:  deskhand evaluations compare policy-1a2b policy-3c4d")
def compare(
    old: Annotated[str, typer.Argument(help="id of a policy")],
    new: Annotated[str, typer.Argument(help="id of another")],
    as_json: Json = False,
    url: Url = None,
) -> None:
    """The newest measurements of the same tasks, what got worse first; exit status 1 where something did."""
    found = asked(lambda client: client.compare_policies(old, new), url)
    if as_json:
        print_json(found)
    else:
        lines = table("task", "mode", "seeds", "old", "new", "difference", "")
        for one in found:
            difference = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
            before, after = f"{one.old.success:.3f}", f"{one.new.success:.3f}"
            lines.add_row(one.task, one.mode, one.split, before, after, difference, one.verdict)
        out.print(lines)
    raise typer.Exit(1 if any(one.verdict is Verdict.WORSE for one in found) else 0)


def _tasks(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more" if names else ""


def _print(one: EvaluationModel) -> None:
    lines = table("task", "mode", "success", "interval", "episodes")
    for row in one.rows:
        interval = f"[{row.low:.3f}, {row.high:.3f}]"
        lines.add_row(row.task, row.mode, f"{row.success:.3f}", interval, str(row.episodes))
    out.print(lines)


async def _with_suite(client: Client, tasks: list[str], suite: str | None) -> list[str]:
    if suite is None:
        return tasks
    known = {one.name: one.tasks for one in await client.suites()}
    if suite not in known:
        raise typer.BadParameter(f"no suite {suite!r}; there are {', '.join(sorted(known))}")
    return [*tasks, *known[suite]]


async def _followed(client: Client, id: str) -> bool:
    with bars() as tell:
        while True:
            now = await client.evaluation(id)
            tell("episodes", now.done, now.total or None)
            if now.state.over:
                break
            await asyncio.sleep(LOOK_S)
    _print(now)
    if now.state is not WorkState.DONE:
        complain(f"{id} is {now.state}: {now.reason or 'its log says why'}")
    return now.state is WorkState.DONE
