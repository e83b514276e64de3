"""The engine in this process: draws many replies at once, says with which weights.

Callers on the event loop await; one worker thread owns the model, and another looks at the pictures of what
waits. A request joins the replies under way at their next token and leaves at its own last, so many episodes
share a forward pass without ever waiting for one another. A reply is drawn by one state of the weights: new
ones wait until those under way have ended, and who asks meanwhile waits for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError, InferenceTimeout
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.decoding import Decoder
from deskhand_agent.models.drawing import draw
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import TokenSequence
from deskhand_agent.models.lookahead import Lookahead
from deskhand_agent.models.replies import Draft, Waiting, fail
from deskhand_agent.models.scoring import reply_logits
from deskhand_agent.models.value import ValueHead
from deskhand_agent.precision import Device, Precision, device_named, multiplying, resolved


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineSettings:
    """How requests are batched."""

    max_batch: int = 16
    """Replies under way at once, at most."""
    prompts_per_token: int = 1
    """Prompts that are read, at most, before those under way get their next token: few end replies under way
    sooner, many fill the steps."""
    deadline_s: float = 120.0
    """A reply that takes longer is given up with `InferenceTimeout`."""
    threads: int = 1
    """CPU threads of the worker."""
    seed: int = 0
    """Of the sampling."""
    device: Device = "auto"
    """The bundle is moved there; "auto": the GPU where there is one."""
    precision: Precision = "auto"
    """Of multiplications; "auto": bfloat16 on a GPU, else float32."""
    remember_bytes: int = 64 * 2**20
    """For features of pictures seen lately, and as much for keys and values of prompts seen lately."""


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
        features: FeatureCache | None = None,
    ) -> None:
        """`features`: of a vision tower that no update changes; None: its own, new with each update."""
        self.policy_id = policy_id
        self.settings = settings or EngineSettings()
        self.busy_s = 0.0
        """Seconds the worker has spent computing, for utilisation figures."""
        self.steps = 0
        """Passes of one token per row."""
        self.replies = 0
        self._bundle = bundle.to(device_named(self.settings.device))
        self._value_head = None if value_head is None else value_head.to(bundle.device)
        self._update = update
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._unanswered: set[Future[Completion]] = set()
        self._turn = threading.Condition()
        """Guards the two below: the weights are the worker's while it runs, else their updaters'."""
        self._running = False
        self._updates_waiting = 0
        self._closed = False
        self._decoder = Decoder(bundle, remember_bytes=self.settings.remember_bytes, features=features)
        self._dtype = resolved(self.settings.precision, bundle.device.type, units=False)
        self._lookahead = Lookahead(
            bundle, self._decoder.features, threads=self.settings.threads, precision=self._dtype
        )
        self._decoder.meanwhile = self._lookahead.next
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
        """Requests that are not answered yet, those whose replies are under way included."""
        return len(self._unanswered)

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`."""
        waiting = self._asked(request)
        try:
            # `wait_for` of Python 3.11 forgets that it was cancelled where the reply comes at that moment
            async with asyncio.timeout(self.settings.deadline_s):
                return await asyncio.wrap_future(waiting.reply)
        except TimeoutError as error:
            raise InferenceTimeout(f"no reply within {self.settings.deadline_s:g} s") from error

    async def stream(self, request: CompletionRequest, *, seed: int | None = None) -> AsyncGenerator[int]:
        """`generate`, id by id as they are drawn, the end token included; closed early, it is given up.

        Args:
            seed: the same request has the same reply under the same seed; None: the engine's own.
        """
        loop, drawn = asyncio.get_running_loop(), asyncio.Queue[int | None]()

        def tell(token: int | None) -> None:
            with contextlib.suppress(RuntimeError):  # nobody listens: the loop is closed
                loop.call_soon_threadsafe(drawn.put_nowait, token)

        waiting = self._asked(request, seed, tell)
        waiting.reply.add_done_callback(lambda _: tell(None))
        try:
            while True:
                async with asyncio.timeout(waiting.deadline_s - time.monotonic()):
                    token = await drawn.get()
                if token is None:
                    break
                yield token
            waiting.reply.result()
        except TimeoutError as error:
            raise InferenceTimeout(f"no reply within {self.settings.deadline_s:g} s") from error
        finally:
            waiting.reply.cancel()

    def _asked(
        self, request: CompletionRequest, seed: int | None = None, tell: Callable[[int], None] | None = None
    ) -> Waiting:
        """Put a request in the line; an `InferenceError` where it cannot be answered here."""
        if self._closed:
            raise InferenceError("the engine is closed")
        if request.processor_hash != self.processor_hash:
            raise InferenceError(
                f"the prompt was made by processor {request.processor_hash[:12]}, this engine has "
                f"{self.processor_hash[:12]}: tokenise with the bundle of the model that serves"
            )
        self._refuse_unfit(request)
        until_s = time.monotonic() + self.settings.deadline_s
        waiting = Waiting(request, Future(), until_s, seed, tell)
        self._unanswered.add(waiting.reply)
        waiting.reply.add_done_callback(self._unanswered.discard)
        self._lookahead.look(request.images, wanted=lambda: not waiting.reply.done())
        self._waiting.put(waiting)
        return waiting

    def update_weights(
        self,
        state: Mapping[str, Tensor],
        *,
        update: int,
        value_state: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Take new weights once the replies under way have ended; blocks until then.

        A reply is drawn by one state of the weights: what is asked meanwhile waits, and carries `update`.

        Raises:
            ValueError: the weights are not of this model.
        """
        with self._turn:
            self._updates_waiting += 1
            try:
                self._turn.wait_for(lambda: not self._running)
                with self._lookahead.weights:
                    self._decoder.forget()
                    self._bundle.model.load_state_dict(dict(state))
                if value_state is not None and self._value_head is not None:
                    self._value_head.load_state_dict(dict(value_state))
                self._update = update
            except RuntimeError as error:
                raise ValueError(f"weights of another model: {error}") from error
            finally:
                self._updates_waiting -= 1
                self._turn.notify_all()

    def close(self) -> None:
        """Stop the worker; whoever still waits gets an `InferenceError`. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._waiting.put(None)
        self._worker.join()
        self._lookahead.close()

    async def __aenter__(self) -> LocalEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _refuse_unfit(self, request: CompletionRequest) -> None:
        model: Any = self._bundle.model
        rows = int(model.get_input_embeddings().weight.shape[0])
        if not request.prompt_ids:
            raise InferenceError("the prompt is empty")
        if not 0 <= min(request.prompt_ids) <= max(request.prompt_ids) < rows:
            raise InferenceError(f"the prompt has ids that are none of the model's {rows}")

    def _serve(self) -> None:
        torch.set_num_threads(self.settings.threads)
        drafts: list[Draft] = []
        while self._admit(drafts):
            started = time.perf_counter()
            try:
                self._token(drafts)
            except Exception as error:  # noqa: BLE001  # without this thread everybody waits for ever
                self._give_up(drafts, error)
            if not drafts:
                self._rest()
            self.busy_s += time.perf_counter() - started
        self._give_up(drafts, InferenceError("the engine was closed"))
        self._rest()
        with contextlib.suppress(queue.Empty):
            while True:
                left = self._waiting.get_nowait()
                if left is not None:
                    fail(left, InferenceError("the engine was closed"))

    def _admit(self, drafts: list[Draft]) -> bool:
        """Take what waits as further rows, a few before each token; False once closed.

        Waits for the first where there is none. Takes none while new weights wait for those under way.
        """
        most = min(self.settings.max_batch, len(drafts) + self.settings.prompts_per_token)
        while len(drafts) < most and not (drafts and self._updates_waiting):
            try:
                waiting = self._waiting.get(block=not drafts)
            except queue.Empty:
                break
            if waiting is None:
                return False
            if waiting.reply.cancelled() or waiting.deadline_s < time.monotonic():
                continue
            if not drafts:
                self._begin()
            started = time.perf_counter()
            self._join(waiting, drafts)
            self.busy_s += time.perf_counter() - started
            if not drafts:
                self._rest()
        return True

    def _begin(self) -> None:
        """The weights stay as they are until `_rest`."""
        with self._turn:
            self._turn.wait_for(lambda: not self._updates_waiting)
            self._running = True

    def _rest(self) -> None:
        with self._turn:
            self._running = False
            self._turn.notify_all()

    def _join(self, waiting: Waiting, drafts: list[Draft]) -> None:
        request = waiting.request
        sequence = TokenSequence(ids=request.prompt_ids, images=request.images)
        try:
            with self._multiplying():
                hidden = self._decoder.join(sequence, room=request.sampling.max_tokens)
        except Exception as error:  # noqa: BLE001  # it is this request's, and the thread serves others
            fail(waiting, error)
            return
        drafts.append(Draft(waiting, hidden, self._value(hidden), self._chances(waiting)))

    def _token(self, drafts: list[Draft]) -> None:
        """One more token for every row; a row that ended leaves."""
        self._draw(drafts)
        for row in reversed(range(len(drafts))):
            if self._ended(drafts[row]):
                self._decoder.leave(row, spoilt=drafts[row].spoilt)
                drafts[row] = drafts[-1]
                del drafts[-1]
        if not drafts:
            return
        with self._multiplying():
            hidden = self._decoder.step([draft.ids[-1] for draft in drafts])
        self.steps += 1
        for draft, at in zip(drafts, hidden.unbind(), strict=True):
            draft.hidden = at

    def _give_up(self, drafts: list[Draft], error: Exception) -> None:
        for draft in drafts:
            fail(draft.waiting, error)
        drafts.clear()
        with self._lookahead.weights:  # what is being looked at is somebody's who waits
            self._decoder.forget()

    @torch.no_grad()
    def _draw(self, drafts: Sequence[Draft]) -> None:
        """A token for each row."""
        hidden = torch.stack([draft.hidden for draft in drafts])
        temperatures = [draft.waiting.request.sampling.temperature for draft in drafts]
        alike = temperatures[0] if len(set(temperatures)) == 1 else None
        scored = torch.tensor([each or 1.0 for each in temperatures], device=hidden.device)
        with self._multiplying():
            logits = reply_logits(self._bundle, hidden, scored if alike is None else alike)
        chances = [draft.chances[len(draft.ids)] for draft in drafts]
        for draft, drawn in zip(drafts, draw(logits, temperatures, chances), strict=True):
            draft.spoilt = drawn is None
            if drawn is not None:
                draft.ids.append(drawn.token)
                if draft.waiting.tell is not None:
                    draft.waiting.tell(drawn.token)
                draft.logprobs.append(drawn.logprob)
                draft.entropies.append(drawn.entropy)

    def _multiplying(self) -> contextlib.AbstractContextManager[object]:
        return multiplying(self._dtype, self._bundle.device.type)

    @torch.no_grad()
    def _value(self, hidden: Tensor) -> float | None:
        return None if self._value_head is None else float(self._value_head(hidden))

    def _chances(self, waiting: Waiting) -> Sequence[float]:
        """Where in its distributions a reply's tokens lie: fixed by its own seed, or by the engine's and how
        many came before."""
        self._begun += 1
        own = [abs(self.settings.seed), self._begun]
        source = np.random.default_rng(own if waiting.seed is None else abs(waiting.seed))
        return source.random(waiting.request.sampling.max_tokens).tolist()

    def _ended(self, draft: Draft) -> bool:
        """Whether a row has its reply, which it is given, or nobody waits for it any more."""
        if draft.waiting.reply.cancelled():
            return True
        if draft.spoilt:
            fail(draft.waiting, InferenceError("the model's numbers overflowed: its weights are damaged"))
            return True
        stopped = draft.ids[-1] == self._bundle.end_id
        if not stopped and len(draft.ids) < draft.waiting.request.sampling.max_tokens:
            return False
        self._finish(draft, stopped=stopped)
        return True

    def _finish(self, draft: Draft, *, stopped: bool) -> None:
        self.replies += 1
        completion = Completion(
            ids=tuple(draft.ids),
            logprobs=tuple(draft.logprobs),
            finish_reason=FinishReason.STOP if stopped else FinishReason.LENGTH,
            policy_id=self.policy_id,
            policy_update=self._update,
            entropy=sum(draft.entropies) / len(draft.entropies),
            value=draft.value,
        )
        with contextlib.suppress(InvalidStateError):
            draft.waiting.reply.set_result(completion)
