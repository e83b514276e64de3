"""GET /v1/catalog: the tasks environments bring."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_platform.api.models import CatalogTask
from deskhand_platform.catalog import catalog

router = APIRouter(tags=["catalog"])


@router.get("/catalog")
async def list_catalog(search: str = "", held_out: bool | None = None) -> list[CatalogTask]:
    """Every task by id; `search` looks for a part of the id."""
    return [
        CatalogTask(
            id=one.id,
            kind=one.kind,
            turns=one.turns,
            oracle=one.oracle,
            held_out=one.held_out,
            description=one.description,
        )
        for one in catalog(search, held_out=held_out)
    ]
