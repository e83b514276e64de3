"""/v1/policies: kept checkpoints."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_flywheel.types import PolicyRecord
from deskhand_platform.api.deps import Have
from deskhand_platform.api.models import PolicyModel
from deskhand_platform.api.recorded import plain
from deskhand_platform.errors import NotFound

router = APIRouter(tags=["policies"])


@router.get("/policies")
async def list_policies(have: Have) -> list[PolicyModel]:
    """Every kept policy, newest first."""
    promoted = await have.book.promoted_policy()
    found = sorted(await have.store.policies(), key=lambda one: one.created_at_s, reverse=True)
    return [shown(one, promoted) for one in found]


@router.get("/policies/{id}")
async def get_policy(have: Have, id: str) -> PolicyModel:
    """One kept policy."""
    found = {one.id: one for one in await have.store.policies()}
    if id not in found:
        raise NotFound("policy", id, found)
    return shown(found[id], await have.book.promoted_policy())


def shown(record: PolicyRecord, promoted: str | None) -> PolicyModel:
    """A policy for the wire."""
    return PolicyModel(
        id=record.id,
        parent_id=record.parent_id,
        metadata=plain(record.metadata),
        created_at_s=record.created_at_s,
        promoted=record.id == promoted,
    )
