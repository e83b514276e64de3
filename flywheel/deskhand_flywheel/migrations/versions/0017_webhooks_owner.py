"""A webhook is somebody's; those that are there stay nobody's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("owner", sa.String(32)))


def downgrade() -> None:
    op.drop_column("webhooks", "owner")
