"""The same on PostgreSQL: what SQLite forgives, it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from deskhand_flywheel.store import Store
from deskhand_flywheel.temporary_postgresql import postgresql_server
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import Entry, EntryFilter
from deskhand_platform.accounts.opening import open_accounts
from deskhand_platform.accounts.quotas import Quota, note_recorded
from deskhand_platform.accounts.signing_in import Credentials
from deskhand_platform.errors import QuotaExceeded, WrongState
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import load_settings
from deskhand_platform.tables import audit
from deskhand_platform.task_orders import PolicyRef, TaskOrder
from deskhand_sandbox.tasks import make_task


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    with postgresql_server() as host:
        with psycopg.connect(
            host=str(host), user="deskhand", dbname="postgres", autocommit=True
        ) as connection:
            connection.execute("CREATE DATABASE store")
        url = f"postgresql+psycopg://deskhand@/store?host={host}"
        async with await Store.open(url, f"file://{tmp_path}/blobs") as opened:
            yield opened


async def test_accounts_quotas_and_the_log(store: Store, tmp_path: Path) -> None:
    database = store.database
    accounts, first = await open_accounts(database, load_settings(home=tmp_path / "home"))
    assert first is not None
    shown = Credentials(name="owner", password=first.password)
    came = await accounts.sessions.holder(await accounts.sign_in(shown, "here"))
    assert came is not None and came.role is Role.ADMIN

    await accounts.users.add("ada", Role.SUBMITTER)
    about, token = await accounts.tokens.create("ada", "x", scopes=["tasks:write"], lasts_s=60)
    by_token = await accounts.sessions.holder(await accounts.sessions.begin("ada", about.id))
    assert by_token == await accounts.tokens.holder(token)
    await accounts.tokens.revoke(about.id)
    assert await accounts.tokens.holder(token) is None

    await accounts.quotas.set("ada", Quota(tasks=3, sandboxes=1, bytes=None))
    queue = TaskQueue(database, accounts.quotas)
    task, policy = make_task("fake/press-button", 1), PolicyRef(name="scripted", settings={})
    orders = [TaskOrder(task=task, policy=policy, owner="ada", key=str(at)) for at in range(3)]
    ids = await queue.submit_all(orders)
    assert await queue.submit_all(orders) == ids
    with pytest.raises(QuotaExceeded):
        await queue.submit(TaskOrder(task=task, policy=policy, owner="ada"))
    other = await queue.submit(TaskOrder(task=task, policy=policy, key="1"))
    claimed = [await queue.claim("w", 60.0) for _ in range(3)]
    assert [one and one.id for one in claimed] == [ids[0], other.id, None]
    with pytest.raises(WrongState):
        await queue.retry(ids[1])
    await note_recorded(database, "gone", "ada", 5)
    usage = await accounts.quotas.usage("ada")
    assert (usage.tasks, usage.sandboxes, usage.bytes) == (3, 1, 0)

    entries = [Entry(who="ada", action="a", target=f"100%_{at}", source="s", status=200) for at in range(20)]
    await asyncio.gather(*map(accounts.audit.write, entries))
    assert len(await accounts.audit.list(EntryFilter(who="ada", target="0%_"))) == 20
    for change in (sa.update(audit).values(who="z"), sa.delete(audit)):
        with pytest.raises(DBAPIError, match="only ever appended"):
            async with database.write() as connection:
                await connection.execute(change)
