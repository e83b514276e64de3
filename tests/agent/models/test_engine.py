from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deskhand_agent.errors import InferenceError, InferenceTimeout
from deskhand_agent.inference import CompletionRequest, FinishReason, Sampling
from deskhand_agent.models import features
from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.models.scoring import reply_logits, score_turns
from deskhand_agent.models.value import ValueHead
from deskhand_agent.precision import Precision
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_agent.shipped import shipped_model
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def request(
    bundle: ModelBundle, image: Image, text: str = "Click", **sampling: float | int
) -> CompletionRequest:
    message = PromptMessage(role="user", segments=(Text(text=text), ImageSegment(image=image)))
    prompt = tokenise_prompt(bundle, [message])
    return CompletionRequest(
        prompt_ids=prompt.ids,
        images=prompt.images,
        processor_hash=bundle.processor_hash,
        sampling=Sampling(**{"max_tokens": 8, **sampling}),  # type: ignore[arg-type]
    )


@pytest.fixture
async def engine(bundle: ModelBundle) -> AsyncIterator[LocalEngine]:
    async with LocalEngine(bundle, ValueHead(bundle.text_width), policy_id="p") as running:
        yield running


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
async def test_what_is_sampled_is_what_is_scored(
    bundle: ModelBundle, picture: Picture, temperature: float, family: str
) -> None:
    assert bundle.tiny is not None
    bundle = build_tiny(replace(bundle.tiny, family=family))
    asked = [request(bundle, picture(i), "Click " * (i + 1), temperature=temperature) for i in range(5)]
    async with LocalEngine(bundle) as engine:
        replies = await asyncio.gather(*(engine.generate(one) for one in asked))
    turns = [
        SimpleNamespace(prompt_ids=a.prompt_ids, images=a.images, reply_ids=r.ids)
        for a, r in zip(asked, replies, strict=True)
    ]
    with torch.no_grad():
        scores = score_turns(bundle, turns, temperature=temperature, with_entropy=True)
    assert scores.entropy is not None
    for row, reply in enumerate(replies):
        count = len(reply.ids)
        assert count <= 8
        torch.testing.assert_close(
            torch.tensor(reply.logprobs), scores.logprobs[row, :count], rtol=0, atol=1e-5
        )
        assert reply.entropy == pytest.approx(float(scores.entropy[row, :count].mean()), abs=1e-5)
        assert not set(reply.ids) & set(bundle.suppressed_ids.tolist())


