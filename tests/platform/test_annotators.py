"""People who annotate come in with tokens of their own, and change nothing else."""

from __future__ import annotations

import httpx
import pytest

from deskhand_platform.annotators import Annotators
from deskhand_platform.api.app import create_app
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.services import Services

ANNOTATIONS = ("annotations",)
"""Tags of the routes that annotators may change something with."""


async def test_a_person_comes_in_until_they_are_removed(
    anonymous: httpx.AsyncClient, services: Services
) -> None:
    token = await services.annotators.add("ada")
    headers = {"Authorization": f"Bearer {token}"}
    assert (await anonymous.get("/v1/info", headers=headers)).json()["user"] == "ada"
    assert (await anonymous.post("/login", json={"token": token})).status_code == 204
    assert (await anonymous.get("/v1/info")).json()["user"] == "ada"
    assert (await anonymous.post("/logout")).status_code == 204
    assert (await anonymous.get("/v1/info")).status_code == 401
    anonymous.cookies.set(services.gate.cookie, f"ada:{services.gate.session}")
    assert (await anonymous.get("/v1/info")).status_code == 401
    await services.annotators.remove("ada")
    assert (await anonymous.get("/v1/info", headers=headers)).status_code == 401
    again = await services.annotators.add("ada")
    assert again != token and await services.annotators.with_token(again) == "ada"
    assert await services.annotators.with_token(token) is None


async def test_the_platforms_own_token_is_the_owner(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/info")).json()["user"] == "owner"


async def test_a_cookie_ends_with_its_person(anonymous: httpx.AsyncClient, services: Services) -> None:
    token = await services.annotators.add("ada")
    await anonymous.post("/login", json={"token": token})
    await services.annotators.remove("ada")
    assert (await anonymous.get("/v1/info")).status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        (method, path)
        for path, methods in create_app().openapi()["paths"].items()
        for method, about in methods.items()
        if method != "get" and about["tags"][0] not in ANNOTATIONS
    ],
)
async def test_what_is_not_annotation_is_the_owners_to_change(
    anonymous: httpx.AsyncClient, services: Services, method: str, path: str
) -> None:
    token = await services.annotators.add("ada")
    headers = {"Authorization": f"Bearer {token}"}
    refused = await anonymous.request(method, path.replace("{id}", "1"), headers=headers)
    assert refused.status_code == 403 and refused.json()["error"]["type"] == "forbidden"


async def test_names_are_plain_and_given_once(services: Services) -> None:
    people = services.annotators
    for name in ("", "Ada", "owner", "a b", "a:b", "-a", "x" * 33):
        with pytest.raises(InvalidField, match="name"):
            await people.add(name)
    await people.add("ada")
    with pytest.raises(WrongState, match="already"):
        await people.add("ada")
    with pytest.raises(NotFound, match="did you mean ada"):
        await people.remove("adda")
    assert [each.name for each in await people.list()] == ["ada"]


async def test_no_token_is_kept(services: Services) -> None:
    token = await services.annotators.add("ada")
    again = Annotators(services.store.database)
    kept = services.settings.home.glob("deskhand.db*")
    assert not any(token.encode() in file.read_bytes() for file in kept)
    assert await again.with_token(token) == "ada"
