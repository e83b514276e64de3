"""Blobs that a garbage collection deletes or has deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "collected_blobs",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_collected_blobs")),
    )


def downgrade() -> None:
    op.drop_table("collected_blobs")