async def test_what_is_drawn_does_not_depend_on_company(bundle: ModelBundle, picture: Picture) -> None:
    asked = [request(bundle, picture(i % 3), "Find " * i, temperature=0.5 + i % 2) for i in range(6)]
    async with LocalEngine(bundle) as engine:
        together = await asyncio.gather(*(engine.generate(one) for one in asked))
    settings = EngineSettings(max_batch=1, remember_bytes=0)
    async with LocalEngine(bundle, settings=settings) as engine:
        alone = [await engine.generate(one) for one in asked]
    for one, other in zip(together, alone, strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    async with LocalEngine(bundle, settings=EngineSettings(seed=1)) as engine:
        assert [(await engine.generate(one)).ids for one in asked] != [each.ids for each in alone]


@pytest.mark.parametrize("temperature", [0.0, 1.3])
async def test_replies_are_those_of_the_slow_way(
    bundle: ModelBundle, picture: Picture, temperature: float
) -> None:
    """One pass over everything for every token, and a walk through the distribution."""
    async with LocalEngine(bundle, settings=EngineSettings(seed=3)) as engine:
        for number in range(1, 4):
            asked = request(bundle, picture(number), temperature=temperature)
            reply = await engine.generate(asked)
            chances = np.random.default_rng([3, number]).random(8)
            ids: list[int] = []
            for chance in chances[: len(reply.ids)]:
                one = TokenSequence(ids=(*asked.prompt_ids, *ids), images=asked.images)
                with torch.no_grad():
                    hidden, _ = forward(bundle, collate(bundle, [one]))
                    shares = reply_logits(bundle, hidden[0, -1], temperature).softmax(-1).tolist()
                token, below = 0, shares[0]
                while below <= chance:
                    token += 1
                    below += shares[token]
                ids.append(token if temperature else int(np.argmax(shares)))
            assert tuple(ids) == reply.ids


@pytest.mark.parametrize(("precision", "close"), [("float32", 1e-5), ("bfloat16", 0.02)])
async def test_the_shipped_model_scores_what_it_drew(
    picture: Picture, precision: Precision, close: float
) -> None:
    """In bfloat16 too, with prompts of many lengths beside each other."""
    bundle = load_bundle(shipped_model())
    asked = [request(bundle, picture(i), "Click " * (i + 1), max_tokens=12) for i in range(4)]
    async with LocalEngine(bundle, settings=EngineSettings(precision=precision)) as engine:
        replies = await asyncio.gather(*(engine.generate(one) for one in [*asked, *asked]))
    turns = [
        SimpleNamespace(prompt_ids=a.prompt_ids, images=a.images, reply_ids=r.ids)
        for a, r in zip([*asked, *asked], replies, strict=True)
    ]
    with torch.no_grad():
        scores = score_turns(bundle, turns)
    drawn = torch.tensor([each for reply in replies for each in reply.logprobs])
    assert float((drawn - scores.logprobs[scores.mask]).abs().mean()) < close


async def test_damaged_weights_are_named_and_mended_by_the_next_update(
    bundle: ModelBundle, picture: Picture
) -> None:
    right = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    asked = request(bundle, picture(0), temperature=0.0)
    async with LocalEngine(bundle) as engine:
        before = await engine.generate(asked)
        damaged = {name: torch.full_like(value, float("nan")) for name, value in right.items()}
        engine.update_weights(damaged, update=1)
        with pytest.raises(InferenceError, match="damaged"):
            await engine.generate(asked)
        engine.update_weights(right, update=2)
        after = await engine.generate(asked)
    assert after.ids == before.ids
    assert after.logprobs == pytest.approx(before.logprobs, abs=1e-5)


async def test_greedy_does_not_depend_on_company(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture
) -> None:
    one = request(bundle, picture(0), temperature=0.0)
    alone = await engine.generate(one)
    others = [request(bundle, picture(i), "Find " * i, temperature=1.0) for i in range(1, 6)]
    among, *_ = await asyncio.gather(engine.generate(one), *(engine.generate(o) for o in others))
    assert among.ids == alone.ids
    assert engine.steps < 7 * 7
    assert engine.replies == 7


async def test_a_reply_ends_at_the_end_token_or_the_limit(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture
) -> None:
    reasons: set[FinishReason] = set()
    for _ in range(400):
        reply = await engine.generate(request(bundle, picture(0), max_tokens=3, temperature=5.0))
        reasons.add(reply.finish_reason)
        if reply.finish_reason is FinishReason.STOP:
            assert reply.ids[-1] == bundle.end_id
            break
        assert len(reply.ids) == 3
        assert bundle.end_id not in reply.ids
    assert reasons == {FinishReason.LENGTH, FinishReason.STOP}


async def test_values_are_read_at_the_last_prompt_token(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture
) -> None:
    head = ValueHead(bundle.text_width)
    torch.nn.init.ones_(head.layers[-1].weight)
    engine.update_weights(bundle.model.state_dict(), update=1, value_state=head.state_dict())
    asked = request(bundle, picture(0))
    reply = await engine.generate(asked)
    turn = SimpleNamespace(prompt_ids=asked.prompt_ids, images=asked.images, reply_ids=reply.ids)
    with torch.no_grad():
        expected = head(score_turns(bundle, [turn]).prompt_hidden)
    assert reply.value == pytest.approx(float(expected), abs=1e-5)
    assert reply.value != 0


async def test_new_weights_are_stamped(bundle: ModelBundle, picture: Picture) -> None:
    async with LocalEngine(bundle.clone(), policy_id="p") as engine:
        asked = request(bundle, picture(0), temperature=0.0)
        before = await engine.generate(asked)
        assert (before.policy_id, before.policy_update) == ("p", 0)
        changed = {name: torch.zeros_like(value) for name, value in bundle.model.state_dict().items()}
        engine.update_weights(changed, update=3)
        after = await engine.generate(asked)
        assert after.policy_update == 3
        assert after.logprobs != before.logprobs
        with pytest.raises(ValueError, match="another model"):
            engine.update_weights({"x": torch.zeros(1)}, update=4)
        assert engine.update == 3


async def test_features_of_a_tower_that_stays_outlive_new_weights(
    bundle: ModelBundle, picture: Picture
) -> None:
    features, asked = FeatureCache(bundle), request(bundle, picture(0), temperature=0.0)
    async with LocalEngine(bundle.clone(), features=features) as engine:
        before = await engine.generate(asked)
        assert features.of([picture(0)])[1] == 0
        engine.update_weights(bundle.model.state_dict(), update=1)
        assert features.of([picture(0)])[1] == 0
        after = await engine.generate(asked)
    assert (after.ids, after.policy_update) == (before.ids, 1)
    assert after.logprobs == pytest.approx(before.logprobs, abs=1e-5)


async def test_one_bad_request_does_not_fail_its_neighbours(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture
) -> None:
    good = request(bundle, picture(0))
    bad = replace(good, images=())
    replies = await asyncio.gather(engine.generate(good), engine.generate(bad), return_exceptions=True)
    assert not isinstance(replies[0], BaseException)
    assert isinstance(replies[1], InferenceError)


async def test_another_processor_is_refused(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture
) -> None:
    with pytest.raises(InferenceError, match="processor"):
        await engine.generate(replace(request(bundle, picture(0)), processor_hash="0" * 64))


async def test_a_late_reply_is_a_timeout(bundle: ModelBundle, picture: Picture) -> None:
    settings = EngineSettings(deadline_s=1e-4)
    async with LocalEngine(bundle, settings=settings) as engine:
        with pytest.raises(InferenceTimeout):
            await engine.generate(request(bundle, picture(0)))


async def test_after_closing_nothing_is_taken(bundle: ModelBundle, picture: Picture) -> None:
    engine = LocalEngine(bundle)
    engine.close()
    engine.close()
    with pytest.raises(InferenceError, match="closed"):
        await engine.generate(request(bundle, picture(0)))


class Gate:
    """Holds an engine's steps until it is opened."""

    def __init__(self, engine: LocalEngine) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        decoder = engine._decoder  # pyright: ignore[reportPrivateUsage]
        step = decoder.step

        def held(ids: list[int]) -> torch.Tensor:
            self.reached.set()
            assert self.open.wait(60)
            return step(ids)

        decoder.step = held  # type: ignore[method-assign]


async def test_who_asks_meanwhile_joins_at_the_next_token(bundle: ModelBundle, picture: Picture) -> None:
    async with LocalEngine(bundle) as engine:
        gate = Gate(engine)
        asked = [request(bundle, picture(i), temperature=0.0, max_tokens=n) for i, n in enumerate((30, 6, 6))]
        ended: list[object] = []
        long = asyncio.create_task(engine.generate(asked[0]))
        await asyncio.to_thread(gate.reached.wait, 60)
        short = [asyncio.create_task(engine.generate(one)) for one in asked[1:]]
        while engine.waiting < 3:
            await asyncio.sleep(0)
        for each in (long, *short):
            each.add_done_callback(ended.append)
        gate.open.set()
        replies = await asyncio.gather(long, *short)
        assert ended[-1] is long
        assert [len(reply.ids) for reply in replies] == [30, 6, 6]
        assert engine.steps == 29
    async with LocalEngine(bundle, settings=EngineSettings(max_batch=1)) as engine:
        assert [(await engine.generate(one)).ids for one in asked] == [reply.ids for reply in replies]


async def test_what_waits_for_a_reply_is_counted_until_it_has_one_or_is_given_up(
    bundle: ModelBundle, picture: Picture
) -> None:
    async with LocalEngine(bundle) as engine:
        gate = Gate(engine)
        asked = [asyncio.create_task(engine.generate(request(bundle, picture(0)))) for _ in range(3)]
        await asyncio.to_thread(gate.reached.wait, 60)
        assert engine.waiting == 3, "one reply is under way at least"
        asked[2].cancel()
        await asyncio.wait(asked[2:])
        assert engine.waiting == 2
        gate.open.set()
        await asyncio.gather(*asked[:2])
        assert engine.waiting == 0


async def test_a_reply_is_drawn_by_one_state_of_the_weights(bundle: ModelBundle, picture: Picture) -> None:
    old = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    new = {name: value * 1.2 for name, value in old.items()}
    asked = request(bundle, picture(0), temperature=0.0)
    async with LocalEngine(bundle) as engine:
        gate = Gate(engine)
        before = asyncio.create_task(engine.generate(asked))
        await asyncio.to_thread(gate.reached.wait, 60)
        update = asyncio.create_task(asyncio.to_thread(engine.update_weights, new, update=1))
        while not engine._updates_waiting:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        after = asyncio.create_task(engine.generate(asked))
        gate.open.set()
        replies = [await before, await after]
        await update
        assert [reply.policy_update for reply in replies] == [0, 1]
    for state, reply in ((old, replies[0]), (new, replies[1])):
        bundle.model.load_state_dict(state)
        turn = SimpleNamespace(prompt_ids=asked.prompt_ids, images=asked.images, reply_ids=reply.ids)
        with torch.no_grad():
            scored = score_turns(bundle, [turn]).logprobs[0]
        assert reply.logprobs == pytest.approx(scored.tolist(), abs=1e-5)
    assert replies[0].logprobs != pytest.approx(replies[1].logprobs, abs=1e-3)


async def test_a_reply_nobody_waits_for_any_more_ends(bundle: ModelBundle, picture: Picture) -> None:
    async with LocalEngine(bundle) as engine:
        gate = Gate(engine)
        left = asyncio.create_task(engine.generate(request(bundle, picture(0), max_tokens=500)))
        await asyncio.to_thread(gate.reached.wait, 60)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        gate.open.set()
        await engine.generate(request(bundle, picture(1), max_tokens=2))
        assert engine.steps <= 3
        assert engine.replies == 1


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyError("out of memory")])
async def test_a_step_that_fails_fails_its_rows_and_no_later_ones(
    bundle: ModelBundle, picture: Picture, error: Exception
) -> None:
    async with LocalEngine(bundle) as engine:
        decoder = engine._decoder  # pyright: ignore[reportPrivateUsage]
        step = decoder.step

        def broken(ids: list[int]) -> torch.Tensor:
            decoder.step = step  # type: ignore[method-assign]
            raise error

        decoder.step = broken  # type: ignore[method-assign]
        asked = request(bundle, picture(0))
        with pytest.raises(InferenceError, match="out of memory"):
            await engine.generate(asked)
        assert len((await engine.generate(asked)).ids) <= 8


