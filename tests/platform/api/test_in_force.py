from __future__ import annotations

import pytest

from deskhand_platform.api.routes.in_force import in_force, without_secret
from deskhand_platform.sandbox_settings import SandboxSettings
from deskhand_platform.settings import Settings


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql+psycopg://me:secret@db:5432/x", "postgresql+psycopg://me:***@db:5432/x"),
        ("s3://bucket/part?access_key_id=a&secret_access_key=secret", "s3://bucket/part?***"),
        ("sqlite+aiosqlite:////home/me/x.db", "sqlite+aiosqlite:////home/me/x.db"),
    ],
)
def test_addresses_lose_their_secrets(address: str, shown: str) -> None:
    assert without_secret(address) == shown
    [one] = [each for each in in_force(Settings(database=address)) if each.name == "database"]
    assert (one.value, one.changed) == (shown, True)


def test_pools_of_sandboxes_are_shown_without_secrets() -> None:
    pools = {"vm": {"max_sandboxes": 1, "settings": {"connection": "qemu+ssh://me:secret@far/system"}}}
    shown = {each.name: each for each in in_force(Settings(sandbox=SandboxSettings(pools=pools)))}
    assert shown["sandbox.pools.vm.max_sandboxes"].value == 1
    assert shown["sandbox.pools.vm.settings.connection"].value == "qemu+ssh://me:***@far/system"
    assert shown["sandbox.pools.vm.settings.connection"].changed and not shown["sandbox.terms.ttl_s"].changed
    assert {each.name: each.value for each in in_force(Settings())}["sandbox.pools"] == {}
