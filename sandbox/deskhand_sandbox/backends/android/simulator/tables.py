"""What the simulated device knows: contacts, notes, messages, alarms, pictures, settings.

Programs reach it as Android's do, by `content` addresses and `settings`; the apps on the screen through the
same rows. The names `content://sms` and `content://media/external/images/media` and their columns are
Android's own; the other apps' are this device's.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Value]

QUERY_S = 2.0
LONGEST_TEXT = 1 << 20


class QueryError(Exception):
    """A query the tables refuse; says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of one kind."""

    address: str
    """Where `content` finds it."""
    columns: Mapping[str, str]
    """Name -> SQL type and default."""
    order: str = "_id"


TABLES: Mapping[str, Table] = {
    "contacts": Table(
        address="content://org.deskhand.contacts/contacts",
        columns={"name": "TEXT NOT NULL", "number": "TEXT DEFAULT ''", "email": "TEXT DEFAULT ''"},
        order="name COLLATE NOCASE, _id",
    ),
    "notes": Table(
        address="content://org.deskhand.notes/notes",
        columns={"title": "TEXT NOT NULL", "body": "TEXT DEFAULT ''", "pinned": "INTEGER DEFAULT 0"},
        order="pinned DESC, _id DESC",
    ),
    "sms": Table(
        address="content://sms",
        columns={
            "address": "TEXT NOT NULL",
            "body": "TEXT DEFAULT ''",
            "date": "INTEGER DEFAULT 0",
            "type": "INTEGER DEFAULT 2",
            "read": "INTEGER DEFAULT 1",
        },
        order="date, _id",
    ),
    "alarms": Table(
        address="content://org.deskhand.clock/alarms",
        columns={
            "hour": "INTEGER NOT NULL",
            "minute": "INTEGER NOT NULL",
            "label": "TEXT DEFAULT ''",
            "enabled": "INTEGER DEFAULT 1",
        },
        order="hour, minute, _id",
    ),
    "timers": Table(
        address="content://org.deskhand.clock/timers",
        columns={
            "name": "TEXT NOT NULL",
            "seconds": "INTEGER DEFAULT 0",
            "state": "TEXT DEFAULT 'reset'",
            "since": "INTEGER DEFAULT 0",
        },
    ),
    "images": Table(
        address="content://media/external/images/media",
        columns={
            "_display_name": "TEXT NOT NULL",
            "bucket_display_name": "TEXT DEFAULT 'Camera'",
            "is_favorite": "INTEGER DEFAULT 0",
            "date_taken": "INTEGER DEFAULT 0",
            "scene": "INTEGER DEFAULT 0",
        },
        order="date_taken DESC, _id DESC",
    ),
    "settings": Table(
        address="content://settings",
        columns={"namespace": "TEXT NOT NULL", "name": "TEXT NOT NULL", "value": "TEXT"},
        order="namespace, name",
    ),
}


class Tables:
    """All rows of one device, in memory."""

    def __init__(self) -> None:
        self._rows = _empty()
        self.changed: Callable[[], None] = lambda: None
        """Called after every change."""

    def clear(self) -> None:
        """No rows, and the next ids are the first ones."""
        self._rows.close()
        self._rows = _empty()

    def close(self) -> None:
        """Let go of the memory; safe to call twice."""
        self._rows.close()

    def dump(self) -> bytes:
        """Every row, for `load`."""
        self._rows.set_authorizer(None)
        try:
            return self._rows.serialize()
        finally:
            _limit(self._rows)

    def load(self, data: bytes) -> None:
        """The rows of a dump and no others."""
        fresh = sqlite3.connect(":memory:", isolation_level=None)
        fresh.deserialize(data)
        _limit(fresh)
        self._rows.close()
        self._rows = fresh

    def select(
        self, table: str, *, columns: Sequence[str] = (), where: str = "", sort: str = ""
    ) -> list[Row]:
        """Rows of a table, in its own order.

        Args:
            columns: none: all.
            where: an SQL condition; empty: all rows.
            sort: SQL; empty: the table's own order.

        Raises:
            QueryError: as its text says.
        """
        known = _columns(table)
        for name in columns:
            if name not in known:
                raise QueryError(f"no such column: {name}")
        chosen = ", ".join(columns or known)
        condition = f" WHERE ({where})" if where else ""
        query = f"SELECT {chosen} FROM {table}{condition} ORDER BY {sort or TABLES[table].order}"
        found = self._run(query, ())
        return [dict(zip(columns or known, row, strict=True)) for row in found]

    def insert(self, table: str, values: Mapping[str, Value]) -> int:
        """Add a row; its id.

        Raises:
            QueryError: as its text says.
        """
        names = self._checked(table, values)
        marks = ", ".join("?" * len(names))
        self._run(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", tuple(values.values()))
        (number,) = self._run("SELECT last_insert_rowid()", ())[0]
        self.changed()
        return int(str(number))

    def update(self, table: str, values: Mapping[str, Value], *, where: str) -> None:
        """Change the rows a condition holds for.

        Raises:
            QueryError: as its text says.
        """
        sets = ", ".join(f"{name} = ?" for name in self._checked(table, values))
        condition = f" WHERE ({where})" if where else ""
        self._run(f"UPDATE {table} SET {sets}{condition}", tuple(values.values()))
        self.changed()

    def delete(self, table: str, *, where: str) -> None:
        """Remove the rows a condition holds for.

        Raises:
            QueryError: as its text says.
        """
        _columns(table)
        self._run(f"DELETE FROM {table}" + (f" WHERE ({where})" if where else ""), ())
        self.changed()

    # ---- settings

    def setting(self, namespace: str, name: str) -> str | None:
        """One setting; None where it has never been set."""
        query = "SELECT value FROM settings WHERE namespace = ? AND name = ?"
        found = self._run(query, (namespace, name))
        return None if not found or found[0][0] is None else str(found[0][0])

    def set_setting(self, namespace: str, name: str, value: str | None) -> None:
        """Set one; None removes it."""
        self._run("DELETE FROM settings WHERE namespace = ? AND name = ?", (namespace, name))
        if value is not None:
            add = "INSERT INTO settings (namespace, name, value) VALUES (?, ?, ?)"
            self._run(add, (namespace, name, value))
        self.changed()

    def _checked(self, table: str, values: Mapping[str, Value]) -> list[str]:
        known = _columns(table)
        if not values:
            raise QueryError("no values")
        for name in values:
            if name not in known:
                raise QueryError(f"table {table} has no column named {name}")
        return list(values)

    def _run(self, query: str, values: Sequence[Value]) -> list[tuple[Value, ...]]:
        """One statement, for so long and no longer: conditions are the agent's."""
        deadline = time.monotonic() + QUERY_S
        self._rows.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
        try:
            return self._rows.execute(query, tuple(values)).fetchall()
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
            raise QueryError(str(error)) from error


def table_at(address: str) -> tuple[str, str]:
    """Table of a `content` address, and the condition its row number makes.

    Raises:
        QueryError: no such address; says which there are.
    """
    bare = address.rstrip("/")
    for name, table in TABLES.items():
        if bare == table.address:
            return name, ""
        if bare.startswith(f"{table.address}/") and (number := bare.rpartition("/")[2]).isdecimal():
            return name, f"_id = {number}"
    known = ", ".join(table.address for table in TABLES.values())
    raise QueryError(f"no content provider knows {address}; there are: {known}")


def _columns(table: str) -> tuple[str, ...]:
    return ("_id", *TABLES[table].columns)


def _empty() -> sqlite3.Connection:
    rows = sqlite3.connect(":memory:", isolation_level=None)
    for name, table in TABLES.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
        rows.execute(f"CREATE TABLE {name} (_id INTEGER PRIMARY KEY, {columns})")
    _limit(rows)
    return rows


def _limit(rows: sqlite3.Connection) -> None:
    """A condition reads these tables, and does nothing else."""
    rows.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_TEXT)
    rows.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    allowed = {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
    }

    def authorize(action: int, *_: str | None) -> int:
        return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY

    rows.set_authorizer(authorize)
