"""Episodes into the store: oracle demonstrations, or a policy's own."""

from __future__ import annotations

from deskhand_agent.inference import Sampling
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Policy
from deskhand_agent.worker import WorkerSettings
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import admit
from deskhand_trainer.config import CollectConfig
from deskhand_trainer.outcome_reward import by_verifier, counted
from deskhand_trainer.rollouts import Collected, collect_or_reuse, jobs_of, seed_ranges
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.users import answering


async def run(context: RunContext, config: CollectConfig) -> tuple[None, dict[str, JsonValue]]:
    """Collect what the config asks for and the store does not have yet."""
    admit(config)
    if config.policy == "scripted":
        return None, await _collect(context, config, ScriptedPolicy(reads_tree=config.trees))
    # not above: who plays by rule waits for no model's code
    from deskhand_agent.policies.local import LocalPolicy
    from deskhand_trainer.run_kinds.engines import replies
    from deskhand_trainer.run_kinds.executors import executing

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
            longest_s=config.decision_s,
        )
        return None, await _collect(context, config, policy)


async def _collect(context: RunContext, config: CollectConfig, policy: Policy) -> dict[str, JsonValue]:
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
            pay=counted(by_verifier),
            pictures=False,
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
