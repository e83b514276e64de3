"""The platform's own tables, in the flywheel's database: Alembic revisions 0002, 0006 and from 0009 on."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("task", sa.JSON, nullable=False),
    sa.Column("policy", sa.JSON, nullable=False),
    sa.Column("labels", sa.JSON, nullable=False),
    # minus the priority: the smallest goes first, and one index has the whole order
    sa.Column("rank", sa.Integer, nullable=False, server_default="0"),
    sa.Column("deadline_s", sa.Float),
    sa.Column("key", sa.String(128)),
    sa.Column("owner", sa.String(32), nullable=False, server_default="owner"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    # the claim: who works at it, and until when that holds unless renewed; of one put off, until when
    sa.Column("claimed_by", sa.String(64)),
    sa.Column("claimed_until_s", sa.Float),
    sa.Column("trajectory_id", sa.String(64)),
    sa.Column("outcome", sa.JSON(none_as_null=True)),
    sa.Column("reason", sa.Text),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("started_at_s", sa.Float),
    sa.Column("ended_at_s", sa.Float),
    # None: it begins at its own start
    sa.Column("branch", sa.JSON(none_as_null=True)),
    sa.Index("ix_tasks_state_id", "state", "id"),
    # the owner too: those of whom a quota holds back are passed over without reading the rows
    sa.Index("ix_tasks_next", "state", "rank", "id", "owner"),
    sa.Index("ix_tasks_owner_id", "owner", "id"),
    sa.Index("ix_tasks_owner_state", "owner", "state"),
    sa.Index("ix_tasks_state_deadline_s", "state", "deadline_s"),
    sa.Index("uq_tasks_key", "owner", "key", unique=True),
)

rounds = sa.Table(
    "rounds",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("preset", sa.String(64), nullable=False),
    sa.Column("config", sa.JSON, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("pause_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    # how often it was taken up again: each time by a workflow of its own
    sa.Column("life", sa.Integer, nullable=False, server_default="0"),
    # under which a second start is the same round; one made of the config goes when the round is over
    sa.Column("key", sa.String(160)),
    sa.Column("policy_in", sa.String(64)),
    sa.Column("policy_out", sa.String(64)),
    sa.Column("promoted", sa.Boolean),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("started_at_s", sa.Float),
    sa.Column("ended_at_s", sa.Float),
    sa.Index("uq_rounds_key", "key", unique=True),
    # a round's number is never given out twice
    sqlite_autoincrement=True,
)

round_phases = sa.Table(
    "round_phases",
    metadata,
    sa.Column("round_id", sa.Integer, sa.ForeignKey("rounds.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("run_id", sa.String(128)),
    sa.Column("policy_in", sa.String(64)),
    sa.Column("policy_out", sa.String(64)),
    sa.Column("metrics", sa.JSON, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("seconds", sa.Float),
    sa.Column("started_at_s", sa.Float),
    sa.Column("ended_at_s", sa.Float),
    # how often it was done anew: each time by a run of its own
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("round_id", "name", name="uq_round_phases_name"),
)

promotions = sa.Table(
    "promotions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("policy_id", sa.String(64), nullable=False),
    # None where a person promoted
    sa.Column("round_id", sa.Integer, sa.ForeignKey("rounds.id")),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("by", sa.String(64), nullable=False),
    sa.Column("at_s", sa.Float, nullable=False),
    sqlite_autoincrement=True,
)

round_schedules = sa.Table(
    "round_schedules",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("preset", sa.String(64), nullable=False),
    sa.Column("overrides", sa.JSON, nullable=False),
    # one of the two: a cron expression, or so many new successes
    sa.Column("cron", sa.String(128)),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("new_successes", sa.Integer),
    sa.Column("enabled", sa.Boolean, nullable=False),
    # successes before this do not count
    sa.Column("since_s", sa.Float, nullable=False),
    sa.Column("next_at_s", sa.Float),
    sa.Column("last_at_s", sa.Float),
    sa.Column("last_round", sa.Integer),
    # what came of the last time
    sa.Column("note", sa.Text),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sqlite_autoincrement=True,
)

users = sa.Table(
    "users",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    # None: comes in by token only
    sa.Column("password", sa.String(256)),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default=sa.false()),
    # None: what the settings say
    sa.Column("max_tasks", sa.Integer),
    sa.Column("max_sandboxes", sa.Integer),
    sa.Column("max_bytes", sa.BigInteger),
    sa.Column("created_at_s", sa.Float, nullable=False),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("owner", sa.String(32), sa.ForeignKey("users.name"), nullable=False),
    sa.Column("label", sa.String(64), nullable=False),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
    # None: all that its owner may
    sa.Column("scopes", sa.JSON(none_as_null=True)),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("expires_at_s", sa.Float),
    sa.Column("revoked_at_s", sa.Float),
    sa.Column("used_at_s", sa.Float),
    sa.Index("ix_api_tokens_owner", "owner"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("value_hash", sa.String(64), primary_key=True),
    sa.Column("user", sa.String(32), sa.ForeignKey("users.name"), nullable=False),
    # of one begun with a token: it may no more than that, and ends with it
    sa.Column("token_id", sa.String(32), sa.ForeignKey("api_tokens.id")),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("expires_at_s", sa.Float, nullable=False),
    sa.Index("ix_sessions_user", "user"),
    sa.Index("ix_sessions_expires_at_s", "expires_at_s"),
)

# triggers of the migration refuse to change or delete a row
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at_s", sa.Float, nullable=False),
    sa.Column("who", sa.String(64), nullable=False),
    sa.Column("action", sa.String(160), nullable=False),
    sa.Column("target", sa.String(400), nullable=False),
    sa.Column("source", sa.String(64), nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("ix_audit_who_id", "who", "id"),
    sa.Index("ix_audit_action_at_s", "action", "at_s"),
    sqlite_autoincrement=True,
)

recordings = sa.Table(
    "recordings",
    metadata,
    sa.Column("trajectory_id", sa.String(64), primary_key=True),
    sa.Column("owner", sa.String(32), nullable=False),
    # of its pictures, as they came
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Index("ix_recordings_owner", "owner"),
)

proposals = sa.Table(
    "proposals",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("trajectory_id", sa.String(64), nullable=False),
    sa.Column("step_index", sa.Integer, nullable=False),
    sa.Column("instruction", sa.Text, nullable=False),
    # records as the flywheel writes them
    sa.Column("screenshot", sa.Text, nullable=False),
    sa.Column("decision", sa.Text, nullable=False),
    sa.Column("asked_at_s", sa.Float, nullable=False),
    sa.Column("answer_by_s", sa.Float, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    # None until a person answered
    sa.Column("answer", sa.Text),
    sa.Index("ix_proposals_state_id", "state", "id"),
)

webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    # None: from before webhooks had owners
    sa.Column("owner", sa.String(32)),
    sa.Column("url", sa.Text, nullable=False),
    # in full: what is sent is signed with it
    sa.Column("secret", sa.String(64), nullable=False),
    sa.Column("about", sa.String(16), nullable=False, server_default="tasks"),
    sa.Column("labels", sa.JSON, nullable=False),
    sa.Column("states", sa.JSON, nullable=False),
    # events up to it have become deliveries
    sa.Column("after_event", sa.Integer, nullable=False),
    sa.Column("created_at_s", sa.Float, nullable=False),
)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("webhook_id", sa.String(32), sa.ForeignKey("webhooks.id"), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    # None once it has arrived or been given up
    sa.Column("due_at_s", sa.Float),
    sa.Column("reason", sa.Text),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("ended_at_s", sa.Float),
    sa.Index("ix_webhook_deliveries_due_at_s", "due_at_s"),
    sa.Index("ix_webhook_deliveries_of", "webhook_id", "id"),
)

platforms = sa.Table(
    "platforms",
    metadata,
    # one row at most: of whoever works this database
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.String(32), nullable=False),
    sa.Column("home", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    # where its process id means a process; None where there is no telling
    sa.Column("machine", sa.Text),
    sa.Column("pid", sa.Integer, nullable=False),
    # when the process began, as its machine counts
    sa.Column("pid_began", sa.BigInteger),
    sa.Column("since_s", sa.Float, nullable=False),
    sa.Column("heard_at_s", sa.Float, nullable=False),
)

takeovers = sa.Table(
    "takeovers",
    metadata,
    sa.Column("trajectory_id", sa.String(64), primary_key=True),
    sa.Column("by", sa.String(64), nullable=False),
    sa.Column("since_s", sa.Float, nullable=False),
    # held until then, unless renewed
    sa.Column("held_until_s", sa.Float, nullable=False),
    # a record as the flywheel writes it; None when the person has done nothing that is not carried out yet
    sa.Column("answer", sa.Text),
)
