"""/v1/promotions: which policy rounds start from, and who made it so, and why."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from deskhand_platform.api.deps import Cursor, Have, Limit, Noted, User, before
from deskhand_platform.api.models import Page
from deskhand_platform.api.models_rounds import PromotionBody, PromotionModel
from deskhand_platform.rounds.promoted import Promotion

router = APIRouter(tags=["rounds"])


@router.get("/promotions")
async def list_promotions(have: Have, cursor: Cursor = None, limit: Limit = 50) -> Page[PromotionModel]:
    """Promotions, newest first: the first one's policy is the one that rounds start from."""
    found = await have.promoted.list(before=before(cursor), limit=limit)
    more = str(found[-1].id) if len(found) == limit else None
    return Page[PromotionModel](items=[shown(one) for one in found], next_cursor=more)


@router.post("/promotions", status_code=201)
async def promote(have: Have, user: User, noted: Noted, body: PromotionBody) -> PromotionModel:
    """Promote a policy by hand, or go back to one; the next round starts from it."""
    noted(f"{body.policy_id}: {body.reason}")
    return shown(await have.promoted.by_hand(body.policy_id, body.reason, user))


def shown(promotion: Promotion) -> PromotionModel:
    """A promotion for the wire."""
    return PromotionModel(**asdict(promotion))
