"""Scoring the store: judging, labelling, and the process reward model that learns from both."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskhand_flywheel.errors import FlywheelError, NoLabels, RewardModelError
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_platform.api.job_models import (
    CalibrateOrder,
    EpisodesOrder,
    JudgeOrder,
    LabelOrder,
    ScoreOrder,
    TrainOrder,
)
from deskhand_platform.errors import InvalidField
from deskhand_platform.jobs.place import Outcome, Place, Progress

if TYPE_CHECKING:
    from deskhand_agent.types import Policy
    from deskhand_flywheel.judges import JudgeSettings
    from deskhand_flywheel.prm.scoring import ProcessRewardModel
    from deskhand_flywheel.store import Store
    from deskhand_flywheel.types import PolicyRecord
    from deskhand_trainer.prm.config import ScoreConfig
    from deskhand_trainer.prm.material import Material

log = logging.getLogger(__name__)
SCRIPTED = "scripted"


class LeftOut:
    """Episodes that cannot be read: the log has each by name, `counts` what came of them."""

    def __init__(self) -> None:
        self._why: dict[str, FlywheelError] = {}

    def __call__(self, trajectory_id: str, why: FlywheelError) -> None:
        if trajectory_id not in self._why:
            log.warning("left out %s: %s", trajectory_id, why)
        self._why[trajectory_id] = why

    @property
    def counts(self) -> dict[str, int]:
        """By what is wrong."""
        return dict(Counter(f"cannot be read: {type(why).__name__}" for why in self._why.values()))

    def refuse_all(self, material: Material) -> None:
        """
        Raises:
            NoLabels: there are labelled episodes, and none of them can be read.
        """
        if self._why and not material.trajectories:
            first = next(iter(self._why.values()))
            raise NoLabels(
                f"none of the {len(self._why)} labelled episodes can be read (deskhand flywheel fsck): "
                f"{first}"
            )


async def judge(place: Place, order: JudgeOrder, progress: Progress) -> Outcome:
    """Let a model judge what it has not judged yet; what it came to.

    Raises:
        InvalidField: a setting is none; InvalidRubric: the rubric says nothing.
        EndpointError: OpenAI's own endpoint is asked for without a key, or the endpoint is no URL.
    """
    from deskhand_flywheel.judges import OutcomeJudge, ProcessJudge, judge_store, rubric_of

    settings = judge_settings(order)
    own = None if order.rubric is None else rubric_of(order.rubric, "given")
    judging = ProcessJudge(settings, own) if order.what == "steps" else OutcomeJudge(settings, own)
    try:
        async with place.store() as store:
            report = await judge_store(
                store,
                judging,
                chosen(order),
                limit=order.limit,
                concurrency=order.concurrency,
                progress=partial(progress, "trajectories"),
                on_damaged=LeftOut(),
            )
    finally:
        await judging.close()
    return _json(asdict(report))


def judge_settings(order: JudgeOrder) -> JudgeSettings:
    """
    Raises:
        InvalidField: there is no such setting, it has no such value, or it is a key.
    """
    from deskhand_agent.policies.settings import read_settings
    from deskhand_flywheel.judges import JudgeSettings

    values: dict[str, Any] = {**order.settings, "model": order.model}
    if "api_key" in values:
        raise InvalidField("settings", "orders are seen by others: give keys in OPENAI_API_KEY")
    if "base_url" in values:
        raise InvalidField("settings", "say where the model is by `endpoint`")
    if order.endpoint is not None:
        values["base_url"] = order.endpoint
    try:
        return read_settings(JudgeSettings, values)
    except TypeError as error:
        raise InvalidField("settings", str(error)) from error


async def label(place: Place, order: LabelOrder, progress: Progress) -> Outcome:
    """Label steps by Monte-Carlo continuation.

    Raises:
        UnknownPolicy: there is none of that id.
    """
    from deskhand_flywheel.prm.continuation import Continuing
    from deskhand_flywheel.prm.labelling import LabelSettings, label_store, labeller_of

    settings = LabelSettings(
        continuing=Continuing(continuations=order.continuations), concurrency=order.workers, limit=order.limit
    )
    async with (
        place.store() as store,
        _acting(store, order) as (acting, name),
        place.sandboxes(order.workers) as source,
    ):
        done = await label_store(
            store,
            policy=acting,
            source=source,
            labeller=labeller_of(name, settings.continuing),
            settings=settings,
            chosen=replace(chosen(order), max_steps=order.max_steps),
            progress=partial(progress, "episodes"),
        )
    return _json(asdict(done))


@asynccontextmanager
async def _acting(store: Store, order: LabelOrder) -> AsyncGenerator[tuple[Policy, str]]:
    """Who goes on, and what labels by it are named after."""
    from deskhand_platform.policies import PolicyMaker
    from deskhand_platform.task_orders import PolicyRef

    async with _scratch() as folder:
        maker = PolicyMaker(store, folder)
        if order.policy == SCRIPTED:
            yield await maker.make(PolicyRef(name=SCRIPTED, settings={})), SCRIPTED
            return
        drawn = {"temperature": order.temperature, "max_tokens": order.max_tokens}
        acting = await maker.make(PolicyRef(name="local", settings={"policy_id": order.policy, **drawn}))
        yield acting, f"{acting.id}@t{order.temperature:g},{order.max_tokens}"


async def train(place: Place, order: TrainOrder, progress: Progress) -> Outcome:
    """Train a process reward model, and keep it.

    Raises:
        ConfigError: a setting is refused; UnknownPolicy: there is none of that id.
        NoLabels: nothing says how good the steps are, or all of it says the same.
    """
    from deskhand_agent.models.bundle import load_bundle
    from deskhand_flywheel.prm.scoring import ProcessRewardModel
    from deskhand_trainer.prm.keeping import about, figures_of
    from deskhand_trainer.prm.material import refuse_one_kind, training_material
    from deskhand_trainer.prm.train import RATIONALES_LEFT_OUT, train_reward_model

    config, left_out = score_config(order.settings), LeftOut()
    async with place.store() as store, _scratch() as folder:
        named = await store.policy_named(order.policy)
        material = await training_material(
            store, config, progress=partial(progress, "episodes"), on_damaged=left_out
        )
        left_out.refuse_all(material)
        refuse_one_kind(material.targets)
        bundle = await asyncio.to_thread(
            load_bundle, await store.materialise_policy(named.id, folder / "policy")
        )
        trained = await asyncio.to_thread(
            train_reward_model, bundle, material, config, progress=partial(progress, "epochs")
        )
        model = ProcessRewardModel(trained.bundle, trained.head)
        await asyncio.to_thread(model.save, folder / "model")
        metadata = {**about(config, trained.report, material), "scorer": model.scorer}
        kept = await store.keep_policy(folder / "model", parent_id=named.id, metadata=metadata)
    silent = trained.report.rationales_left_out
    counts = {**left_out.counts, **({RATIONALES_LEFT_OUT: silent} if silent else {})}
    return _json({"model": kept.id, **figures_of(trained.report), "left_out": counts})


def score_config(settings: Mapping[str, Any]) -> ScoreConfig:
    """
    Raises:
        ConfigError: there is no such setting, or it has no such value.
    """
    from deskhand_trainer.config_parsing import parse_config
    from deskhand_trainer.prm.config import ScoreConfig

    return parse_config(ScoreConfig, {"labels": ["monte-carlo"], **settings})


async def score(place: Place, order: ScoreOrder, progress: Progress) -> Outcome:
    """Score every step of the episodes that a model has not scored yet.

    Raises:
        UnknownPolicy, RewardModelError: there is no such model, or it is damaged.
    """
    from deskhand_flywheel.prm.scoring import score_store

    left_out = LeftOut()
    async with place.store() as store, _loaded(store, order.model) as (_, loaded):
        count = await score_store(
            store, loaded, chosen(order), progress=partial(progress, "episodes"), on_damaged=left_out
        )
    return {"scorer": loaded.scorer, "scored": count, "left_out": left_out.counts}


async def calibrate(place: Place, order: CalibrateOrder, progress: Progress) -> Outcome:
    """Say how good a model's scores are, and scale them to their labels.

    Raises:
        UnknownPolicy, RewardModelError: there is no such model, or it is damaged.
        NoLabels: there is nothing to measure it on.
    """
    from deskhand_trainer.prm.keeping import trained_on
    from deskhand_trainer.prm.material import measuring_material, refuse_one_kind
    from deskhand_trainer.prm.scaling import calibrate as fit

    config = score_config({"labels": [*order.sources], "judge": order.judge, "inexact": order.inexact})
    of, left_out = TrajectoryFilter(task_ids=_tasks(order.tasks)), LeftOut()
    async with place.store() as store, _loaded(store, order.model) as (record, model):
        never = await trained_on(store, record.metadata, of)
        material = await measuring_material(
            store, config, of, never=never, progress=partial(progress, "episodes"), on_damaged=left_out
        )
        left_out.refuse_all(material)
        if not material.passed_over:
            # what was trained on had labels of both kinds
            refuse_one_kind(material.targets)
        by_people = replace(config, labels=("human",), judge="")
        marked = await measuring_material(store, by_people, of, never=never, on_damaged=left_out)
        calibrated, done = await asyncio.to_thread(fit, model, material, marked, record.metadata)
        kept: str | None = None
        if order.keep:
            async with _scratch() as folder:
                await asyncio.to_thread(calibrated.save, folder / "model")
                metadata = {**record.metadata, "scorer": done.scorer, "calibration": _json(asdict(done))}
                kept = (await store.keep_policy(folder / "model", parent_id=record.id, metadata=metadata)).id
    older = f"beyond the newest {config.max_trajectories} labelled"
    counts = {**left_out.counts, **({older: material.cut} if material.cut else {})}
    return _json({"model": kept, **asdict(done), "left_out": counts})


@asynccontextmanager
async def _loaded(store: Store, model: str) -> AsyncGenerator[tuple[PolicyRecord, ProcessRewardModel]]:
    from deskhand_flywheel.prm.scoring import ProcessRewardModel

    record = await store.policy_named(model)
    async with _scratch() as folder:
        files = await store.materialise_policy(record.id, folder / "model")
        try:
            loaded = await asyncio.to_thread(ProcessRewardModel.load, files)
        except RewardModelError as error:
            raise RewardModelError(str(error).replace(str(files), record.id)) from error
        yield record, loaded


def chosen(order: EpisodesOrder) -> TrajectoryFilter:
    """The episodes that an order is about."""
    return TrajectoryFilter(
        task_ids=_tasks(order.tasks),
        policy_id=order.policy_id,
        outcome=order.outcome,
        labels=order.labels,
    )


def _tasks(tasks: list[str] | None) -> tuple[str, ...] | None:
    return None if tasks is None else tuple(tasks)


@asynccontextmanager
async def _scratch() -> AsyncGenerator[Path]:
    with tempfile.TemporaryDirectory(prefix="deskhand-scoring-") as folder:
        yield Path(folder)


def _json(value: Any) -> Outcome:
    return json.loads(json.dumps(value))
