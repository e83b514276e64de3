"""`deskhand prm …`: labels for steps, a process reward model that learns them, its scores and their worth."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.cli import overrides
from deskhand_platform.cli.console import bars, out, say, table
from deskhand_platform.cli.flywheel import labels_of
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.settings import load_settings

if TYPE_CHECKING:
    from deskhand_agent.types import Policy
    from deskhand_flywheel.prm.labelling import Labelled
    from deskhand_flywheel.prm.scoring import ProcessRewardModel
    from deskhand_flywheel.store import Store
    from deskhand_flywheel.types import PolicyRecord
    from deskhand_trainer.prm.config import ScoreConfig
    from deskhand_trainer.prm.scaling import Calibration
    from deskhand_trainer.prm.train import PrmReport

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
Json = Annotated[bool, typer.Option("--json", help="as JSON")]
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
) -> None:
    """Label steps by Monte-Carlo continuation: Q(s, a) − V(s), by episodes that go on from each state.

    Exact where the computer keeps snapshots (worlds, the fake one, virtual machines); elsewhere the recorded
    actions are replayed from the seeded start, and labels are marked inexact where a screen differs. What is
    labelled stays labelled: the same command goes on with what is new.
    """
    chosen = replace(_filter(task, by, outcome, label), max_steps=max_steps)
    drawn = {"temperature": temperature, "max_tokens": max_tokens}

    async def work() -> int:
        with bars() as told:
            done = await _label(
                policy, drawn, continuations, chosen, limit, workers, partial(told, "episodes")
            )
        if as_json:
            out.print_json(json.dumps(asdict(done)))
        else:
            out.print(
                f"{done.labeller}: {done.steps} steps of {done.trajectories} episodes labelled"
                + (f", {done.inexact} of them inexact" if done.inexact else ""),
                markup=False,
            )
        for why, count in done.left_out.items():
            say(f"left out {count}: {why}")
        return 0

    raise typer.Exit(run_until_signal(work()))


async def _label(
    policy: str,
    drawn: Mapping[str, Any],
    continuations: int,
    chosen: TrajectoryFilter,
    limit: int | None,
    workers: int,
    progress: Any,
) -> Labelled:
    from deskhand_flywheel.prm.continuation import Continuing
    from deskhand_flywheel.prm.labelling import LabelSettings, label_store, labeller_of
    from deskhand_sandbox.manager import PoolSettings, SandboxManager
    from deskhand_sandbox.registry import backend_kinds

    settings = LabelSettings(
        continuing=Continuing(continuations=continuations), concurrency=workers, limit=limit
    )
    pools = {kind: PoolSettings(max_sandboxes=workers) for kind in backend_kinds()}
    async with (
        opened_store() as store,
        _acting(store, policy, drawn) as (acting, name),
        SandboxManager(pools) as source,
    ):
        return await label_store(
            store,
            policy=acting,
            source=source,
            labeller=labeller_of(name, settings.continuing),
            settings=settings,
            chosen=chosen,
            progress=progress,
        )


@asynccontextmanager
async def _acting(store: Store, policy: str, drawn: Mapping[str, Any]) -> AsyncGenerator[tuple[Policy, str]]:
    """Who goes on, and what labels by it are named after."""
    from deskhand_platform.policies import PolicyMaker
    from deskhand_platform.task_orders import PolicyRef

    with tempfile.TemporaryDirectory(prefix="deskhand-prm-") as folder:
        maker = PolicyMaker(store, Path(folder))
        if policy == "scripted":
            yield await maker.make(PolicyRef(name=policy, settings={})), policy
            return
        acting = await maker.make(PolicyRef(name="local", settings={"policy_id": policy, **drawn}))
        yield acting, f"{acting.id}@t{drawn['temperature']:g},{drawn['max_tokens']}"


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
) -> None:
    """Train a process reward model on labels of the store, and keep it there.

    Held-out tasks and seeds are never trained on; a fifth of the other tasks is kept for the figures. The
    settings are those of a round's section `score`.
    """
    told = _score_config(labels, set_)

    async def work() -> int:
        with bars() as shown:
            model, report = await _train(policy, told, shown)
        figures = {"model": model.id, **_figures(report)}
        if as_json:
            out.print_json(json.dumps(figures))
        else:
            out.print(yaml.safe_dump(figures, sort_keys=False).strip(), markup=False)
        return 0

    raise typer.Exit(run_until_signal(work()))


async def _train(policy: str, config: ScoreConfig, shown: Any) -> tuple[PolicyRecord, PrmReport]:
    from deskhand_agent.models.bundle import load_bundle
    from deskhand_flywheel.prm.scoring import ProcessRewardModel
    from deskhand_trainer.prm.keeping import about
    from deskhand_trainer.prm.material import refuse_one_kind, training_material
    from deskhand_trainer.prm.train import train_reward_model

    async with opened_store() as store, _scratch() as folder:
        named = await store.policy_named(policy)
        material = await training_material(store, config, progress=partial(shown, "episodes"))
        refuse_one_kind(material.targets)
        bundle = await asyncio.to_thread(
            load_bundle, await store.materialise_policy(named.id, folder / "policy")
        )
        trained = await asyncio.to_thread(
            train_reward_model, bundle, material, config, progress=partial(shown, "epochs")
        )
        model = ProcessRewardModel(trained.bundle, trained.head)
        await asyncio.to_thread(model.save, folder / "model")
        metadata = {**about(config, trained.report), "scorer": model.scorer}
        kept = await store.keep_policy(folder / "model", parent_id=named.id, metadata=metadata)
        return kept, trained.report


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
) -> None:
    """Score every step of the episodes that this model has not scored yet.

    Scores carry the model's version and stand beside those of others.
    """
    chosen = _filter(task, by, outcome, label)

    async def work() -> int:
        from deskhand_flywheel.prm.scoring import score_store

        async with opened_store() as store, _loaded(store, model) as (_, loaded):
            with bars() as told:
                count = await score_store(store, loaded, chosen, progress=partial(told, "episodes"))
        if as_json:
            out.print_json(json.dumps({"scorer": loaded.scorer, "scored": count}))
        else:
            out.print(f"{loaded.scorer}: {count} episodes scored", markup=False)
        return 0

    raise typer.Exit(run_until_signal(work()))


@app.command(
    epilog="Examples:  deskhand prm calibrate MODEL   ·   "
    "deskhand prm calibrate MODEL --labels human --plot reliability.png --json"
)
def calibrate(
    model: Model,
    labels: Labels = None,
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
) -> None:
    """Say how good a model's scores are on episodes it was not trained on, and scale them to their labels.

    What is kept is a new model, with a version of its own. The AUC is over steps whose labels tell whether
    they help; the calibration error and Brier score are over all; kappa is the agreement with people.
    """
    told = replace(_score_config(labels, None), inexact=inexact)

    async def work() -> int:
        async with opened_store() as store, _loaded(store, model) as (record, loaded):
            with bars() as shown:
                done, kept = await _calibrate(store, record, loaded, told, task, keep, shown)
        from deskhand_trainer.prm.reliability import draw_reliability

        path = plot or load_settings().home / "prm" / f"{done.scorer.replace(':', '-')}.png"
        draw_reliability({"before": done.before, "calibrated": done.after}, done.measured_on, path)
        if as_json:
            out.print_json(json.dumps({"model": kept, "plot": str(path), **asdict(done)}))
        else:
            _print_calibration(done, kept)
            say(f"reliability diagram: {path}")
        return 0

    raise typer.Exit(run_until_signal(work()))


async def _calibrate(
    store: Store,
    record: PolicyRecord,
    model: ProcessRewardModel,
    config: ScoreConfig,
    tasks: list[str] | None,
    keep: bool,
    shown: Any,
) -> tuple[Calibration, str | None]:
    from deskhand_trainer.prm.material import measuring_material, refuse_one_kind
    from deskhand_trainer.prm.scaling import calibrate as fit

    chosen = TrajectoryFilter(task_ids=None if tasks is None else tuple(tasks))
    material = await measuring_material(store, config, chosen, progress=partial(shown, "episodes"))
    refuse_one_kind(material.targets)
    marked = await measuring_material(store, replace(config, labels=("human",)), chosen)
    calibrated, done = await asyncio.to_thread(fit, model, material, marked, record.metadata)
    if not keep:
        return done, None
    async with _scratch() as folder:
        await asyncio.to_thread(calibrated.save, folder / "model")
        metadata = {
            **record.metadata,
            "scorer": done.scorer,
            "calibration": json.loads(json.dumps(asdict(done))),
        }
        kept = await store.keep_policy(folder / "model", parent_id=record.id, metadata=metadata)
    return done, kept.id


def _print_calibration(done: Calibration, kept: str | None) -> None:
    lines = table("", "before", "calibrated")
    for name, field in (
        ("AUC", "auc"),
        ("expected calibration error", "calibration_error"),
        ("Brier score", "brier"),
    ):
        lines.add_row(name, *(_number(getattr(each, field)) for each in (done.before, done.after)))
    out.print(lines)
    out.print(
        f"on {done.after.steps} steps of {done.measured_on}, of which {done.after.settled} surely help or "
        f"harm; kappa with people {_number(done.kappa)} on {done.marked} steps",
        markup=False,
    )
    out.print(f"model: {kept}" if kept else "nothing was kept", markup=False)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


@asynccontextmanager
async def _loaded(store: Store, model: str) -> AsyncGenerator[tuple[PolicyRecord, ProcessRewardModel]]:
    """A process reward model of the store.

    Raises:
        UnknownPolicy: there is nothing of that id.
        RewardModelError: it is no process reward model, or damaged.
    """
    from deskhand_flywheel.prm.scoring import ProcessRewardModel

    record = await store.policy_named(model)
    async with _scratch() as folder:
        files = await store.materialise_policy(record.id, folder / "model")
        yield record, await asyncio.to_thread(ProcessRewardModel.load, files)


@asynccontextmanager
async def _scratch() -> AsyncGenerator[Path]:
    with tempfile.TemporaryDirectory(prefix="deskhand-prm-") as folder:
        yield Path(folder)


def _score_config(labels: list[str] | None, set_: list[str] | None) -> ScoreConfig:
    from deskhand_trainer.config_parsing import parse_config
    from deskhand_trainer.prm.config import ScoreConfig

    return parse_config(ScoreConfig, {"labels": labels or [*MONTE_CARLO], **overrides.parse(set_ or [])})


def _figures(report: PrmReport) -> dict[str, Any]:
    from deskhand_trainer.prm.keeping import figures_of

    return figures_of(report)


def _filter(
    tasks: list[str] | None, by: str | None, outcome: OutcomeFilter | None, labels: list[str] | None
) -> TrajectoryFilter:
    return TrajectoryFilter(
        task_ids=None if tasks is None else tuple(tasks),
        policy_id=by,
        outcome=outcome,
        labels=labels_of(labels or []),
    )
