"""/v1/quotas: what owners have and may have."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from deskhand_platform.accounts.quotas import Quota
from deskhand_platform.api.account_models import QuotaBody, UsageModel
from deskhand_platform.api.deps import Have, Noted, Who
from deskhand_platform.services import Services

router = APIRouter(tags=["accounts"])


@router.get("/quotas")
async def list_quotas(have: Have, who: Who) -> list[UsageModel]:
    """Everybody's for administrators; one's own for everybody else."""
    names = [who.name]
    if "admin" in who.scopes:
        names = [user.name for user in await have.accounts.users.list()]
    return [await _usage(have, name) for name in names]


@router.put("/quotas/{name}")
async def set_quota(have: Have, noted: Noted, name: str, body: QuotaBody) -> UsageModel:
    """Give somebody limits of their own."""
    noted(", ".join(f"{key} {value}" for key, value in body.model_dump().items() if value is not None))
    await have.accounts.quotas.set(name, Quota(**body.model_dump()))
    return await _usage(have, name)


async def _usage(have: Services, name: str) -> UsageModel:
    found = await have.accounts.quotas.usage(name, have.loans.held(name))
    return UsageModel.model_validate(asdict(found))
