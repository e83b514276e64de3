"""GET /v1/catalog: the tasks environments bring."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_platform.api.models import CatalogTask

router = APIRouter(tags=["catalog"])


@router.get("/catalog")
async def list_catalog(search: str = "", held_out: bool | None = None) -> list[CatalogTask]:
    """Every task by id; `search` looks for a part of the id."""
    from deskhand_sandbox.tasks import list_tasks

    return [
        CatalogTask(id=one.id, turns=one.turns, oracle=one.oracle, held_out=one.held_out)
        for one in list_tasks()
        if search in one.id and held_out in (None, one.held_out)
    ]
