"""The engine in this process: batches whatever waits, draws replies, says with which weights.

Callers on the event loop await; one worker thread owns the model. A batch takes every request waiting at
that moment (up to a limit), so many episodes share a forward pass without ever waiting for one another.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError, InferenceTimeout
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.decoding import Decoder
from deskhand_agent.models.drawing import draw
from deskhand_agent.models.forward import TokenSequence
from deskhand_agent.models.scoring import reply_logits
from deskhand_agent.models.value import ValueHead


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineSettings:
    """How requests are batched."""

    max_batch: int = 16
    max_wait_ms: float = 2.0
    """How long a batch waits for company after its first request."""
    deadline_s: float = 120.0
    """A reply that takes longer is given up with `InferenceTimeout`."""
    threads: int = 1
    """CPU threads of the worker."""
    seed: int = 0
    """Of the sampling."""
    remember_bytes: int = 64 * 2**20
    """For features of pictures seen lately, and as much for keys and values of prompts seen lately."""


@dataclass(slots=True)
class _Waiting:
    request: CompletionRequest
    reply: Future[Completion]
    deadline_s: float


class LocalEngine:
    """An `InferenceEngine` on a model in this process.

    It serves the bundle's own weights; a learner that trains them meanwhile gives the engine a
    `bundle.clone()` and sends updates with `update_weights`.
    """

    def __init__(
        self,
        bundle: ModelBundle,
        value_head: ValueHead | None = None,
        *,
        policy_id: str = "local",
        settings: EngineSettings | None = None,
        update: int = 0,
    ) -> None:
        self.policy_id = policy_id
        self.settings = settings or EngineSettings()
        self.busy_s = 0.0
        """Seconds the worker has spent computing, for utilisation figures."""
        self.batches = 0
        self.replies = 0
        self._bundle = bundle
        self._value_head = value_head
        self._update = update
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._weights = threading.Lock()
        self._closed = False
        self._decoder = Decoder(bundle, remember_bytes=self.settings.remember_bytes)
        self._begun = 0
        self._worker = threading.Thread(target=self._serve, name="inference", daemon=True)
        self._worker.start()

    @property
    def processor_hash(self) -> str:
        return self._bundle.processor_hash

    @property
    def update(self) -> int:
        """How many online updates the weights in use have seen."""
        return self._update

    @property
    def waiting(self) -> int:
        """Requests that no batch has taken yet."""
        return self._waiting.qsize()

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`."""
        if self._closed:
            raise InferenceError("the engine is closed")
        if request.processor_hash != self.processor_hash:
            raise InferenceError(
                f"the prompt was made by processor {request.processor_hash[:12]}, this engine has "
                f"{self.processor_hash[:12]}: tokenise with the bundle of the model that serves"
            )
        waiting = _Waiting(request, Future(), time.monotonic() + self.settings.deadline_s)
        self._waiting.put(waiting)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(waiting.reply), self.settings.deadline_s)
        except TimeoutError as error:
            raise InferenceTimeout(f"no reply within {self.settings.deadline_s:g} s") from error

    def update_weights(
        self,
        state: Mapping[str, Tensor],
        *,
        update: int,
        value_state: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Take new weights between two batches; replies dispatched from then on carry `update`.

        Raises:
            ValueError: the weights are not of this model.
        """
        with self._weights:
            try:
                self._bundle.model.load_state_dict(dict(state))
                if value_state is not None and self._value_head is not None:
                    self._value_head.load_state_dict(dict(value_state))
            except RuntimeError as error:
                raise ValueError(f"weights of another model: {error}") from error
            finally:
                self._decoder.forget()
            self._update = update

    def close(self) -> None:
        """Stop the worker; whoever still waits gets an `InferenceError`. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._waiting.put(None)
        self._worker.join()

    async def __aenter__(self) -> LocalEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _serve(self) -> None:
        torch.set_num_threads(self.settings.threads)
        while True:
            batch = self._next_batch()
            if batch is None:
                break
            started = time.perf_counter()
            with self._weights:
                update = self._update
                self._reply(batch, update)
            self.busy_s += time.perf_counter() - started
        with contextlib.suppress(queue.Empty):
            while True:
                left = self._waiting.get_nowait()
                if left is not None:
                    _fail(left, InferenceError("the engine was closed"))

    def _next_batch(self) -> list[_Waiting] | None:
        """Whatever waits, or None once closed."""
        batch: list[_Waiting] = []
        until = float("inf")
        while len(batch) < self.settings.max_batch:
            timeout = None if not batch else max(0.0, until - time.monotonic())
            try:
                item = self._waiting.get(timeout=timeout)
            except queue.Empty:
                break
            if item is None:
                for waiting in batch:
                    _fail(waiting, InferenceError("the engine was closed"))
                return None
            if item.reply.cancelled() or item.deadline_s < time.monotonic():
                continue
            if not batch:
                until = time.monotonic() + self.settings.max_wait_ms / 1000
            batch.append(item)
        return batch

    def _reply(self, batch: list[_Waiting], update: int) -> None:
        """Read the prompts, then one token at a time; a finished row leaves at once."""
        self.batches += 1
        drafts: list[_Draft] = []
        hidden: list[Tensor] = []
        for waiting in batch:
            sequence = TokenSequence(ids=waiting.request.prompt_ids, images=waiting.request.images)
            try:
                hidden.append(self._decoder.join(sequence, room=waiting.request.sampling.max_tokens))
            except (InferenceError, RuntimeError, ValueError, IndexError) as error:
                _fail(waiting, error if isinstance(error, InferenceError) else InferenceError(str(error)))
                continue
            drafts.append(_Draft(waiting, self._value(hidden[-1]), self._chances(waiting.request)))
        if not drafts:
            return
        last = torch.stack(hidden)
        while True:
            self._draw(last, drafts)
            for row in reversed(range(len(drafts))):
                if self._ended(drafts[row], update):
                    self._decoder.leave(row, spoilt=drafts[row].spoilt)
                    drafts[row] = drafts[-1]
                    del drafts[-1]
            if not drafts:
                return
            last = self._decoder.step([draft.ids[-1] for draft in drafts])

    @torch.no_grad()
    def _draw(self, hidden: Tensor, drafts: Sequence[_Draft]) -> None:
        """One token for each row, from one distribution each."""
        temperatures = [draft.waiting.request.sampling.temperature for draft in drafts]
        alike = temperatures[0] if len(set(temperatures)) == 1 else None
        scored = torch.tensor([each or 1.0 for each in temperatures], device=hidden.device)
        logits = reply_logits(self._bundle, hidden, scored if alike is None else alike)
        chances = [draft.chances[len(draft.ids)] for draft in drafts]
        for draft, drawn in zip(drafts, draw(logits, temperatures, chances), strict=True):
            draft.spoilt = drawn is None
            if drawn is not None:
                draft.ids.append(drawn.token)
                draft.logprobs.append(drawn.logprob)
                draft.entropies.append(drawn.entropy)

    @torch.no_grad()
    def _value(self, hidden: Tensor) -> float | None:
        return None if self._value_head is None else float(self._value_head(hidden))

    def _chances(self, request: CompletionRequest) -> Sequence[float]:
        """Where in its distributions a reply's tokens lie: fixed by the seed and how many came before."""
        self._begun += 1
        source = np.random.default_rng([abs(self.settings.seed), self._begun])
        return source.random(request.sampling.max_tokens).tolist()

    def _ended(self, draft: _Draft, update: int) -> bool:
        """Whether a row has its reply; gives it."""
        if draft.spoilt:
            _fail(draft.waiting, InferenceError("the model's numbers overflowed: its weights are damaged"))
            return True
        stopped = draft.ids[-1] == self._bundle.end_id
        if not stopped and len(draft.ids) < draft.waiting.request.sampling.max_tokens:
            return False
        self._finish(draft, stopped=stopped, update=update)
        return True

    def _finish(self, draft: _Draft, *, stopped: bool, update: int) -> None:
        self.replies += 1
        completion = Completion(
            ids=tuple(draft.ids),
            logprobs=tuple(draft.logprobs),
            finish_reason=FinishReason.STOP if stopped else FinishReason.LENGTH,
            policy_id=self.policy_id,
            policy_update=update,
            entropy=sum(draft.entropies) / len(draft.entropies),
            value=draft.value,
        )
        if not draft.waiting.reply.done():
            with contextlib.suppress(asyncio.InvalidStateError):
                draft.waiting.reply.set_result(completion)


@dataclass(slots=True)
class _Draft:
    """A reply under way."""

    waiting: _Waiting
    value: float | None
    chances: Sequence[float]
    """Per token it may have."""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    entropies: list[float] = field(default_factory=list[float])
    spoilt: bool = False
    """Its numbers are none."""


def _fail(waiting: _Waiting, error: InferenceError) -> None:
    if not waiting.reply.done():
        with contextlib.suppress(asyncio.InvalidStateError):
            waiting.reply.set_exception(error)
