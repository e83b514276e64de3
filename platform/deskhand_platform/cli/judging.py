"""`deskhand flywheel judge`: a model behind an endpoint judges what the store holds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deskhand_agent.accounts import Account
from deskhand_flywheel.review_rules import read_review_rules
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.cli import overrides
from deskhand_platform.cli.console import bars, out, say
from deskhand_platform.cli.flywheel import Label, labels_of
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.errors import InvalidField

if TYPE_CHECKING:
    from deskhand_flywheel.judges import JudgeReport, JudgeSettings


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
) -> None:
    """Let a model judge what it has not judged yet: steps, or outcomes; each with its reason.

    Scores stand beside all others, under the name of the model and its rubric. What it comes to no verdict
    on is kept by kind and tried again the next time; what it contradicts is queued (`deskhand flywheel
    review`). The key is OPENAI_API_KEY's. Exit status 1 when the endpoint had to be given up, or nothing
    came of it.
    """
    settings = _settings({**overrides.parse(set_ or []), "model": model}, endpoint)
    chosen = TrajectoryFilter(
        task_ids=None if task is None else (task,),
        policy_id=policy,
        outcome=outcome,
        labels=labels_of(label or []),
    )
    report = asyncio.run(_judge(what, settings, rubric, chosen, limit, concurrency))
    if as_json:
        out.print(json.dumps(asdict(report), indent=1), markup=False, soft_wrap=True)
    else:
        _tell(report, what)
    if report.stopped is not None or (report.failures and not report.judged):
        raise typer.Exit(1)


def _settings(values: dict[str, Any], endpoint: str | None) -> JudgeSettings:
    from deskhand_agent.policies.settings import read_settings
    from deskhand_flywheel.judges import JudgeSettings

    if "api_key" in values:
        raise InvalidField("--set", "a command line is seen by others: give keys in OPENAI_API_KEY")
    if endpoint is not None:
        values["base_url"] = endpoint
    try:
        return read_settings(JudgeSettings, values)
    except TypeError as error:
        raise InvalidField("--set", str(error).partition("() ")[2] or str(error)) from error


async def _judge(
    what: Judged,
    settings: JudgeSettings,
    rubric: Path | None,
    chosen: TrajectoryFilter,
    limit: int | None,
    concurrency: int,
) -> JudgeReport:
    from deskhand_flywheel.judges import OutcomeJudge, ProcessJudge, judge_store, read_rubric

    own = None if rubric is None else await asyncio.to_thread(read_rubric, rubric)
    judge = ProcessJudge(settings, own) if what is Judged.STEPS else OutcomeJudge(settings, own)
    try:
        async with opened_store() as store:
            with bars() as told:
                shown = partial(told, "trajectories")
                report = await judge_store(
                    store, judge, chosen, limit=limit, concurrency=concurrency, progress=shown
                )
            rules = read_review_rules({})
            for trajectory_id in report.trajectories:
                await store.find_disagreements_of(trajectory_id, rules)
            return report
    finally:
        await judge.close()


def _tell(report: JudgeReport, what: Judged) -> None:
    out.print(f"{report.scorer}: {report.judged} {what} judged", markup=False, soft_wrap=True)
    for trouble, count in report.failures.items():
        say(f"no verdict on {count} {what}: {trouble}; they are tried again the next time")
    account = Account(cost=dict(report.cost))
    account.repairs.update({str(repair): count for repair, count in report.repairs.items()})
    if report.unreadable:
        say(f"{report.unreadable} replies held no verdict and were asked for again")
    if str(account):
        say(str(account))
    if report.stopped is not None:
        say(f"stopped early: {report.stopped}")
