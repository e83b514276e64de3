from __future__ import annotations

import asyncio
import importlib.util
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    InvalidAction,
    LeaseExpired,
    LeaseUnavailable,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
    UnknownName,
    VerifierError,
)
from deskhand_sandbox.manager import LeaseTerms, PoolSettings, SandboxManager
from deskhand_sandbox.types import Click, EnvironmentSpec, Run, Task, TypeText, VerifierSpec

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

TASK = Task(id="tiny/type", environment=EnvironmentSpec(kind="tiny"), verifier=VerifierSpec(name="none"))


class Clock:
    """Time that passes only when told."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Bench:
    """A manager over backends the test can reach, with time in its hands."""

    def __init__(
        self,
        pool: PoolSettings | None = None,
        *,
        terms: LeaseTerms | None = None,
        deadlines: Deadlines | None = None,
        **backend: object,
    ) -> None:
        self.clock = Clock()
        self.backends: list[tiny.TinyBackend] = []
        self.backend_settings = backend
        self.manager = SandboxManager(
            {"tiny": pool or PoolSettings(max_sandboxes=2)},
            terms=terms,
            deadlines=deadlines,
            make_backend=self._make,
            clock=self.clock,
        )

    def _make(self, kind: str, settings: object) -> tiny.TinyBackend:
        assert kind == "tiny"
        self.backends.append(tiny.TinyBackend(**self.backend_settings))
        return self.backends[-1]

    def pass_time(self, seconds: float) -> None:
        self.clock.now_s += seconds
        self.manager.reap()

    @property
    def pool(self):
        return self.manager.status().pools[0]

    @property
    def made(self) -> list[tiny.TinySandbox]:
        return [sandbox for backend in self.backends for sandbox in backend.made]


async def until(condition: Callable[[], bool]) -> None:
    """Let the other tasks run until it holds."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to hold")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    async with bench.manager:
        yield bench


# ---- lending and giving back ------------------------------------------------------------------------


async def test_a_sandbox_that_came_back_is_lent_again(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="first") as sandbox:
        await sandbox.reset(TASK)
        assert (await sandbox.act(TypeText(text="hello"))).output == "hello"
        first = sandbox.id
    async with bench.manager.lease("tiny", owner="second") as sandbox:
        assert sandbox.id == first
        assert (await sandbox.reset(TASK)).observation.output == ""
    assert bench.pool.created == 1
    assert bench.pool.lost == {}


async def test_sandboxes_are_made_when_asked_for_and_never_beyond_the_places(
    bench: Bench,
) -> None:
    assert bench.made == []
    at_once, most = 0, 0

    async def work() -> None:
        nonlocal at_once, most
        async with bench.manager.lease("tiny", owner="worker") as sandbox:
            at_once += 1
            most = max(most, at_once)
            await sandbox.reset(TASK)
            await asyncio.sleep(0)
            at_once -= 1

    await asyncio.gather(*(work() for _ in range(20)))
    assert most == 2
    assert len(bench.made) == 2


async def test_who_asked_first_is_served_first(bench: Bench) -> None:
    served: list[int] = []

    async def work(number: int) -> None:
        async with bench.manager.lease("tiny", owner=str(number)):
            served.append(number)

    async with bench.manager.lease("tiny", owner="a"), bench.manager.lease("tiny", owner="b"):
        waiting = [asyncio.create_task(work(number)) for number in range(6)]
        await until(lambda: bench.pool.queued == 6)
    await asyncio.gather(*waiting)
    assert served == [0, 1, 2, 3, 4, 5]


async def test_an_unknown_kind_is_refused_with_the_nearest_name(bench: Bench) -> None:
    with pytest.raises(UnknownName, match="did you mean tiny"):
        await bench.manager.acquire("tinny", owner="me")


