"""`deskhand flywheel judge`: a model behind an endpoint judges what the store holds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from deskhand_agent.accounts import Account
from deskhand_flywheel.types import OutcomeFilter
from deskhand_platform.api.job_models import JudgeOrder
from deskhand_platform.cli import jobs, overrides
from deskhand_platform.cli.client import WorkUrl
from deskhand_platform.cli.console import out, say
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.errors import InvalidField


class Judged(StrEnum):
    """What a judge looks at."""

    STEPS = "steps"
    OUTCOMES = "outcomes"


def register(app: typer.Typer) -> None:
    """Add `judge`."""
    app.command(
        epilog="Examples:  deskhand flywheel judge steps --endpoint http://127.0.0.1:8000/v1 --model MODEL   "
        "·   deskhand flywheel judge outcomes --model MODEL --label run=collect-1 --set retries=5"
    )(judge)


def judge(
    what: Annotated[Judged, typer.Argument(help="each step, or how whole episodes came out")],
    model: Annotated[str, typer.Option(help="name of a model that takes pictures")],
    endpoint: Annotated[
        str | None, typer.Option(help="URL of a server that speaks OpenAI's protocol; OpenAI's own without")
    ] = None,
    rubric: Annotated[
        Path | None, typer.Option(help="how to score, in words: a text file; the package's own without")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="a setting, name=value: timeout_s, retries, requests_per_minute, …"),
    ] = None,
    task: Annotated[str | None, typer.Option(help="only of this task")] = None,
    policy: Annotated[str | None, typer.Option(help="only of this policy")] = None,
    outcome: Annotated[OutcomeFilter | None, typer.Option(help="only those that went so")] = None,
    label: Label = None,
    limit: Annotated[int | None, typer.Option(min=1, help="trajectories at most")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="requests at a time")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="what it came to, as JSON")] = False,
    url: WorkUrl = None,
) -> None:
    """Let a model judge what it has not judged yet: steps, or outcomes; each with its reason.

    Scores stand beside all others, under the name of the model and its rubric. What it comes to no verdict
    on is kept by kind and tried again the next time; what it contradicts is queued (`deskhand flywheel
    review`). The key is OPENAI_API_KEY's. Exit status 1 when the endpoint had to be given up, or nothing
    came of it.
    """
    from deskhand_flywheel.judges import read_rubric
    from deskhand_platform.jobs.scoring import judge_settings

    order = jobs.made(
        JudgeOrder,
        what=what.value,
        model=model,
        endpoint=endpoint,
        rubric=None if rubric is None else read_rubric(rubric).text,
        settings=overrides.parse(set_ or []),
        tasks=None if task is None else [task],
        policy_id=policy,
        outcome=outcome,
        labels=labels_of(label or []),
        limit=limit,
        concurrency=concurrency,
    )
    try:
        judge_settings(order)
    except InvalidField as error:
        raise InvalidField("--set", error.reason) from error
    report = jobs.done(order, url)
    if as_json:
        out.print(jobs.as_text(report), soft_wrap=True)
    else:
        _tell(report, what)
    if report["stopped"] is not None or (report["failures"] and not report["judged"]):
        raise typer.Exit(1)


def _tell(report: dict[str, Any], what: Judged) -> None:
    out.print(f"{report['scorer']}: {report['judged']} {what} judged", soft_wrap=True)
    for trouble, count in report["failures"].items():
        of = "episodes whose record cannot be read" if trouble == "record" else f"{what}: {trouble}"
        say(f"no verdict on {count} {of}; they are tried again the next time")
    account = Account(cost=dict(report["cost"]))
    account.repairs.update(report["repairs"])
    if report["unreadable"]:
        say(f"{report['unreadable']} replies held no verdict and were asked for again")
    if str(account):
        say(str(account))
    if report["stopped"] is not None:
        say(f"stopped early: {report['stopped']}")
