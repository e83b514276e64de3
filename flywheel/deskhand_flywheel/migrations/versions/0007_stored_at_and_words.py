"""When a trajectory came into the store, which retention judges its age by; and SQLite's words by number.

A row of words says by its number whose it is: (number of the trajectory) * 2**20, plus 0 for its
instruction and index + 1 for a step. A search that finds most of the store then reads numbers alone, and no text.
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TRIGGERS = ("words_of_trajectory", "words_of_step", "words_moved", "words_dropped")
WORDS = "CREATE VIRTUAL TABLE words USING fts5({columns}, tokenize = 'unicode61 remove_diacritics 0')"
STEP = """INSERT OR REPLACE INTO words (rowid, said) SELECT number << 20 | NEW.step_index + 1, NEW.said
    FROM words_owner WHERE trajectory_id = NEW.trajectory_id"""

BY_NUMBER = (
    "CREATE TABLE words_owner (number INTEGER PRIMARY KEY, trajectory_id VARCHAR(64) NOT NULL UNIQUE)",
    "INSERT INTO words_owner (trajectory_id) SELECT id FROM trajectories ORDER BY id",
    WORDS.format(columns="said"),
    """INSERT INTO words (rowid, said) SELECT number << 20, instruction
    FROM words_owner JOIN trajectories ON id = trajectory_id ORDER BY number""",
    """INSERT INTO words (rowid, said) SELECT number << 20 | step_index + 1, said
    FROM words_owner JOIN steps USING (trajectory_id) WHERE said IS NOT NULL ORDER BY number, step_index""",
    """CREATE TRIGGER words_of_trajectory AFTER INSERT ON trajectories BEGIN
        INSERT INTO words_owner (trajectory_id) VALUES (NEW.id);
        INSERT INTO words (rowid, said)
            SELECT number << 20, NEW.instruction FROM words_owner WHERE trajectory_id = NEW.id;
    END""",
    f"CREATE TRIGGER words_of_step AFTER INSERT ON steps WHEN NEW.said IS NOT NULL BEGIN {STEP}; END",
    # the integrity check's repair puts misplaced steps back
    f"""CREATE TRIGGER words_moved AFTER UPDATE OF step_index ON steps WHEN NEW.said IS NOT NULL BEGIN
        DELETE FROM words WHERE rowid IN (
            SELECT number << 20 | OLD.step_index + 1 FROM words_owner WHERE trajectory_id = OLD.trajectory_id
        );
        {STEP};
    END""",
    """CREATE TRIGGER words_dropped AFTER DELETE ON trajectories BEGIN
        DELETE FROM words WHERE
            rowid >= (SELECT number << 20 FROM words_owner WHERE trajectory_id = OLD.id)
            AND rowid < (SELECT (number + 1) << 20 FROM words_owner WHERE trajectory_id = OLD.id);
        DELETE FROM words_owner WHERE trajectory_id = OLD.id;
    END""",
)
BY_ID = (
    WORDS.format(columns="trajectory_id, said"),
    "INSERT INTO words (trajectory_id, said) SELECT id, instruction FROM trajectories",
    "INSERT INTO words (trajectory_id, said) SELECT trajectory_id, said FROM steps WHERE said IS NOT NULL",
    """CREATE TRIGGER words_of_trajectory AFTER INSERT ON trajectories BEGIN
        INSERT INTO words (trajectory_id, said) VALUES (NEW.id, NEW.instruction);
    END""",
    """CREATE TRIGGER words_of_step AFTER INSERT ON steps WHEN NEW.said IS NOT NULL BEGIN
        INSERT INTO words (trajectory_id, said) VALUES (NEW.trajectory_id, NEW.said);
    END""",
    """CREATE TRIGGER words_dropped AFTER DELETE ON trajectories BEGIN
        DELETE FROM words WHERE rowid IN (
            SELECT rowid FROM words
            WHERE words MATCH 'trajectory_id : "' || replace(OLD.id, '"', '""') || '"'
            AND trajectory_id = OLD.id
        );
    END""",
)
"""As revision 0004 made them."""


def upgrade() -> None:
    op.add_column("trajectories", sa.Column("stored_at_s", sa.Float))
    connection = op.get_bind()
    table = sa.table("trajectories", sa.column("end"), sa.column("stored_at_s"))
    # nobody knows when these came: from now on, so that none goes too early
    connection.execute(table.update().where(table.c.end.is_not(None)).values(stored_at_s=time.time()))
    if connection.dialect.name == "sqlite":
        _drop(connection)
        for statement in BY_NUMBER:
            connection.exec_driver_sql(statement)


def downgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _drop(connection)
        op.drop_table("words_owner")
        for statement in BY_ID:
            connection.exec_driver_sql(statement)
    op.drop_column("trajectories", "stored_at_s")


def _drop(connection: sa.Connection) -> None:
    for name in TRIGGERS:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
    connection.exec_driver_sql("DROP TABLE words")
