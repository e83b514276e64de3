"""Models that the worker has in memory, each once for all episodes that act with it.

They are as many as a setting says: of those that nobody acts with any more the one used longest ago goes when
another is loaded. One in use stays, however many there are.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from deskhand_agent.inference import Completion, CompletionRequest
from deskhand_sandbox.errors import BackendMissing

if TYPE_CHECKING:
    from deskhand_agent.models.bundle import ModelBundle
    from deskhand_agent.models.engine import LocalEngine


class SharedEngine:
    """An engine as one policy has it: as long as this is referred to, the engine is in use."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    async def generate(self, request: CompletionRequest) -> Completion:
        """As `LocalEngine.generate`."""
        return await self._engine.generate(request)


@dataclass(frozen=True, eq=False, slots=True)
class _Loaded:
    bundle: ModelBundle
    engine: LocalEngine
    users: WeakSet[SharedEngine] = field(default_factory=WeakSet[SharedEngine])


class LoadedModels:
    """Loads models by their folders."""

    def __init__(self, most: int, *, decision_s: float = 120.0) -> None:
        """
        Args:
            most: in memory at once, unless more are in use.
            decision_s: longest wait for a reply.
        """
        self._most, self._decision_s = most, decision_s
        self._loaded: OrderedDict[Path, _Loaded] = OrderedDict()
        """The one asked for last at the end."""
        self._loading = asyncio.Lock()

    async def get(self, folder: Path, policy_id: str) -> tuple[ModelBundle, SharedEngine]:
        """The model of a folder.

        Raises:
            ModelFilesError: it cannot be loaded.
            BackendMissing: PyTorch is not installed.
        """
        async with self._loading:
            if (found := self._loaded.get(folder)) is None:
                await self._make_room()
                found = self._loaded[folder] = await asyncio.to_thread(
                    _load, folder, policy_id, self._decision_s
                )
            self._loaded.move_to_end(folder)
            engine = SharedEngine(found.engine)
            found.users.add(engine)
        return found.bundle, engine

    async def _make_room(self) -> None:
        """For one more."""
        idle = [folder for folder, each in self._loaded.items() if not each.users]
        for folder in idle[: max(0, len(self._loaded) + 1 - self._most)]:
            await asyncio.to_thread(self._loaded.pop(folder).engine.close)


def _load(folder: Path, policy_id: str, decision_s: float) -> _Loaded:
    with torch_needed("a local policy"):
        from deskhand_agent.models.bundle import load_bundle
        from deskhand_agent.models.engine import EngineSettings, LocalEngine
    bundle = load_bundle(folder)
    settings = EngineSettings(deadline_s=decision_s)
    return _Loaded(bundle, LocalEngine(bundle, policy_id=policy_id, settings=settings))


@contextmanager
def torch_needed(what: str) -> Generator[None]:
    """Says which extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BackendMissing(f'{what} needs {error.name}: run pip install "deskhand[vlm]"') from error
