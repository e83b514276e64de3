from __future__ import annotations

import pytest

from deskhand_platform.api.endpoints import check_listed, without_secret
from deskhand_platform.api.routes.in_force import in_force
from deskhand_platform.errors import InvalidField
from deskhand_platform.sandbox_settings import SandboxSettings
from deskhand_platform.settings import JobSettings, Settings


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


def test_lists_of_addresses_lose_them_too() -> None:
    kept = ("http://me:secret@models/v1", "http://models/v1?key=secret", "http://models/v1")
    settings = Settings(jobs=JobSettings(endpoints=kept))
    [one] = [each for each in in_force(settings) if each.name == "jobs.endpoints"]
    assert one.value == ["http://me:***@models/v1", "http://models/v1?***", "http://models/v1"]
    with pytest.raises(InvalidField, match="has http://me") as refused:
        check_listed("endpoint", "http://mine/v1", "endpoints", kept)
    assert "secret" not in str(refused.value)
    assert without_secret("fe80::/10") == "fe80::/10"
