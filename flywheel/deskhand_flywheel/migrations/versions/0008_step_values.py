"""What steps are worth by Monte-Carlo continuation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "step_values",
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("labeller", sa.String(160), nullable=False),
        sa.Column("before", sa.Float, nullable=False),
        sa.Column("before_error", sa.Float, nullable=False),
        sa.Column("after", sa.Float, nullable=False),
        sa.Column("after_error", sa.Float, nullable=False),
        sa.Column("continuations", sa.Integer, nullable=False),
        sa.Column("exact", sa.Boolean, nullable=False),
        sa.Column("labelled_at_s", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(
            ["trajectory_id", "step_index"],
            ["steps.trajectory_id", "steps.step_index"],
            name=op.f("fk_step_values_trajectory_id_step_index"),
        ),
        sa.PrimaryKeyConstraint("trajectory_id", "step_index", "labeller", name=op.f("pk_step_values")),
    )
    op.create_index(
        op.f("ix_step_values_labeller_trajectory_id"), "step_values", ["labeller", "trajectory_id"]
    )


def downgrade() -> None:
    op.drop_table("step_values")
