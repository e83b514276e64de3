"""An engine over HTTP in SGLang's form, behind a token: `/generate`, `/get_model_info`, and new weights by
`/update_weights_from_disk`.

What a request asks for and the engine does not do is refused, never ignored.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deskhand_agent.endpoint.pictures import picture_of
from deskhand_agent.endpoint.wire import NEVER, Vocabulary, write_completion
from deskhand_agent.errors import InferenceError, InferenceTimeout, ModelFilesError
from deskhand_agent.inference import CompletionRequest, InferenceEngine, Sampling
from deskhand_sandbox.types import Image

MAX_BODY_BYTES = 64 * 2**20
Take: TypeAlias = Callable[[Path, int], Awaitable[None]]
"""Gives the engine the weights of a folder, under a number of updates that is given too.

Raises:
    ModelFilesError, ValueError: they are not taken; the engine has those it had.
"""
_TOP = frozenset({"input_ids", "image_data", "sampling_params", "return_logprob", "stream"})
_WEIGHTS = frozenset({"model_path", "weight_version"})
_SAMPLING = frozenset(
    {"temperature", "max_new_tokens", "stop_token_ids", "logit_bias", "skip_special_tokens", "no_stop_trim"}
)


class Served(InferenceEngine, Protocol):
    """What an engine has to tell of itself."""

    policy_id: str

    @property
    def processor_hash(self) -> str: ...

    @property
    def update(self) -> int: ...


class _Unfit(Exception):
    """The request is not one that can be answered; says what to mend."""


def create_endpoint(
    engine: Served, vocabulary: Vocabulary, *, token: str, take: Take | None = None
) -> Starlette:
    """The application.

    Args:
        vocabulary: of the model that is served.
        token: callers send it as `Authorization: Bearer TOKEN`.
        take: how the engine gets other weights; None: it keeps those it has.
    """
    model_path = engine.policy_id
    versions: dict[int, str] = {}
    """What weights that were handed over are called by whoever did, by the engine's number of them."""
    one_at_a_time = asyncio.Lock()

    def version(update: int) -> str:
        return versions.get(update, str(update))

    async def generate(request: Request) -> Response:
        asked = _read_request(await _body(request, _TOP), engine.processor_hash, vocabulary)
        completion = await engine.generate(asked)
        told = version(completion.policy_update)
        return JSONResponse(write_completion(completion, len(asked.prompt_ids), version=told))

    async def info(request: Request) -> Response:
        return JSONResponse(
            {
                "model_path": model_path,
                "is_generation": True,
                "weight_version": version(engine.update),
                "processor_hash": engine.processor_hash,
            }
        )

    async def update_weights(request: Request) -> Response:
        nonlocal model_path
        body = await _body(request, _WEIGHTS)
        folder, name = body.get("model_path"), body.get("weight_version")
        if not isinstance(folder, str) or not isinstance(name, str | None):
            raise _Unfit("model_path has to be a folder, and weight_version a text")
        if take is None:
            return _refusal(403, "its weights stay as they are: serve it with --weights-from FOLDER")
        async with one_at_a_time:
            number = engine.update + 1
            versions[number] = str(number) if name is None else name
            try:
                await take(Path(folder), number)
            except (ModelFilesError, ValueError) as error:
                del versions[number]
                return JSONResponse({"success": False, "message": str(error)}, status_code=400)
            model_path = folder
        return JSONResponse({"success": True, "message": "taken", "num_paused_requests": 0})

    def guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
                return _refusal(401, "send the token as Authorization: Bearer TOKEN")
            try:
                return await answer(request)
            except _Unfit as error:
                return _refusal(422, str(error))
            except InferenceTimeout as error:
                return _refusal(504, str(error))
            except InferenceError as error:
                return _refusal(400, str(error))

        return checked

    return Starlette(
        routes=[
            Route("/generate", guarded(generate), methods=["POST"]),
            Route("/get_model_info", guarded(info), methods=["GET"]),
            Route("/update_weights_from_disk", guarded(update_weights), methods=["POST"]),
        ]
    )


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status_code=status)


async def _body(request: Request, known: frozenset[str]) -> Mapping[str, Any]:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise _Unfit(f"the request is larger than {MAX_BODY_BYTES >> 20} MiB")
    try:
        body = json.loads(data)
    except ValueError as error:
        raise _Unfit(f"the request is no JSON: {error}") from error
    return _mapping(body, "the request", known)


def _mapping(value: object, what: str, known: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Unfit(f"{what} has to be an object")
    fields = cast("dict[str, Any]", value)
    if strange := sorted(fields.keys() - known):
        raise _Unfit(f"{what} has {', '.join(strange)}; there are: {', '.join(sorted(known))}")
    return fields


def _read_request(body: Mapping[str, Any], processor_hash: str, vocabulary: Vocabulary) -> CompletionRequest:
    ids = body.get("input_ids")
    if not isinstance(ids, list) or not all(type(each) is int for each in cast("list[object]", ids)):
        raise _Unfit("input_ids has to be a list of ids")
    if body.get("stream"):
        raise _Unfit("stream: replies are sent whole")
    pictures: object = body.get("image_data") or []
    if not isinstance(pictures, list):
        raise _Unfit("image_data has to be a list of data: addresses or base64 texts")
    return CompletionRequest(
        prompt_ids=tuple(cast("list[int]", ids)),
        images=tuple(_picture(each) for each in cast("list[object]", pictures)),
        processor_hash=processor_hash,
        sampling=_sampling(body.get("sampling_params", {}), vocabulary),
    )


def _sampling(value: object, vocabulary: Vocabulary) -> Sampling:
    given = _mapping(value, "sampling_params", _SAMPLING)
    if given.get("stop_token_ids", [vocabulary.end_id]) != [vocabulary.end_id]:
        raise _Unfit(f"stop_token_ids: this model's replies end at [{vocabulary.end_id}]")
    suppressed = {str(each) for each in vocabulary.suppressed_ids}
    if given.get("logit_bias", never := dict.fromkeys(suppressed, NEVER)) != never:
        raise _Unfit(f"logit_bias: {NEVER:g} for each of this model's special tokens, or none at all")
    if given.get("skip_special_tokens") or not given.get("no_stop_trim", True):
        raise _Unfit("skip_special_tokens and no_stop_trim: ids are sent as they were drawn")
    try:
        return Sampling(
            temperature=float(given.get("temperature", 1.0)), max_tokens=int(given.get("max_new_tokens", 128))
        )
    except (TypeError, ValueError) as error:
        raise _Unfit(f"sampling_params: {error}") from error


def _picture(value: object) -> Image:
    if not isinstance(value, str):
        raise _Unfit("image_data has to be a list of data: addresses or base64 texts")
    try:
        return picture_of(value.partition(",")[2] if value.startswith("data:") else value)
    except ValueError as error:
        raise _Unfit(f"image_data {error}") from error
