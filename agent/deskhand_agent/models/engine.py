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
from dataclasses import dataclass

import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError, InferenceTimeout
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import TokenSequence, collate, forward, keep_rows, step
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
        self._generator = torch.Generator(device=bundle.device).manual_seed(self.settings.seed)
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
                try:
                    self._reply(batch, update)
                except (InferenceError, RuntimeError, ValueError) as error:
                    self._refuse(batch, error)
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

    def _refuse(self, batch: list[_Waiting], error: Exception) -> None:
        """One bad request must not fail its neighbours: try each alone, then name the culprit."""
        if len(batch) == 1:
            _fail(batch[0], error if isinstance(error, InferenceError) else InferenceError(str(error)))
            return
        for waiting in batch:
            if waiting.reply.done():
                continue
            try:
                self._reply([waiting], self._update)
            except (InferenceError, RuntimeError, ValueError) as alone:
                self._refuse([waiting], alone)

    @torch.no_grad()
    def _reply(self, batch: list[_Waiting], update: int) -> None:
        """Prefill, then one token at a time; a finished row leaves the batch at once."""
        requests = [waiting.request for waiting in batch]
        collated = collate(self._bundle, [TokenSequence(ids=r.prompt_ids, images=r.images) for r in requests])
        self.batches += 1
        hidden, cache = forward(self._bundle, collated, cache=True)
        assert cache is not None
        count = len(batch)
        last = hidden[torch.arange(count), collated.lengths - 1]
        values = None if self._value_head is None else self._value_head(last).tolist()
        drafts = [_Draft([], [], []) for _ in batch]
        alive = torch.arange(count, device=last.device)
        visible = torch.arange(collated.ids.shape[1], device=last.device) < collated.lengths[:, None]
        positions = collated.next_positions
        while True:
            rows = alive.tolist()
            drawn = self._draw(
                last, [requests[i].sampling.temperature for i in rows], [drafts[i] for i in rows]
            )
            going: list[int] = []
            for place, (row, token) in enumerate(zip(rows, drawn, strict=True)):
                ended = token == self._bundle.end_id
                if ended or len(drafts[row].ids) >= requests[row].sampling.max_tokens:
                    value = None if values is None else float(values[row])
                    self._finish(batch[row], drafts[row], ended=ended, value=value, update=update)
                else:
                    going.append(place)
            if not going:
                return
            if len(going) < len(rows):
                kept = torch.tensor(going, device=last.device)
                cache = keep_rows(cache, kept)
                alive, visible, positions = alive[kept], visible[kept], positions[kept]
                drawn = [drawn[place] for place in going]
            visible = torch.cat([visible, visible.new_ones(len(going), 1)], dim=1)
            last, cache = step(
                self._bundle, torch.tensor(drawn, device=last.device), positions, visible, cache
            )
            positions = positions + 1

    def _draw(self, hidden: Tensor, temperatures: Sequence[float], drafts: Sequence[_Draft]) -> list[int]:
        """One token per row, with its log-probability and the entropy of where it was drawn from."""
        by_temperature: dict[float, list[int]] = {}
        for place, temperature in enumerate(temperatures):
            by_temperature.setdefault(temperature, []).append(place)
        tokens = [0] * len(drafts)
        for temperature, places in by_temperature.items():
            every = reply_logits(self._bundle, hidden[places], temperature).float().log_softmax(-1)
            if temperature == 0:
                chosen = every.argmax(-1)
            else:
                chosen = torch.multinomial(every.exp(), 1, generator=self._generator)[:, 0]
            logprobs = every.gather(-1, chosen[:, None])[:, 0].tolist()
            entropies = (-(every.exp() * every).sum(-1)).tolist()
            for place, token, logprob, entropy in zip(
                places, chosen.tolist(), logprobs, entropies, strict=True
            ):
                tokens[place] = token
                drafts[place].ids.append(token)
                drafts[place].logprobs.append(logprob)
                drafts[place].entropies.append(entropy)
        return tokens

    def _finish(
        self, waiting: _Waiting, draft: _Draft, *, ended: bool, value: float | None, update: int
    ) -> None:
        self.replies += 1
        completion = Completion(
            ids=tuple(draft.ids),
            logprobs=tuple(draft.logprobs),
            finish_reason=FinishReason.STOP if ended else FinishReason.LENGTH,
            policy_id=self.policy_id,
            policy_update=update,
            entropy=sum(draft.entropies) / len(draft.entropies),
            value=value,
        )
        if not waiting.reply.done():
            with contextlib.suppress(asyncio.InvalidStateError):
                waiting.reply.set_result(completion)


@dataclass(slots=True)
class _Draft:
    ids: list[int]
    logprobs: list[float]
    entropies: list[float]


def _fail(waiting: _Waiting, error: InferenceError) -> None:
    if not waiting.reply.done():
        waiting.reply.set_exception(error)
