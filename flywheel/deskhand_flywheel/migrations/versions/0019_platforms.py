"""A database says which platform works it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "platforms",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("home", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("machine", sa.Text),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("pid_began", sa.BigInteger),
        sa.Column("since_s", sa.Float, nullable=False),
        sa.Column("heard_at_s", sa.Float, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("platforms")
