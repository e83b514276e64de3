"""How a real server stands, who may do how much on it, and what was done."""

from __future__ import annotations

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.client import AsyncDeskhand, Conflict, InvalidRequest, Missing
from deskhand_platform.states import AlarmState


async def test_alarms_and_the_present(client: AsyncDeskhand, store: Store) -> None:
    figures = {"value": 0.8, "unit": "GB free", "limit": 2.0}
    alarm = await AlarmBook(store).tell("platform", "disk_low", AlarmState.RAISED, figures)
    await client.submit("fake/press-button")
    now = await client.overview()
    assert (now.tasks["queued"], now.round, now.pools) == (1, None, None)
    assert [one.id for one in now.alarms] == [alarm.id]
    [raised] = [one async for one in client.alarms(open=True)]
    assert (raised.name, raised.data["limit"]) == ("disk_low", 2.0)
    assert [one async for one in client.alarms(open=False)] == []
    assert (await client.acknowledge_alarm(alarm.id)).acknowledged_by == "owner"
    with pytest.raises(Conflict, match="acknowledged already"):
        await client.acknowledge_alarm(alarm.id)
    assert (await client.storage()).rows["trajectories"] == 0
    settings = {one.name: one for one in await client.settings_in_force()}
    assert settings["port"].changed and not settings["webhooks.per_owner"].changed


async def test_limits_passwords_and_the_audit_log(client: AsyncDeskhand, accounts: Accounts) -> None:
    await client.add_user("ada", Role.SUBMITTER)
    given = await client.set_quota("ada", tasks=3, bytes=10**6)
    assert (given.set_here.tasks, given.set_here.sandboxes, given.limits.bytes) == (3, None, 10**6)
    assert (await client.set_quota("ada")).set_here.tasks is None
    assert [one.owner for one in await client.quotas()] == ["ada", "owner"]
    with pytest.raises(Missing):
        await client.set_quota("adda", tasks=1)

    await client.set_password("owner", "the old one!")
    with pytest.raises(InvalidRequest) as refused:
        await client.set_own_password("another one!", "not the old one")
    assert refused.value.field == "current"
    await client.set_own_password("another one!", "the old one!")
    assert await accounts.users.knows_password("owner", "another one!")

    entries = [one async for one in client.audit(user="owner", action="/v1/quotas", since_s=0)]
    assert [(one.target, one.status) for one in entries][-1] == ("/v1/quotas/ada", 200)
    refusals = [one async for one in client.audit(refused=True)]
    # the wrong current password is a try to sign in
    assert {one.status for one in refusals} == {401, 404, 422}
    assert [one async for one in client.audit(target="nobody", until_s=1.0)] == []


async def test_one_webhook(client: AsyncDeskhand) -> None:
    made = await client.add_webhook("https://93.184.215.14/hook")
    assert (await client.webhook(made.id)).url == "https://93.184.215.14/hook"
    with pytest.raises(Missing):
        await client.webhook("nothing")
