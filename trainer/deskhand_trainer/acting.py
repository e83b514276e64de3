"""The engines that draw an online run's replies: of this process, or servers."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from deskhand_agent.endpoint.client import HandedWeights
from deskhand_agent.endpoint.pool import ServerPool, refuses
from deskhand_agent.errors import EndpointError
from deskhand_agent.inference import Completion, CompletionRequest, InferenceEngine
from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.engine_pool import EnginePool
from deskhand_agent.models.features import FeatureCache
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.loop_state import PpoSetting

LIVES = 1_000_003
"""So far apart are the seeds of sampling of two runs; lives and engines of one lie between."""


class ActingEngines(InferenceEngine, Protocol):
    """What draws a run's replies, and takes its weights."""

    @property
    def waiting(self) -> int:
        """Requests that are not answered yet."""
        ...

    @property
    def busy_s(self) -> float:
        """Seconds of computing."""
        ...

    def update_weights(self, state: Mapping[str, Tensor], *, update: int) -> None:
        """Take new weights; blocks until all engines have, so never on the event loop."""
        ...

    def close(self) -> None:
        """End them, as far as they are the run's own."""
        ...


class ServedEngines:
    """Servers as `ActingEngines`: they read the weights in the run's folder."""

    def __init__(self, servers: ServerPool, acting: ModelBundle, folder: Path, *, update: int) -> None:
        """
        Args:
            acting: follows the weights that are served.
            folder: for them, one after another.
            update: how many online updates the first of them have seen; `hand_over` gives the servers these.
        """
        self._servers, self._folder = servers, folder
        self._clear()
        self._acting = acting.to(torch.device("cpu"))
        self._loop = asyncio.get_running_loop()
        self._write(update)

    @property
    def waiting(self) -> int:
        return self._servers.waiting

    @property
    def busy_s(self) -> float:
        return self._servers.busy_s

    async def generate(self, request: CompletionRequest) -> Completion:
        """Draw one reply; see `InferenceEngine.generate`."""
        return await self._servers.generate(request)

    def update_weights(self, state: Mapping[str, Tensor], *, update: int) -> None:
        """See `ActingEngines`; a server ends the replies under way by the weights it had.

        Raises:
            RunRefused, EndpointError, InferenceTimeout: as `hand_over`.
        """
        self._acting.model.load_state_dict(dict(state))
        before = self._servers.weights
        self._write(update)
        asyncio.run_coroutine_threadsafe(hand_over(self._servers), self._loop).result()
        if before is not None:
            shutil.rmtree(before.folder)

    def close(self) -> None:
        """Whoever opened the servers' connections closes them; the weights are theirs by now."""
        self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, update: int) -> None:
        """Put down what the servers are to have."""
        # a number of updates may come twice: a run goes on otherwise than a life of it that was lost
        version = f"{update}-{uuid.uuid4().hex[:12]}"
        folder = self._folder.resolve() / version
        save_bundle(self._acting, folder)
        self._servers.weights = HandedWeights(folder=folder, update=update, version=version)


async def hand_over(servers: ServerPool) -> None:
    """Have the servers take the weights that were put down for them, one after another.

    Raises:
        RunRefused: one does not take them, and would not if it were asked again.
        EndpointError, InferenceTimeout: none can be reached, or answers.
    """
    try:
        await servers.refresh()
    except EndpointError as error:
        if refuses(error):
            raise RunRefused(f"field 'engine': {error}", "engine") from error
        raise


def acting_engines(
    setting: PpoSetting, acting: ModelBundle, *, update: int, features: FeatureCache | None
) -> ActingEngines:
    """The servers that the run names, or as many of its own as it asks for.

    Args:
        acting: what the first of its own serves; the others serve copies.
        update: how many online updates its weights have seen.
        features: of a vision tower that no update changes, for all of its own.
    """
    config = setting.config
    if setting.servers is not None:
        return ServedEngines(setting.servers, acting, setting.folder / "weights", update=update)
    served = [acting, *(acting.clone() for _ in range(config.engines - 1))]
    return EnginePool(
        [
            LocalEngine(
                bundle,
                policy_id=setting.policy_id,
                settings=EngineSettings(
                    max_batch=max(16, config.concurrency),
                    deadline_s=config.decision_s,
                    # a run taken up again must not draw the same replies again, nor one engine another's
                    seed=config.seed * LIVES + setting.life + (index << 32),
                    device=config.device,
                    precision=config.precision,
                ),
                update=update,
                features=features,
            )
            for index, bundle in enumerate(served)
        ]
    )
