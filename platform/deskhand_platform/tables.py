"""The platform's own tables, in the flywheel's database: Alembic revisions 0002, 0006, 0009 and 0013."""

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
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    # the claim: who works at it, and until when that holds unless renewed
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
    sa.Index("ix_tasks_next", "state", "rank", "id"),
    sa.Index("ix_tasks_deadline_s", "deadline_s"),
    sa.Index("uq_tasks_key", "key", unique=True),
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
    sa.Column("policy_in", sa.String(64)),
    sa.Column("policy_out", sa.String(64)),
    sa.Column("promoted", sa.Boolean),
    sa.Column("created_at_s", sa.Float, nullable=False),
    sa.Column("started_at_s", sa.Float),
    sa.Column("ended_at_s", sa.Float),
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
    sa.UniqueConstraint("round_id", "name", name="uq_round_phases_name"),
)

annotators = sa.Table(
    "annotators",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
    sa.Column("created_at_s", sa.Float, nullable=False),
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
