"""What every part of the store stands on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, Insert, Table, Text, cast, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import InvalidScore, UnknownTrajectory
from deskhand_flywheel.writer import GroupWriter, Write


class StorePart:
    """A database, a blob store, and the one writer of this process."""

    def __init__(self, database: Database, blobs: BlobStore) -> None:
        self.database = database
        self.blobs = blobs
        self._writer = GroupWriter(database)

    def insert_new(self, table: Table) -> Insert:
        """`insert_new` for this database."""
        return insert_new(self.database.is_sqlite, table)

    def insert_or_replace(self, table: Table, replaced: tuple[str, ...]) -> Insert:
        """An insert that gives a row with the same key the new values of the columns named."""
        keys: list[Any] = list(table.primary_key.columns)
        insert = sqlite.insert(table) if self.database.is_sqlite else postgresql.insert(table)
        return insert.on_conflict_do_update(
            index_elements=keys, set_={name: insert.excluded[name] for name in replaced}
        )

    async def keep_all(
        self,
        insert: Insert,
        rows: Sequence[Mapping[str, Any]],
        *,
        of: str,
        then: Write[object] | None = None,
    ) -> None:
        """Write rows that belong to trajectories or their steps, all of them or none.

        Args:
            of: what a row is and belongs to, for the complaint: "a score is for a step".
            then: what is written with them, after them.

        Raises:
            UnknownTrajectory: one belongs to something that is not in the store.
            StorageFull, StoreUnavailable, StoreClosed: none was kept.
        """
        if not rows:
            return

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(insert, rows)
            if then is not None:
                await then(connection)

        try:
            await self._writer.submit(write)
        except IntegrityError as error:
            raise UnknownTrajectory(f"{of} that is not in the store; none was kept") from error


def insert_new(on_sqlite: bool, table: Table) -> Insert:
    """An insert that leaves a row with the same key as it is; its row count says which happened."""
    insert = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    # without the option psycopg's count is gone with its cursor
    return insert.on_conflict_do_nothing().execution_options(preserve_rowcount=True)


def checked(score: float, *, by: str, what: str = "score") -> float:
    """The score.

    Raises:
        InvalidScore: it is not from 0 to 1.
    """
    if not 0.0 <= score <= 1.0:
        raise InvalidScore(f"{what}: {score} of {by} is not from 0 (bad) to 1 (good)")
    return float(score)


def column_text(text: str) -> str:
    """Text as every database can hold it: lone surrogates and NUL, which models and pages write, escaped.

    For columns that are searched; the record beside them keeps the text exactly.
    """
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def json_column(on_sqlite: bool, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of JSON whose parts are looked for in a query.

    PostgreSQL refuses to look into a row for an escaped NUL or half a surrogate pair in any of its texts. So
    there `\\u`, a backslash before a u, reads `/u`: look for what `json_text` makes of a text.
    """
    return column if on_sqlite else cast(func.replace(cast(column, Text), r"\u", "/u"), JSON)


def json_text(on_sqlite: bool, text: str) -> str:
    """A text, or the name of a value, as it reads in a `json_column`."""
    return text if on_sqlite else json.loads(json.dumps(text).replace(r"\u", "/u"))
