"""Submitted tasks have a priority, a deadline, and a key under which they are the same task."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("rank", sa.Integer, nullable=False, server_default="0"))
    op.add_column("tasks", sa.Column("deadline_s", sa.Float))
    op.add_column("tasks", sa.Column("key", sa.String(128)))
    op.create_index("ix_tasks_next", "tasks", ["state", "rank", "id"])
    op.create_index("ix_tasks_deadline_s", "tasks", ["deadline_s"])
    op.create_index("uq_tasks_key", "tasks", ["key"], unique=True)


def downgrade() -> None:
    for name in ("uq_tasks_key", "ix_tasks_deadline_s", "ix_tasks_next"):
        op.drop_index(name, "tasks")
    for name in ("key", "deadline_s", "rank"):
        op.drop_column("tasks", name)
