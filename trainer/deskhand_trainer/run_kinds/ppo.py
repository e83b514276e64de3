"""The online loop as a run: from a kept policy to the one that did best on validation seeds."""

from __future__ import annotations

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.notebook import Notebook
from deskhand_flywheel.lineage import SCORED_BY
from deskhand_sandbox.base import Capability, SandboxSource
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.acting import hand_over
from deskhand_trainer.admission import admit, loop_seeds, sandbox_kinds
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.demonstrations import demonstrations
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.outcome_reward import judging
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.process_reward import refuse_unpayable
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.engines import servers_of
from deskhand_trainer.run_kinds.executors import executing
from deskhand_trainer.run_kinds.users import answering


async def run(context: RunContext, config: PpoConfig) -> tuple[str, dict[str, JsonValue]]:
    """Train, keep the best."""
    learning_device(config.device)
    admit(config)
    if config.compile and not context.ranks.alone:
        # said here and not where the model is made, for there every process says it at once
        raise RunRefused(
            f"field 'compile': it is for one process, and these are {context.ranks.size}: leave it out, or "
            "start the run with one",
            "compile",
        )
    bundle = await context.bundle(
        screens=config.screens,
        tree_bytes=config.tree_bytes,
        n_screenshots=config.screenshots,
        strategy=config.memory,
        summary_after=config.summary_after,
        summary_tokens=config.summary_tokens,
        notes_chars=config.notes_chars,
        text_bytes=config.text_bytes,
        plan_tokens=config.plan_tokens,
    )
    if bundle.memory.summary_after and (config.beside_experts or config.rollouts == "self_play"):
        staged = config.curriculum.iterations > 0
        told = "'curriculum': single replies" if staged else f"'rollouts': {config.rollouts} ones"
        raise RunRefused(
            f"field {told} ask for no summary, and the policy's memory has them: set summary_after=0"
        )
    if bundle.memory.plan_tokens and config.algorithm == "cloning":
        raise RunRefused("field 'algorithm': cloning imitates actions, and the policy says plans")
    reward_model = await context.reward_model(device=config.device)
    refuse_unpayable(config, reward_model, of_round=context.spec.folders is not None)
    if config.stop_below is not None and reward_model is None:
        raise RunRefused("field 'stop_below': it needs a process reward model; `train score` makes one")
    if config.beside_experts:
        split = loop_seeds(config.tasks, probe=config.probe).split
        await demonstrations(context.episodes, config.tasks, split)
    async with (
        context.sandboxes(config.tasks, concurrency=config.concurrency) as source,
        answering(config) as user,
        executing(context, bundle, config) as executor,
        servers_of(context, bundle, config) as servers,
        judging(context.store, config.outcome) as outcomes,
    ):
        if config.branches:
            await _need_snapshots(source, sandbox_kinds(config.tasks), owner=context.spec.id)
        loop = PpoLoop(
            PpoSetting(
                run_id=context.spec.id,
                config=config,
                bundle=bundle,
                policy_id=context.policy_id,
                store=context.store,
                source=source,
                reporter=context.reporter,
                folder=context.folder.path,
                progress=context.folder.progress,
                labels=context.labels,
                life=context.folder.next_life(),
                reward_model=reward_model,
                outcomes=outcomes,
                user=user,
                ranks=context.ranks,
                executor=executor,
                servers=servers,
                notebook=_notebook(context, bundle, config),
                choose=context.episodes,
            )
        )
        if servers is not None:
            await hand_over(servers)
        outcome = await loop.train()
    described: dict[str, JsonValue] = {"training": dict(outcome.metrics), "probe": config.probe}
    described |= {} if executor is None else {"executor": executor.id}
    described |= {} if outcomes is None else {"outcome": outcomes.scorer}
    described |= {} if reward_model is None else {SCORED_BY: context.spec.prm_in}
    kept = await context.keep(outcome.best, described, learned_from=outcome.learned_from)
    return kept, dict(outcome.metrics)


def _notebook(context: RunContext, bundle: ModelBundle, config: PpoConfig) -> Notebook | None:
    """What rollouts note for one another, in the run's folder.

    Raises:
        RunRefused: the policy's memory writes nothing, or the rollouts are of no sandbox's.
    """
    if not config.notebook:
        return None
    if config.rollouts in ("recorded", "self_play"):
        raise RunRefused(f"field 'notebook': {config.rollouts} rollouts keep none")
    try:
        return Notebook(context.folder.path / "notes", bundle.memory)
    except ValueError as error:
        raise RunRefused(f"field 'notebook': {error}") from error


async def _need_snapshots(source: SandboxSource, kinds: set[str], *, owner: str) -> None:
    """Branches go back to a kept state.

    Raises:
        RunRefused: a kind of sandbox cannot.
    """
    for kind in sorted(kinds):
        async with source.lease(kind, owner=owner) as sandbox:
            if Capability.SNAPSHOT not in sandbox.capabilities:
                raise RunRefused(
                    f"field 'branches': a {kind} sandbox has no {Capability.SNAPSHOT} to go back to: leave "
                    "it at 0 for these tasks"
                )
