"""The policy that asks a model by ids: what it was shown and what it replied are known exactly."""

from __future__ import annotations

from dataclasses import replace

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import parse_reply
from deskhand_agent.inference import CompletionRequest, InferenceEngine, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply, tokenise_prompt
from deskhand_agent.prompt import build_prompt, summary_due
from deskhand_agent.types import Context, Decision


class LocalPolicy:
    """A vision-language model behind an `InferenceEngine`.

    The bundle gives tokenizer, template and coordinate frame; its weights are not touched here, so the engine
    may as well be in another process.
    """

    def __init__(
        self,
        *,
        bundle: ModelBundle,
        engine: InferenceEngine,
        memory: WindowMemory | None = None,
        sampling: Sampling | None = None,
        policy_id: str = "local",
        system: str = "",
    ) -> None:
        """
        Args:
            memory: None: the one the model was trained with.
        """
        self.id = policy_id
        self._bundle = bundle
        self._engine = engine
        self._memory = memory or bundle.memory
        self._sampling = sampling or Sampling()
        self._system = system

    async def act(self, context: Context) -> Decision:
        """Decide one turn; see `Policy.act`."""
        request = self.request(context)
        completion = await self._engine.generate(request)
        text = decode_reply(self._bundle, completion.ids)
        if summary_due(context, self._memory):
            return Decision(
                actions=(),
                text=text,
                summary=text.strip(),
                request=request,
                completion=completion,
                trainable=True,
            )
        try:
            parsed = parse_reply(text)
        except ActionSyntaxError as error:
            return Decision(
                actions=(),
                text=text,
                request=request,
                completion=completion,
                trainable=True,
                error=str(error),
            )
        frame = self._bundle.coordinates.frame(context.observation.size_px)
        return Decision(
            actions=tuple(frame.action_to_screen(action) for action in parsed.actions),
            text=text,
            thought=parsed.thought,
            request=request,
            completion=completion,
            trainable=True,
        )

    def request(self, context: Context) -> CompletionRequest:
        """What the model is shown in this context, as ids: asked for an action, or for a summary where the
        memory wants one."""
        due = summary_due(context, self._memory)
        messages = build_prompt(
            context,
            memory=self._memory,
            coordinates=self._bundle.coordinates,
            system=self._system,
            summarise=due,
        )
        prompt = tokenise_prompt(self._bundle, messages)
        summing_up = replace(self._sampling, max_tokens=self._memory.summary_tokens)
        return CompletionRequest(
            prompt_ids=prompt.ids,
            images=prompt.images,
            processor_hash=self._bundle.processor_hash,
            sampling=summing_up if due else self._sampling,
        )
