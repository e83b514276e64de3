"""Requests and completions as SGLang and vLLM write them: ids in, ids and log-probabilities out.

SGLang's `/generate` takes pictures beside the ids; vLLM's `/v1/completions` takes ids alone, so prompts with
pictures cannot go there. Our own endpoint speaks SGLang's form. Special tokens are kept from being drawn by
`logit_bias`, and log-probabilities have to be those after it and after temperature: SGLang's are, vLLM's are
where it was started with `--logprobs-mode processed_logprobs`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from deskhand_agent.errors import EndpointError, InferenceError
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_sandbox.types import Image

Form: TypeAlias = Literal["sglang", "vllm"]
PATHS: Mapping[Form, str] = {"sglang": "/generate", "vllm": "/v1/completions"}
NEVER = -100.0
"""Bias of an id that must not be drawn: the least that both servers take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """What a server has to know of a model's ids."""

    end_id: int
    """Ends a reply."""
    suppressed_ids: tuple[int, ...]
    """Never drawn."""


def write_request(
    request: CompletionRequest, form: Form, vocabulary: Vocabulary, *, model: str
) -> dict[str, Any]:
    """The body of a request.

    Raises:
        InferenceError: it has pictures and vLLM's form takes none, or one of them came without its bytes.
    """
    sampling = request.sampling
    shared: dict[str, Any] = {
        "temperature": sampling.temperature,
        "stop_token_ids": [vocabulary.end_id],
        "logit_bias": {str(each): NEVER for each in vocabulary.suppressed_ids},
        "skip_special_tokens": False,
    }
    if form == "sglang":
        body: dict[str, Any] = {
            "input_ids": list(request.prompt_ids),
            "sampling_params": {**shared, "max_new_tokens": sampling.max_tokens, "no_stop_trim": True},
            "return_logprob": True,
        }
        return {**body, "image_data": [data_url(each) for each in request.images]} if request.images else body
    if request.images:
        raise InferenceError(
            "vLLM's /v1/completions takes no pictures beside ids: serve the model with SGLang, or with "
            "`deskhand policies serve`"
        )
    return {
        **shared,
        "model": model,
        "prompt": list(request.prompt_ids),
        "max_tokens": sampling.max_tokens,
        "logprobs": 0,
        "return_token_ids": True,
    }


def read_completion(answer: object, form: Form, request: CompletionRequest, *, policy_id: str) -> Completion:
    """The completion in an answer.

    Raises:
        EndpointError: it is none, or of another prompt than the one sent.
    """
    try:
        read = _read_sglang if form == "sglang" else _read_vllm
        ids, logprobs, reason, prompt_tokens, meta = read(cast("Any", answer))
        if len(ids) != len(logprobs) or not ids or not all(math.isfinite(each) for each in logprobs):
            raise ValueError(f"{len(ids)} ids with {len(logprobs)} log-probabilities")
        finish = FinishReason(reason)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise EndpointError(
            f"the server's answer is no completion ({error!r}): {str(answer)[:200]}"
        ) from error
    if prompt_tokens != len(request.prompt_ids):
        raise EndpointError(
            f"the server read {prompt_tokens} tokens of the {len(request.prompt_ids)} sent: it prepares "
            "pictures in another way than the policy's own settings"
        )
    number = str(meta.get("weight_version", "")).partition("-")[0]
    return Completion(
        ids=tuple(ids),
        logprobs=tuple(logprobs),
        finish_reason=finish,
        policy_id=str(meta.get("policy_id", policy_id)),
        policy_update=int(number) if number.isdecimal() else 0,
        entropy=meta.get("entropy"),
        value=meta.get("value"),
    )


def version_of(answer: object) -> str | None:
    """What SGLang's form calls the weights that drew a completion; None: it does not say."""
    return cast("Any", answer)["meta_info"].get("weight_version")


def write_completion(completion: Completion, prompt_tokens: int, *, version: str) -> dict[str, Any]:
    """An answer in SGLang's form; what it has no name for stands beside the rest.

    Args:
        version: what the weights that drew it are called.
    """
    stopped = completion.finish_reason is FinishReason.STOP
    ended = {"matched": completion.ids[-1]} if stopped else {"length": len(completion.ids)}
    return {
        "output_ids": list(completion.ids),
        "meta_info": {
            "finish_reason": {"type": completion.finish_reason.value, **ended},
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(completion.ids),
            "weight_version": version,
            "output_token_logprobs": [
                [logprob, id_, None] for id_, logprob in zip(completion.ids, completion.logprobs, strict=True)
            ],
            "policy_id": completion.policy_id,
            "entropy": completion.entropy,
            "value": completion.value,
        },
    }


def data_url(image: Image) -> str:
    """A picture as a `data:` address.

    Raises:
        InferenceError: it came without its bytes.
    """
    if image.data is None:
        raise InferenceError(
            f"image {image.digest[:12]} came without its bytes: fetch it from the blob store"
        )
    return f"data:image/{image.format};base64,{base64.b64encode(image.data).decode('ascii')}"


_Read: TypeAlias = tuple[Sequence[int], Sequence[float], str, int, Mapping[str, Any]]


def _read_sglang(answer: Any) -> _Read:
    meta = answer["meta_info"]
    drawn = meta["output_token_logprobs"]
    reason = meta["finish_reason"]["type"]
    return (
        [int(each[1]) for each in drawn],
        [float(each[0]) for each in drawn],
        reason,
        meta["prompt_tokens"],
        meta,
    )


def _read_vllm(answer: Any) -> _Read:
    choice = answer["choices"][0]
    ids = [int(each) for each in choice["token_ids"]]
    logprobs = [float(each) for each in choice["logprobs"]["token_logprobs"]]
    return ids, logprobs, choice["finish_reason"], len(choice["prompt_token_ids"]), {}
