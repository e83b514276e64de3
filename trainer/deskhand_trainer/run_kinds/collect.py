"""Episodes into the store: oracle demonstrations, or a policy's own."""

from __future__ import annotations

from deskhand_agent.inference import Sampling
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy, oracle_tasks
from deskhand_agent.worker import WorkerSettings
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import refuse_held_out, refuse_unproven, refuse_unverified
from deskhand_trainer.config import CollectConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.rollouts import Collected, collect_or_reuse, jobs_of, seed_ranges
from deskhand_trainer.run_kinds.context import RunContext, sandbox_kinds
from deskhand_trainer.run_kinds.engines import replies
from deskhand_trainer.run_kinds.executors import executing
from deskhand_trainer.run_kinds.users import answering


async def run(context: RunContext, config: CollectConfig) -> tuple[None, dict[str, JsonValue]]:
    """Collect what the config asks for and the store does not have yet."""
    refuse_held_out(config.tasks)
    sandbox_kinds(config.tasks)
    refuse_unverified(config.tasks)
    if config.policy == "scripted":
        _refuse_without_oracle(config.tasks)
        return None, await _collect(context, config, ScriptedPolicy())
    refuse_unproven(config.tasks, allowed=config.unproven)
    bundle = await context.bundle()
    async with (
        replies(context, bundle, config) as engine,
        executing(context, bundle, config) as executor,
    ):
        policy = LocalPolicy(
            bundle=bundle,
            engine=engine,
            sampling=Sampling(temperature=config.temperature, max_tokens=config.max_tokens),
            policy_id=context.policy_id,
            executor=executor,
        )
        return None, await _collect(context, config, policy)


async def _collect(
    context: RunContext, config: CollectConfig, policy: ScriptedPolicy | LocalPolicy
) -> dict[str, JsonValue]:
    starts = config.episodes_per_task * len(config.tasks)
    total = starts * config.tries
    ranges = seed_ranges(config.tasks, Split.TRAIN, episodes=starts, offset=config.seed_offset)
    labels = {**context.labels, "purpose": "demonstration" if config.policy == "scripted" else "rollout"}
    context.folder.progress("collecting", 0, total)
    async with (
        context.sandboxes(config.tasks, concurrency=config.concurrency) as source,
        answering(config) as user,
    ):
        collected = await collect_or_reuse(
            jobs_of(ranges, labels=labels, group_size=config.tries),
            store=context.store,
            labels=labels,
            policy=policy,
            source=source,
            settings=WorkerSettings(concurrency=config.concurrency, void_limit=config.void_limit, user=user),
            owner=context.spec.id,
            on_done=lambda done: context.folder.progress("collecting", done, total),
        )
    await context.reporter.unreadable(collected.unreadable)
    metrics = _metrics(collected)
    metrics["seed_ranges"] = [r.as_json() for r in ranges]
    await context.reporter.metric("collect", metrics, step=0)
    return metrics


def _metrics(collected: Collected) -> dict[str, JsonValue]:
    episodes = collected.trajectories
    wins = sum(t.end is not None and t.end.outcome is not None and t.end.outcome.success for t in episodes)
    return {
        "episodes": len(episodes),
        "successes": wins,
        "steps": sum(len(t.steps) for t in episodes),
        "reused": collected.reused,
        "left_out": len(collected.unreadable),
        "dropped": sum(collected.dropped.values()),
        "steps_per_s": collected.stats.steps / max(1e-9, collected.stats.seconds),
    }


def _refuse_without_oracle(tasks: tuple[str, ...]) -> None:
    without = sorted(set(tasks) - set(oracle_tasks()))
    if without:
        raise RunRefused(f"no oracle for {', '.join(without)}: there are {', '.join(oracle_tasks())}")
