"""Where a run's replies are drawn: in this process, or by servers that it names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from deskhand_agent.endpoint.client import EndpointSettings, HttpEngine
from deskhand_agent.endpoint.pool import ServerPool
from deskhand_agent.endpoint.wire import Vocabulary
from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import InferenceEngine
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.playing_config import addresses
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
        settings = EndpointSettings(
            url=config.engine,
            form=config.engine_form,
            model=context.policy_id,
            timeout_s=config.decision_s,
        )
        async with _server(context, bundle, settings) as engine:
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
async def servers_of(
    context: RunContext, bundle: ModelBundle, config: PpoConfig
) -> AsyncGenerator[ServerPool | None]:
    """The servers of a run that gives them its weights, for the length of the block.

    Args:
        bundle: the policy it begins with; whose weights the servers have before does not matter.

    Yields:
        None where its own process draws.

    Raises:
        RunRefused: one does not answer, or serves a model that reads prompts in another way.
    """
    async with AsyncExitStack() as opened:
        engines: list[HttpEngine] = []
        for url in addresses(config.engine):
            settings = EndpointSettings(url=url, timeout_s=config.decision_s)
            server = _server(context, bundle, settings, any_weights=True)
            engines.append(await opened.enter_async_context(server))
        yield ServerPool(engines) if engines else None


@asynccontextmanager
async def _server(
    context: RunContext, bundle: ModelBundle, settings: EndpointSettings, *, any_weights: bool = False
) -> AsyncGenerator[HttpEngine]:
    ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
    async with AsyncExitStack() as opened:
        try:
            engine = HttpEngine(settings, ends, policy_id=context.policy_id, any_weights=any_weights)
            await opened.enter_async_context(engine)
            await engine.agree(bundle.processor_hash)
        except InferenceError as error:
            raise RunRefused(f"field 'engine': {error}", "engine") from error
        yield engine
