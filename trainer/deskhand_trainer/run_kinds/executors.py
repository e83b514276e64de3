"""Who carries out the plans of a run's policy, where it plans (AgentFlow, arXiv:2510.05592)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.policies.local import LocalPolicy
from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_kinds.context import RunContext


@asynccontextmanager
async def executing(
    context: RunContext, bundle: ModelBundle, config: CollectConfig | EvaluateConfig | PpoConfig
) -> AsyncGenerator[LocalPolicy | None]:
    """The executor, for the length of the block: frozen, and the same whenever it is told the same.

    Args:
        bundle: of the run's policy.

    Yields:
        None where the policy acts itself.

    Raises:
        RunRefused: an executor is named and nobody plans; there is none, or it plans too.
    """
    if not bundle.memory.plan_tokens:
        if config.executor:
            raise RunRefused(
                "field 'executor': the policy acts itself; `train ppo` with plan_tokens makes it plan"
            )
        yield None
        return
    policy_id = await _named(context, config)
    acting = await context.stored_policy(policy_id, context.folder.path / "executor")
    if acting.memory.plan_tokens:
        raise RunRefused(f"field 'executor': {policy_id} plans too: name a policy that acts")
    settings = EngineSettings(max_batch=max(16, config.concurrency), deadline_s=config.decision_s)
    engine = LocalEngine(acting, policy_id=policy_id, settings=settings)
    try:
        yield LocalPolicy(
            bundle=acting,
            engine=engine,
            sampling=Sampling(temperature=0.0, max_tokens=config.max_tokens),
            policy_id=policy_id,
        )
    finally:
        await asyncio.to_thread(engine.close)


async def _named(context: RunContext, config: CollectConfig | EvaluateConfig | PpoConfig) -> str:
    """The config's, the one the policy was trained with, or else the policy the run begins with."""
    if config.executor:
        return config.executor
    if context.spec.policy_in is None:
        raise RunRefused("field 'executor': the run begins with no kept policy: name one that acts")
    return await context.executor_of_start() or context.spec.policy_in
