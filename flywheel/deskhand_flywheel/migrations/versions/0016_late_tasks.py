"""Tasks that wait past their deadline are found without looking at the others."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_tasks_deadline_s", "tasks")
    op.create_index("ix_tasks_state_deadline_s", "tasks", ["state", "deadline_s"])


def downgrade() -> None:
    op.drop_index("ix_tasks_state_deadline_s", "tasks")
    op.create_index("ix_tasks_deadline_s", "tasks", ["deadline_s"])
