"""What backends share whose sandboxes are objects of this process."""

from __future__ import annotations

import gc
import weakref

import pytest

from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.registry import create_backend


@pytest.mark.parametrize("kind", ["fake", "world"])
async def test_a_closed_backend_makes_nothing_and_leaves_nothing_alive(kind: str) -> None:
    backend = create_backend(kind)
    made = [await backend.create() for _ in range(3)]
    assert len({sandbox.id for sandbox in made}) == 3
    await made[0].close()
    await backend.close()
    for sandbox in made:
        with pytest.raises(SandboxDied):
            await sandbox.observe()
    with pytest.raises(SandboxDied, match=f"the {kind} backend is closed"):
        await backend.create()


@pytest.mark.parametrize("kind", ["fake", "world"])
async def test_a_backend_keeps_no_sandbox_that_nobody_holds(kind: str) -> None:
    backend = create_backend(kind)
    let_go = weakref.ref(await backend.create())
    gc.collect()
    assert let_go() is None
