"""The policy that asks a model by ids: what it was shown and what it replied are known exactly."""

from __future__ import annotations

from dataclasses import replace

from deskhand_agent.accounts import spent, together
from deskhand_agent.errors import InferenceError
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, InferenceEngine, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply, prompt_of
from deskhand_agent.prompt import PLAN, SUMMARISE, summary_due
from deskhand_agent.types import Context, Decision, Execution, Fault, Policy, reads_tree


class LocalPolicy:
    """A vision-language model behind an `InferenceEngine`.

    The bundle gives tokenizer, template, system message and coordinate frame; its weights are not touched
    here, so the engine may as well be in another process.
    """

    def __init__(
        self,
        *,
        bundle: ModelBundle,
        engine: InferenceEngine,
        memory: WindowMemory | None = None,
        sampling: Sampling | None = None,
        policy_id: str = "local",
        executor: Policy | None = None,
        mending: bool = False,
        longest_s: float = 0.0,
    ) -> None:
        """
        Args:
            memory: None: the one the model was trained with.
            executor: acts on the plans of a model that plans.
            mending: near misses are read as what they are near to, and `Decision.repairs` says so; otherwise
                they are void: a model learns by its replies.
            longest_s: as in `Patient`; 0: what whoever runs its episodes allows.

        Raises:
            ValueError: the model plans and there is no executor, or the other way round.
        """
        self.id = policy_id
        self._bundle = bundle
        self._engine = engine
        self.memory = memory or bundle.memory
        self._sampling = sampling or Sampling()
        self._executor, self._mending = executor, mending
        self.longest_s = longest_s
        if (self.memory.plan_tokens > 0) != (executor is not None):
            raise ValueError(
                f"plan_tokens is {self.memory.plan_tokens}: a model that plans needs an executor, and no "
                "other has one"
            )

    @property
    def reads_tree(self) -> bool:
        """See `TreeReader`; whoever carries its plans out sees the same screens."""
        return self.memory.reads_tree or (self._executor is not None and reads_tree(self._executor))

    async def act(self, context: Context) -> Decision:
        """Decide one turn; see `Policy.act`."""
        request = self.request(context)
        completion = await self._engine.generate(request)
        text = decode_reply(self._bundle, completion.ids)
        if summary_due(context, self.memory):
            return Decision(
                actions=(),
                text=text,
                summary=text.strip(),
                request=request,
                completion=completion,
                trainable=True,
            )
        if self._executor is not None:
            return await _executed(context, text, self._executor, request, completion)
        read = self._bundle.form.decision(text, context.observation, {}, mending=self._mending)
        cut_off = read.fault is not None and completion.finish_reason is FinishReason.LENGTH
        fault = Fault.CUT_OFF if cut_off else read.fault
        return replace(read, fault=fault, request=request, completion=completion, trainable=True)

    async def ask(self, context: Context, question: str) -> Decision:
        """What the model says to a question, the likeliest; see `Answering.ask`."""
        request = self._request(context, question, self._sampling.max_tokens)
        request = replace(request, sampling=replace(request.sampling, temperature=0.0))
        completion = await self._engine.generate(request)
        text = decode_reply(self._bundle, completion.ids)
        told = Decision(actions=(), text=text, request=request, completion=completion)
        return replace(told, cost=spent(told))

    def request(self, context: Context) -> CompletionRequest:
        """What the model is shown in this context, as ids: asked for an action, or for a summary or a plan
        where the memory wants one."""
        memory = self.memory
        if summary_due(context, memory):
            return self._request(context, SUMMARISE, memory.summary_tokens)
        if memory.plan_tokens:
            return self._request(context, PLAN, memory.plan_tokens)
        return self._request(context, "", self._sampling.max_tokens)

    def _request(self, context: Context, asking: str, longest: int) -> CompletionRequest:
        prompt = prompt_of(self._bundle, context, memory=self.memory, asking=asking)
        return CompletionRequest(
            prompt_ids=prompt.ids,
            images=prompt.images,
            processor_hash=self._bundle.processor_hash,
            sampling=replace(self._sampling, max_tokens=longest),
        )


async def _executed(
    context: Context, text: str, executor: Policy, request: CompletionRequest, completion: Completion
) -> Decision:
    """The turn in which the executor, told the plan alone, acts on the screen."""
    plan = " ".join(text.split())
    planned = Decision(actions=(), text=text, request=request, completion=completion)
    try:
        told = await executor.act(replace(context, instruction=plan, steps=()))
    except InferenceError as error:
        error.cost = together((spent(planned), error.cost))
        raise
    return Decision(
        actions=told.actions,
        text=text,
        execution=Execution(plan=plan, policy_id=executor.id, text=told.text, completion=told.completion),
        request=request,
        completion=completion,
        trainable=True,
        error=told.error,
        fault=told.fault,
        repairs=told.repairs,
        cost=together((spent(planned), spent(told))),
    )
