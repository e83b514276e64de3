from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
import torch

from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import Completion, CompletionRequest, Sampling
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.engine_pool import EnginePool
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def request(bundle: ModelBundle, image: Image, max_tokens: int = 4) -> CompletionRequest:
    prompt = tokenise_prompt(
        bundle, [PromptMessage(role="user", segments=(Text(text="Click"), ImageSegment(image=image)))]
    )
    return CompletionRequest(
        prompt_ids=prompt.ids,
        images=prompt.images,
        processor_hash=bundle.processor_hash,
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
    )


def pool_of(bundle: ModelBundle, count: int) -> tuple[list[LocalEngine], EnginePool]:
    engines = [LocalEngine(bundle.clone(), settings=EngineSettings(max_batch=4)) for _ in range(count)]
    return engines, EnginePool(engines)


def held(engine: LocalEngine) -> tuple[threading.Event, threading.Event]:
    """From its second token on the engine waits: what says that it does, and what lets it go on."""
    reached, go_on = threading.Event(), threading.Event()
    step = engine._decoder.step  # pyright: ignore[reportPrivateUsage]

    def slow(ids: list[int]) -> torch.Tensor:
        reached.set()
        assert go_on.wait(60)
        return step(ids)

    engine._decoder.step = slow  # type: ignore[method-assign]  # pyright: ignore[reportPrivateUsage]
    return reached, go_on


async def reply_of(pool: EnginePool, asked: CompletionRequest) -> Completion:
    return await asyncio.wait_for(pool.generate(asked), 60)


async def test_who_has_the_fewest_is_asked(bundle: ModelBundle, picture: Picture) -> None:
    engines, pool = pool_of(bundle, 2)
    async with pool:
        reached, go_on = held(engines[0])
        first = asyncio.create_task(pool.generate(request(bundle, picture(0))))
        await asyncio.to_thread(reached.wait, 60)
        others = [await reply_of(pool, request(bundle, picture(i))) for i in range(3)]
        assert [engine.replies for engine in engines] == [0, 3]
        assert pool.waiting == 1
        go_on.set()
        assert (await first).ids == others[0].ids, "whoever is asked, it is one policy"
        assert pool.busy_s == pytest.approx(sum(engine.busy_s for engine in engines) / 2)


async def test_others_answer_while_one_takes_new_weights(bundle: ModelBundle, picture: Picture) -> None:
    engines, pool = pool_of(bundle, 2)
    new = {name: value * 1.2 for name, value in bundle.model.state_dict().items()}
    async with pool:
        reached, go_on = held(engines[0])
        before = asyncio.create_task(pool.generate(request(bundle, picture(0))))
        await asyncio.to_thread(reached.wait, 60)
        update = asyncio.create_task(asyncio.to_thread(pool.update_weights, new, update=1))
        while not engines[0]._updates_waiting:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        meanwhile = [await reply_of(pool, request(bundle, picture(i))) for i in range(3)]
        assert [reply.policy_update for reply in meanwhile] == [0, 0, 0]
        assert (pool.update, update.done()) == (0, False)
        go_on.set()
        assert (await before).policy_update == 0, "a reply is drawn by one state of the weights"
        await asyncio.wait_for(update, 60)
        assert pool.update == 1
        after = await asyncio.gather(*(reply_of(pool, request(bundle, picture(i))) for i in range(4)))
        assert [reply.policy_update for reply in after] == [1, 1, 1, 1]
        assert after[0].logprobs != pytest.approx(meanwhile[0].logprobs, abs=1e-3)


async def test_an_engine_by_itself_is_asked_while_it_takes_them(
    bundle: ModelBundle, picture: Picture
) -> None:
    engines, pool = pool_of(bundle, 1)
    async with pool:
        reached, go_on = held(engines[0])
        before = asyncio.create_task(pool.generate(request(bundle, picture(0))))
        await asyncio.to_thread(reached.wait, 60)
        state = bundle.model.state_dict()
        update = asyncio.create_task(asyncio.to_thread(pool.update_weights, state, update=1))
        while not engines[0]._updates_waiting:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        after = asyncio.create_task(pool.generate(request(bundle, picture(0))))
        go_on.set()
        assert [(await before).policy_update, (await after).policy_update] == [0, 1]
        await update


async def test_weights_of_another_model_are_refused_and_none_has_them(
    bundle: ModelBundle, picture: Picture
) -> None:
    _, pool = pool_of(bundle, 2)
    async with pool:
        with pytest.raises(ValueError, match="weights of another model"):
            pool.update_weights({"x": torch.zeros(1)}, update=1)
        assert pool.update == 0
        assert (await reply_of(pool, request(bundle, picture(0)))).policy_update == 0


async def test_closing_closes_all(bundle: ModelBundle, picture: Picture) -> None:
    engines, pool = pool_of(bundle, 2)
    async with pool:
        pass
    pool.close()
    for engine in engines:
        with pytest.raises(InferenceError, match="closed"):
            await engine.generate(request(bundle, picture(0)))
