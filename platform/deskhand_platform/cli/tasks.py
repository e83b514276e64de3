"""`deskhand tasks …` and `deskhand submit`."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from deskhand_platform.api.job_models import GrowTasksOrder
from deskhand_platform.api.models import CatalogTask
from deskhand_platform.cli import jobs, overrides
from deskhand_platform.cli.client import FOLLOWING_S, HereUrl, Url, WorkUrl, asked, connect, first
from deskhand_platform.cli.console import Json, out, print_json, say, table, when
from deskhand_platform.client import ClientError, InvalidRequest, ServerTrouble, Unreachable
from deskhand_platform.client.calls import BATCH
from deskhand_platform.client.errors import name_by_place
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import load_settings
from deskhand_platform.states import WorkState

app = typer.Typer(help="Tasks: what there is, and what was submitted.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add `submit` to the root."""
    root.command(epilog="Example:  deskhand submit miniwob/click-test --seed 7 --wait")(submit)


@app.command("list", epilog="Example:  deskhand tasks list click --held-out")
def list_tasks(
    search: Annotated[str, typer.Argument(help="part of the id")] = "",
    held_out: Annotated[bool, typer.Option("--held-out", help="only tasks never trained on")] = False,
    proven: Annotated[bool, typer.Option("--proven", help="only tasks with an oracle")] = False,
    as_json: Json = False,
    url: HereUrl = None,
) -> None:
    """The tasks environments bring."""
    wanted = True if held_out else None
    found: Sequence[CatalogTask]
    if url is None:
        from deskhand_platform.catalog import catalog

        kinds = load_settings().sandbox.lent
        found = [
            CatalogTask(**asdict(one), lent=one.kind in kinds) for one in catalog(search, held_out=wanted)
        ]
    else:
        found = asked(lambda client: client.catalog(search, held_out=wanted), url)
    found = [one for one in found if one.oracle or not proven]
    if as_json:
        print_json(found)
        return
    lines = table("task", "kind", "turns", "oracle", "held out")
    for one in found:
        marks = ("yes" if one.oracle else "unproven", "yes" if one.held_out else "")
        kind = one.kind if one.lent else f"{one.kind} (not lent here)"
        lines.add_row(one.id, kind, str(one.turns), *marks)
    out.print(lines)


@app.command(
    epilog="Examples:  deskhand tasks check desk   ·   deskhand tasks check 'miniwob/click-*' --workers 4   ·"
    "   deskhand tasks check my-tasks.yaml --seeds 5 --json"
)
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="ids, patterns, families, files or folders of tasks; every task when none"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="start states of each task")] = 1,
    workers: Annotated[int, typer.Option(min=1, max=64, help="tasks at a time")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="print what was found as JSON")] = False,
    url: WorkUrl = None,
) -> None:
    """Prove tasks: each fails when nothing is done, passes on its oracle, and scores the same again.

    Tasks nobody has an oracle for are unproven. Exit status 1 when a task is broken, or could not be tried.
    A platform at an address proves those that it has, in its own sandboxes.
    """
    from deskhand_platform.cli.task_check import ask, run

    if url is not None or load_settings().url is not None:
        raise typer.Exit(ask(names or [], url, seeds=seeds, workers=workers, as_json=as_json))
    raise typer.Exit(run(names or [], seeds=seeds, workers=workers, as_json=as_json))


