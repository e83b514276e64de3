"""Servers of one policy that answer as one, and take new weights one after another."""

from __future__ import annotations

import time
from collections.abc import Sequence

from deskhand_agent.endpoint.client import HandedWeights, HttpEngine
from deskhand_agent.errors import EndpointError, InferenceTimeout
from deskhand_agent.inference import Completion, CompletionRequest
from deskhand_agent.pooled import Pooled

REST_S = 30.0
"""Seconds for which others are asked in the place of a server that failed."""


class ServerPool(Pooled[HttpEngine]):
    """An `InferenceEngine` of several servers: each request goes to the one that has the fewest."""

    def __init__(self, engines: Sequence[HttpEngine]) -> None:
        """`engines`: at least one; whoever made them closes them."""
        super().__init__(engines)
        self.weights: HandedWeights | None = None
        """What all of them have after the next `refresh`."""
        self._rests_until: dict[HttpEngine, float] = {}

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `HttpEngine.generate`."""
        now = time.monotonic()

        def worst(engine: HttpEngine) -> tuple[bool, bool, int]:
            return self._rests_until.get(engine, now) > now, engine is self._taking, engine.waiting

        engine = min(self.engines, key=worst)
        try:
            return await engine.generate(request)
        except EndpointError:
            self._rest(engine)
            raise

    async def refresh(self) -> None:
        """Have the servers take `weights`, one after another; the others answer meanwhile.

        One of several that cannot be reached is given them before it is asked again.

        Raises:
            EndpointError: one does not take them (`status` below 500), or none can be reached.
            InferenceTimeout: none answers.
        """
        assert self.weights is not None, "nothing to hand over"
        lost: list[EndpointError | InferenceTimeout] = []
        for engine in self.engines:
            self._taking = engine
            try:
                await engine.update_weights(self.weights)
            except (EndpointError, InferenceTimeout) as error:
                if refuses(error):
                    raise
                lost.append(error)
                self._rest(engine)
            finally:
                self._taking = None
        if len(lost) == len(self.engines):
            raise lost[0]

    def _rest(self, engine: HttpEngine) -> None:
        self._rests_until[engine] = time.monotonic() + REST_S


def refuses(error: Exception) -> bool:
    """Whether a server said no, and would again."""
    status = error.status if isinstance(error, EndpointError) else None
    return status is not None and 400 <= status < 500 and status != 429
