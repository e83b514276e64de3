"""`deskhand users` and `deskhand tokens`, with and without a platform that runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Principal
from deskhand_platform.accounts.audit import Audit, EntryFilter
from deskhand_platform.accounts.tokens import Tokens
from deskhand_platform.accounts.users import Users
from deskhand_platform.settings import Settings

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.slow
def test_people_come_and_go(settings: Settings, deskhand: Run) -> None:
    status, password, said = deskhand("users", "add", "ada", "--role", "researcher")
    assert status == 0 and "name      owner" in said  # the first command makes the first administrator
    assert "name      owner" not in deskhand("users", "list")[2]

    async def knows(given: str) -> bool:
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            return await Users(store.database).knows_password("ada", given)

    assert asyncio.run(knows(password.strip()))
    assert deskhand("users", "password", "ada", "--ask", told="chosen by ada\n")[:2] == (0, "")
    assert asyncio.run(knows("chosen by ada"))
    assert deskhand("users", "role", "ada", "operator")[0] == 0
    assert deskhand("users", "disable", "ada")[0] == 0
    assert not asyncio.run(knows("chosen by ada"))
    listed = {one["name"]: one for one in json.loads(deskhand("users", "list", "--json")[1])}
    assert (listed["ada"]["role"], listed["ada"]["disabled"]) == ("operator", True)
    assert deskhand("users", "disable", "ada", "--undo")[0] == 0
    for arguments, wrong, why in (
        (("users", "add", "Ada"), 2, "a-z"),
        (("users", "add", "ada"), 1, "already"),
        (("users", "role", "ada", "king"), 2, "king"),
        (("users", "password", "adda"), 2, "did you mean ada"),
        (("users", "disable", "owner"), 1, "last administrator"),
    ):
        status, _, said = deskhand(*arguments)
        assert status == wrong and why in said

    async def log() -> list[tuple[str, str, str]]:
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            entries = await Audit(store.database).list(EntryFilter())
            assert {one.source for one in entries} == {"command line"}
            assert all(one.who.endswith("@here") for one in entries)
            done = [one for one in reversed(entries) if one.status < 400]
            return [(one.action, one.target, one.detail) for one in done]

    assert asyncio.run(log()) == [
        ("POST /v1/users", "/v1/users", "ada, researcher"),
        ("PUT /v1/users/{name}/password", "/v1/users/ada/password", ""),
        ("PATCH /v1/users/{name}", "/v1/users/ada", "role operator"),
        ("PATCH /v1/users/{name}", "/v1/users/ada", "disabled True"),
        ("PATCH /v1/users/{name}", "/v1/users/ada", "disabled False"),
    ]


def test_tokens_are_made_listed_and_revoked(settings: Settings, deskhand: Run) -> None:
    assert deskhand("users", "add", "ci", "--token-only", "--role", "submitter")[1] == ""
    made = deskhand("tokens", "create", "nightly", "--user", "ci", "--scope", "tasks:write", "--lasts", "90d")

    async def holder() -> Principal | None:
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            return await Tokens(store.database).holder(made[1].strip())

    came = asyncio.run(holder())
    assert came is not None and (came.name, came.scopes) == ("ci", {"tasks:write"})
    [kept] = json.loads(deskhand("tokens", "list", "--user", "ci", "--json")[1])
    assert kept["expires_at_s"] - kept["created_at_s"] == 90 * 86400
    assert made[1].strip() not in deskhand("tokens", "list")[1]
    assert deskhand("tokens", "revoke", kept["id"])[0] == 0
    assert asyncio.run(holder()) is None
    for arguments, wrong, why in (
        (("tokens", "create", "x", "--lasts", "soon"), 2, "90d"),
        (("tokens", "create", "x", "--user", "ci", "--scope", "rounds:write"), 2, "ci is submitter"),
        (("tokens", "create", "x", "--user", "cj"), 2, "no user 'cj'"),
        (("tokens", "revoke", "nothing"), 2, "no token"),
    ):
        status, _, said = deskhand(*arguments)
        assert status == wrong and why in said
