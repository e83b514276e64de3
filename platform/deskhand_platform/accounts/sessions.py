"""Sessions of browsers: a random value in the cookie, its hash in the table, until unused or signed out."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress

import sqlalchemy as sa

from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import StorageFull, StoreUnavailable
from deskhand_platform.accounts.access import Principal
from deskhand_platform.accounts.tokens import USE_NOTED_S, good, principal
from deskhand_platform.auth import hash_token
from deskhand_platform.tables import api_tokens, sessions, users


class Sessions:
    """Every browser that is signed in."""

    def __init__(self, database: Database, *, lasts_s: float) -> None:
        self._database = database
        self.lasts_s = lasts_s

    @property
    def _noted_s(self) -> float:
        """A use within this time of the one before is not written down."""
        return min(USE_NOTED_S, self.lasts_s / 2)

    async def begin(self, user: str, token_id: str | None = None) -> str:
        """The cookie's value for somebody who has shown who they are; clears away what has expired."""
        value, now = secrets.token_urlsafe(32), time.time()
        row = {
            "value_hash": hash_token(value),
            "user": user,
            "token_id": token_id,
            "created_at_s": now,
            "expires_at_s": now + self.lasts_s,
        }
        async with self._database.write() as connection:
            await connection.execute(sessions.delete().where(sessions.c.expires_at_s <= now))
            await connection.execute(sessions.insert().values(row))
        return value

    async def holder(self, value: str) -> Principal | None:
        """Whose cookie it is, which lasts anew from here on; None: nobody's, or not any more."""
        now, hashed = time.time(), hash_token(value)
        query = (
            sa.select(
                sessions.c.user,
                sessions.c.expires_at_s.label("session_expires_at_s"),
                users.c.role,
                api_tokens.c.id,
                api_tokens.c.scopes,
                api_tokens.c.expires_at_s,
            )
            .join(users, users.c.name == sessions.c.user)
            .outerjoin(api_tokens, api_tokens.c.id == sessions.c.token_id)
            .where(
                sessions.c.value_hash == hashed,
                sessions.c.expires_at_s > now,
                users.c.disabled.is_(False),
                sa.or_(sessions.c.token_id.is_(None), good(now)),
            )
        )
        row = await self._database.first(query)
        if row is None:
            return None
        until = now + self.lasts_s
        if until - row["session_expires_at_s"] > self._noted_s:
            used = sa.update(sessions).where(sessions.c.value_hash == hashed).values(expires_at_s=until)
            # it still lasts, and the next use writes it down
            with suppress(StorageFull, StoreUnavailable):
                async with self._database.write() as connection:
                    await connection.execute(used)
        return principal(row["user"], row["role"], token=None if row["id"] is None else row)

    async def end(self, value: str) -> None:
        """Sign a browser out."""
        async with self._database.write() as connection:
            await connection.execute(sessions.delete().where(sessions.c.value_hash == hash_token(value)))
