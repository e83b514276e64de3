"""Success on held-out seeds, sampled and greedy."""

from __future__ import annotations

from deskhand_agent.inference import Sampling
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Policy
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import refuse_unproven
from deskhand_trainer.config import EvaluateConfig
from deskhand_trainer.evaluation import Evaluation, as_json, as_metrics, evaluate
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.run_kinds.context import RunContext, sandbox_kinds
from deskhand_trainer.run_kinds.engines import replies


async def run(context: RunContext, config: EvaluateConfig) -> tuple[None, dict[str, JsonValue]]:
    """Evaluate every mode on every task."""
    kinds = sandbox_kinds(config.tasks)
    refuse_unproven(config.tasks, allowed=config.unproven)
    targets = config.targets and kinds == {"browser"} and config.policy == "local"
    async with context.sandboxes(config.tasks, concurrency=config.concurrency) as source:
        if config.policy == "scripted":
            found = await _measure(context, config, "sampled", ScriptedPolicy(), source, 0, targets=False)
        else:
            found = await _local(context, config, source, targets=targets)
    write_json(context.folder.path / "evaluation.json", [as_json(e) for e in found])
    metrics = as_metrics(found)
    await context.reporter.metric("evaluate", metrics, step=0)
    return None, metrics


async def _local(
    context: RunContext, config: EvaluateConfig, source: SandboxSource, *, targets: bool
) -> list[Evaluation]:
    bundle = await context.bundle()
    found: list[Evaluation] = []
    async with replies(context, bundle, config) as engine:
        for number, mode in enumerate(config.modes):
            temperature = config.temperature if mode == "sampled" else 0.0
            policy = LocalPolicy(
                bundle=bundle,
                engine=engine,
                sampling=Sampling(temperature=temperature, max_tokens=config.max_tokens),
                policy_id=context.policy_id,
            )
            found += await _measure(context, config, mode, policy, source, number, targets=targets)
    return found


async def _measure(
    context: RunContext,
    config: EvaluateConfig,
    mode: str,
    policy: Policy,
    source: SandboxSource,
    number: int,
    *,
    targets: bool,
) -> list[Evaluation]:
    each = config.episodes * len(config.tasks)
    total = each * (len(config.modes) if config.policy == "local" else 1)
    context.folder.progress(f"evaluating {mode}", number * each, total)
    return await evaluate(
        config.tasks,
        mode=mode,
        policy=policy,
        source=source,
        sink=context.store,
        split=Split(config.split),
        episodes=config.episodes,
        offset=config.seed_offset,
        concurrency=config.concurrency,
        labels=context.labels,
        owner=context.spec.id,
        targets=targets,
        void_limit=config.void_limit,
        on_done=lambda n: context.folder.progress(f"evaluating {mode}", number * each + n, total),
    )
