from __future__ import annotations

from deskhand_platform.told_source import leased
from deskhand_sandbox.errors import HostUnreachable
from deskhand_sandbox.host import SandboxClient
from deskhand_sandbox.manager.records import LeaseStatus, ManagerStatus

ADDRESS = "http://127.0.0.1:9", "token"


class Lends(SandboxClient):
    """A host that says what it has lent."""

    async def status(self) -> ManagerStatus:
        leases = tuple(
            LeaseStatus(id=str(n), kind="fake", sandbox_id=str(n), owner=owner, age_s=1.0, connected=True)
            for n, owner in enumerate(("ada", "task-1", "ada"))
        )
        return ManagerStatus(draining=False, pools=(), leases=leases, orphans_ended=0)


class Away(SandboxClient):
    """One that does not answer."""

    async def status(self) -> ManagerStatus:
        raise HostUnreachable("no answer")


async def test_who_has_how_many_sandboxes_is_asked_of_the_host() -> None:
    assert await leased(Lends(*ADDRESS)) == {"ada": 2, "task-1": 1}
    assert not await leased(Away(*ADDRESS)) and not await leased(None)
