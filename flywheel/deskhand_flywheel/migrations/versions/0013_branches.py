"""A submitted task may go on from a recorded episode, and a person may hold the controls of one that runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("branch", sa.JSON))
    op.create_table(
        "takeovers",
        sa.Column("trajectory_id", sa.String(64), primary_key=True),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("since_s", sa.Float, nullable=False),
        sa.Column("held_until_s", sa.Float, nullable=False),
        sa.Column("answer", sa.Text),
    )


def downgrade() -> None:
    op.drop_table("takeovers")
    op.drop_column("tasks", "branch")
