"""A store has rules of its own for what people should look at, and says which found what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("disagreements", sa.Column("found_by", sa.Text))
    op.create_table(
        "review_rules",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("set_by", sa.String(64), nullable=False),
        sa.Column("set_at_s", sa.Float, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("review_rules")
    op.drop_column("disagreements", "found_by")
