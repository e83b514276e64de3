"""Growing tasks from a start state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deskhand_flywheel.growth import Nursery, Source
from deskhand_flywheel.store import Store
from deskhand_platform.jobs.task_growing import Growing, _proposals  # pyright: ignore[reportPrivateUsage]
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task


async def test_a_start_state_is_set_up_with_the_steps_of_its_task(tmp_path: Path) -> None:
    plain = make_task("fake/press-button", 0)
    setup: Any = [{"type": "sleep", "parameters": {"seconds": 0}}]
    settings = {**plain.environment.settings, "setup": setup}
    base = replace(plain, environment=replace(plain.environment, settings=settings))
    asked = Growing(
        tasks=[base.id], by=Source.TEMPLATE, folder=tmp_path, pages=1, offset=0, each=1, endpoint=None
    )
    backend, told = create_backend("fake"), list[str]()

    class Lender:
        """Of one sandbox."""

        async def sandbox(self, kind: str) -> Sandbox:
            assert kind == "fake"
            return await backend.create()

    lender, nowhere = Lender(), cast("Store", None)
    nursery = Nursery(tmp_path)
    grown = _proposals(asked, [base], lender, nowhere, nursery, None, told.append, lambda number: None)
    async for _ in grown:
        pass
    await backend.close()
    assert told == [] and not nursery.counts
