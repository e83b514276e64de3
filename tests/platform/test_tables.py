"""The migrations make exactly the platform's tables."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from deskhand_flywheel.store import Store
from deskhand_platform import tables

DATABASES = ("sqlite", "postgresql")


async def test_the_migrations_make_exactly_the_tables(store: Store) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection)
        own = set(tables.metadata.tables)
        # the flywheel's are its own to compare
        return [
            difference
            for difference in compare_metadata(context, tables.metadata)
            if not (difference[0] == "remove_table" and difference[1].name not in own)
            and not (difference[0] == "remove_index" and difference[1].table.name not in own)
        ]

    async with store.database.read() as connection:
        assert await connection.run_sync(differences) == []
