"""The newest events of one kind are found without reading the others."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_events_kind_id"), "events", ["kind", "id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_events_kind_id"), "events")
