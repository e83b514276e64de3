from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.client import (
    AsyncDeskhand,
    Conflict,
    Deskhand,
    InvalidRequest,
    Missing,
    NotAllowed,
    NotOver,
    NotSignedIn,
    ServerTrouble,
    Unreachable,
    calls,
)
from deskhand_platform.errors import InvalidField, NotServing, Unauthorized
from deskhand_platform.lock import hold
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import Outcome

BUTTON = "fake/press-button"


async def work_one(queue: TaskQueue) -> str:
    claimed = await queue.claim("w", 60)
    assert claimed is not None
    await queue.begun(claimed, "w", f"trajectory-{claimed.id}")
    outcome = Outcome(score=1.0, success=True, detail="")
    await queue.settle(claimed, "w", WorkState.DONE, outcome=outcome, reason=None)
    return claimed.id


async def test_a_task_from_its_submission_to_its_result(client: AsyncDeskhand, store: Store) -> None:
    queue = TaskQueue(store.database)
    sent = await client.submit(BUTTON, seed=3, labels={"batch": "a"}, priority=2, key="mine")
    assert (sent.state, sent.seed, sent.labels, sent.key) == (WorkState.QUEUED, 3, {"batch": "a"}, "mine")
    with pytest.raises(NotOver, match="is queued after"):
        await client.wait(sent.id, timeout_s=0.1)
    waiting = asyncio.create_task(client.wait(sent.id, timeout_s=60))
    await work_one(queue)
    over = await waiting
    assert over.outcome is not None and over.outcome.success
    with pytest.raises(Conflict, match="done already") as refused:
        await client.cancel(sent.id)
    assert (refused.value.status, refused.value.kind) == (409, "wrong_state")
    other = await client.submit({"task_id": BUTTON})
    assert (await client.cancel(other.id)).state is WorkState.CANCELLED
    assert (await client.retry(other.id)).state is WorkState.QUEUED
    assert (await client.task(other.id)).key == other.key


async def test_lists_go_on_from_page_to_page(client: AsyncDeskhand) -> None:
    bodies = [{"task_id": BUTTON, "seed": seed, "labels": {"odd": str(seed % 2)}} for seed in range(450)]
    told: list[int] = []
    ids = await client.submit_batch(bodies, told.append)
    assert told == [450]
    assert [one.id async for one in client.tasks()] == ids[::-1]
    odd = [one.seed async for one in client.tasks(labels={"odd": "1"}, task_id=BUTTON)]
    assert odd == list(range(449, 0, -2))
    assert [one async for one in client.tasks(state=WorkState.DONE)] == []
    assert [one async for one in client.tasks(task_id="fake/other")] == []


async def test_a_refused_task_is_named_by_its_place_among_all(
    client: AsyncDeskhand, network: Any, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "BATCH", 2)
    bodies = [{"task_id": BUTTON}] * 3 + [{"task_id": "fake/nothing"}]
    with pytest.raises(InvalidRequest, match=r"^tasks\.3\.task_id") as refused:
        await client.submit_batch(bodies)
    assert refused.value.field == "tasks.3.task_id"

    def program() -> None:
        with Deskhand(network.url, token) as blocking:
            blocking.submit_batch([*bodies[1:], {}])

    with pytest.raises(InvalidRequest, match=r"^tasks\.2\.task_id"):
        await asyncio.to_thread(program)


async def test_what_was_recorded_is_read(client: AsyncDeskhand, store: Store, record_episode: Any) -> None:
    kept = await record_episode(store, run="one")
    await record_episode(store, success=False)
    [found] = [one async for one in client.trajectories(labels={"run": "one"}, outcome="success")]
    assert found.id == kept and (await client.trajectory(kept)).turns == 2
    steps = [step async for step in client.steps(kept)]
    assert [step.index for step in steps] == [0, 1]
    assert (await client.image(steps[0].image.digest)).startswith(b"\x89PNG")
    assert await client.scores(kept) == []
    assert [one.id for one in await client.catalog(BUTTON)] == [BUTTON]
    assert (await client.info()).user == "owner"
    assert await client.policies() == []
    assert len(await client.presets()) > 0
    assert (await client.get("/v1/models"))["object"] == "list"


async def test_what_is_known_of_episodes(
    client: AsyncDeskhand, store: Store, record_episode: Any, settings: Settings
) -> None:
    kept = await record_episode(store, run="one")
    await store.add_outcome_scores([OutcomeScore(trajectory_id=kept, score=0.1, scorer="judge:m@1")])
    await store.mark(kept, 0, "ada", 1.0)
    await store.mark(kept, 0, "bob", 1.0)
    page = await client.trajectory_page(labels={"run": "one"}, limit=1, outcome="success")
    assert [one.id for one in page.items] == [kept] and page.unreadable == ()
    assert "type" in await client.replay(kept) and "</html>" in await client.replay(kept, html=True)
    assert (await client.find_reviews(labels={"run": "one"})).entries == 1
    assert [one.trajectory_id async for one in client.reviews()] == [kept]
    assert [one async for one in client.reviews("resolved")] == []
    assert (await client.agreement(labels={"run": "one"})).marks == 2
    routed = await client.route("mine", rules="sft: {clean: false}", labels={"run": "one"})
    assert "mine/sft@1" in [one.dataset for one in routed]
    assert (await client.lineage(dataset="mine/sft@1")).sources[0].name == "scripted"
    with pytest.raises(Missing):
        await client.lineage("nothing")
    with pytest.raises(InvalidRequest) as refused:
        await client.route(rules="- x")
    assert refused.value.field == "rules"


