"""Webhooks, and what is to be delivered to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("labels", sa.JSON, nullable=False),
        sa.Column("states", sa.JSON, nullable=False),
        sa.Column("after_event", sa.Integer, nullable=False),
        sa.Column("created_at_s", sa.Float, nullable=False),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("webhook_id", sa.String(32), sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("due_at_s", sa.Float),
        sa.Column("reason", sa.Text),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("ended_at_s", sa.Float),
    )
    op.create_index("ix_webhook_deliveries_due_at_s", "webhook_deliveries", ["due_at_s"])
    op.create_index("ix_webhook_deliveries_of", "webhook_deliveries", ["webhook_id", "id"])


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