@app.command(
    epilog="Examples:  deskhand tasks grow   ·   deskhand tasks grow generated/fill-4-large --by explored "
    "--pages 20   ·   deskhand tasks grow --by model --model qwen --base-url http://localhost:8000/v1"
)
def grow(
    names: Annotated[
        list[str] | None, typer.Argument(help="tasks whose start states are grown from (generated/fill-…)")
    ] = None,
    by: Annotated[
        str, typer.Option(help="template; explored, by acting at random; model, by a chat endpoint")
    ] = "template",
    into: Annotated[
        Path | None, typer.Option(help="folder of the files (tasks/grown in the home folder)")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="train seeds of each task")] = 5,
    offset: Annotated[int, typer.Option(min=0, help="train seeds passed over first")] = 0,
    each: Annotated[int, typer.Option(min=1, help="tasks, or actions to explore with, on each")] = 6,
    model: Annotated[str | None, typer.Option(help="of the endpoint; only with --by model")] = None,
    base_url: Annotated[str | None, typer.Option(help="of the endpoint; OpenAI's own where none is")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print what came of it as JSON")] = False,
    url: WorkUrl = None,
) -> None:
    """Grow new tasks: each fails at the start, and its own actions reach its goal twice.

    Nothing grows from held-out tasks or seeds that only measure. Exit status 1 when none is admitted.
    A platform at an address grows them in its own sandboxes, into its own home.
    """
    from deskhand_platform.cli.task_growth import ask, run

    if (by == "model") != (model is not None):
        raise InvalidField("--model", "names the model of --by model, and only of that")
    order = jobs.made(
        GrowTasksOrder,
        tasks=names,
        by=by,
        pages=pages,
        offset=offset,
        each=each,
        model=model,
        endpoint=base_url,
    )
    if url is None and load_settings().url is None:
        raise typer.Exit(run(order, into, as_json=as_json))
    if into is not None:
        raise InvalidField("--into", "is a folder here; a platform keeps what grows in its home")
    raise typer.Exit(ask(order, url, as_json=as_json))


