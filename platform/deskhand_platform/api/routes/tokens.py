"""/v1/tokens: everybody's own API tokens; everybody's, for administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from deskhand_platform.accounts.access import Principal
from deskhand_platform.accounts.tokens import Token
from deskhand_platform.api.account_models import NewToken, TokenMade, TokenModel
from deskhand_platform.api.deps import Have, Noted, Who
from deskhand_platform.errors import Forbidden, NotFound
from deskhand_platform.naming import named_in

router = APIRouter(tags=["accounts"])


@router.get("/tokens")
async def list_tokens(
    have: Have, who: Who, owner: Annotated[str | None, Query(description="whose; one's own without")] = None
) -> list[TokenModel]:
    """Tokens, newest first; also those that have expired or were revoked. `owner=*` is everybody's."""
    whose = owner or who.name
    if whose != who.name and not _administers(who):
        raise Forbidden("the tokens of others are for administrators to see")
    return [shown(one) for one in await have.accounts.tokens.list(None if whose == "*" else whose)]


@router.post("/tokens", status_code=201)
async def create_token(have: Have, who: Who, noted: Noted, body: NewToken) -> TokenMade:
    """Make a token, which is shown in the answer and never again."""
    owner = body.owner or who.name
    if owner != who.name and not _administers(who):
        raise Forbidden("tokens for others are for administrators to make")
    with named_in("owner"):
        about, token = await have.accounts.tokens.create(
            owner, body.label, scopes=body.scopes, lasts_s=body.lasts_s
        )
    noted(f"{about.id} for {owner}: {about.label}")
    return TokenMade(token=token, about=shown(about))


@router.delete("/tokens/{id}")
async def revoke_token(have: Have, who: Who, id: str) -> TokenModel:
    """Let a token open nothing any more, nor the sessions that were begun with it."""
    if (await have.accounts.tokens.get(id)).owner != who.name and not _administers(who):
        raise NotFound("token", id)
    return shown(await have.accounts.tokens.revoke(id))


def _administers(who: Principal) -> bool:
    return "admin" in who.scopes


def shown(token: Token) -> TokenModel:
    """What is known of a token for the wire."""
    return TokenModel.model_validate(asdict(token))
