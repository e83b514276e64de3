"""The people and programs that have an account."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.access import Role
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.tables import sessions, users

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """One account."""

    name: str
    role: Role
    has_password: bool
    """False: comes in by token only."""
    disabled: bool
    created_at_s: float


class Users:
    """Everybody with an account. None is ever deleted: what they did keeps their name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, role: Role, password: str | None = None) -> User:
        """Open an account; without a password only tokens open it.

        Raises:
            InvalidField: a name or a password that none can have.
            WrongState: there is such an account.
        """
        if not _NAME.fullmatch(name):
            raise InvalidField(
                "name", f"{name!r}: give 1 to 32 of a-z, 0-9, _, . and -, a letter or digit first"
            )
        kept = None if password is None else await passwords.hashed(passwords.check_new(password, name))
        row = {"name": name, "role": role, "password": kept, "created_at_s": time.time()}
        async with self._database.write() as connection:
            if await connection.scalar(sa.select(users.c.name).where(users.c.name == name)):
                raise WrongState(f"there is a user {name!r} already")
            await connection.execute(users.insert().values(row))
        return await self.get(name)

    async def get(self, name: str) -> User:
        """One account.

        Raises:
            NotFound: nobody has the name; carries suggestions.
        """
        row = await self._database.first(sa.select(users).where(users.c.name == name))
        if row is None:
            raise NotFound("user", name, [each.name for each in await self.list()])
        return _user(row)

    async def list(self, role: Role | None = None) -> tuple[User, ...]:
        """Everybody, by name."""
        query = sa.select(users).order_by(users.c.name)
        if role is not None:
            query = query.where(users.c.role == role)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_user(row) for row in rows)

    async def change(self, name: str, *, role: Role | None = None, disabled: bool | None = None) -> User:
        """Give another role, shut out or let in again. Who is shut out is signed out everywhere.

        Raises:
            NotFound: nobody has the name.
            WrongState: nobody would be left who can administer the platform.
        """
        await self.get(name)
        given = {"role": role, "disabled": disabled}
        values = {key: value for key, value in given.items() if value is not None}
        async with self._database.write() as connection:
            if values:
                await connection.execute(sa.update(users).where(users.c.name == name).values(values))
            admin = users.c.role == Role.ADMIN
            left = sa.select(users.c.name).where(admin, users.c.disabled.is_(False)).limit(1)
            if await connection.scalar(left) is None:
                raise WrongState(f"{name} is the last administrator: make somebody else one first")
            if disabled:
                await _end_sessions(connection, name)
        return await self.get(name)

    async def set_password(self, name: str, password: str) -> None:
        """Give another password; ends the sessions begun with the old one.

        Raises:
            NotFound: nobody has the name.
            InvalidField: a password that none can have.
        """
        await self.get(name)
        kept = await passwords.hashed(passwords.check_new(password, name))
        async with self._database.write() as connection:
            await connection.execute(sa.update(users).where(users.c.name == name).values(password=kept))
            await _end_sessions(connection, name)

    async def knows_password(self, name: str, password: str) -> bool:
        """Whether that is their password, and they may come in; takes as long when nobody has the name."""
        query = sa.select(users.c.password, users.c.disabled).where(users.c.name == name)
        row = await self._database.first(query)
        right = await passwords.matches(password, None if row is None else row["password"])
        return right and row is not None and not row["disabled"]


async def _end_sessions(connection: AsyncConnection, name: str) -> None:
    await connection.execute(sessions.delete().where(sessions.c.user == name))


def _user(row: RowMapping | dict[str, Any]) -> User:
    return User(
        name=row["name"],
        role=Role(row["role"]),
        has_password=row["password"] is not None,
        disabled=row["disabled"],
        created_at_s=row["created_at_s"],
    )
