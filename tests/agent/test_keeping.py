"""A loan lasts while an episode goes on in it, however long nothing is asked of the sandbox."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent import keeping
from deskhand_agent.episode import run_episode
from deskhand_agent.sinks import MemorySink
from deskhand_agent.time_limits import waiting_ones_turn
from deskhand_agent.types import Decision, StopReason
from deskhand_sandbox.errors import LeaseExpired
from deskhand_sandbox.types import Split

pytestmark = pytest.mark.usefixtures("simulated_time")


async def test_a_loan_is_renewed_while_the_model_waits_for_its_turn(
    stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "RENEW_S", 0.001)
    renewed = asyncio.Semaphore(0)

    class Lent(stub.Sandbox):
        async def renew(self) -> None:
            renewed.release()
            raise LeaseExpired("the episode hears of it by itself")

    class Waiting(stub.Policy):
        async def act(self, context: Any) -> Decision:
            with waiting_ones_turn():
                for _ in range(3):
                    await renewed.acquire()
            return await super().act(context)

    trajectory = await run_episode(
        stub.task(),
        sandbox=Lent(),
        policy=Waiting(),
        verifier=stub.Rewards(),
        sink=MemorySink(),
        split=Split.TRAIN,
    )
    assert trajectory.end is not None and trajectory.end.stop_reason is StopReason.TERMINATED
    await asyncio.sleep(0)
    while not renewed.locked():
        await renewed.acquire()
    await asyncio.sleep(0.02)
    assert renewed.locked()  # nobody renews it any more


async def test_a_sandbox_of_ones_own_needs_no_renewing(stub: SimpleNamespace) -> None:
    with keeping.kept(stub.Sandbox()):
        assert not isinstance(stub.Sandbox(), keeping.OnLoan)
