"""New weights for a model that is served, from a folder that a run which learns has written."""

from __future__ import annotations

import asyncio
from pathlib import Path

from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.models.engine import LocalEngine


class FolderWeights:
    """Gives an engine the weights of folders, of those below one alone."""

    def __init__(self, engine: LocalEngine, below: Path) -> None:
        self._engine, self._below = engine, below.resolve()

    async def take(self, folder: Path, update: int) -> None:
        """Have the engine take a folder's weights, once its replies under way have ended.

        Raises:
            ModelFilesError: there is no such model, or it is damaged.
            ValueError: the folder lies elsewhere, or holds another model.
        """
        await asyncio.to_thread(self._load, folder, update)

    def _load(self, folder: Path, update: int) -> None:
        if not folder.resolve().is_relative_to(self._below):
            raise ValueError(f"{folder} is not below {self._below}, where this server takes weights from")
        bundle = load_bundle(folder)
        if bundle.processor_hash != self._engine.processor_hash:
            raise ValueError(
                f"{folder} has another tokenizer, pictures or template than the model that is served: serve "
                "the policy that the run begins with"
            )
        self._engine.update_weights(bundle.model.state_dict(), update=update)