async def test_accounts(client: AsyncDeskhand, network: Any, accounts: Accounts) -> None:
    made = await client.add_user("ada", Role.RESEARCHER)
    assert made.password is not None and await accounts.users.knows_password("ada", made.password)
    assert not (await client.add_user("ci", Role.SUBMITTER, token_only=True)).user.has_password
    with pytest.raises(InvalidRequest) as refused:
        await client.add_user("cj", Role.SUBMITTER, token_only=True, password="a long password")
    assert refused.value.field == "token_only"
    with pytest.raises(InvalidRequest):
        await client.set_password("ada", "")
    assert await accounts.users.knows_password("ada", made.password)
    assert (await client.set_password("ada", "chosen by ada")).password is None
    assert (await client.change_user("ada", role=Role.OPERATOR)).role is Role.OPERATOR
    assert (await client.change_user("ci", disabled=True)).disabled
    assert [one.name for one in await client.users()] == ["ada", "ci", "owner"]
    token = await client.create_token("nightly", scopes=["tasks:read"], lasts_s=60, owner="ada")
    assert [one.id for one in await client.tokens("ada")] == [token.about.id]
    async with AsyncDeskhand(network.url, token.token) as ada:
        with pytest.raises(NotAllowed, match="needs the scope 'rounds:read'"):
            await ada.round(1)
        with pytest.raises(NotAllowed, match="ada is operator"):
            await ada.users()
    assert (await client.revoke_token(token.about.id)).revoked_at_s is not None
    for nobody in ("adda", "a/../owner", "..", ""):
        with pytest.raises(Missing):
            await client.change_user(nobody, disabled=True)


async def test_what_is_no_platform_is_said(token: str) -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, html="<h1>A router</h1>"))
    with (
        Deskhand("http://127.0.0.1:9", token, transport=page) as nobody,
        pytest.raises(ServerTrouble, match="is it one"),
    ):
        nobody.info()


async def test_rounds(client: AsyncDeskhand) -> None:
    started = await client.start_round("smoke")
    assert [one.id async for one in client.rounds()] == [started.id]
    assert (await client.round(started.id)).preset == "smoke"
    assert (await client.cancel_round(started.id)).id == started.id


