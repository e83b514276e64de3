"""Alembic's entry: runs revisions on the connection it is handed.

One history for the whole database. To add tables from another package, put `versions/NNNN_what.py` here with
`revision = "NNNN"`, `down_revision` the one before, and plain `op.create_table(...)`; nothing else is to be
registered. `Store.open` (through `Database.open`) brings every database to the newest revision, in one
transaction that other processes opening the same database wait for, so a revision must not commit by itself.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from deskhand_flywheel.tables import metadata

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    # SQLite alters a table by copying it
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
context.run_migrations()
