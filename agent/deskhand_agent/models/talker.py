"""A model that answers messages in words: `deskhand_agent.endpoint.talk.Talks` on a local engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from deskhand_agent.endpoint.talk import Said, TooLong
from deskhand_agent.inference import CompletionRequest, Sampling
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import decode_reply, tokenise_prompt
from deskhand_agent.prompt import PromptMessage


class Talker:
    """Messages into ids, ids into words."""

    def __init__(self, bundle: ModelBundle, engine: LocalEngine) -> None:
        self._bundle = bundle
        self._engine = engine
        self._longest = bundle.longest

    async def reply(
        self, messages: Sequence[PromptMessage], sampling: Sampling, seed: int | None
    ) -> AsyncGenerator[Said]:
        """See `Talks.reply`."""
        prompt = tokenise_prompt(self._bundle, messages)
        length = len(prompt.ids)
        if length + sampling.max_tokens > self._longest:
            raise TooLong(
                f"the model takes {self._longest} tokens; the messages have {length} and the reply may have "
                f"{sampling.max_tokens}: shorten the messages, send fewer or smaller pictures, or lower "
                "max_tokens"
            )
        request = CompletionRequest(
            prompt_ids=prompt.ids,
            images=prompt.images,
            processor_hash=self._bundle.processor_hash,
            sampling=sampling,
        )
        ids: list[int] = []
        async with aclosing(self._engine.stream(request, seed=seed)) as drawn:
            async for id in drawn:
                ids.append(id)
                yield Said(
                    text=decode_reply(self._bundle, ids),
                    tokens=len(ids),
                    prompt_tokens=length,
                    ended=id == self._bundle.end_id,
                )
