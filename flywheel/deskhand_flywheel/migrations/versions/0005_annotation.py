"""Scores of whole episodes, what judges failed at, who disagrees with whom, and notes on steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STEP = ["trajectory_id", "step_index"]


def upgrade() -> None:
    op.create_table(
        "outcome_scores",
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("scorer", sa.String(160), nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("rationale", sa.Text),
        sa.Column("scored_at_s", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("trajectory_id", "scorer", name=op.f("pk_outcome_scores")),
        *of_trajectory("outcome_scores"),
    )
    op.create_index(
        op.f("ix_outcome_scores_scorer_trajectory_id"), "outcome_scores", ["scorer", "trajectory_id"]
    )
    op.create_table(
        "judge_failures",
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("scorer", sa.String(160), nullable=False),
        sa.Column("trouble", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("failed_at_s", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint(*STEP, "scorer", name=op.f("pk_judge_failures")),
        *of_trajectory("judge_failures"),
    )
    op.create_index(
        op.f("ix_judge_failures_scorer_trajectory_id"), "judge_failures", ["scorer", "trajectory_id"]
    )
    op.create_table(
        "disagreements",
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("strength", sa.Float, nullable=False),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("found_at_s", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint(*STEP, "kind", name=op.f("pk_disagreements")),
        *of_trajectory("disagreements"),
    )
    op.create_index(
        op.f("ix_disagreements_strength_trajectory_id"), "disagreements", ["strength", "trajectory_id"]
    )
    op.create_table(
        "notes",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("trajectory_id", sa.String(64), nullable=False),
        sa.Column("step_index", sa.Integer, nullable=False),
        sa.Column("author", sa.String(64), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("edited_at_s", sa.Float),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notes")),
        sa.ForeignKeyConstraint(
            STEP, ["steps.trajectory_id", "steps.step_index"], name=op.f("fk_notes_trajectory_id_step_index")
        ),
    )
    op.create_index(op.f("ix_notes_trajectory_id_step_index"), "notes", STEP)


def of_trajectory(table: str) -> list[sa.ForeignKeyConstraint]:
    name = op.f(f"fk_{table}_trajectory_id")
    return [sa.ForeignKeyConstraint(["trajectory_id"], ["trajectories.id"], name=name)]


def downgrade() -> None:
    for table in ("notes", "disagreements", "judge_failures", "outcome_scores"):
        op.drop_table(table)
