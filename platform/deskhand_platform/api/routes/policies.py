"""/v1/policies: kept checkpoints."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_flywheel.lineage import without_material
from deskhand_flywheel.types import PolicyRecord
from deskhand_platform.api.deps import Have
from deskhand_platform.api.models import PolicyModel
from deskhand_platform.api.recorded import plain

router = APIRouter(tags=["policies"])


@router.get("/policies")
async def list_policies(have: Have) -> list[PolicyModel]:
    """Every kept policy, newest first."""
    promoted = await have.book.promoted_policy()
    return [shown(one, promoted) for one in await have.store.policies()]


@router.get("/policies/{id}")
async def get_policy(have: Have, id: str) -> PolicyModel:
    """One kept policy, or deskhand-tiny."""
    return shown(await have.store.policy_named(id), await have.book.promoted_policy())


def shown(record: PolicyRecord, promoted: str | None) -> PolicyModel:
    """A policy for the wire."""
    return PolicyModel(
        id=record.id,
        parent_id=record.parent_id,
        metadata=plain(without_material(record.metadata)),
        created_at_s=record.created_at_s,
        promoted=record.id == promoted,
    )
