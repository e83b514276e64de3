"""Rounds can be paused, taken up again from any phase, scheduled and promoted by hand."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "rounds", sa.Column("pause_requested", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column("rounds", sa.Column("life", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("key", sa.String(160)))
    op.create_index("uq_rounds_key", "rounds", ["key"], unique=True)
    op.add_column("round_phases", sa.Column("attempt", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "promotions",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("policy_id", sa.String(64), nullable=False),
        sa.Column("round_id", sa.Integer, sa.ForeignKey("rounds.id")),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("at_s", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "round_schedules",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("preset", sa.String(64), nullable=False),
        sa.Column("overrides", sa.JSON, nullable=False),
        sa.Column("cron", sa.String(128)),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("new_successes", sa.Integer),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("since_s", sa.Float, nullable=False),
        sa.Column("next_at_s", sa.Float),
        sa.Column("last_at_s", sa.Float),
        sa.Column("last_round", sa.Integer),
        sa.Column("note", sa.Text),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.execute(
        "INSERT INTO promotions (policy_id, round_id, kind, reason, \"by\", at_s) "
        "SELECT policy_out, id, 'gate', 'promoted by its round', 'platform', "
        "COALESCE(ended_at_s, created_at_s) FROM rounds "
        "WHERE promoted AND policy_out IS NOT NULL ORDER BY id"
    )


def downgrade() -> None:
    op.drop_table("round_schedules")
    op.drop_table("promotions")
    op.drop_column("round_phases", "attempt")
    op.drop_index("uq_rounds_key", "rounds")
    for name in ("key", "life", "pause_requested"):
        op.drop_column("rounds", name)
