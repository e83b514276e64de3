"""GET /v1/catalog: the tasks environments bring."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from deskhand_platform.api.deps import Have
from deskhand_platform.api.models import CatalogTask
from deskhand_platform.catalog import catalog

router = APIRouter(tags=["catalog"])


@router.get("/catalog")
async def list_catalog(have: Have, search: str = "", held_out: bool | None = None) -> list[CatalogTask]:
    """Every task by id; `search` looks for a part of the id."""
    kinds = have.settings.sandbox.lent
    return [CatalogTask(**asdict(one), lent=one.kind in kinds) for one in catalog(search, held_out=held_out)]
