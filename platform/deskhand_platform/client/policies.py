"""Kept policies, and which of them rounds start from, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from deskhand_platform.api.models import Page, PolicyModel
from deskhand_platform.api.models_rounds import PromotionModel
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncPolicies(AsyncConnection):
    """Policies, for programs that await."""

    async def policies(self) -> list[PolicyModel]:
        """Kept policies, newest first."""
        return await self._do(_policies())

    async def policy(self, id: str) -> PolicyModel:
        """One kept policy."""
        return await self._do(_policy(id))

    def promotions(self) -> AsyncIterator[PromotionModel]:
        """Which policies rounds started from, newest first: the first one's is in force."""
        return self._every(_promotions())

    async def promote(self, policy_id: str, reason: str) -> PromotionModel:
        """Let rounds start from a policy from now on, or go back to one that they started from before.

        Args:
            reason: for whoever reads the history; it must say something.
        """
        return await self._do(_promote(policy_id, reason))


class Policies(Connection):
    """Policies, for programs that block."""

    def policies(self) -> list[PolicyModel]:
        """Kept policies, newest first."""
        return self._do(_policies())

    def policy(self, id: str) -> PolicyModel:
        """One kept policy."""
        return self._do(_policy(id))

    def promotions(self) -> Iterator[PromotionModel]:
        """Which policies rounds started from, newest first: the first one's is in force."""
        return self._every(_promotions())

    def promote(self, policy_id: str, reason: str) -> PromotionModel:
        """Let rounds start from a policy from now on, or go back to one that they started from before.

        Args:
            reason: for whoever reads the history; it must say something.
        """
        return self._do(_promote(policy_id, reason))


def _policies() -> Call[list[PolicyModel]]:
    return calls.get("/v1/policies", calls.reading_list(PolicyModel))


def _policy(id: str) -> Call[PolicyModel]:
    return calls.get(f"/v1/policies/{calls.part(id)}", calls.reading(PolicyModel))


def _promotions() -> Callable[[str | None], Call[Page[PromotionModel]]]:
    return calls.page("/v1/promotions", PromotionModel)


def _promote(policy_id: str, reason: str) -> Call[PromotionModel]:
    body, read = {"policy_id": policy_id, "reason": reason}, calls.reading(PromotionModel)
    return Call(method="POST", path="/v1/promotions", read=read, body=body, safe=False)
