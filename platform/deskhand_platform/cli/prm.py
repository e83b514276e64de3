"""`deskhand prm …`: labels for steps, a process reward model that learns them, its scores and their worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.types import OutcomeFilter
from deskhand_platform.api.job_models import CalibrateOrder, LabelOrder, ScoreOrder, TrainOrder
from deskhand_platform.cli import jobs, overrides
from deskhand_platform.cli.client import WorkUrl
from deskhand_platform.cli.console import Json, out, say, table
from deskhand_platform.cli.flywheel import labels_of
from deskhand_platform.settings import load_settings

app = typer.Typer(
    help="The process reward model: label steps, train on the labels, score, calibrate.", no_args_is_help=True
)

Model = Annotated[str, typer.Argument(help="id of a process reward model")]
OfTask = Annotated[list[str] | None, typer.Option("--task", help="only of this task; repeatable")]
OfPolicy = Annotated[str | None, typer.Option("--by", help="only episodes of this policy")]
OfOutcome = Annotated[OutcomeFilter | None, typer.Option("--outcome", help="only those that went so")]
OfLabel = Annotated[list[str] | None, typer.Option("--label", help="only with this label, name=value")]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        help="who says how good steps are: monte-carlo, human, judge or outcome; repeatable, the first that "
        "speaks of a step counts",
    ),
]
MONTE_CARLO = ("monte-carlo",)


@app.command(
    epilog="Examples:  deskhand prm label --task worlds/frozen-lake-4x4 --continuations 16   ·   "
    "deskhand prm label --policy scripted --by deskhand-tiny --limit 100"
)
def label(
    policy: Annotated[
        str, typer.Option(help="who goes on: id of a policy, deskhand-tiny, or scripted for the oracles")
    ] = DESKHAND_TINY,
    continuations: Annotated[int, typer.Option(min=1, help="from each state of an episode")] = 8,
    temperature: Annotated[float, typer.Option(min=0.0, help="of the policy's replies")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="longest reply")] = 64,
    task: OfTask = None,
    by: OfPolicy = None,
    outcome: OfOutcome = None,
    label: OfLabel = None,
    max_steps: Annotated[int, typer.Option(min=1, help="only episodes of at most so many steps")] = 50,
    limit: Annotated[int | None, typer.Option(min=1, help="at most so many episodes, newest first")] = None,
    workers: Annotated[int, typer.Option(min=1, max=512, help="episodes labelled at a time")] = 4,
    as_json: Json = False,
    url: WorkUrl = None,
) -> None:
    """Label steps by Monte-Carlo continuation: Q(s, a) − V(s), by episodes that go on from each state.

    Exact where the computer keeps snapshots (worlds, the fake one, virtual machines); elsewhere the recorded
    actions are replayed from the seeded start, and labels are marked inexact where a screen differs. What is
    labelled stays labelled: the same command goes on with what is new.
    """
    order = jobs.made(
        LabelOrder,
        policy=policy,
        continuations=continuations,
        temperature=temperature,
        max_tokens=max_tokens,
        tasks=task,
        policy_id=by,
        outcome=outcome,
        labels=labels_of(label or []),
        max_steps=max_steps,
        limit=limit,
        workers=workers,
    )
    done = jobs.done(order, url)
    if as_json:
        out.print_json(json.dumps(done))
    else:
        out.print(
            f"{done['labeller']}: {done['steps']} steps of {done['trajectories']} episodes labelled"
            + (f", {done['inexact']} of them inexact" if done["inexact"] else ""),
        )
    _say_left_out(done)


@app.command(
    epilog="Examples:  deskhand prm train --labels human --labels monte-carlo   ·   "
    "deskhand prm train --set epochs=20 --set trunk_lr=0.0001 --set rationale_weight=0.1"
)
def train(
    policy: Annotated[
        str, typer.Option(help="whose model reads the steps: id of a policy, or deskhand-tiny")
    ] = DESKHAND_TINY,
    labels: Labels = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="override of a setting, e.g. epochs=20; repeatable")
    ] = None,
    as_json: Json = False,
    url: WorkUrl = None,
) -> None:
    """Train a process reward model on labels of the store, and keep it there.

    Held-out tasks and seeds are never trained on; a fifth of the other tasks is kept for the figures. The
    settings are those of a round's section `score`.
    """
    from deskhand_platform.jobs.scoring import score_config

    settings = {**({"labels": labels} if labels else {}), **overrides.parse(set_ or [])}
    score_config(settings)
    figures = jobs.done(jobs.made(TrainOrder, policy=policy, settings=settings), url)
    if as_json:
        out.print_json(json.dumps(figures))
    else:
        shown = {name: figure for name, figure in figures.items() if name != "left_out"}
        out.print(yaml.safe_dump(shown, sort_keys=False).strip())
    _say_left_out(figures)


@app.command(
    epilog="Examples:  deskhand prm score MODEL   ·   deskhand prm score MODEL --task worlds/chain --json"
)
def score(
    model: Model,
    task: OfTask = None,
    by: OfPolicy = None,
    outcome: OfOutcome = None,
    label: OfLabel = None,
    as_json: Json = False,
    url: WorkUrl = None,
) -> None:
    """Score every step of the episodes that this model has not scored yet.

    Scores carry the model's version and stand beside those of others.
    """
    order = jobs.made(
        ScoreOrder,
        model=model,
        tasks=task,
        policy_id=by,
        outcome=outcome,
        labels=labels_of(label or []),
    )
    done = jobs.done(order, url)
    if as_json:
        out.print_json(json.dumps(done))
    else:
        out.print(f"{done['scorer']}: {done['scored']} episodes scored")
    _say_left_out(done)


@app.command(
    epilog="Examples:  deskhand prm calibrate MODEL   ·   "
    "deskhand prm calibrate MODEL --labels human --plot reliability.png --json"
)
def calibrate(
    model: Model,
    labels: Labels = None,
    judge: Annotated[
        str, typer.Option(help="whose scores of judging models, judge:MODEL@DIGEST; the latest without")
    ] = "",
    inexact: Annotated[
        bool, typer.Option("--inexact", help="also labels from states that looked other than recorded")
    ] = False,
    task: OfTask = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="where the reliability diagram goes, a PNG; the home's folder prm without"),
    ] = None,
    keep: Annotated[bool, typer.Option(help="keep the calibrated model in the store")] = True,
    as_json: Json = False,
    url: WorkUrl = None,
) -> None:
    """Say how good a model's scores are on episodes it was not trained on, and scale them to their labels.

    What is kept is a new model, with a version of its own. The AUC is over steps whose labels tell whether
    they help; the calibration error and Brier score are over all; kappa is the agreement with people.
    """
    order = jobs.made(
        CalibrateOrder,
        model=model,
        sources=labels or [*MONTE_CARLO],
        judge=judge,
        inexact=inexact,
        tasks=task,
        keep=keep,
    )
    done = jobs.done(order, url)
    path = plot or load_settings().home / "prm" / f"{done['scorer'].replace(':', '-')}.png"
    _draw(done, path)
    if as_json:
        out.print_json(json.dumps({"model": done["model"], "plot": str(path), **done}))
    else:
        _print_calibration(done)
        say(f"reliability diagram: {path}")
    _say_left_out(done)


def _say_left_out(done: dict[str, Any]) -> None:
    for why, count in done.get("left_out", {}).items():
        say(f"left out {count}: {why}")


def _draw(done: dict[str, Any], path: Path) -> None:
    from deskhand_flywheel.prm.calibration import Quality
    from deskhand_flywheel.records import decode
    from deskhand_trainer.prm.reliability import draw_reliability

    found = {
        name: decode(Quality, done[field]) for name, field in (("before", "before"), ("calibrated", "after"))
    }
    draw_reliability(found, done["measured_on"], path)


def _print_calibration(done: dict[str, Any]) -> None:
    lines = table("", "before", "calibrated")
    for name, field in (
        ("AUC", "auc"),
        ("expected calibration error", "calibration_error"),
        ("Brier score", "brier"),
    ):
        lines.add_row(name, *(_number(done[when][field]) for when in ("before", "after")))
    out.print(lines)
    after = done["after"]
    out.print(
        f"on {after['steps']} steps of {done['measured_on']}, of which {after['settled']} surely help or "
        f"harm; kappa with people {_number(done['kappa'])} on {done['marked']} steps",
    )
    out.print(f"model: {done['model']}" if done["model"] else "nothing was kept")


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
