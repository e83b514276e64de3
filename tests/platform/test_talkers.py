"""Processes that answer messages: which are started, and who waits for whom."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform import talkers
from deskhand_platform.errors import NoRoom
from deskhand_platform.settings import ChatSettings, Settings
from deskhand_platform.talkers import Talkers, Talking


class Loading(Talkers):
    """Starts processes that only sleep, each once it is let."""

    def __init__(self, settings: Settings, store: Store) -> None:
        super().__init__(settings, store)
        self.begun: list[str] = []
        self.let = asyncio.Event()

    async def _start(self, policy_id: str) -> Talking:
        self.begun.append(policy_id)
        await self.let.wait()
        process = await asyncio.create_subprocess_exec("sleep", "60")
        return Talking(process=process, http=httpx.AsyncClient(), used=0, last_s=0.0)


@pytest.fixture
async def policies(store: Store, tmp_path: Path) -> list[str]:
    ids: list[str] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(f'"{name}"')
        ids.append((await store.keep_policy(tmp_path / name, parent_id=None, metadata={})).id)
    return ids


@pytest.fixture
def loading(settings: Settings, store: Store) -> Loading:
    return Loading(settings.model_copy(update={"chat": ChatSettings(policies=2)}), store)


async def _ask(talkers: Talkers, policy: str) -> None:
    async with talkers.using(policy):
        return


async def test_a_policy_that_answers_does_so_while_another_loads(
    loading: Loading, policies: list[str]
) -> None:
    first, second = policies
    async with loading.running():
        loading.let.set()
        await _ask(loading, first)
        loading.let.clear()
        waiting = [asyncio.create_task(_ask(loading, second)) for _ in range(3)]
        while second not in loading.begun:
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await _ask(loading, first)
        assert not any(each.done() for each in waiting)
        loading.let.set()
        await asyncio.gather(*waiting)
        assert loading.begun == [first, second]


async def test_one_that_is_asked_makes_no_room_for_another(
    settings: Settings, store: Store, policies: list[str]
) -> None:
    first, second = policies
    loading = Loading(settings.model_copy(update={"chat": ChatSettings(policies=1)}), store)
    loading.let.set()
    async with loading.running():
        async with loading.using(first):
            with pytest.raises(NoRoom, match=r"chat\.policies"):
                await _ask(loading, second)
        await _ask(loading, second)
        assert loading.begun == [first, second]


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_no_putting_away_of_what_is_idle(
    settings: Settings,
    store: Store,
    policies: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(talkers, "LOOK_S", 0.0)
    close, odd, closed = Talking.close, [RuntimeError("odd")], asyncio.Event()

    async def once_odd(one: Talking) -> None:
        await close(one)
        if odd:
            raise odd.pop()
        closed.set()

    monkeypatch.setattr(Talking, "close", once_odd)
    loading = Loading(settings.model_copy(update={"chat": ChatSettings(policies=2, idle_s=0.01)}), store)
    loading.let.set()
    async with asyncio.timeout(60), loading.running():
        for policy in policies:
            await _ask(loading, policy)
        await closed.wait()
    assert "raise odd.pop()" in caplog.text
