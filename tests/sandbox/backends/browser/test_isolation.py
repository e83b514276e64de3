"""A browser for each sandbox: the same contract, and nothing shared."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox, BrowserSettings, create
from deskhand_sandbox.conformance import check_backend
from deskhand_sandbox.errors import InvalidTask, SandboxDied
from deskhand_sandbox.isolation import Confinement, Limits
from deskhand_sandbox.isolation.limits import ControlGroup
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Navigate, ReadFile, Task, Wait

pytestmark = pytest.mark.browser

HOG = "globalThis.kept = Array.from({length: 16}, () => new Uint8Array(64 << 20).fill(1)).length"
"""Takes a gigabyte."""
TASK = make_task("miniwob/click-button", 3)


def groups_can_be_made() -> bool:
    group = ControlGroup.make(Limits())
    if group is not None:
        group.remove()
    return group is not None


@pytest.mark.slow
async def test_it_does_all_that_a_shared_one_does() -> None:
    backend = create(isolation="process")
    try:
        await check_backend(backend, TASK)
    finally:
        await backend.close()


async def test_a_browser_that_dies_takes_its_own_sandbox_alone(
    visit, site: str, patient: Callable[[Task], Task]
) -> None:
    task = patient(TASK)
    backend = create(isolation="process")
    try:
        one, two = await asyncio.gather(backend.create(), backend.create())
        starts = await asyncio.gather(one.reset(task), two.reset(task))
        assert starts[0].observation.screenshot == starts[1].observation.screenshot
        chromiums = [each._chromium for each in (one, two)]
        assert chromiums[0].pid != chromiums[1].pid
        os.kill(chromiums[0].pid, signal.SIGKILL)
        with pytest.raises(SandboxDied, match=str(chromiums[0].pid)):
            while True:
                await one.act(Click(x=80, y=120))
        assert not one.alive() and two.alive() and backend.alive()
        assert (await two.act(Click(x=80, y=120))).settled
        await two.reset(visit(f"{site}/"))
        seen = await two.act(Navigate(url=f"{site}/file/a.txt/3"))
        while seen.output is None:  # it may begin only after the page has settled
            seen = await two.act(Wait(seconds=0.05))
        assert (await two.act(ReadFile(path="downloads/a.txt"))).output == "xxx"
        await one.close()
        await two.close()
        assert not any(each.profile.exists() for each in chromiums)
        assert not backend._own
    finally:
        await backend.close()


@pytest.mark.skipif(not Confinement.available(), reason="bubblewrap cannot make namespaces here")
async def test_it_sees_none_of_the_machine_s_files(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    for isolation, refused in (("shared", None), ("process", "net::ERR_FILE_NOT_FOUND")):
        backend = create(isolation=isolation)
        try:
            sandbox = await backend.create()
            assert isinstance(sandbox, BrowserSandbox)
            await sandbox.reset(TASK)
            # as no action can, but a hole in the browser might
            assert await sandbox.front.navigate(f"file://{tmp_path}/secret.txt") == refused
        finally:
            await backend.close()


@pytest.mark.skipif(not groups_can_be_made(), reason="this process may not make control groups")
@pytest.mark.parametrize("apart", [True, False])
async def test_a_page_that_takes_too_much_memory_takes_its_own_sandbox_alone(
    monkeypatch: pytest.MonkeyPatch, patient: Callable[[Task], Task], *, apart: bool
) -> None:
    task = patient(TASK)
    if not apart:
        monkeypatch.setattr(Confinement, "available", lambda: False)
    backend = create(isolation="process", memory_mb=512)
    try:
        one, two = await asyncio.gather(backend.create(), backend.create())
        await asyncio.gather(one.reset(task), two.reset(task))
        groups = [each._chromium.group for each in (one, two)]
        folders = [folder for group in groups if group is not None for folder in group.folders]
        assert len(folders) == len({*folders}) and all(folder.exists() for folder in folders)
        with pytest.raises(SandboxDied):
            await one.evaluate(HOG)
        assert (await two.act(Click(x=80, y=120))).settled
        await one.close()
        await two.close()
        assert not any(folder.exists() for folder in folders)
    finally:
        await backend.close()


def test_a_wrong_bound_of_memory_is_refused() -> None:
    with pytest.raises(InvalidTask, match="memory_mb must be a whole number from 1"):
        BrowserSettings(memory_mb=0)


def test_wrong_isolation_is_refused() -> None:
    with pytest.raises(InvalidTask, match="isolation must be shared or process"):
        BrowserSettings(isolation="vm")  # type: ignore[arg-type]
