"""API tokens: shown once, kept hashed, for all or some of what their owner may, for ever or until a time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import RowMapping

from deskhand_flywheel.database import Database
from deskhand_platform.accounts.access import ROLES, SCOPES, Principal, Role
from deskhand_platform.auth import hash_token
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.tables import api_tokens, sessions, users

USE_NOTED_S = 300.0
"""How far behind the time of the last use may be: a read is not to cost a write."""
MAX_LABEL = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """What is known of a token; not the token."""

    id: str
    owner: str
    label: str
    scopes: tuple[str, ...] | None
    """None: all that its owner may."""
    created_at_s: float
    expires_at_s: float | None
    revoked_at_s: float | None
    used_at_s: float | None
    """Within five minutes; None: never."""


class Tokens:
    """Everybody's tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self,
        owner: str,
        label: str,
        *,
        scopes: Iterable[str] | None = None,
        lasts_s: float | None = None,
        id: str | None = None,
        token_hash: str | None = None,
    ) -> tuple[Token, str]:
        """Make a token.

        Args:
            lasts_s: seconds until it opens nothing any more; None: until it is revoked.
            id: for one that is known by it.
            token_hash: of a token that there is already.

        Returns:
            What is kept of it, and the token itself, which is told this once.

        Raises:
            InvalidField: a scope that there is not or that the owner has not, a label or a time that is none.
            WrongState: the owner may not come in.
            NotFound: nobody has the owner's name.
        """
        if not 1 <= len(label.strip()) <= MAX_LABEL:
            raise InvalidField("label", f"say in 1 to {MAX_LABEL} characters what it is for")
        if lasts_s is not None and lasts_s <= 0:
            raise InvalidField("lasts_s", "give a number of seconds above 0")
        role = await self._role(owner)
        wanted = None if scopes is None else sorted(set(scopes))
        for scope in wanted or ():
            if scope not in ROLES[role]:
                why = f"{owner} is {role} and has not got it" if scope in SCOPES else "there is none"
                raise InvalidField("scopes", f"{scope!r}: {why}; there are: {', '.join(sorted(ROLES[role]))}")
        if wanted == []:
            raise InvalidField("scopes", "name one at least, or leave them out for all that its owner may")
        token_id, token, now = id or secrets.token_hex(6), secrets.token_urlsafe(32), time.time()
        row = {
            "id": token_id,
            "owner": owner,
            "label": label.strip(),
            "token_hash": token_hash or hash_token(token),
            "scopes": wanted,
            "created_at_s": now,
            "expires_at_s": None if lasts_s is None else now + lasts_s,
        }
        async with self._database.write() as connection:
            await connection.execute(api_tokens.insert().values(row))
        return await self.get(token_id), token

    async def _role(self, owner: str) -> Role:
        query = sa.select(users.c.role, users.c.disabled).where(users.c.name == owner)
        row = await self._database.first(query)
        if row is None:
            raise NotFound("user", owner)
        if row["disabled"]:
            raise WrongState(f"{owner} is disabled")
        return Role(row["role"])

    async def get(self, token_id: str) -> Token:
        """One of them.

        Raises:
            NotFound: there is none of that id.
        """
        query = sa.select(api_tokens).where(api_tokens.c.id == token_id)
        row = await self._database.first(query)
        if row is None:
            raise NotFound("token", token_id)
        return _token(row)

    async def list(self, owner: str | None = None) -> tuple[Token, ...]:
        """Somebody's, or everybody's, newest first; also those that open nothing any more."""
        query = sa.select(api_tokens).order_by(api_tokens.c.created_at_s.desc(), api_tokens.c.id)
        if owner is not None:
            query = query.where(api_tokens.c.owner == owner)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_token(row) for row in rows)

    async def revoke(self, token_id: str) -> Token:
        """Let a token open nothing any more, nor the sessions that were begun with it.

        Raises:
            NotFound: there is none of that id.
        """
        now = time.time()
        mine = api_tokens.c.id == token_id
        async with self._database.write() as connection:
            open_one = sa.update(api_tokens).where(mine, api_tokens.c.revoked_at_s.is_(None))
            await connection.execute(open_one.values(revoked_at_s=now))
            await connection.execute(sessions.delete().where(sessions.c.token_id == token_id))
        return await self.get(token_id)

    async def holder(self, token: str) -> Principal | None:
        """Who comes with a token; None: it opens nothing."""
        # a hash of 256 random bits: how long the index takes to find nothing tells nobody anything
        now = time.time()
        row = await self._database.first(_HOLDER, {"hash": hash_token(token), "now": now})
        if row is None:
            return None
        if now - (row["used_at_s"] or 0.0) > USE_NOTED_S:
            async with self._database.write() as connection:
                used = sa.update(api_tokens).where(api_tokens.c.id == row["id"]).values(used_at_s=now)
                await connection.execute(used)
        return principal(row["owner"], row["role"], token=row)


def good(now: float | sa.BindParameter[float]) -> sa.ColumnElement[bool]:
    """A token that opens something, of an owner who may come in."""
    return sa.and_(
        api_tokens.c.revoked_at_s.is_(None),
        sa.or_(api_tokens.c.expires_at_s.is_(None), api_tokens.c.expires_at_s > now),
        users.c.disabled.is_(False),
    )


_HOLDER = (
    sa.select(api_tokens, users.c.role)
    .join(users, users.c.name == api_tokens.c.owner)
    .where(api_tokens.c.token_hash == sa.bindparam("hash"), good(sa.bindparam("now", type_=sa.Float)))
)
"""Made once: every request asks it."""


def principal(name: str, role: str, *, token: RowMapping | None) -> Principal:
    """Somebody with what their role has, less what their token leaves out; None: they came by password."""
    scopes = None if token is None else token["scopes"]
    has = ROLES[Role(role)]
    return Principal(
        name=name,
        role=Role(role),
        scopes=has if scopes is None else has & frozenset(scopes),
        token_id=None if token is None else token["id"],
        limited=token is not None and (scopes is not None or token["expires_at_s"] is not None),
    )


def _token(row: RowMapping) -> Token:
    kept = row["scopes"]
    return Token(
        id=row["id"],
        owner=row["owner"],
        label=row["label"],
        scopes=None if kept is None else tuple(kept),
        created_at_s=row["created_at_s"],
        expires_at_s=row["expires_at_s"],
        revoked_at_s=row["revoked_at_s"],
        used_at_s=row["used_at_s"],
    )
