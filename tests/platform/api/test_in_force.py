from __future__ import annotations

import pytest

from deskhand_platform.api.routes.in_force import in_force, without_secret
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
