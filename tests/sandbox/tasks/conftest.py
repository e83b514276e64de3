from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, create
from deskhand_sandbox.base import RewardingVerifier
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.oracles import next_actions
from deskhand_sandbox.types import Outcome


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend() -> AsyncIterator[BrowserBackend]:
    """One Chromium for a module's tests."""
    backend = create()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(backend: BrowserBackend) -> AsyncIterator[BrowserSandbox]:
    """One for a module's tests, each of which begins with a reset: a page of the same site needs no new
    context."""
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, BrowserSandbox)
        yield sandbox


@pytest.fixture
def play(sandbox: BrowserSandbox) -> Callable[[str, int], Awaitable[tuple[Outcome, float, int]]]:
    """The oracle's episode of a task and seed: the verdict, the rewards added up, and its turns."""

    async def played(task_id: str, seed: int) -> tuple[Outcome, float, int]:
        task = make_task(task_id, seed)
        verifier = create_verifier(task.verifier)
        assert isinstance(verifier, RewardingVerifier)
        await sandbox.reset(task)
        before = await verifier.score(sandbox, answer=None)
        assert not before.success and before.score < 1
        rewards = 0.0
        for turn in range(task.limits.turns):
            for action in await next_actions(task, sandbox, turn):
                await sandbox.act(action)
            reward = await verifier.step_reward(sandbox)
            rewards += reward.reward
            if reward.terminated:
                return await verifier.score(sandbox, answer=None), rewards, turn + 1
        raise AssertionError(f"{task_id} seed {seed} did not end")

    return played
