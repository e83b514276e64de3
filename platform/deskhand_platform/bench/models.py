"""The model that a bench measures, by name."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from deskhand_flywheel.store import Store
from deskhand_platform.settings import load_settings


@contextmanager
def model_folder(model: str) -> Generator[Path]:
    """The folder of a model: its own, or that of a policy in the store for as long as the block lasts.

    Args:
        model: a folder, the id of a policy, or "deskhand-tiny".

    Raises:
        FlywheelError, ModelFilesError: there is no such policy, or its files are damaged.
    """
    if Path(model).is_dir():
        yield Path(model)
        return
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        yield asyncio.run(_materialise(model, Path(folder) / "model"))


async def _materialise(policy: str, folder: Path) -> Path:
    settings = load_settings()
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        return await store.materialise_policy((await store.policy_named(policy)).id, folder)