async def test_errors_have_kinds(client: AsyncDeskhand, network: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await client.submit(BUTTON, policy="nobody")
    assert refused.value.field == "policy.name"
    with pytest.raises(InvalidRequest) as misnamed:
        await client.submit("fake/press-buton")
    assert (misnamed.value.field, misnamed.value.suggestions[0]) == ("task_id", BUTTON)
    with pytest.raises(Missing):
        await client.task("nothing")
    async with AsyncDeskhand(network.url, "wrong") as stranger:
        with pytest.raises(NotSignedIn):
            await stranger.info()
        with pytest.raises(NotSignedIn):
            await anext(stranger.events())


async def test_a_busy_platform_is_asked_again(client: AsyncDeskhand, network: Any, token: str) -> None:
    async with network.failing("busy", "busy"):
        assert (await client.submit(BUTTON)).state is WorkState.QUEUED
    async with AsyncDeskhand(network.url, token, patience_s=0) as hasty, network.failing("busy"):
        with pytest.raises(ServerTrouble, match="no room") as busy:
            await hasty.info()
    assert (busy.value.status, busy.value.retry_after_s) == (503, 0.05)


async def test_a_stream_of_a_busy_platform_is_opened_again(
    client: AsyncDeskhand, network: Any, token: str
) -> None:
    async with network.failing("busy", "busy"):
        assert [one async for one in client.task_events(follow=False)] == []
    async with AsyncDeskhand(network.url, token, patience_s=0) as hasty, network.failing("busy"):
        with pytest.raises(ServerTrouble, match="no room"):
            await anext(hasty.task_events())

    def program() -> list[Any]:
        with Deskhand(network.url, token) as blocking:
            return list(blocking.task_events(follow=False))

    async with network.failing("busy", "busy"):
        assert await asyncio.to_thread(program) == []


async def test_a_lost_answer_queues_nothing_twice(client: AsyncDeskhand, network: Any) -> None:
    async with network.failing("lost"):
        sent = await client.submit(BUTTON)
    async with network.failing("lost"):
        ids = await client.submit_batch([{"task_id": BUTTON}] * 3)
    assert [one.id async for one in client.tasks()] == [*ids[::-1], sent.id]
    # a cancellation may have arrived: sent again, it would say that the task is cancelled already
    async with network.failing("lost"):
        with pytest.raises(Unreachable):
            await client.cancel(sent.id)
    assert (await client.task(sent.id)).state is WorkState.CANCELLED


async def test_a_stream_that_breaks_off_goes_on_where_it_was(
    client: AsyncDeskhand, network: Any, store: Store
) -> None:
    queue = TaskQueue(store.database)
    ids = await client.submit_batch([{"task_id": BUTTON, "labels": {"batch": "a"}}] * 6)
    await client.submit(BUTTON)
    for _ in range(3):
        await work_one(queue)
    whole = [one.event_id async for one in client.task_events(follow=False)]
    seen: list[Any] = []
    async with network.failing(900, 1200), asyncio.timeout(60):
        stream = client.task_events(labels={"batch": "a"})
        async for event in stream:
            seen.append(event)
            if len(seen) == len(whole):
                for _ in range(3):
                    await work_one(queue)
            if [one.state for one in seen].count(WorkState.DONE) == 6:
                break
        await stream.aclose()
    assert [one.event_id for one in seen][: len(whole)] == whole
    assert [one.id for one in seen if one.state is WorkState.DONE] == ids
    numbers = [one.event_id for one in seen]
    assert numbers == sorted(set(numbers))
    alone = [one async for one in client.task_events([ids[1]], follow=False)]
    assert [(one.state, one.trajectory_id is None) for one in alone] == [
        (WorkState.RUNNING, True),
        (WorkState.RUNNING, False),
        (WorkState.DONE, False),
    ]
    assert alone[-1].outcome is not None and alone[-1].outcome.success


async def test_the_blocking_client_does_the_same(network: Any, token: str, store: Store) -> None:
    queue = TaskQueue(store.database)

    def program() -> tuple[list[str], list[str], list[WorkState]]:
        with Deskhand(network.url, token, patience_s=20) as client:
            network.troubles.append("busy")
            with pytest.raises(Missing):
                client.task("nothing")
            assert not network.troubles
            ids = client.submit_batch([{"task_id": BUTTON, "seed": seed} for seed in range(250)])
            listed = [one.id for one in client.tasks()]
            stream = client.task_events([ids[0]])
            states = [next(stream).state for _ in range(3)]
            stream.close()
            assert client.wait(ids[0], timeout_s=60).state is WorkState.DONE
            return ids, listed, states

    working = asyncio.create_task(asyncio.to_thread(program))
    while not await queue.list():
        await asyncio.sleep(0.02)
    await work_one(queue)
    ids, listed, states = await working
    assert listed == ids[::-1]
    assert states == [WorkState.RUNNING, WorkState.RUNNING, WorkState.DONE]


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[str]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: list(inspect.signature(one).parameters) for name, one in methods if not name.startswith("_")
        }

    assert calls(Deskhand) == calls(AsyncDeskhand)


def test_who_sits_in_a_checkout_that_is_served_is_told_of_its_home(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make run` serves another home than commands have by themselves."""
    monkeypatch.delenv("DESKHAND_URL", raising=False)
    monkeypatch.setenv("DESKHAND_HOME", str(settings.home))
    monkeypatch.chdir(tmp_path)
    checkout = tmp_path / ".deskhand"
    checkout.mkdir()
    with hold(checkout), pytest.raises(NotServing, match=f"export DESKHAND_HOME={checkout}$"):
        Deskhand()
    with pytest.raises(NotServing, match="start one with `deskhand serve`"):
        Deskhand()


def test_the_token_of_this_home_goes_to_this_machine_alone(
    settings: Settings, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKHAND_TOKEN", raising=False)
    monkeypatch.delenv("DESKHAND_URL", raising=False)
    monkeypatch.setenv("DESKHAND_HOME", str(settings.home))
    Deskhand("http://127.0.0.1:9").close()
    with pytest.raises(Unauthorized, match="set DESKHAND_TOKEN"):
        Deskhand("https://deskhand.example.com")
    with pytest.raises(NotServing, match="DESKHAND_URL"):
        Deskhand()
    monkeypatch.setenv("DESKHAND_TOKEN", "given")
    Deskhand("https://deskhand.example.com").close()
    with (
        Deskhand("http://127.0.0.1:9", patience_s=0) as nobody,
        pytest.raises(Unreachable, match="no platform answers at"),
    ):
        nobody.info()


@pytest.mark.parametrize("given", ["http://localhost:80a", "http://[::1", "http://xn--a-.example", "ftp://a"])
def test_what_is_no_address_is_refused_by_where_it_stands(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_URL", given)
    with pytest.raises(InvalidField, match=f"{re.escape(repr(given))} is no .*DESKHAND_URL"):
        Deskhand(token="given")


@pytest.mark.parametrize("given", ["tök\u20acn", "two\nlines", "\udcff"])
def test_a_token_that_no_header_holds_is_refused(given: str) -> None:
    for kind in (Deskhand, AsyncDeskhand):
        with pytest.raises(Unauthorized, match="set DESKHAND_TOKEN"):
            kind("http://127.0.0.1:9", given)
