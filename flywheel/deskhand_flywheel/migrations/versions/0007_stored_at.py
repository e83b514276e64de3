"""When a trajectory came into the store, which is what retention judges its age by."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trajectories", sa.Column("stored_at_s", sa.Float))
    table = sa.table("trajectories", sa.column("end"), sa.column("stored_at_s"))
    # nobody knows when these came: from now on, so that none goes too early
    op.get_bind().execute(table.update().where(table.c.end.is_not(None)).values(stored_at_s=time.time()))


def downgrade() -> None:
    op.drop_column("trajectories", "stored_at_s")
