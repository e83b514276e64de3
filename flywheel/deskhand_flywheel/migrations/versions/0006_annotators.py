"""The platform's tables of people who annotate, and of actions that wait for a person."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "annotators",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at_s", sa.Float, nullable=False),
    )
    op.create_table(
        "proposals",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer, nullable=False),
        sa.Column("instruction", sa.Text, nullable=False),
        sa.Column("screenshot", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("asked_at_s", sa.Float, nullable=False),
        sa.Column("answer_by_s", sa.Float, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("answer", sa.Text),
    )
    op.create_index("ix_proposals_state_id", "proposals", ["state", "id"])


def downgrade() -> None:
    op.drop_index("ix_proposals_state_id", "proposals")
    op.drop_table("proposals")
    op.drop_table("annotators")
