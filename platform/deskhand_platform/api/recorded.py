"""Recorded episodes for the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from deskhand_agent.grammar import format_reply
from deskhand_agent.types import Decision, Review, Step, TrajectoryEnd
from deskhand_flywheel.records import encode_action
from deskhand_flywheel.types import StepScore
from deskhand_flywheel.types import TrajectorySummary as Recorded
from deskhand_platform.api.models import JsonObject
from deskhand_platform.api.trajectory_models import (
    ActionModel,
    ImageRef,
    ReviewModel,
    ScoreModel,
    StepModel,
    Timings,
    TrajectoryDetail,
    TrajectorySummary,
)
from deskhand_sandbox.types import Action, Image

MAGIC = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"RIFF", "image/webp"))


def image_type(data: bytes) -> str:
    """Media type by the first bytes."""
    return next((kind for head, kind in MAGIC if data.startswith(head)), "application/octet-stream")


def image_ref(image: Image) -> ImageRef:
    """Where a picture is to be fetched."""
    return ImageRef(
        digest=image.digest,
        format=image.format,
        width_px=image.width_px,
        height_px=image.height_px,
        url=f"/v1/images/{image.digest}",
    )


def action_model(action: Action) -> ActionModel:
    """An action with the points to draw."""
    values = dict(cast("Mapping[str, Any]", encode_action(action)))
    kind = values.pop("type")
    if "path" in values:
        points = [(int(x), int(y)) for x, y in values["path"]]
    elif "x" in values and "y" in values:
        points = [(int(values["x"]), int(values["y"]))]
    else:
        points = []
    return ActionModel(type=kind, text=format_reply(None, [action]), points=points, arguments=values)


def score_model(score: StepScore) -> ScoreModel:
    return ScoreModel(
        step_index=score.step_index, score=score.score, scorer=score.scorer, rationale=score.rationale
    )


def step_model(step: Step, scores: Iterable[StepScore]) -> StepModel:
    """One turn with its scores."""
    decision, seen = step.decision, step.observation
    return StepModel(
        index=step.index,
        image=image_ref(seen.screenshot),
        url=seen.url,
        settled=seen.settled,
        text=decision.text,
        thought=decision.thought,
        actions=[action_model(action) for action in decision.actions],
        error=decision.error,
        action_error=step.action_error,
        answer=step.answer,
        reward=step.reward,
        **_measured(decision),
        trainable=decision.trainable,
        timings=Timings(
            model_ms=step.timings.model_ms, act_ms=step.timings.act_ms, settle_ms=step.timings.settle_ms
        ),
        finished_at_s=step.finished_at_s,
        review=None if decision.review is None else review_model(decision.review),
        scores=[score_model(score) for score in scores if score.step_index == step.index],
    )


def review_model(review: Review) -> ReviewModel:
    """What a person made of a turn."""
    proposed = review.proposed.actions if review.proposed is not None else ()
    return ReviewModel(
        verdict=review.verdict,
        by=review.by,
        reason=review.reason,
        proposed=[action_model(action) for action in proposed],
    )


def _measured(decision: Decision) -> dict[str, Any]:
    done = decision.completion
    if done is None:
        return {"value": None, "entropy": None, "reply_tokens": None}
    return {"value": done.value, "entropy": done.entropy, "reply_tokens": len(done.ids)}


def summary(recorded: Recorded) -> TrajectorySummary:
    """A trajectory for a list."""
    return TrajectorySummary(**_summary_fields(recorded))


def detail(recorded: Recorded, end: TrajectoryEnd | None) -> TrajectoryDetail:
    """A trajectory without its steps."""
    last = end.final_observation if end else None
    return TrajectoryDetail(
        **_summary_fields(recorded),
        final_image=image_ref(last.screenshot) if last else None,
        outcome_detail=end.outcome.detail if end and end.outcome else "",
        failure_detail=end.failure_detail if end else "",
    )


def _summary_fields(recorded: Recorded) -> dict[str, Any]:
    who = ("id", "task_id", "seed", "instruction", "policy_id", "policy_update", "group_id", "split")
    what = ("reward", "started_at_s", "ended_at_s", "stop_reason", "failure")
    outcome = recorded.outcome
    return {
        **{name: getattr(recorded, name) for name in (*who, *what)},
        "labels": dict(recorded.labels),
        "turns": recorded.steps,
        "success": outcome.success if outcome else None,
        "score": outcome.score if outcome else None,
        "last_image": None if recorded.last_screen is None else image_ref(recorded.last_screen),
    }


def plain(values: Mapping[str, Any]) -> JsonObject:
    """A mapping as a JSON object."""
    return cast(JsonObject, dict(values))
