"""Monte-Carlo labels by a policy of the store: what each step of recorded episodes was worth to it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

from deskhand_agent.inference import Sampling
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.policies.local import LocalPolicy
from deskhand_flywheel.prm.continuation import Continuing
from deskhand_flywheel.prm.labelling import LabelSettings, label_store, labeller_of
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.admission import admit
from deskhand_trainer.config import LabelConfig
from deskhand_trainer.prm.material import ids_of
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.run_kinds.context import RunContext


async def run(context: RunContext, config: LabelConfig) -> tuple[None, dict[str, JsonValue]]:
    """Label what the config asks for and the store does not have yet."""
    admit(config)
    bundle = await context.bundle()
    continuing = Continuing(continuations=config.continuations, void_limit=config.void_limit)
    settings = LabelSettings(
        continuing=continuing, concurrency=config.concurrency, limit=config.max_trajectories
    )
    labeller = labeller_of(
        f"{context.policy_id}@t{config.temperature:g},{config.max_tokens},{config.void_limit}", continuing
    )
    everything = TrajectoryFilter(
        task_ids=config.tasks, folders=None if config.runs else context.spec.folders
    )
    counts = Counter[str]()
    async with (
        LocalEngine(
            bundle, policy_id=context.policy_id, settings=EngineSettings(deadline_s=config.decision_s)
        ) as engine,
        context.sandboxes(config.tasks, concurrency=config.concurrency) as source,
    ):
        policy = LocalPolicy(
            bundle=bundle,
            engine=engine,
            sampling=Sampling(temperature=config.temperature, max_tokens=config.max_tokens),
            policy_id=context.policy_id,
            longest_s=config.decision_s,
        )
        for name in config.runs or (None,):
            of_run = everything if name is None else replace(everything, labels={"run": name})
            chosen = replace(of_run, max_steps=config.max_steps)
            done = await label_store(
                context.store,
                policy=policy,
                source=source,
                labeller=labeller,
                settings=settings,
                chosen=chosen,
                among=await _unlabelled(context, labeller, chosen),
                progress=lambda done, total: context.folder.progress("labelling", done, total),
            )
            counts.update(
                trajectories=done.trajectories,
                steps=done.steps,
                inexact=done.inexact,
                left_out=sum(done.left_out.values()),
            )
    ids = await ids_of(context.store, everything, config.runs)
    kept = await context.store.step_values(labeller=labeller, trajectory_ids=ids)
    # what an earlier life of the run labelled is counted here alone
    metrics: dict[str, JsonValue] = {"labeller": labeller, **counts, "labelled_steps": len(kept)}
    await context.reporter.metric("label", metrics, step=0)
    return None, metrics


async def _unlabelled(context: RunContext, labeller: str, chosen: TrajectoryFilter) -> list[str]:
    """What had no labels when the run first asked, in whichever life: of these it labels so many."""
    listed, asked = context.folder.path / "unlabelled.json", repr(chosen)
    known: dict[str, list[str]] = json.loads(listed.read_text()) if listed.exists() else {}
    if asked not in known:
        known[asked] = [*await context.store.unlabelled(labeller, chosen)]
        write_json(listed, known)
    return known[asked]
