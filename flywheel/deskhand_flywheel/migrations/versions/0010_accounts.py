"""Users with roles, API tokens, sessions, quotas and the audit log; tasks have owners.

Annotators become users of that role, each with the token they have. Tasks from before are the first
administrator's.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

REFUSED = "the audit log is only ever appended to"


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password", sa.String(256)),
        sa.Column("disabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("max_tasks", sa.Integer),
        sa.Column("max_sandboxes", sa.Integer),
        sa.Column("max_bytes", sa.BigInteger),
        sa.Column("created_at_s", sa.Float, nullable=False),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(32), sa.ForeignKey("users.name"), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.JSON),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("expires_at_s", sa.Float),
        sa.Column("revoked_at_s", sa.Float),
        sa.Column("used_at_s", sa.Float),
    )
    op.create_index("ix_api_tokens_owner", "api_tokens", ["owner"])
    op.create_table(
        "sessions",
        sa.Column("value_hash", sa.String(64), primary_key=True),
        sa.Column("user", sa.String(32), sa.ForeignKey("users.name"), nullable=False),
        sa.Column("token_id", sa.String(32), sa.ForeignKey("api_tokens.id")),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("expires_at_s", sa.Float, nullable=False),
    )
    op.create_index("ix_sessions_user", "sessions", ["user"])
    op.create_index("ix_sessions_expires_at_s", "sessions", ["expires_at_s"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("who", sa.String(64), nullable=False),
        sa.Column("action", sa.String(160), nullable=False),
        sa.Column("target", sa.String(400), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_who_id", "audit", ["who", "id"])
    op.create_index("ix_audit_action_at_s", "audit", ["action", "at_s"])
    _append_only()
    op.create_table(
        "recordings",
        sa.Column("trajectory_id", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_recordings_owner", "recordings", ["owner"])

    op.add_column("tasks", sa.Column("owner", sa.String(32), nullable=False, server_default="owner"))
    op.drop_index("ix_tasks_next", "tasks")
    op.create_index("ix_tasks_next", "tasks", ["state", "rank", "id", "owner"])
    op.create_index("ix_tasks_owner_id", "tasks", ["owner", "id"])
    op.create_index("ix_tasks_owner_state", "tasks", ["owner", "state"])
    op.drop_index("uq_tasks_key", "tasks")
    op.create_index("uq_tasks_key", "tasks", ["owner", "key"], unique=True)

    op.execute(
        "INSERT INTO users (name, role, created_at_s) SELECT name, 'annotator', created_at_s FROM annotators"
    )
    op.execute(
        "INSERT INTO api_tokens (id, owner, label, token_hash, created_at_s) "
        "SELECT substr(token_hash, 1, 12), name, 'annotator', token_hash, created_at_s FROM annotators"
    )
    op.drop_table("annotators")


def downgrade() -> None:
    op.create_table(
        "annotators",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at_s", sa.Float, nullable=False),
    )
    op.execute(
        "INSERT INTO annotators (name, token_hash, created_at_s) "
        "SELECT owner, max(token_hash), min(created_at_s) FROM api_tokens "
        "WHERE label = 'annotator' AND revoked_at_s IS NULL GROUP BY owner"
    )
    op.drop_index("uq_tasks_key", "tasks")
    op.create_index("uq_tasks_key", "tasks", ["key"], unique=True)
    for name in ("ix_tasks_owner_state", "ix_tasks_owner_id", "ix_tasks_next"):
        op.drop_index(name, "tasks")
    op.create_index("ix_tasks_next", "tasks", ["state", "rank", "id"])
    op.drop_column("tasks", "owner")
    for name in ("recordings", "audit", "sessions", "api_tokens", "users"):
        op.drop_table(name)
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION refuse_audit_change()")


def _append_only() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_no_{act.lower()} BEFORE {act} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()"
    )
