"""Success on held-out seeds, sampled and greedy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from deskhand_agent.inference import Sampling
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.test_time.deliberating import Deliberate, deliberate
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.users import User
from deskhand_flywheel.prm.judging import PrmJudge
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import admit, sandbox_kinds
from deskhand_trainer.config import EvaluateConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.evaluation import Evaluation, as_json, as_metrics, evaluate
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.engines import replies
from deskhand_trainer.run_kinds.executors import executing
from deskhand_trainer.run_kinds.users import answering

Measure: TypeAlias = Callable[[str, Deliberate, int], Awaitable[list[Evaluation]]]
"""Mode, the policy that draws so, and the mode's number -> what came of it on every task."""


async def run(context: RunContext, config: EvaluateConfig) -> tuple[None, dict[str, JsonValue]]:
    """Evaluate every mode on every task."""
    admit(config)
    if config.policy == "scripted" and config.test_time != Deliberation():
        raise RunRefused("field 'test_time': the scripted policy has nothing to think over")
    targets = config.targets and sandbox_kinds(config.tasks) == {"browser"} and config.policy == "local"
    async with (
        context.sandboxes(config.tasks, concurrency=config.concurrency) as source,
        answering(config) as user,
    ):
        measure = partial(_measure, context, config, source, user)
        if config.policy == "scripted":
            found = await measure("sampled", Deliberate(policy=ScriptedPolicy()), 0, targets=False)
        else:
            found = await _local(context, config, partial(measure, targets=targets))
    write_json(context.folder.path / "evaluation.json", [as_json(e) for e in found])
    metrics = as_metrics(found)
    await context.reporter.metric("evaluate", metrics, step=0)
    return None, metrics


async def _local(context: RunContext, config: EvaluateConfig, measure: Measure) -> list[Evaluation]:
    bundle = await context.bundle()
    judge = await _judge(context, config.test_time)
    found: list[Evaluation] = []
    async with (
        replies(context, bundle, config) as engine,
        executing(context, bundle, config) as executor,
    ):
        for number, mode in enumerate(config.modes):
            temperature = config.temperature if mode == "sampled" else 0.0
            policy = LocalPolicy(
                bundle=bundle,
                engine=engine,
                sampling=Sampling(temperature=temperature, max_tokens=config.max_tokens),
                policy_id=context.policy_id,
                executor=executor,
                longest_s=config.decision_s,
            )
            done = deliberate(policy, config.test_time, judge, greedy=temperature == 0)
            found += await measure(mode, done, number)
    return found


async def _judge(context: RunContext, settings: Deliberation) -> PrmJudge | None:
    """Who scores replies, where the settings want somebody to."""
    if not settings.judges:
        return None
    model = await context.reward_model(settings.judge)
    return None if model is None else PrmJudge(model)


async def _measure(
    context: RunContext,
    config: EvaluateConfig,
    source: SandboxSource,
    user: User,
    mode: str,
    done: Deliberate,
    number: int,
    *,
    targets: bool,
) -> list[Evaluation]:
    modes = config.modes if config.policy == "local" else (mode,)
    counts = [config.episodes * len(config.tasks) * _tries(config, each) for each in modes]
    done_before, total = sum(counts[:number]), sum(counts)
    context.folder.progress(f"evaluating {mode}", done_before, total)
    return await evaluate(
        config.tasks,
        mode=mode,
        policy=done.policy,
        source=source,
        sink=context.store,
        reuse=context.store,
        split=Split(config.split),
        episodes=config.episodes,
        offset=config.seed_offset,
        concurrency=config.concurrency,
        labels=context.labels,
        owner=context.spec.id,
        tries=_tries(config, mode),
        targets=targets,
        void_limit=config.void_limit,
        user=user,
        attempts=done.attempts,
        self_check=done.self_check,
        turns=done.turns or None,
        on_done=lambda n: context.folder.progress(f"evaluating {mode}", done_before + n, total),
    )


def _tries(config: EvaluateConfig, mode: str) -> int:
    """At each start state: greedy or scripted, all would be the same."""
    return config.tries if mode == "sampled" and config.policy == "local" else 1
