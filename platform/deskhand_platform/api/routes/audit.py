"""GET /v1/audit: who did what, when, on what, from where, and what came of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from deskhand_platform.accounts.audit import EntryFilter
from deskhand_platform.api.account_models import AuditEntry
from deskhand_platform.api.deps import Cursor, Have, Limit, before
from deskhand_platform.api.models import Page

router = APIRouter(tags=["accounts"])
MAX_ID = 2**53


@router.get("/audit")
async def list_audit(
    have: Have,
    user: Annotated[str | None, Query(description="who did it")] = None,
    action: Annotated[str | None, Query(description="a part of it, e.g. DELETE or /v1/tasks")] = None,
    target: Annotated[str | None, Query(description="a part of it")] = None,
    since_s: Annotated[float | None, Query(description="at or after this Unix time")] = None,
    until_s: Annotated[float | None, Query(description="before this Unix time")] = None,
    refused: Annotated[bool | None, Query(description="what was refused, or what was done")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[AuditEntry]:
    """Entries, newest first."""
    older = before(cursor, MAX_ID)
    chosen = EntryFilter(
        who=user, action=action, target=target, since_s=since_s, until_s=until_s, refused=refused
    )
    found = await have.accounts.audit.list(chosen, before=older, limit=limit)
    more = str(found[-1].id) if len(found) == limit else None
    return Page[AuditEntry](items=[AuditEntry.model_validate(asdict(one)) for one in found], next_cursor=more)