async def test_waiting_ends_at_its_deadline_and_says_why(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="a"), bench.manager.lease("tiny", owner="b"):
        patient = asyncio.create_task(bench.manager.acquire("tiny", owner="patient", wait_s=10))
        hasty = asyncio.create_task(bench.manager.acquire("tiny", owner="hasty", wait_s=5))
        await until(lambda: bench.pool.queued == 2)
        bench.pass_time(4.9)
        assert bench.pool.queued == 2
        bench.pass_time(0.2)
        with pytest.raises(LeaseUnavailable, match="within 5 s: 2 of 2 are on loan"):
            await hasty
        assert bench.pool.queued == 1
    assert (await patient).owner == "patient"


async def test_no_wait_is_enough_when_there_is_room(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me", wait_s=0) as sandbox:
        await sandbox.observe()
        async with bench.manager.lease("tiny", owner="me", wait_s=0):
            asking = asyncio.create_task(bench.manager.acquire("tiny", owner="late", wait_s=0))
            await until(lambda: bench.pool.queued == 1)
            bench.pass_time(0)
            with pytest.raises(LeaseUnavailable):
                await asking


async def test_a_sandbox_in_the_making_is_waited_for_beyond_the_deadline() -> None:
    go = asyncio.Event()
    bench = Bench(slow=go)
    async with bench.manager:
        asking = asyncio.create_task(bench.manager.acquire("tiny", owner="me", wait_s=1))
        await until(lambda: bench.pool.creating == 1)
        bench.pass_time(5)
        go.set()
        assert (await asking).kind == "tiny"


async def test_a_cancelled_request_loses_no_place(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        for owner in "ab":
            await stack.enter_async_context(bench.manager.lease("tiny", owner=owner))
        waiting = asyncio.create_task(bench.manager.acquire("tiny", owner="gone"))
        await until(lambda: bench.pool.queued == 1)
        waiting.cancel()
        await until(waiting.done)
        assert bench.pool.queued == 0
    assert (bench.pool.leased, bench.pool.idle) == (0, 2)


async def test_a_request_cancelled_in_the_moment_it_is_served_gives_the_sandbox_back(bench: Bench) -> None:
    first = await bench.manager.acquire("tiny", owner="a")
    await bench.manager.acquire("tiny", owner="b")
    waiting = asyncio.create_task(bench.manager.acquire("tiny", owner="gone"))
    await until(lambda: bench.pool.queued == 1)
    bench.manager.release(first.id)  # the waiting request is served here …
    waiting.cancel()  # … and cancelled before it runs again
    await until(waiting.done)
    assert (bench.pool.leased, bench.pool.idle) == (1, 1)
    assert [lease.owner for lease in bench.manager.status().leases] == ["b"]


async def test_closing_a_leased_sandbox_gives_it_back_early(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.close()
        await sandbox.close()
        assert (bench.pool.leased, bench.pool.idle) == (0, 1)
        assert not sandbox.alive()
        with pytest.raises(SandboxDied, match="given back"):
            await sandbox.observe()
    assert not bench.made[0].dead


# ---- heartbeats, deadlines, tokens ------------------------------------------------------------------


async def test_a_silent_holder_loses_the_lease_and_a_beating_one_keeps_it(bench: Bench) -> None:
    lease = await bench.manager.acquire("tiny", owner="me")
    for _ in range(5):
        bench.pass_time(14)
        assert bench.manager.heartbeat(lease.id).heartbeat_deadline_s == bench.clock() + 15
    bench.pass_time(15)
    assert (bench.pool.leased, bench.pool.idle) == (0, 1)
    with pytest.raises(LeaseExpired):
        bench.manager.heartbeat(lease.id)
    with pytest.raises(LeaseExpired), bench.manager.connect(lease.id, lease.token):
        pass
    assert not bench.manager.release(lease.id)


async def test_silence_counts_only_while_no_channel_is_open(bench: Bench) -> None:
    lease = await bench.manager.acquire("tiny", owner="me")
    with bench.manager.connect(lease.id, lease.token) as sandbox:
        bench.pass_time(100)
        await sandbox.observe()
    bench.pass_time(14)
    assert bench.pool.leased == 1
    bench.pass_time(2)
    assert bench.pool.leased == 0
    with pytest.raises(LeaseExpired, match="no sign of life for 15 s"):
        await sandbox.observe()


async def test_a_lease_lasts_while_it_is_used_and_no_longer(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        for _ in range(3):
            bench.pass_time(3599)
            await sandbox.observe()
            bench.pass_time(3599)
            with pytest.raises(InvalidAction):
                await sandbox.act(Run(command="nothing it knows"))
        bench.pass_time(3600)
        with pytest.raises(LeaseExpired, match="neither used nor renewed for 3600 s"):
            await sandbox.observe()
        async with bench.manager.lease("tiny", owner="next") as other:
            assert other.id == sandbox.id
            await other.observe()


async def test_who_looks_on_keeps_no_lease(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        bench.pass_time(3599)
        [lease] = bench.manager.status().leases
        assert await bench.manager.look(lease.id, older_s=0.0) is not None
        bench.pass_time(1)
        with pytest.raises(LeaseExpired, match="neither used nor renewed"):
            await sandbox.observe()


async def test_a_lease_that_is_renewed_lasts_as_long_again(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        bench.pass_time(3599)
        await sandbox.renew()
        bench.pass_time(3599)
        assert sandbox.alive()
        bench.pass_time(1)
        with pytest.raises(LeaseExpired, match="neither used nor renewed for 3600 s"):
            await sandbox.observe()
        with pytest.raises(LeaseExpired):
            await sandbox.renew()


async def test_a_call_has_the_whole_time_of_a_lease_and_begins_it_anew_as_it_ends(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        bench.pass_time(3599)
        hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
        await until(lambda: bench.made[0].acting)
        bench.pass_time(3599)
        assert sandbox.alive()
        bench.made[0].acted.set()
        await hanging
        bench.pass_time(3599)
        assert sandbox.alive()


async def test_a_call_under_way_at_the_deadline_is_cut_off_and_its_sandbox_thrown_away(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
        await until(lambda: bench.made[0].acting)
        bench.pass_time(3600)
        with pytest.raises(LeaseExpired, match="3600"):
            await hanging
    await until(lambda: bench.pool.closing == 0)
    assert bench.made[0].closed == 1
    assert bench.pool.lost == {"call cut": 1}


async def test_the_reaper_wakes_by_itself() -> None:
    async with SandboxManager(
        {"tiny": PoolSettings(max_sandboxes=1)},
        terms=LeaseTerms(heartbeat_s=0.05),
        make_backend=tiny.make_backend,
    ) as manager:
        lease = await manager.acquire("tiny", owner="silent")
        async with asyncio.timeout(120):
            assert isinstance(await manager.ended(lease.id), LeaseExpired)
            second = await manager.acquire("tiny", owner="next", wait_s=5)
            with manager.connect(second.id, second.token), pytest.raises(LeaseUnavailable):
                await manager.acquire("tiny", owner="third", wait_s=0.05)


@pytest.mark.parametrize("token", ["", "wrong", "ünïcode"])
async def test_a_wrong_token_opens_nothing(bench: Bench, token: str) -> None:
    lease = await bench.manager.acquire("tiny", owner="me")
    other = await bench.manager.acquire("tiny", owner="you")
    for wrong in (token, other.token):
        with pytest.raises(LeaseExpired, match="token"), bench.manager.connect(lease.id, wrong):
            pass
    with pytest.raises(LeaseExpired, match="no live lease"), bench.manager.connect("nothing", lease.token):
        pass


# ---- what breaks ------------------------------------------------------------------------------------


async def test_a_dead_sandbox_is_replaced_and_its_neighbour_notices_nothing(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="neighbour") as neighbour:
        async with bench.manager.lease("tiny", owner="victim") as sandbox:
            with pytest.raises(SandboxDied):
                await sandbox.act(Run(command="die"))
            with pytest.raises(SandboxDied, match="failed before"):
                await sandbox.observe()
            dead = sandbox.id
        async with bench.manager.lease("tiny", owner="next") as sandbox:
            assert sandbox.id not in (dead, neighbour.id)
            await sandbox.reset(TASK)
        await neighbour.act(TypeText(text="still here"))
    assert bench.pool.lost == {"died": 1}
    assert len(bench.backends) == 1


async def test_a_sandbox_that_died_unnoticed_is_not_lent_again(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.act(Run(command="die quietly"))
    async with bench.manager.lease("tiny", owner="me"):
        pass
    bench.made[-1].dead = True  # while idle
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
    assert bench.pool.lost == {"died idle": 2}


async def test_the_death_of_what_all_share_starts_another_one(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="a") as a, bench.manager.lease("tiny", owner="b") as b:
        with pytest.raises(SandboxDied):
            await a.act(Run(command="browser dies"))
        with pytest.raises(SandboxDied):
            await b.observe()
    async with bench.manager.lease("tiny", owner="c") as c:
        await c.reset(TASK)
    assert len(bench.backends) == 2
    await until(lambda: bench.pool.closing == 0)
    assert bench.backends[0].closed == 1
    assert bench.backends[1].closed == 0


async def test_a_backend_that_makes_nothing_any_more_is_replaced_and_its_leases_go_on(
    bench: Bench,
) -> None:
    async with bench.manager.lease("tiny", owner="old") as old:
        bench.backends[0].fails = 1
        async with bench.manager.lease("tiny", owner="new") as new:
            await new.reset(TASK)
            await old.act(TypeText(text="unharmed"))
        assert len(bench.backends) == 2
        assert bench.backends[0].closed == 0
    await until(lambda: bench.pool.closing == 0)
    assert bench.backends[0].closed == 1
    assert bench.pool.lost == {"backend gone": 1}


async def test_what_all_share_is_replaced_after_its_share_of_leases_and_leases_go_on() -> None:
    bench = Bench(PoolSettings(max_sandboxes=3, min_sandboxes=1, leases_per_backend=3))
    async with bench.manager:
        async with bench.manager.lease("tiny", owner="a") as a:
            async with bench.manager.lease("tiny", owner="b"):
                pass
            assert len(bench.backends) == 1
            async with bench.manager.lease("tiny", owner="c") as c:
                # nothing new stands on it, and what is lent does
                await c.reset(TASK)
                await a.reset(TASK)
            async with bench.manager.lease("tiny", owner="d") as d:
                await d.reset(TASK)
                await a.act(TypeText(text="unharmed"))
            assert (len(bench.backends), bench.backends[0].closed) == (2, 0)
        await until(lambda: bench.pool.closing == 0)
        assert [each.closed for each in bench.backends] == [1, 0]
        assert bench.pool.lost == {"renewed": 2}
        assert not any(reason.failure for reason in bench.pool.lost)


async def test_a_hanging_call_ends_and_the_sandbox_goes() -> None:
    bench = Bench(deadlines=Deadlines(call_s=0.02))
    async with bench.manager:
        async with bench.manager.lease("tiny", owner="me") as sandbox:
            with pytest.raises(SandboxTimeout, match=r"act on tiny sandbox .* took longer than 0.02 s"):
                await sandbox.act(Run(command="hang", timeout_s=0))
        assert bench.pool.lost == {"timed out": 1}


async def test_a_cancelled_call_leaves_a_sandbox_nobody_trusts(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        call = asyncio.create_task(sandbox.act(Run(command="hang")))
        await until(lambda: bench.made[0].acting)
        call.cancel()
        await until(call.done)
        assert not sandbox.alive()
    assert bench.pool.lost == {"call cut": 1}


async def test_a_bug_in_a_backend_is_not_hidden_and_costs_the_sandbox(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        with pytest.raises(KeyError):
            await sandbox.act(Run(command="crash"))
    assert bench.pool.lost == {"bug": 1}


async def test_the_agents_mistakes_cost_no_sandbox(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        with pytest.raises(InvalidAction):
            await sandbox.act(Click(x=1, y=1))
        with pytest.raises(VerifierError):
            await sandbox.evaluate("wrong")
        await sandbox.observe()
    assert (bench.pool.idle, bench.pool.lost) == (1, {})


async def test_a_sandbox_that_cannot_be_made_says_so_to_who_asked_and_the_next_try_is_free() -> None:
    bench = Bench(fails=1)
    async with bench.manager:
        with pytest.raises(InfrastructureError, match="no sandbox today"):
            await bench.manager.acquire("tiny", owner="unlucky")
        bench.backend_settings = {}
        assert (await bench.manager.acquire("tiny", owner="lucky")).kind == "tiny"


async def test_a_missing_extra_is_told_to_everyone_who_asks() -> None:
    def missing(kind: str, settings: object) -> tiny.TinyBackend:
        raise BackendMissing("pip install 'deskhand[browser]'")

    async with SandboxManager({"browser": PoolSettings(max_sandboxes=2)}, make_backend=missing) as manager:
        asked = [asyncio.create_task(manager.acquire("browser", owner=str(n))) for n in range(5)]
        results = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(result) for result in results] == [BackendMissing] * 5


async def test_making_that_takes_too_long_is_given_up() -> None:
    bench = Bench(PoolSettings(create_s=0.02), slow=asyncio.Event())
    async with bench.manager:
        with pytest.raises(SandboxTimeout, match=r"longer than 0\.02 s"):
            await bench.manager.acquire("tiny", owner="me")
        assert bench.pool.creating == 0


# ---- minimum, idleness, forks, the end --------------------------------------------------------------


async def test_the_minimum_is_kept_ready_and_what_is_idle_beyond_it_is_closed() -> None:
    bench = Bench(PoolSettings(max_sandboxes=4, min_sandboxes=1, idle_s=60))
    async with bench.manager:
        await until(lambda: bench.pool.idle == 1)
        leases = [await bench.manager.acquire("tiny", owner="me") for _ in range(3)]
        for lease in leases:
            bench.manager.release(lease.id)
        assert bench.pool.idle == 3
        bench.pass_time(59)
        assert bench.pool.idle == 3
        bench.pass_time(2)
        await until(lambda: bench.pool.closing == 0)
        assert bench.pool.idle == 1
        assert bench.pool.lost == {"idle": 2}
        assert bench.pool.created == 3


async def test_forks_live_under_the_lease_and_end_with_it(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        await sandbox.act(TypeText(text="a"))
        left, right = await sandbox.fork(2)
        assert (await left.act(TypeText(text="l"))).output == "al"
        assert (await right.act(TypeText(text="r"))).output == "ar"
        with pytest.raises(SandboxDied):
            await left.act(Run(command="die"))
        assert (await sandbox.observe()).output == "a"
    await until(lambda: bench.pool.closing == 0)
    with pytest.raises(SandboxDied, match="given back"):
        await right.observe()
    assert [sandbox.dead for sandbox in bench.made] == [False, True, True]
    assert (bench.pool.idle, bench.pool.lost) == (1, {})


async def test_a_fork_that_was_closed_is_not_kept_until_the_lease_ends(bench: Bench) -> None:
    async with bench.manager.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        for _ in range(3):
            (fork,) = await sandbox.fork(1)
            await fork.close()
        (left,) = await sandbox.fork(1)
        await left.observe()
    await until(lambda: bench.pool.closing == 0)
    assert [each.closed for each in bench.made] == [0, 1, 1, 1, 1]


async def test_draining_lends_nothing_more_and_waits_for_the_leases(bench: Bench) -> None:
    lease = await bench.manager.acquire("tiny", owner="me")
    assert not await bench.manager.drain(0.01)
    with pytest.raises(LeaseUnavailable, match="closing"):
        await bench.manager.acquire("tiny", owner="late")
    draining = asyncio.create_task(bench.manager.drain(60))
    await asyncio.sleep(0)
    bench.manager.release(lease.id)
    assert await draining


async def test_closing_ends_everything_and_tells_everyone() -> None:
    bench = Bench(PoolSettings(max_sandboxes=1))
    async with bench.manager:
        lease = await bench.manager.acquire("tiny", owner="me")
        waiting = asyncio.create_task(bench.manager.acquire("tiny", owner="waiting"))
        with bench.manager.connect(lease.id, lease.token) as sandbox:
            hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
            await until(lambda: bench.made[0].acting and bench.pool.queued == 1)
            await bench.manager.close()
            with pytest.raises(SandboxDied, match="ends with its manager"):
                await hanging
        with pytest.raises(LeaseUnavailable):
            await waiting
        await bench.manager.close()
    assert bench.made[0].closed == 1
    assert bench.backends[0].closed == 1


async def test_a_manager_that_is_not_open_lends_nothing() -> None:
    with pytest.raises(RuntimeError, match="async with SandboxManager"):
        await Bench().manager.acquire("tiny", owner="me")


async def test_what_is_shown_has_no_token(bench: Bench) -> None:
    lease = await bench.manager.acquire("tiny", owner="me")
    assert lease.token not in repr(bench.manager.status())
    assert lease.token not in repr(lease)


@pytest.mark.parametrize(
    "settings",
    [{"max_sandboxes": 0}, {"min_sandboxes": 5}, {"min_sandboxes": -1}, {"idle_s": 0}, {"create_s": -1}],
)
def test_a_pool_that_cannot_work_is_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be a positive number|a pool needs"):
        PoolSettings(**settings)


# ---- all of it at once ------------------------------------------------------------------------------


ORDERS = ["text", "text", "text", "die", "die quietly", "browser dies", "crash", "close"]


@pytest.mark.parametrize("seed", range(25))
async def test_no_disorder_loses_a_place(seed: int) -> None:
    """Many holders that work, kill, hang up, hang and vanish at random: every place comes back."""
    chance = random.Random(seed)
    bench = Bench(PoolSettings(max_sandboxes=3))

    async def live(number: int) -> None:
        for _ in range(6):
            try:
                async with bench.manager.lease("tiny", owner=str(number), wait_s=50) as sandbox:
                    await misbehave(sandbox)
            except (SandboxError, KeyError):
                pass

    async def misbehave(sandbox: Sandbox) -> None:
        assert bench.pool.leased <= 3
        await sandbox.reset(TASK)
        for _ in range(chance.randrange(4)):
            what = chance.choice(ORDERS)
            if what == "close":
                await sandbox.close()
            else:
                await sandbox.act(TypeText(text="x") if what == "text" else Run(command=what))
            await asyncio.sleep(0)

    async with bench.manager:
        holders = [asyncio.create_task(live(number)) for number in range(12)]
        while not all(holder.done() for holder in holders):
            await asyncio.sleep(0)
            if chance.random() < 0.02:
                chance.choice(holders).cancel()
            if chance.random() < 0.05:
                bench.pass_time(chance.choice([1, 20, 200]))
            pool = bench.pool
            assert pool.leased + pool.idle + pool.creating <= 3
        for holder in holders:
            if not holder.cancelled():
                assert holder.exception() is None
        await until(lambda: bench.pool.closing == 0 and bench.pool.creating == 0)
        assert (bench.pool.leased, bench.pool.queued) == (0, 0)
        async with AsyncExitStack() as stack:
            for _ in range(3):
                sandbox = await stack.enter_async_context(bench.manager.lease("tiny", owner="after"))
                await sandbox.reset(TASK)
    assert all(sandbox.closed for sandbox in bench.made)
    assert all(backend.closed == 1 for backend in bench.backends)
