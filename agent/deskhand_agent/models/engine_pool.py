"""Engines of one policy that answer as one, and take new weights one after another.

A rollout then never waits for an update: while one engine ends its replies under way and takes the weights,
the others answer (DART, arXiv:2509.23866, refreshes its rollout workers so).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

from torch import Tensor

from deskhand_agent.inference import Completion, CompletionRequest
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.pooled import Pooled


class EnginePool(Pooled[LocalEngine]):
    """An `InferenceEngine` of several: each request goes to the engine that has the fewest."""

    def __init__(self, engines: Sequence[LocalEngine]) -> None:
        """`engines`: at least one, of one policy, each with weights of its own; the pool closes them."""
        super().__init__(engines)
        self._one_update = threading.Lock()

    @property
    def processor_hash(self) -> str:
        return self.engines[0].processor_hash

    @property
    def update(self) -> int:
        """How many online updates the oldest weights in use have seen."""
        return min(engine.update for engine in self.engines)

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`."""
        # `min` takes the first of equals: where all are free, the one whose pages and prompts are known
        free = [engine for engine in self.engines if engine is not self._taking]
        return await min(free or self.engines, key=lambda engine: engine.waiting).generate(request)

    def update_weights(self, state: Mapping[str, Tensor], *, update: int) -> None:
        """Take new weights, each engine once the replies under way there have ended; blocks until all have.

        Raises:
            ValueError: the weights are not of this model.
        """
        with self._one_update:
            try:
                for engine in self.engines:
                    self._taking = engine
                    engine.update_weights(state, update=update)
            finally:
                self._taking = None

    def close(self) -> None:
        """Stop every engine; whoever still waits gets an `InferenceError`. Safe to call twice."""
        for engine in self.engines:
            engine.close()

    async def __aenter__(self) -> EnginePool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)
