"""/v1/review-queue, /v1/review-rules, /v1/agreement: what people should look at, and how far they agree."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import yaml
from fastapi import APIRouter, Query

from deskhand_flywheel.agreement import agreement
from deskhand_flywheel.errors import InvalidReviewRules
from deskhand_flywheel.review_queue import ReviewState
from deskhand_flywheel.review_rules import read_review_rules, review_values
from deskhand_flywheel.review_types import QueuedReview, ReviewRules, RulesInForce
from deskhand_flywheel.types import HUMAN, TrajectoryFilter
from deskhand_platform.api.annotation_models import (
    AgreementModel,
    FoundByModel,
    ReviewItem,
    ReviewOrder,
    ReviewRulesBody,
    ReviewRulesModel,
    ReviewsFound,
    SideModel,
)
from deskhand_platform.api.deps import Cursor, Have, Label, Limit, User, labelled
from deskhand_platform.api.models import Page
from deskhand_platform.api.rules import mapping_in
from deskhand_platform.errors import InvalidField

router = APIRouter(tags=["annotations"])


@router.get("/review-queue")
async def list_review_queue(
    have: Have,
    state: Annotated[ReviewState, Query(description="waiting for a person, or marked by one")] = "open",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ReviewItem]:
    """What verifiers, judges and step scores disagree on, most strongly first; a mark resolves an entry."""
    found = await have.store.review_queue(state, cursor=cursor, limit=limit)
    return Page[ReviewItem](items=[_item(one) for one in found.items], next_cursor=found.next_cursor)


@router.post("/review-queue")
async def find_reviews(have: Have, body: ReviewOrder) -> ReviewsFound:
    """Bring the queue up to date with the scores of whole episodes; what their scorers agree on leaves it."""
    chosen = TrajectoryFilter(
        task_ids=None if body.task_id is None else (body.task_id,),
        policy_id=body.policy_id,
        labels=body.labels,
    )
    rules = _rules(body.rules, (await have.store.review_rules()).rules)
    return ReviewsFound(entries=await have.store.find_disagreements(rules, chosen))


@router.get("/review-rules")
async def get_review_rules(have: Have) -> ReviewRulesModel:
    """What counts as a disagreement where nobody says otherwise, and who said so."""
    return _in_force(await have.store.review_rules())


@router.put("/review-rules")
async def set_review_rules(have: Have, user: User, body: ReviewRulesBody) -> ReviewRulesModel:
    """Keep other rules with the store; what is queued stays until it is looked for again."""
    return _in_force(await have.store.keep_review_rules(_rules(body.rules), by=user))


@router.get("/agreement")
async def get_agreement(
    have: Have,
    task_id: str | None = None,
    policy_id: str | None = None,
    label: Label = None,
    source: Annotated[
        list[str] | None,
        Query(max_length=20, description="human, judge, prm, or a scorer's name; people alone without"),
    ] = None,
) -> AgreementModel:
    """How far those who marked the same steps agree."""
    chosen = TrajectoryFilter(
        task_ids=None if task_id is None else (task_id,),
        policy_id=policy_id,
        labels=labelled(label or []),
    )
    found = await agreement(have.store, chosen, sources=source or (HUMAN,))
    return AgreementModel.model_validate(asdict(found))


def _rules(text: str, below: ReviewRules | None = None) -> ReviewRules:
    """Rules of a YAML text laid on others, or on the flywheel's own.

    Raises:
        InvalidField: it is no YAML, or holds something else than such rules.
    """
    try:
        values = mapping_in(text, "kinds by name, e.g. verifier_judge: {threshold: 0.4}")
        return read_review_rules(values, below)
    except InvalidReviewRules as error:
        raise InvalidField("rules", str(error)) from error


def _in_force(found: RulesInForce) -> ReviewRulesModel:
    text = yaml.safe_dump(review_values(found.rules), sort_keys=False)
    return ReviewRulesModel(rules=text, set_by=found.set_by, set_at_s=found.set_at_s)


def _item(queued: QueuedReview) -> ReviewItem:
    one = queued.disagreement
    return ReviewItem(
        trajectory_id=one.trajectory_id,
        step_index=one.step_index,
        kind=one.kind,
        strength=one.strength,
        sides=[SideModel(scorer=s.scorer, score=s.score, rationale=s.rationale) for s in one.said],
        task_id=queued.task_id,
        instruction=queued.instruction,
        found_at_s=queued.found_at_s,
        found_by=None if queued.found_by is None else FoundByModel(**asdict(queued.found_by)),
        resolved_by=list(queued.resolved_by),
    )
