from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_platform.host_address import HostClient, publish, withdraw
from deskhand_sandbox.host import SandboxClient


async def test_of_hosts_that_followed_one_another_the_last_has_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[SandboxClient] = []

    async def close(self: SandboxClient) -> None:
        closed.append(self)

    monkeypatch.setattr(SandboxClient, "close", close)
    host = HostClient(tmp_path)
    assert host.get() is None
    met: list[SandboxClient | None] = []
    for port in (1, 2, 3):
        publish(tmp_path, f"http://127.0.0.1:{port}", "t")
        met.append(host.get())
        assert host.get() is met[-1]
    withdraw(tmp_path)
    assert host.get() is None
    await host.close()
    assert closed == met
