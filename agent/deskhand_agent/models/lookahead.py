"""Pictures of requests that wait, encoded beside the engine's worker: a small model may take longer to see
than to write."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.precision import multiplying
from deskhand_sandbox.types import Image


class Lookahead:
    """One thread that encodes into a cache which the worker reads, where the model's fast pass is used.

    Whoever comes first to a picture encodes it; the worker, while it waits for one, encodes those behind it.
    """

    def __init__(
        self, bundle: ModelBundle, features: FeatureCache, *, threads: int, precision: torch.dtype
    ) -> None:
        """
        Args:
            threads: CPU threads a picture is encoded with.
            precision: of multiplications.
        """
        self._bundle, self._features, self._precision = bundle, features, precision
        self.weights = threading.Lock()
        """Of whoever reads the weights here, or changes them."""
        self._waiting: deque[tuple[Image, Callable[[], bool]]] = deque()
        self._pool = ThreadPoolExecutor(
            1, thread_name_prefix="looking", initializer=torch.set_num_threads, initargs=(threads,)
        )

    def look(self, images: Sequence[Image], *, wanted: Callable[[], bool]) -> None:
        """Encode them as soon as those before are; `wanted` is asked then. What fails, fails the worker."""
        if not self._features.keeps or not fast.supports(self._bundle.model):
            return
        self._waiting.extend((image, wanted) for image in images)
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            self._pool.submit(self._encode, len(images))

    def next(self) -> bool:
        """Encode one picture that waits, on the thread that asks; its weights stay meanwhile.

        Returns:
            whether there was one.
        """
        with contextlib.suppress(IndexError):
            while True:
                image, wanted = self._waiting.popleft()
                if wanted() and not self._features.begun(image):
                    # who needs a picture that cannot be encoded is told by the cache
                    with (
                        contextlib.suppress(Exception),
                        multiplying(self._precision, self._bundle.device.type),
                    ):
                        self._features.of([image])
                    return True
        return False

    def close(self) -> None:
        """Let go of what is not begun. Safe to call twice."""
        self._pool.shutdown(cancel_futures=True)

    def _encode(self, count: int) -> None:
        with self.weights:
            for _ in range(count):
                self.next()
