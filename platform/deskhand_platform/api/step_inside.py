"""A step in full, for the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from deskhand_agent.types import Decision, Step
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_platform.api.recorded import action_model, image_ref
from deskhand_platform.api.step_models import OtherReply, ReplyToken, StepInside

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"
_PICTURE = re.compile(r"(?:<\|image_pad\|>)+")


async def inside(store: Store, step: Step, notes: str) -> StepInside:
    """What the model saw and said."""
    decision, seen = step.decision, step.observation
    request, done = decision.request, decision.completion
    tokenizer = await _tokenizer(store, decision)
    prompt_ids = [] if request is None else list(request.prompt_ids)
    return StepInside(
        index=step.index,
        prompt_ids=prompt_ids,
        prompt=None if tokenizer is None or not prompt_ids else _prompt(tokenizer, prompt_ids),
        pictures=[] if request is None else [image_ref(image) for image in request.images],
        temperature=None if request is None else request.sampling.temperature,
        tokens=[]
        if done is None
        else [
            ReplyToken(
                id=token,
                text=None if tokenizer is None else tokenizer.decode([token], skip_special_tokens=False),
                logprob=logprob,
            )
            for token, logprob in zip(done.ids, done.logprobs, strict=True)
        ],
        finish_reason=None if done is None else str(done.finish_reason),
        notes=notes,
        summary=decision.summary,
        others=[
            OtherReply(text=other.text, actions=[action_model(a) for a in other.actions], rating=other.rating)
            for other in decision.others
        ],
        text_tree=seen.text_tree,
        terminal=seen.terminal,
        output=seen.output,
        dialog=seen.dialog,
        repairs=[str(each) for each in decision.repairs],
        cost=dict(decision.cost),
    )


def _prompt(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    return _PICTURE.sub("<picture>", tokenizer.decode(list(ids), skip_special_tokens=False))


async def _tokenizer(store: Store, decision: Decision) -> Tokenizer | None:
    """Of the kept policy that replied; None where it is none, or keeps no tokenizer of that form."""
    if decision.completion is None:
        return None
    try:
        record = await store.policy(decision.completion.policy_id)
        digest = record.manifest.get(TOKENIZER)
        return None if digest is None else _read(digest, (await store.blobs.get(digest)).decode())
    except (FlywheelError, ValueError):
        return None


@lru_cache(maxsize=4)
def _read(_digest: str, text: str) -> Tokenizer:
    from tokenizers import Tokenizer

    json.loads(text)  # its own error names no file
    return Tokenizer.from_str(text)