@app.command(epilog="Example:  deskhand tasks submitted --state failed --label batch=nightly")
def submitted(
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    state: Annotated[WorkState | None, typer.Option(help="only those in this state")] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value that they all have; repeatable")] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Submitted tasks, newest first."""
    labels = labels_of(label or [])
    found = asked(lambda client: first(client.tasks(state=state, labels=labels), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("id", "task", "seed", "state", "score", "submitted", "")
    for one in found:
        score = "" if one.outcome is None else f"{one.outcome.score:g}"
        made = when(one.created_at_s)
        lines.add_row(one.id, one.task_id, str(one.seed), one.state, score, made, one.reason or "")
    out.print(lines)


@app.command("show", epilog="Example:  deskhand tasks show ID")
def show_task(id: Annotated[str, typer.Argument(help="id of the submitted task")], url: Url = None) -> None:
    """A submitted task, as JSON: what was asked for, its state, what came of it."""
    out.print(asked(lambda client: client.task(id), url).model_dump_json(indent=1), soft_wrap=True)


@app.command(epilog="Example:  deskhand tasks cancel ID")
def cancel(id: Annotated[str, typer.Argument(help="id of the submitted task")], url: Url = None) -> None:
    """Take a task out of the queue, or stop it."""
    out.print(asked(lambda client: client.cancel(id), url).state)


@app.command(epilog="Example:  deskhand tasks retry ID")
def retry(id: Annotated[str, typer.Argument(help="id of the submitted task")], url: Url = None) -> None:
    """Queue a task again that failed or was cancelled."""
    out.print(asked(lambda client: client.retry(id), url).state)


@app.command(epilog="Examples:  deskhand tasks watch   ·   deskhand tasks watch --label batch=nightly")
def watch(
    ids: Annotated[
        list[str] | None, typer.Argument(help="ids of submitted tasks; every task when none")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value that they all have; repeatable")] = None,
    after: Annotated[int, typer.Option(min=0, help="the last event seen")] = 0,
    follow: Annotated[bool, typer.Option(help="wait for what comes")] = True,
    url: Url = None,
) -> None:
    """Every change of tasks as it happens, a line of JSON each; earlier ones first. Ctrl-C ends it."""
    asyncio.run(_watch(ids or [], labels_of(label or []), after, follow, url))


@app.command(
    "submit",
    epilog="Examples:  deskhand tasks submit tasks.jsonl --key nightly-3   ·   … | deskhand tasks submit -",
)
def submit_file(
    file: Annotated[
        typer.FileText,
        typer.Argument(help='a task in each line, as JSON: {"task_id": "miniwob/click-test", "seed": 3}'),
    ],
    key: Annotated[
        str | None,
        typer.Option(help="of the file: its line 7 has the key KEY-7, where it names none of its own"),
    ] = None,
    url: Url = None,
) -> None:
    """Submit many tasks; the ids are printed in order, as soon as the platform has 2,000 more of them.

    A line is what `POST /v1/tasks` takes: task_id or task, seed, policy, labels, priority, deadline_s, key.
    With keys, or --key, the same file can be submitted again: what is known already is not queued twice. A
    key that another task had before is refused.
    """
    lines: list[tuple[int, Any]] = []
    try:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    lines.append((number, _keyed(json.loads(line), key, number)))
                except (json.JSONDecodeError, RecursionError) as error:
                    said = f"line {number} is not JSON: {error}"
                    raise typer.BadParameter(said, param_hint="FILE") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"it is no UTF-8: {error}", param_hint="FILE") from error
    if not lines:
        raise typer.BadParameter("it holds no task", param_hint="FILE")
    asyncio.run(_submit_all(lines, url))


@app.command(epilog="Example:  deskhand tasks preview miniwob/click-test screen.png --seed 3")
def preview(
    task: Annotated[str, typer.Argument(help="id of the task")],
    file: Annotated[Path | None, typer.Argument(help="picture to write: the first screen")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    url: Url = None,
) -> None:
    """Set a task up in a sandbox of the platform, print its instruction and keep its first screen."""
    begun = asked(lambda client: client.preview_task(task, seed=seed), url)
    if file is not None:
        file.write_bytes(base64.b64decode(begun.screen.partition(",")[2]))
    out.print(begun.instruction, soft_wrap=True)


@app.command(epilog="Example:  deskhand tasks proposals")
def proposals(
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20, as_json: Json = False, url: Url = None
) -> None:
    """Actions of policies that wait for a person, the longest first."""
    found = asked(lambda client: first(client.proposals(), limit), url)
    if as_json:
        print_json(found)
        return
    lines = table("proposal", "trajectory", "step", "until", "instruction", "what it would do")
    for one in found:
        did = " ".join(action.text for action in one.actions) or one.text
        until = when(one.answer_by_s)
        lines.add_row(one.id, one.trajectory_id, str(one.step_index), until, one.instruction, did)
    out.print(lines)


@app.command(
    epilog="Examples:  deskhand tasks answer ID   ·   "
    "deskhand tasks answer ID --answer 'The blue one.'   ·   "
    "deskhand tasks answer ID --replace \"click(point='<point>40 52</point>')\" --reason 'It missed.'"
)
def answer(
    id: Annotated[str, typer.Argument(help="id of the proposal")],
    replace: Annotated[
        str, typer.Option(help="what to do in its place, in the agent's grammar; accepted without")
    ] = "",
    reason: Annotated[str, typer.Option(help="why")] = "",
    said: Annotated[
        str, typer.Option("--answer", help="said to what it asks (call_user), which is accepted")
    ] = "",
    url: Url = None,
) -> None:
    """Accept what a policy is about to do, or do something else in its place."""
    answered = asked(lambda client: client.answer_proposal(id, replace or None, reason, said), url)
    out.print(answered.state)


def submit(
    task: Annotated[str, typer.Argument(help="id of the task, e.g. miniwob/click-test")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    policy: Annotated[
        str, typer.Option(help="scripted, local, person, openai, openai_computer or anthropic_computer")
    ] = "scripted",
    setting: Annotated[list[str] | None, typer.Option(help="of the policy: name=value; repeatable")] = None,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="higher ones go first")] = 0,
    within: Annotated[float | None, typer.Option(help="seconds until it has to be over, or fails")] = None,
    key: Annotated[str | None, typer.Option(help="submitted again under it, it is the same task")] = None,
    review: Annotated[
        float | None, typer.Option(help="seconds a person may take over each action before it is carried out")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value to find it by; repeatable")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="wait until it is over")] = False,
    url: Url = None,
) -> None:
    """Submit a task to the platform that serves this home, or to the one at --url."""
    if within is not None and not within > 0:
        raise InvalidField("--within", "takes more than 0 seconds, e.g. 600")
    body = {
        "task_id": task,
        "seed": seed,
        "policy": {"name": policy, "settings": settings_of(setting or []), "review_s": review},
        "labels": labels_of(label or []),
        "priority": priority,
        "deadline_s": None if within is None else time.time() + within,
        "key": key,
    }
    raise typer.Exit(asyncio.run(_submit(body, wait, url)))


def settings_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings of a policy given as name=value.

    Raises:
        InvalidField: one is not of that form.
    """
    return overrides.parse(pairs, "--setting", "temperature=0.7")


def labels_of(pairs: Sequence[str]) -> dict[str, str]:
    """Labels given as name=value.

    Raises:
        InvalidField: one is not of that form.
    """
    split = [pair.partition("=") for pair in pairs]
    for name, equals, value in split:
        if not equals or not name:
            raise InvalidField("--label", f"{name + value!r} is not of the form name=value")
    return {name: value for name, _, value in split}


async def _submit(body: dict[str, Any], wait: bool, url: str | None) -> int:
    async with connect(load_settings(), url) as client:
        found = await client.submit(body)
    out.print(found.id)
    if not wait:
        return 0
    async with connect(load_settings(), url, patience_s=FOLLOWING_S) as client:
        over = await client.wait(found.id)
    shown = over.model_dump(mode="json", include={"state", "trajectory_id", "outcome", "reason"})
    say(yaml.safe_dump(shown).strip())
    return 0 if over.state is WorkState.DONE else 1


async def _submit_all(lines: list[tuple[int, Any]], url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        for at in range(0, len(lines), BATCH):
            part = lines[at : at + BATCH]
            try:
                ids = await client.submit_batch([body for _, body in part])
            except ClientError as error:
                _tell_how_far(lines[:at], part, error)
                raise
            for id in ids:
                out.print(id)
            if len(lines) > BATCH:
                say(f"{at + len(part)} of {len(lines)} queued")


def _keyed(body: Any, key: str | None, number: int) -> Any:
    """What a line of a file asks for, with its own key or that of its place in the file."""
    if key is None or not isinstance(body, dict):
        return body
    return {**body, "key": body.get("key") or f"{key}-{number}"}


def _tell_how_far(queued: list[tuple[int, Any]], part: list[tuple[int, Any]], error: ClientError) -> None:
    if isinstance(error, InvalidRequest):
        name_by_place(error, lambda number: f"line {part[number][0]}")
    if queued:
        unkeyed = any(not body.get("key") for _, body in queued)
        twice = "those without keys would be queued twice" if unkeyed else "they would not be queued twice"
        say(f"up to line {queued[-1][0]} all are queued; sent again, {twice}")
    if isinstance(error, Unreachable | ServerTrouble):
        say(f"lines {part[0][0]} to {part[-1][0]} may be queued: `deskhand tasks submitted` shows it")


async def _watch(ids: list[str], labels: dict[str, str], after: int, follow: bool, url: str | None) -> None:
    async with connect(load_settings(), url) as client:
        for id in ids:  # of one that nobody submitted nothing would ever come
            await client.task(id)
        if not ids:  # an address where nobody answers is said at once
            await client.info()
    async with connect(load_settings(), url, patience_s=FOLLOWING_S) as client:
        async for event in client.task_events(ids, labels=labels, after=after, follow=follow):
            out.print(event.model_dump_json(), soft_wrap=True)
