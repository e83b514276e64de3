"""What trajectories are filtered by as columns, and an index of the words of instructions and thoughts.

The database keeps the index: SQLite by triggers on an FTS5 table, PostgreSQL by expression indexes. Both take a
run of letters and digits for a word and leave it as it is but for case.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FILTERED = ("success", "failure", "score", "length", "started_at_s")
PAGE = 500

SQLITE = (
    "CREATE VIRTUAL TABLE words USING fts5(trajectory_id, said, tokenize = 'unicode61 remove_diacritics 0')",
    "INSERT INTO words (trajectory_id, said) SELECT id, instruction FROM trajectories",
    "INSERT INTO words (trajectory_id, said) SELECT trajectory_id, said FROM steps WHERE said IS NOT NULL",
    """CREATE TRIGGER words_of_trajectory AFTER INSERT ON trajectories BEGIN
        INSERT INTO words (trajectory_id, said) VALUES (NEW.id, NEW.instruction);
    END""",
    """CREATE TRIGGER words_of_step AFTER INSERT ON steps WHEN NEW.said IS NOT NULL BEGIN
        INSERT INTO words (trajectory_id, said) VALUES (NEW.trajectory_id, NEW.said);
    END""",
    # found by the index, for a table of words is not searched by column
    """CREATE TRIGGER words_dropped AFTER DELETE ON trajectories BEGIN
        DELETE FROM words WHERE rowid IN (
            SELECT rowid FROM words
            WHERE words MATCH 'trajectory_id : "' || replace(OLD.id, '"', '""') || '"' AND trajectory_id = OLD.id
        );
    END""",
)
POSTGRESQL = (
    # the parser's own idea of words knows addresses and hyphens, FTS5's does not; more than this is no thought
    """CREATE FUNCTION words_of(said text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT to_tsvector('simple'::regconfig, regexp_replace(left(said, 100000), '[^[:alnum:]]+', ' ', 'g')) $$""",
    "CREATE INDEX words_of_trajectories ON trajectories USING gin (words_of(instruction))",
    "CREATE INDEX words_of_steps ON steps USING gin (words_of(said))",
)


def upgrade() -> None:
    op.add_column("trajectories", sa.Column("instruction", sa.Text, nullable=False, server_default=""))
    op.add_column("trajectories", sa.Column("score", sa.Float))
    op.add_column("trajectories", sa.Column("length", sa.Integer))
    op.add_column("steps", sa.Column("said", sa.Text))
    connection = op.get_bind()
    fill_trajectories(connection)
    fill_steps(connection)
    for column in FILTERED:
        op.create_index(op.f(f"ix_trajectories_{column}_id"), "trajectories", [column, "id"])
    for statement in SQLITE if connection.dialect.name == "sqlite" else POSTGRESQL:
        connection.exec_driver_sql(statement)


def fill_trajectories(connection: sa.Connection) -> None:
    table = sa.table("trajectories", *map(sa.column, ("id", "start", "end", "instruction", "score", "length")))
    steps = sa.table("steps", sa.column("trajectory_id"))
    length = sa.select(sa.func.count()).where(steps.c.trajectory_id == table.c.id).scalar_subquery()
    connection.execute(table.update().where(table.c.end.is_not(None)).values(length=length))
    last = ""
    while rows := connection.execute(
        sa.select(table.c.id, table.c.start, table.c.end).where(table.c.id > last).order_by(table.c.id).limit(PAGE)
    ).all():
        for row in rows:
            outcome = record(row.end).get("outcome") or {}
            values = {"instruction": plain(record(row.start).get("instruction") or ""), "score": outcome.get("score")}
            connection.execute(table.update().where(table.c.id == row.id).values(values))
        last = rows[-1].id


def fill_steps(connection: sa.Connection) -> None:
    table = sa.table("steps", *map(sa.column, ("trajectory_id", "step_index", "step", "said")))
    key = sa.tuple_(table.c.trajectory_id, table.c.step_index)
    last = ("", -1)
    while rows := connection.execute(
        sa.select(table.c.trajectory_id, table.c.step_index, table.c.step)
        .where(key > sa.tuple_(*map(sa.literal, last)))
        .order_by(table.c.trajectory_id, table.c.step_index)
        .limit(PAGE)
    ).all():
        for row in rows:
            decision = record(row.step).get("decision") or {}
            if parts := [part for part in (decision.get("thought"), decision.get("summary")) if part]:
                here = (table.c.trajectory_id == row.trajectory_id) & (table.c.step_index == row.step_index)
                connection.execute(table.update().where(here).values(said=plain("\n".join(parts))))
        last = (rows[-1].trajectory_id, rows[-1].step_index)


def record(text: str | None) -> dict:
    """A row that cannot be read is the integrity check's to report, not a reason to stop here."""
    try:
        found = json.loads(text or "{}")["record"]
    except (ValueError, TypeError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}


def plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name in ("words_of_trajectory", "words_of_step", "words_dropped"):
            op.execute(f"DROP TRIGGER {name}")
        op.drop_table("words")
    else:
        op.drop_index("words_of_trajectories")
        op.drop_index("words_of_steps")
        op.execute("DROP FUNCTION words_of")
    for column in FILTERED:
        op.drop_index(op.f(f"ix_trajectories_{column}_id"), "trajectories")
    op.drop_column("steps", "said")
    for column in ("instruction", "score", "length"):
        op.drop_column("trajectories", column)
