"""Client and server over a real socket, and both servers' forms as their manuals give them."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
import uvicorn
from blake3 import blake3
from PIL import Image as PilImage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from deskhand_agent.endpoint.client import TOKEN_VARIABLE, EndpointSettings, HandedWeights, HttpEngine
from deskhand_agent.endpoint.pool import ServerPool, refuses
from deskhand_agent.endpoint.server import create_endpoint
from deskhand_agent.endpoint.wire import NEVER, Form, Vocabulary
from deskhand_agent.errors import EndpointError, InferenceError, InferenceTimeout, Trouble
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.models.bundle import ModelBundle, build_tiny, save_bundle
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.models.refreshing import FolderWeights
from deskhand_agent.models.scoring import score_turns
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

TOKEN = "a token"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ENDS = Vocabulary(end_id=3, suppressed_ids=(0, 7))


@pytest.fixture
def bundle() -> ModelBundle:
    torch.set_num_threads(1)
    return build_tiny(
        TinyConfig(
            patch_px=8, vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1,
            text_heads=2, text_mlp=32, max_side_px=64,
        )
    )  # fmt: skip


def vocabulary(bundle: ModelBundle) -> Vocabulary:
    return Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))


def picture(seed: int) -> Image:
    out = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 256, (30, 48, 3), dtype=np.uint8)
    PilImage.fromarray(noise).save(out, "PNG")
    data = out.getvalue()
    return Image(digest=blake3(data).hexdigest(), format="png", width_px=48, height_px=30, data=data)


def request(bundle: ModelBundle, *images: Image, **sampling: float) -> CompletionRequest:
    segments = (Text(text="Click"), *(ImageSegment(image=image) for image in images))
    prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=segments)])
    return CompletionRequest(
        prompt_ids=prompt.ids,
        images=prompt.images,
        processor_hash=bundle.processor_hash,
        sampling=Sampling(**{"temperature": 0.0, "max_tokens": 6, **sampling}),  # type: ignore[arg-type]
    )


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listener.close()


def client(url: str, known: Vocabulary, *, any_weights: bool = False, **settings: Any) -> HttpEngine:
    given = EndpointSettings(url=url, **{"token": TOKEN, "pause_s": 0.001, **settings})
    return HttpEngine(given, known, policy_id="p", any_weights=any_weights)


@asynccontextmanager
async def served(bundle: ModelBundle, **settings: Any) -> AsyncIterator[tuple[LocalEngine, HttpEngine]]:
    async with LocalEngine(bundle, policy_id="p") as engine:
        app = create_endpoint(engine, vocabulary(bundle), token=TOKEN)
        async with serving(app) as url, client(url, vocabulary(bundle), **settings) as remote:
            yield engine, remote


async def test_replies_over_http_are_the_engines_own(bundle: ModelBundle) -> None:
    asked = [request(bundle, *(picture(i) for i in range(count))) for count in (0, 1, 2)]
    async with served(bundle) as (engine, remote):
        near = [await engine.generate(one) for one in asked]
        far = await asyncio.gather(*(remote.generate(one) for one in asked))
        assert [one.ids for one in far] == [one.ids for one in near]
        for one, other in zip(far, near, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
            assert one.entropy == pytest.approx(other.entropy, abs=1e-5)
            assert one.finish_reason is other.finish_reason
            assert (one.policy_id, one.policy_update) == ("p", 0)
        engine.update_weights(bundle.model.state_dict(), update=7)
        assert (await remote.generate(asked[0])).policy_update == 7


async def test_who_has_no_token_is_refused(bundle: ModelBundle) -> None:
    async with served(bundle, token="another") as (_, remote):
        with pytest.raises(EndpointError, match="401") as refused:
            await remote.generate(request(bundle))
        assert refused.value.status == 401


async def test_white_space_around_a_token_is_no_part_of_it(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, f"{TOKEN}\n")
    async with served(bundle, token=None) as (_, remote):
        assert (await remote.generate(request(bundle))).policy_id == "p"


async def test_a_token_that_no_header_takes_is_not_quoted(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    for token in ("secr\u00e9t", "se\ncret"):
        with pytest.raises(EndpointError, match=TOKEN_VARIABLE) as refused:
            client("http://127.0.0.1:9", ENDS, token=token)
        assert not any(part in str(refused.value) for part in ("secr", "cret"))
    monkeypatch.setattr("deskhand_agent.endpoint.client.key_of", lambda given, variable: "secret\n")
    async with served(bundle) as (_, remote):
        with pytest.raises(EndpointError, match="HTTP's rules") as refused:
            await remote.generate(request(bundle))
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:80x", "http://[::1", "http://127.0.0.1:70000", "http://999.0.0.1:80", "http://"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(EndpointError, match="is no http://HOST:PORT") as refused:
        client(url, ENDS)
    assert refused.value.trouble is Trouble.REFUSED


async def test_a_model_of_another_processor_is_refused(bundle: ModelBundle) -> None:
    async with served(bundle) as (_, remote):
        with pytest.raises(InferenceError, match="processor"):
            await remote.generate(replace(request(bundle), processor_hash="0" * 64))


async def test_a_server_of_another_policy_is_refused(bundle: ModelBundle) -> None:
    async with LocalEngine(bundle, policy_id="another") as engine:
        app = create_endpoint(engine, vocabulary(bundle), token=TOKEN)
        async with serving(app) as url, client(url, vocabulary(bundle)) as remote:
            with pytest.raises(InferenceError, match="serves another, not p"):
                await remote.generate(request(bundle))


async def test_what_the_engine_refuses_is_said_and_harms_no_other(bundle: ModelBundle) -> None:
    good = request(bundle, picture(0))
    async with served(bundle) as (_, remote):
        found = await asyncio.gather(
            remote.generate(replace(good, images=())), remote.generate(good), return_exceptions=True
        )
    assert isinstance(found[0], EndpointError) and "placeholder" in str(found[0])
    assert isinstance(found[1], Completion)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "no JSON"),
        (b"[]", "object"),
        (b'{"text": "hello"}', "text"),
        (b'{"input_ids": "1"}', "input_ids"),
        (b'{"input_ids": [true]}', "input_ids"),
        (b'{"input_ids": [1], "stream": true}', "stream"),
        (b'{"input_ids": [1], "image_data": ["data:image/png;base64,AAAA"]}', "no picture"),
        (b'{"input_ids": [1], "image_data": ["http://x/y.png"]}', "no picture"),
        (b'{"input_ids": [1], "image_data": [1]}', "image_data"),
        (b'{"input_ids": [1], "sampling_params": {"top_p": 0.5}}', "top_p"),
        (b'{"input_ids": [1], "sampling_params": {"temperature": -1}}', "temperature"),
        (b'{"input_ids": [1], "sampling_params": {"temperature": NaN}}', "temperature"),
        (b'{"input_ids": [1], "sampling_params": {"max_new_tokens": 0}}', "max_tokens"),
        (b'{"input_ids": [1], "sampling_params": {"stop_token_ids": [1]}}', "stop_token_ids"),
        (b'{"input_ids": [1], "sampling_params": {"logit_bias": {"1": -100}}}', "logit_bias"),
        (b'{"input_ids": [1], "sampling_params": {"skip_special_tokens": true}}', "special"),
    ],
)
async def test_what_cannot_be_answered_is_refused_never_ignored(
    bundle: ModelBundle, body: bytes, said: str
) -> None:
    async with LocalEngine(bundle) as engine:
        app = create_endpoint(engine, vocabulary(bundle), token=TOKEN)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://engine") as caller:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            answer = await caller.post("/generate", content=body, headers=headers)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


def app_of(path: str, answer: Callable[[Any], Response], seen: list[Any] | None = None) -> Starlette:
    async def answered(request: Request) -> Response:
        body = await request.json()
        if seen is not None:
            seen.append(body)
        return answer(body)

    async def info(request: Request) -> Response:
        return JSONResponse({"model_path": "x", "is_generation": True})

    return Starlette(
        routes=[Route(path, answered, methods=["POST"]), Route("/get_model_info", info, methods=["GET"])]
    )


def plain(*images: Image) -> CompletionRequest:
    return CompletionRequest(
        prompt_ids=(5, 6, 8),
        images=images,
        processor_hash="h",
        sampling=Sampling(temperature=0.5, max_tokens=9),
    )


def sglang_answer(**changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "id": "1",
        "finish_reason": {"type": "stop", "matched": 3},
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "weight_version": "default",
        "output_token_logprobs": [[-0.5, 9, None], [-0.25, 3, None]],
    }
    return {"text": "x", "output_ids": [9, 3], "meta_info": {**meta, **changes}}


async def test_sglangs_form() -> None:
    seen: list[Any] = []
    app = app_of("/generate", lambda _: JSONResponse(sglang_answer()), seen)
    async with serving(app) as url, client(url, ENDS) as engine:
        reply = await engine.generate(plain(picture(0)))
    assert reply == Completion(
        ids=(9, 3), logprobs=(-0.5, -0.25), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0
    )
    (body,) = seen
    assert body["image_data"][0].startswith("data:image/png;base64,")
    assert {**body, "image_data": None} == {
        "input_ids": [5, 6, 8],
        "image_data": None,
        "return_logprob": True,
        "sampling_params": {
            "temperature": 0.5,
            "max_new_tokens": 9,
            "stop_token_ids": [3],
            "logit_bias": {"0": NEVER, "7": NEVER},
            "skip_special_tokens": False,
            "no_stop_trim": True,
        },
    }


async def test_vllms_form() -> None:
    choice = {
        "text": "x",
        "finish_reason": "length",
        "token_ids": [9, 10],
        "prompt_token_ids": [5, 6, 8],
        "logprobs": {"token_logprobs": [-0.5, -0.25], "tokens": ["a", "b"]},
    }
    seen: list[Any] = []
    app = app_of("/v1/completions", lambda _: JSONResponse({"choices": [choice]}), seen)
    async with serving(app) as url, client(url, ENDS, form="vllm", model="m") as engine:
        reply = await engine.generate(plain())
        with pytest.raises(InferenceError, match="SGLang"):
            await engine.generate(plain(picture(0)))
    assert (reply.ids, reply.logprobs, reply.finish_reason) == ((9, 10), (-0.5, -0.25), FinishReason.LENGTH)
    assert seen == [
        {
            "model": "m",
            "prompt": [5, 6, 8],
            "max_tokens": 9,
            "temperature": 0.5,
            "stop_token_ids": [3],
            "logit_bias": {"0": NEVER, "7": NEVER},
            "skip_special_tokens": False,
            "logprobs": 0,
            "return_token_ids": True,
        }
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: PlainTextResponse("hello"), "no JSON"),
        (lambda _: JSONResponse([]), "no completion"),
        (lambda _: JSONResponse({"text": "x"}), "no completion"),
        (lambda _: JSONResponse(sglang_answer(output_token_logprobs=[])), "no completion"),
        (lambda _: JSONResponse(sglang_answer(finish_reason={"type": "abort"})), "no completion"),
        (lambda _: JSONResponse(sglang_answer(output_token_logprobs=[[None, 9, None]])), "no completion"),
        (lambda _: JSONResponse(sglang_answer(prompt_tokens=4)), "4 tokens of the 3 sent"),
        (lambda _: JSONResponse({}, status_code=500), "500"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(answer: Callable[[Any], Response], said: str) -> None:
    async with serving(app_of("/generate", answer)) as url, client(url, ENDS) as engine:
        with pytest.raises(EndpointError, match=said):
            await engine.generate(plain())


async def test_a_server_that_is_busy_is_asked_again() -> None:
    answers = [
        JSONResponse({}, status_code=503),
        JSONResponse({}, status_code=429),
        JSONResponse(sglang_answer()),
    ]
    async with serving(app_of("/generate", lambda _: answers.pop(0))) as url, client(url, ENDS) as engine:
        assert (await engine.generate(plain())).ids == (9, 3)
    assert answers == []


@pytest.mark.parametrize("form", ["sglang", "vllm"])
async def test_a_server_that_is_not_there_is_said(form: Form) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with client(f"http://127.0.0.1:{port}", ENDS, form=form) as engine:
        with pytest.raises(EndpointError, match="cannot be reached"):
            await engine.generate(plain())


async def test_a_server_that_dies_half_way_is_an_error_and_one_that_hangs_a_timeout() -> None:
    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + json.dumps({}).encode())
        await writer.drain()

    async def hangs(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    for handler, error in ((dies, EndpointError), (hangs, InferenceTimeout)):
        over = asyncio.Event()

        async def serve(
            reader: asyncio.StreamReader,
            writer: asyncio.StreamWriter,
            handler: Handler = handler,
            over: asyncio.Event = over,
        ) -> None:
            await handler(reader, writer)
            writer.close()
            await writer.wait_closed()
            over.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with client(f"http://127.0.0.1:{port}", ENDS, form="vllm", timeout_s=0.2) as engine:
                with pytest.raises(error):
                    await engine.generate(plain())
            await over.wait()


# ---- new weights ----


def changed(
    bundle: ModelBundle, factor: float, folder: Path, update: int
) -> tuple[ModelBundle, HandedWeights]:
    """A model of other weights, and where they lie."""
    other = bundle.clone()
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.mul_(factor)
    save_bundle(other, folder / str(update))
    return other, HandedWeights(folder=folder / str(update), update=update, version=f"{update}-{factor}")


@asynccontextmanager
async def taking(bundle: ModelBundle, below: Path) -> AsyncGenerator[HttpEngine]:
    """A client of a server of its own, which takes weights from below a folder."""
    async with LocalEngine(bundle.clone(), policy_id="another") as engine:
        take = FolderWeights(engine, below).take
        app = create_endpoint(engine, vocabulary(bundle), token=TOKEN, take=take)
        async with serving(app) as url, client(url, vocabulary(bundle), any_weights=True) as remote:
            yield remote


@dataclass(frozen=True)
class Turn:
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    images: tuple[Image, ...]


async def test_replies_are_by_the_weights_that_were_handed_over(bundle: ModelBundle, tmp_path: Path) -> None:
    asked = [request(bundle, picture(i), temperature=1.0) for i in range(4)]
    async with taking(bundle, tmp_path) as remote:
        for update, factor in ((0, 1.0), (3, 1.2)):
            trained, weights = changed(bundle, factor, tmp_path, update)
            await remote.update_weights(weights)
            replies = await asyncio.gather(*(remote.generate(each) for each in asked))
            assert {(each.policy_id, each.policy_update) for each in replies} == {("p", update)}
            turns = [Turn(a.prompt_ids, r.ids, a.images) for a, r in zip(asked, replies, strict=True)]
            for model, close in ((trained, True), (bundle, factor == 1.0)):
                scores = score_turns(model, turns)
                drawn = torch.tensor([each for reply in replies for each in reply.logprobs])
                gap = (scores.logprobs[scores.mask] - drawn).abs().mean().item()
                assert (gap < 1e-5) is close


async def test_who_evaluates_is_refused_by_a_server_that_was_given_other_weights(
    bundle: ModelBundle, tmp_path: Path
) -> None:
    _, weights = changed(bundle, 1.1, tmp_path, 1)
    async with taking(bundle, tmp_path) as remote:
        await remote.update_weights(weights)
        settings = EndpointSettings(url=remote.settings.url, token=TOKEN)
        async with HttpEngine(settings, vocabulary(bundle), policy_id="another") as other:
            with pytest.raises(InferenceError, match=f"serves {weights.folder}, not another"):
                await other.generate(request(bundle))


async def test_weights_that_are_refused_change_nothing(bundle: ModelBundle, tmp_path: Path) -> None:
    (below := tmp_path / "below").mkdir()
    _, good = changed(bundle, 1.1, below, 1)
    _, elsewhere = changed(bundle, 1.2, tmp_path, 2)
    config = replace(bundle.tiny, text_width=48) if bundle.tiny else TinyConfig()
    save_bundle(build_tiny(config), below / "3")
    async with taking(bundle, below) as remote:
        await remote.update_weights(good)
        before = await remote.generate(request(bundle))
        for bad, said in (
            (elsewhere, "is not below"),
            (HandedWeights(folder=below / "3", update=3, version="3"), "weights of another model"),
            (HandedWeights(folder=below / "4", update=4, version="4"), "no model folder"),
        ):
            with pytest.raises(EndpointError, match=said) as refused:
                await remote.update_weights(bad)
            assert refuses(refused.value)
        await remote.update_weights(good)
        after = await remote.generate(request(bundle))
        assert (after.policy_update, after.logprobs) == (1, pytest.approx(before.logprobs, abs=1e-6))
    async with served(bundle) as (engine, remote):
        with pytest.raises(EndpointError, match="--weights-from") as refused:
            await remote.update_weights(good)
        assert refuses(refused.value) and engine.update == 0


class Fake:
    """An SGLang server that says by which weights it drew, and what it was given."""

    def __init__(self) -> None:
        self.version, self.given = "default", list[Any]()
        self.takes = asyncio.Event()
        self.takes.set()
        self.app = Starlette(
            routes=[
                Route("/generate", self.generate, methods=["POST"]),
                Route("/update_weights_from_disk", self.take, methods=["POST"]),
            ]
        )

    async def generate(self, _: Request) -> Response:
        return JSONResponse(sglang_answer(weight_version=self.version))

    async def take(self, asked: Request) -> Response:
        self.given.append(body := await asked.json())
        await self.takes.wait()
        self.version = body["weight_version"]
        return JSONResponse({"success": True, "message": "", "num_paused_requests": 0})


def handed(update: int) -> HandedWeights:
    return HandedWeights(folder=Path(f"/w/{update}"), update=update, version=f"{update}-x")


async def test_a_server_that_was_started_again_is_given_the_weights_anew() -> None:
    fake = Fake()
    async with serving(fake.app) as url, client(url, ENDS, any_weights=True) as engine:
        await engine.update_weights(handed(2))
        assert (await engine.generate(plain())).policy_update == 2
        fake.version = "default"
        with pytest.raises(EndpointError, match="'default', which it was not given"):
            await engine.generate(plain())
        assert (await engine.generate(plain())).policy_update == 2
    assert fake.given == [{"model_path": "/w/2", "weight_version": "2-x"}] * 2


async def test_other_servers_answer_while_one_takes_new_weights() -> None:
    fakes = [Fake(), Fake()]
    async with (
        serving(fakes[0].app) as one,
        serving(fakes[1].app) as two,
        client(one, ENDS, any_weights=True) as first,
        client(two, ENDS, any_weights=True) as second,
    ):
        pool = ServerPool([first, second])
        pool.weights = handed(0)
        await pool.refresh()
        fakes[0].takes.clear()
        pool.weights = handed(1)
        update = asyncio.create_task(pool.refresh())
        while len(fakes[0].given) < 2:
            await asyncio.sleep(0.001)
        assert [(await pool.generate(plain())).policy_update for _ in range(3)] == [0, 0, 0]
        assert not update.done() and len(fakes[1].given) == 1
        fakes[0].takes.set()
        await update
        assert {(await pool.generate(plain())).policy_update for _ in range(3)} == {1}
        assert pool.waiting == 0 and pool.busy_s > 0


async def test_others_do_the_work_of_a_server_that_is_gone() -> None:
    fake = Fake()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with (
        serving(fake.app) as url,
        client(f"http://127.0.0.1:{port}", ENDS, any_weights=True) as gone,
        client(url, ENDS, any_weights=True) as there,
    ):
        pool = ServerPool([gone, there])
        await there.update_weights(handed(0))
        with pytest.raises(EndpointError, match="cannot be reached"):
            await pool.generate(plain())
        assert (await pool.generate(plain())).policy_update == 0
        pool.weights = handed(1)
        await pool.refresh()
        assert {(await pool.generate(plain())).policy_update for _ in range(3)} == {1}
        alone = ServerPool([gone])
        alone.weights = handed(2)
        with pytest.raises(EndpointError, match="cannot be reached") as lost:
            await alone.refresh()
        assert not refuses(lost.value)
