"""People who annotate: each has a name and a token of their own, so that a mark is known to be theirs.

Their tokens read everything and annotate; whatever else changes something is the owner's. As with the owner's
token, only a hash is kept.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from dataclasses import dataclass

import sqlalchemy as sa

from deskhand_flywheel.database import Database
from deskhand_platform.auth import OWNER, hash_token, session_value
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.tables import annotators

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotator:
    """One person."""

    name: str
    created_at_s: float


class Annotators:
    """Everybody who may annotate beside the owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str) -> str:
        """Let somebody in; their token, which is told this once.

        Raises:
            InvalidField: a name that none can have.
            WrongState: it is somebody's already.
        """
        if not _NAME.fullmatch(name) or name == OWNER:
            raise InvalidField(
                "name",
                f"{name!r}: give 1 to 32 of a-z, 0-9, _, . and -, a letter or digit first, not {OWNER!r}",
            )
        token = secrets.token_urlsafe(32)
        row = {"name": name, "token_hash": hash_token(token), "created_at_s": time.time()}
        async with self._database.write() as connection:
            if await connection.scalar(sa.select(annotators.c.name).where(annotators.c.name == name)):
                raise WrongState(f"there is an annotator {name!r} already; remove them first for a new token")
            await connection.execute(annotators.insert().values(row))
        return token

    async def remove(self, name: str) -> None:
        """Let somebody in no more; their marks and notes stay.

        Raises:
            NotFound: nobody has the name.
        """
        async with self._database.write() as connection:
            gone = await connection.execute(annotators.delete().where(annotators.c.name == name))
        if not gone.rowcount:
            raise NotFound("annotator", name, [each.name for each in await self.list()])

    async def list(self) -> tuple[Annotator, ...]:
        """Everybody, by name."""
        async with self._database.read() as connection:
            rows = (await connection.execute(sa.select(annotators).order_by(annotators.c.name))).all()
        return tuple(Annotator(name=row.name, created_at_s=row.created_at_s) for row in rows)

    async def with_token(self, token: str) -> str | None:
        """Whose token it is; None: nobody's."""
        # 256 random bits, hashed: how long the index takes to find nothing tells nobody anything
        query = sa.select(annotators.c.name).where(annotators.c.token_hash == hash_token(token))
        async with self._database.read() as connection:
            return await connection.scalar(query)

    async def with_session(self, value: str) -> str | None:
        """Whose cookie it is; None: nobody's."""
        name = value.partition(":")[0]
        query = sa.select(annotators.c.token_hash).where(annotators.c.name == name)
        async with self._database.read() as connection:
            kept = await connection.scalar(query)
        if kept is None or not hmac.compare_digest(value.encode(), _session(name, kept).encode()):
            return None
        return name


def annotator_session(name: str, token: str) -> str:
    """What a browser's cookie carries for one of them."""
    return _session(name, hash_token(token))


def _session(name: str, token_hash: str) -> str:
    return f"{name}:{session_value(token_hash)}"
