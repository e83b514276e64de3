"""The flywheel's tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(length=160), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("recipe", sa.Text(), nullable=False),
        sa.Column("created_at_s", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_datasets")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at_s", sa.Float(), nullable=False),
        sa.Column("subject", sa.String(length=160), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=160), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_subject_id"), "events", ["subject", "id"], unique=False)
    op.create_table(
        "policies",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at_s", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["policies.id"], name=op.f("fk_policies_parent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policies")),
    )
    op.create_table(
        "trajectories",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("policy_id", sa.Text(), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("started_at_s", sa.Float(), nullable=False),
        sa.Column("start", sa.Text(), nullable=False),
        sa.Column("ended_at_s", sa.Float(), nullable=True),
        sa.Column("stop_reason", sa.String(length=32), nullable=True),
        sa.Column("failure", sa.String(length=32), nullable=True),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("end", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trajectories")),
    )
    op.create_index(op.f("ix_trajectories_policy_id_id"), "trajectories", ["policy_id", "id"], unique=False)
    op.create_index(op.f("ix_trajectories_task_id_id"), "trajectories", ["task_id", "id"], unique=False)
    op.create_table(
        "dataset_members",
        sa.Column("name", sa.String(length=160), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("trajectory_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["name", "version"],
            ["datasets.name", "datasets.version"],
            name=op.f("fk_dataset_members_name_version"),
        ),
        sa.ForeignKeyConstraint(
            ["trajectory_id"], ["trajectories.id"], name=op.f("fk_dataset_members_trajectory_id")
        ),
        sa.PrimaryKeyConstraint("name", "version", "position", name=op.f("pk_dataset_members")),
    )
    op.create_index(
        op.f("ix_dataset_members_trajectory_id"), "dataset_members", ["trajectory_id"], unique=False
    )
    op.create_table(
        "steps",
        sa.Column("trajectory_id", sa.String(length=64), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["trajectory_id"], ["trajectories.id"], name=op.f("fk_steps_trajectory_id")),
        sa.PrimaryKeyConstraint("trajectory_id", "step_index", name=op.f("pk_steps")),
    )
    op.create_table(
        "trajectory_labels",
        sa.Column("trajectory_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["trajectory_id"], ["trajectories.id"], name=op.f("fk_trajectory_labels_trajectory_id")
        ),
        sa.PrimaryKeyConstraint("trajectory_id", "key", name=op.f("pk_trajectory_labels")),
    )
    op.create_index(
        op.f("ix_trajectory_labels_key_value_trajectory_id"),
        "trajectory_labels",
        ["key", "value", "trajectory_id"],
        unique=False,
    )
    op.create_table(
        "scores",
        sa.Column("trajectory_id", sa.String(length=64), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scorer", sa.String(length=160), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("scored_at_s", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["trajectory_id", "step_index"],
            ["steps.trajectory_id", "steps.step_index"],
            name=op.f("fk_scores_trajectory_id_step_index"),
        ),
        sa.PrimaryKeyConstraint("trajectory_id", "step_index", "scorer", name=op.f("pk_scores")),
    )
    op.create_index(
        op.f("ix_scores_scorer_trajectory_id"), "scores", ["scorer", "trajectory_id"], unique=False
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_scores_scorer_trajectory_id"), table_name="scores")
    op.drop_table("scores")
    op.drop_index(op.f("ix_trajectory_labels_key_value_trajectory_id"), table_name="trajectory_labels")
    op.drop_table("trajectory_labels")
    op.drop_table("steps")
    op.drop_index(op.f("ix_dataset_members_trajectory_id"), table_name="dataset_members")
    op.drop_table("dataset_members")
    op.drop_index(op.f("ix_trajectories_task_id_id"), table_name="trajectories")
    op.drop_index(op.f("ix_trajectories_policy_id_id"), table_name="trajectories")
    op.drop_table("trajectories")
    op.drop_table("policies")
    op.drop_index(op.f("ix_events_subject_id"), table_name="events")
    op.drop_table("events")
    op.drop_table("datasets")