async def test_a_step_that_fails_disturbs_no_picture_that_is_being_looked_at(
    bundle: ModelBundle, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, coming = features.encode_pictures, picture(1)
    stepping, looking, go_on = threading.Event(), threading.Event(), threading.Event()

    def held(bundle: ModelBundle, images: Sequence[Image]) -> list[torch.Tensor]:
        if images[0].digest == coming.digest:
            looking.set()
            assert go_on.wait(60)
        return encode(bundle, images)

    monkeypatch.setattr(features, "encode_pictures", held)
    async with LocalEngine(bundle) as engine:
        decoder = engine._decoder  # pyright: ignore[reportPrivateUsage]
        step = decoder.step

        def broken(ids: list[int]) -> torch.Tensor:
            decoder.step = step  # type: ignore[method-assign]
            stepping.set()
            assert looking.wait(60)
            raise RuntimeError("out of memory")

        decoder.step = broken  # type: ignore[method-assign]
        failing = asyncio.create_task(engine.generate(request(bundle, picture(0))))
        assert await asyncio.to_thread(stepping.wait, 60)
        answered = asyncio.create_task(engine.generate(request(bundle, coming)))
        with pytest.raises(InferenceError, match="out of memory"):
            await failing
        await asyncio.sleep(0.05)
        go_on.set()
        assert len((await answered).ids) <= 8


async def test_closing_fails_who_is_under_way(bundle: ModelBundle, picture: Picture) -> None:
    async with LocalEngine(bundle) as engine:
        gate = Gate(engine)
        running = asyncio.create_task(engine.generate(request(bundle, picture(0), max_tokens=500)))
        await asyncio.to_thread(gate.reached.wait, 60)
        closing = asyncio.create_task(asyncio.to_thread(engine.close))
        while not engine._closed:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        gate.open.set()
        with pytest.raises(InferenceError, match="closed"):
            await running
        await closing


@pytest.mark.parametrize("ids", [(), (-1,), (10**9,)])
async def test_ids_that_are_none_of_the_models_are_refused(
    bundle: ModelBundle, engine: LocalEngine, picture: Picture, ids: tuple[int, ...]
) -> None:
    with pytest.raises(InferenceError, match="prompt"):
        await engine.generate(replace(request(bundle, picture(0)), prompt_ids=ids))


@pytest.mark.parametrize("wrong", [{"temperature": -1.0}, {"temperature": float("nan")}, {"max_tokens": 0}])
def test_sampling_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"temperature|max_tokens"):
        Sampling(**wrong)  # type: ignore[arg-type]


