"""A webhook is told of tasks, or of alarms."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("about", sa.String(16), nullable=False, server_default="tasks"))


def downgrade() -> None:
    op.drop_column("webhooks", "about")
