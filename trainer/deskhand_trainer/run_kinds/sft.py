"""The warm start as a run: perception on train-split pages, then the round's demonstrations."""

from __future__ import annotations

import asyncio

from deskhand_agent.models.bundle import save_bundle
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.admission import admit
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.demonstrations import demonstrations
from deskhand_trainer.run_kinds.experience import early_experience
from deskhand_trainer.run_kinds.training_thread import Teller, stopping
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.run import run_sft

CONCURRENCY = 4


async def run(context: RunContext, config: SftConfig) -> tuple[str, dict[str, JsonValue]]:
    """Train, keep."""
    learning_device(config.device)
    admit(config)
    most = dict.fromkeys(config.tasks, config.demonstrations_per_task)
    most |= dict.fromkeys(config.hard_tasks, config.hard_demonstrations)
    shown = await demonstrations(context, most, purposes=config.learn_from)
    if not shown and config.demonstrations_per_task and config.cloning_epochs:
        if config.learn_from == ("rollout",) and context.spec.policy_in is not None:
            # a policy that never succeeded has nothing to imitate: the round goes on without
            return context.spec.policy_in, {"demonstrations": 0}
        wanted = " or ".join(config.learn_from)
        raise RunRefused(
            f"the store holds no successful {wanted} of {', '.join(config.tasks)} that the run may learn "
            "from: collect some first"
        )
    bundle = await context.bundle(
        seed=config.seed,
        screens=config.screens,
        tree_bytes=config.tree_bytes,
        n_screenshots=config.screenshots,
        strategy=config.memory,
        summary_after=config.summary_after,
    )
    if bundle.memory.plan_tokens:
        raise RunRefused(
            f"the policy {context.policy_id} plans, and demonstrations hold actions: start from one that acts"
        )
    experience = await early_experience(context, config, bundle)
    told_of = Teller(context, "warm start", "sft")
    async with (
        context.sandboxes(config.perception_tasks or config.tasks, concurrency=CONCURRENCY) as source,
        stopping() as should_stop,
    ):
        report = await run_sft(
            bundle,
            shown,
            source,
            config,
            beside=experience.samples,
            owner=context.spec.id,
            concurrency=CONCURRENCY,
            on_page=lambda done, total: context.folder.progress("collecting pages", done, total),
            progress=told_of,
            checkpoint_dir=context.folder.checkpoints,
            heads_from=None if context.spec.policy_in is None else context.policy_folder,
            should_stop=should_stop,
        )
    await told_of.all_told()
    folder = context.folder.path / "trained"
    await asyncio.to_thread(save_bundle, bundle, folder)
    if report.heads is not None:
        await asyncio.to_thread(report.heads.save, folder)
    metrics: dict[str, JsonValue] = {
        **report.figures,
        **{f"steps/{stage}": steps for stage, steps in report.steps.items()},
        **{f"per_s/{stage}": rate for stage, rate in report.examples_per_s.items()},
        "demonstrations": len(shown),
        **{name: len(own) for name, own in experience.samples.items()},
        **({"experience_left_out": experience.left_out} if experience.samples else {}),
        "training_seconds": report.seconds,
        "demonstration_seeds": [*sorted({t.start.task.seed for t in shown})],
    }
    learned_from = [*(each.id for each in shown), *experience.episodes]
    kept = await context.keep(folder, {"training": dict(metrics)}, learned_from=learned_from)
    told = {name: value for name, value in metrics.items() if not isinstance(value, list)}
    await context.reporter.metric("sft", told, step=0)
    return kept, {**metrics, "curve": [dict(each) for each in report.curve]}
