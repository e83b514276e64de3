"""Where a run's replies are drawn: in this process, or by a server that it names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from deskhand_agent.endpoint.client import EndpointSettings, HttpEngine
from deskhand_agent.endpoint.wire import Vocabulary
from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import InferenceEngine
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_trainer.config import CollectConfig, EvaluateConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_kinds.context import RunContext


@asynccontextmanager
async def replies(
    context: RunContext, bundle: ModelBundle, config: CollectConfig | EvaluateConfig
) -> AsyncGenerator[InferenceEngine]:
    """The engine of the run's policy, for the length of the block.

    Args:
        bundle: the policy; where a server draws, its weights are not used.

    Raises:
        RunRefused: the server does not answer, or serves another policy.
    """
    if config.engine:
        async with _server(context, bundle, config) as engine:
            yield engine
        return
    local = LocalEngine(
        bundle,
        policy_id=context.policy_id,
        settings=EngineSettings(
            max_batch=max(16, config.concurrency),
            deadline_s=config.decision_s,
            # a run taken up again must not draw the same replies again
            seed=config.seed * 1_000_003 + context.folder.next_life(),
        ),
    )
    try:
        yield local
    finally:
        await asyncio.to_thread(local.close)


@asynccontextmanager
async def _server(
    context: RunContext, bundle: ModelBundle, config: CollectConfig | EvaluateConfig
) -> AsyncGenerator[InferenceEngine]:
    settings = EndpointSettings(
        url=config.engine,
        form=config.engine_form,
        model=context.policy_id,
        timeout_s=config.decision_s,
    )
    ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
    async with AsyncExitStack() as opened:
        try:
            engine = HttpEngine(settings, ends, policy_id=context.policy_id)
            await opened.enter_async_context(engine)
            await engine.agree(bundle.processor_hash)
        except InferenceError as error:
            raise RunRefused(f"field 'engine': {error}") from error
        yield engine
