"""Several owners and several pools share one manager: who is served, from where, and what is measured."""

from __future__ import annotations

import asyncio
import importlib.util
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.errors import InvalidAction, LeaseUnavailable, SandboxDied, UnknownName
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.manager.queue import FairQueue, Waiter
from deskhand_sandbox.types import Click, EnvironmentSpec, Run, Task, VerifierSpec

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

TASK = Task(id="tiny/type", environment=EnvironmentSpec(kind="tiny"), verifier=VerifierSpec(name="none"))


def make_backend(kind: str, settings: Mapping[str, object]) -> tiny.TinyBackend:
    return tiny.TinyBackend(**settings)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to hold")


def queue_of(owners: str, quota: int | None = None) -> FairQueue[str]:
    async def make() -> FairQueue[str]:
        queue = FairQueue[str](quota)
        for owner in owners:
            queue.add(Waiter(owner, deadline_s=0, wait_s=0, asked_s=0))
        return queue

    return asyncio.run(make())


# ---- the queue --------------------------------------------------------------------------------------


def test_who_has_least_goes_first_and_one_owners_requests_keep_their_order() -> None:
    queue = queue_of("aaab")
    first, second, third, other = queue
    assert queue.order({}) == [first, other, second, third]
    assert queue.order({"b": 2}) == [first, second, third, other]
    assert queue.order({"a": 1}) == [other, first, second, third]


def test_a_quota_leaves_the_rest_waiting() -> None:
    queue = queue_of("aaab", quota=2)
    assert [waiter.owner for waiter in queue.order({})] == ["a", "b", "a"]
    assert [waiter.owner for waiter in queue.order({"a": 2})] == ["b"]


@given(
    owners=st.text("abcd", max_size=12),
    held=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 4)),
    quota=st.none() | st.integers(1, 3),
)
def test_serving_in_order_is_max_min_fair(owners: str, held: dict[str, int], quota: int | None) -> None:
    queue = queue_of(owners, quota)
    having = Counter(held)
    waiting = Counter(owners)
    for waiter in queue.order(held):
        others = [having[owner] for owner, left in waiting.items() if left]
        assert having[waiter.owner] == min(others)
        having[waiter.owner] += 1
        waiting[waiter.owner] -= 1
    for owner, left in waiting.items():
        assert left == 0 or (quota is not None and having[owner] >= quota)


# ---- through the manager ----------------------------------------------------------------------------


async def test_a_crowd_of_one_owner_delays_nobody_elses_first_request() -> None:
    pools = {"tiny": PoolSettings(max_sandboxes=1)}
    async with SandboxManager(pools, make_backend=make_backend) as manager:
        held = await manager.acquire("tiny", owner="many")
        served: list[str] = []

        async def ask(owner: str) -> None:
            async with manager.lease("tiny", owner=owner):
                served.append(owner)

        crowd = [asyncio.create_task(ask("many")) for _ in range(5)]
        await until(lambda: manager.status().pools[0].queued == 5)
        late = asyncio.create_task(ask("late"))
        await until(lambda: manager.status().pools[0].queued == 6)
        manager.release(held.id)
        await asyncio.gather(late, *crowd)
    assert served.index("late") <= 1


async def test_a_quota_is_kept_and_told_of() -> None:
    pools = {"tiny": PoolSettings(max_sandboxes=3, owner_quota=1)}
    async with SandboxManager(pools, make_backend=make_backend) as manager:
        mine = await manager.acquire("tiny", owner="me")
        with pytest.raises(LeaseUnavailable, match="as many as one owner may have"):
            await manager.acquire("tiny", owner="me", wait_s=0)
        await manager.acquire("tiny", owner="you")
        waiting = asyncio.create_task(manager.acquire("tiny", owner="me"))
        await until(lambda: manager.status().pools[0].queued == 1)
        manager.release(mine.id)
        assert (await waiting).owner == "me"


async def test_labels_choose_the_pool_and_the_emptier_one_is_taken() -> None:
    pools = {
        "small": PoolSettings(kind="tiny", labels={"size": "small"}, max_sandboxes=1),
        "large": PoolSettings(kind="tiny", labels={"size": "large", "net": "none"}, max_sandboxes=2),
    }
    async with SandboxManager(pools, make_backend=make_backend) as manager:
        await manager.acquire("tiny", owner="me", labels={"size": "large"})
        await manager.acquire("tiny", owner="me")
        leased = {pool.name: (pool.kind, pool.leased) for pool in manager.status().pools}
        assert leased == {"small": ("tiny", 1), "large": ("tiny", 1)}
        with pytest.raises(UnknownName, match="size=small"):
            await manager.acquire("tiny", owner="me", labels={"size": "smal"})
        with pytest.raises(UnknownName, match="did you mean tiny"):
            await manager.acquire("tinny", owner="me")


async def test_an_idle_sandbox_without_a_sign_of_life_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 0.0
    pools = {"tiny": PoolSettings(min_sandboxes=1, check_s=10, idle_s=1000)}
    async with SandboxManager(pools, make_backend=make_backend, clock=lambda: now_s) as manager:
        await until(lambda: manager.status().pools[0].idle == 1)
        lease = await manager.acquire("tiny", owner="me")
        manager.release(lease.id)
        asked: list[str] = []

        async def silent(sandbox: tiny.TinySandbox) -> None:
            asked.append(sandbox.id)
            if sandbox.id == lease.sandbox_id:
                raise SandboxDied("no answer")

        monkeypatch.setattr(tiny.TinySandbox, "ping", silent)
        now_s = 9.0
        manager.reap()
        assert asked == []
        now_s = 11.0
        manager.reap()
        await until(lambda: manager.status().pools[0].created == 2 and manager.status().pools[0].closing == 0)
        assert manager.status().pools[0].lost == {"died idle": 1}
        again = await manager.acquire("tiny", owner="me")
        assert again.sandbox_id != lease.sandbox_id
        manager.release(again.id)
        now_s = 22.0
        manager.reap()
        await until(lambda: len(asked) == 2)
        assert manager.status().pools[0].created == 2


async def test_what_is_measured_says_what_happened() -> None:
    async with SandboxManager({"tiny": PoolSettings()}, make_backend=make_backend) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            await sandbox.reset(TASK)
            await sandbox.observe()
            with pytest.raises(InvalidAction):
                await sandbox.act(Click(x=1, y=1))
            with pytest.raises(SandboxDied):
                await sandbox.act(Run(command="die"))
        said = manager.metrics().decode()
    for line in (
        'deskhand_sandbox_create_seconds_count{kind="tiny"} 1.0',
        'deskhand_sandbox_lease_seconds_count{kind="tiny"} 1.0',
        'deskhand_sandbox_call_seconds_count{call="reset",kind="tiny"} 1.0',
        'deskhand_sandbox_call_seconds_count{call="observe",kind="tiny"} 1.0',
        'deskhand_sandbox_settle_seconds_count{kind="tiny"} 2.0',
        'deskhand_sandbox_call_errors_total{error="InvalidAction",kind="tiny"} 1.0',
        'deskhand_sandbox_call_errors_total{error="SandboxDied",kind="tiny"} 1.0',
        'deskhand_sandbox_lost_total{kind="tiny",reason="died"} 1.0',
        'deskhand_sandboxes{pool="tiny",state="leased"} 0.0',
    ):
        assert line in said