async def test_a_reply_comes_id_by_id(engine: LocalEngine, bundle: ModelBundle, picture: Picture) -> None:
    asked = request(bundle, picture(), temperature=0.0, max_tokens=6)
    whole = await engine.generate(asked)
    assert [id async for id in engine.stream(asked)] == list(whole.ids)


async def test_a_seed_fixes_a_reply_whoever_asks_beside_it(
    engine: LocalEngine, bundle: ModelBundle, picture: Picture
) -> None:
    asked = request(bundle, picture(), temperature=1.0, max_tokens=12)

    async def drawn(seed: int) -> list[int]:
        return [id async for id in engine.stream(asked, seed=seed)]

    first = await drawn(7)
    together = await asyncio.gather(drawn(7), drawn(-8), drawn(7), engine.generate(asked))
    assert together[0] == together[2] == first
    assert len({tuple(await drawn(seed)) for seed in range(8)}) > 1


async def test_a_stream_that_is_closed_leaves_the_engine_free(
    engine: LocalEngine, bundle: ModelBundle, picture: Picture
) -> None:
    asked = request(bundle, picture(), temperature=1.0, max_tokens=500)
    stream = engine.stream(asked, seed=1)
    await anext(stream)
    await stream.aclose()
    before = engine.steps
    await engine.generate(replace(asked, sampling=Sampling(max_tokens=3)))
    assert engine.steps - before < 100
    engine.close()
    with pytest.raises(InferenceError, match="closed"):
        await anext(engine.stream(asked))
