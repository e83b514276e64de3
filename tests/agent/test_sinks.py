from __future__ import annotations

from types import SimpleNamespace

import pytest

from deskhand_agent.episode import run_episode
from deskhand_agent.sinks import MemorySink
from deskhand_sandbox.types import Split


async def test_what_was_written_comes_back_and_order_is_kept(stub: SimpleNamespace) -> None:
    sink, other = MemorySink(), MemorySink()
    made = [
        await run_episode(
            stub.task(clicks),
            sandbox=stub.Sandbox(),
            policy=stub.Policy(),
            verifier=stub.Rewards(),
            sink=sink,
            split=Split.TEST,
        )
        for clicks in (2, 1)
    ]
    assert sink.trajectories == tuple(made)
    first = made[0]
    await other.begin(first.start)
    await other.step(first.id, first.steps[0])
    assert other.trajectories[0].end is None
    with pytest.raises(ValueError, match="has begun already"):
        await other.begin(first.start)
    with pytest.raises(ValueError, match=r"step 0 of .* came where step 1 was due"):
        await other.step(first.id, first.steps[0])
    with pytest.raises(ValueError, match="has not begun"):
        await other.step("nobody", first.steps[0])
    assert first.end is not None
    await other.end(first.id, first.end)
    with pytest.raises(ValueError, match="has ended"):
        await other.step(first.id, first.steps[1])
