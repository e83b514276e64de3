"""The flywheel's tables. What is asked for by value is a column; the whole record is the JSON beside it.

A change here needs a migration: `tests/flywheel/test_migrations.py` compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

trajectories = Table(
    "trajectories",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("task_id", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("policy_id", Text, nullable=False),
    Column("split", String(16), nullable=False),
    Column("started_at_s", Float, nullable=False),
    Column("start", Text, nullable=False),
    # searched for words
    Column("instruction", Text, nullable=False, server_default=""),
    # unknown until the episode has ended
    Column("ended_at_s", Float),
    Column("stop_reason", String(32)),
    Column("failure", String(32)),
    Column("success", Boolean),
    Column("score", Float),
    Column("length", Integer),
    Column("end", Text),
    # when it was all here, by this store's clock: later than it ended where it was played elsewhere
    Column("stored_at_s", Float),
    Index(None, "task_id", "id"),
    Index(None, "policy_id", "id"),
    Index(None, "success", "id"),
    Index(None, "failure", "id"),
    Index(None, "score", "id"),
    Index(None, "length", "id"),
    Index(None, "started_at_s", "id"),
)

trajectory_labels = Table(
    "trajectory_labels",
    metadata,
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Index(None, "key", "value", "trajectory_id"),
)

steps = Table(
    "steps",
    metadata,
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), primary_key=True),
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("reward", Float, nullable=False),
    Column("step", Text, nullable=False),
    # thought and summary, searched for words; None where there is neither
    Column("said", Text),
)

scores = Table(
    "scores",
    metadata,
    Column("trajectory_id", String(64), primary_key=True),
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(160), primary_key=True),
    Column("score", Float, nullable=False),
    Column("rationale", Text),
    Column("scored_at_s", Float, nullable=False),
    ForeignKeyConstraint(["trajectory_id", "step_index"], ["steps.trajectory_id", "steps.step_index"]),
    Index(None, "scorer", "trajectory_id"),
)

outcome_scores = Table(
    "outcome_scores",
    metadata,
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), primary_key=True),
    Column("scorer", String(160), primary_key=True),
    Column("score", Float, nullable=False),
    Column("rationale", Text),
    Column("scored_at_s", Float, nullable=False),
    Index(None, "scorer", "trajectory_id"),
)

judge_failures = Table(
    "judge_failures",
    metadata,
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), primary_key=True),
    # -1: the whole of it
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(160), primary_key=True),
    Column("trouble", String(32), nullable=False),
    Column("detail", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("failed_at_s", Float, nullable=False),
    Index(None, "scorer", "trajectory_id"),
)

disagreements = Table(
    "disagreements",
    metadata,
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), primary_key=True),
    # -1: the whole of it
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(32), primary_key=True),
    Column("strength", Float, nullable=False),
    # who said what
    Column("said", Text, nullable=False),
    Column("found_at_s", Float, nullable=False),
    # by which rule
    Column("found_by", Text),
    Index(None, "strength", "trajectory_id"),
)

review_rules = Table(
    "review_rules",
    metadata,
    # the highest is in force
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("rules", Text, nullable=False),
    Column("set_by", String(64), nullable=False),
    Column("set_at_s", Float, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("trajectory_id", String(64), nullable=False),
    Column("step_index", Integer, nullable=False),
    Column("author", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at_s", Float, nullable=False),
    Column("edited_at_s", Float),
    ForeignKeyConstraint(["trajectory_id", "step_index"], ["steps.trajectory_id", "steps.step_index"]),
    Index(None, "trajectory_id", "step_index"),
)

step_values = Table(
    "step_values",
    metadata,
    Column("trajectory_id", String(64), primary_key=True),
    Column("step_index", Integer, primary_key=True, autoincrement=False),
    Column("labeller", String(160), primary_key=True),
    Column("before", Float, nullable=False),
    Column("before_error", Float, nullable=False),
    Column("after", Float, nullable=False),
    Column("after_error", Float, nullable=False),
    Column("continuations", Integer, nullable=False),
    Column("exact", Boolean, nullable=False),
    Column("labelled_at_s", Float, nullable=False),
    ForeignKeyConstraint(["trajectory_id", "step_index"], ["steps.trajectory_id", "steps.step_index"]),
    Index(None, "labeller", "trajectory_id"),
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", String(160), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(32), nullable=False),
    Column("recipe", Text, nullable=False),
    Column("created_at_s", Float, nullable=False),
)

dataset_members = Table(
    "dataset_members",
    metadata,
    Column("name", String(160), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("trajectory_id", String(64), ForeignKey("trajectories.id"), nullable=False),
    ForeignKeyConstraint(["name", "version"], ["datasets.name", "datasets.version"]),
    Index(None, "trajectory_id"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at_s", Float, nullable=False),
    Column("subject", String(160), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("name", String(160), nullable=False),
    Column("data", Text, nullable=False),
    Index(None, "subject", "id"),
    Index(None, "kind", "id"),
    # an id is a Last-Event-ID: never given out twice
    sqlite_autoincrement=True,
)

policies = Table(
    "policies",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("parent_id", String(64), ForeignKey("policies.id")),
    Column("manifest", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("created_at_s", Float, nullable=False),
)

collected_blobs = Table(
    "collected_blobs",
    metadata,
    # kept after the blob is deleted: a process that remembers to have stored it finds out here
    Column("digest", String(64), primary_key=True),
)

OWN_TABLES = (
    "scores",
    "step_values",
    "outcome_scores",
    "judge_failures",
    "disagreements",
    "steps",
    "trajectory_labels",
)
"""Rows that are part of a trajectory and go with it, those that refer to others first. Notes are not: what a
person wrote keeps it."""
