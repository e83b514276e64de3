"""Which policy rounds start from, and how it came to be: by a round's gate, or by a person who says why."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import RowMapping

from deskhand_flywheel.store import Store
from deskhand_platform.errors import InvalidField
from deskhand_platform.naming import named_in
from deskhand_platform.rounds.promotion_kinds import PromotionKind
from deskhand_platform.tables import promotions
from deskhand_trainer.admission import is_probe, only_measured

PLATFORM = "platform"
"""Who promotes what passed a gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Promotion:
    """One change of the policy that rounds start from."""

    id: int
    policy_id: str
    round_id: int | None
    """None where a person promoted."""
    kind: PromotionKind
    reason: str
    by: str
    at_s: float


class PromotedPolicies:
    """The history of promotions; the last one is in force."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, *, before: int | None = None, limit: int = 50) -> tuple[Promotion, ...]:
        """Promotions, newest first; `before` is the number of the last one seen."""
        query = sa.select(promotions).order_by(promotions.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(promotions.c.id < before)
        async with self._store.database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_promotion(row) for row in rows)

    async def by_gate(
        self, policy_id: str, round_id: int, reason: str, *, beside: Collection[str]
    ) -> str | None:
        """Promote what a round made; said once more, it changes nothing.

        Args:
            beside: the policies that it was measured beside.

        Returns:
            The policy in force, where it is none of those: it stays. None: promoted.
        """
        last = sa.select(promotions.c.policy_id, promotions.c.round_id).order_by(promotions.c.id.desc())
        async with self._store.database.write() as connection:
            found = (await connection.execute(last.limit(1))).first()
            if found == (policy_id, round_id):
                return None
            if found is not None and found.policy_id not in beside:
                return found.policy_id
            row = {"policy_id": policy_id, "round_id": round_id, "kind": PromotionKind.GATE}
            said = {"reason": reason, "by": PLATFORM, "at_s": time.time()}
            await connection.execute(sa.insert(promotions), row | said)
        return None

    async def by_hand(self, policy_id: str, reason: str, by: str) -> Promotion:
        """Promote a policy, or go back to one.

        Raises:
            InvalidField: there is none of that id, it is a process reward model or came out of a probe, it is
                promoted already, or there is no reason.
        """
        if not reason.strip():
            raise InvalidField("reason", "say why, for who reads the history; for example reason=regressed")
        with named_in("policy_id"):
            metadata = (await self._store.policy_named(policy_id)).metadata
        if is_probe(metadata):
            raise InvalidField("policy_id", only_measured(policy_id))
        if metadata.get("reward_model"):
            raise InvalidField(
                "policy_id", f"{policy_id} is a process reward model: it judges and does not act"
            )
        policy_id = (await self._store.policy_named(policy_id)).id
        earlier = sa.select(promotions.c.policy_id).order_by(promotions.c.id.desc())
        async with self._store.database.write() as connection:
            before = (await connection.execute(earlier)).scalars().all()
            if before and before[0] == policy_id:
                raise InvalidField("policy_id", f"{policy_id} is the promoted policy already; choose another")
            kind = PromotionKind.ROLLBACK if policy_id in before else PromotionKind.MANUAL
            row = {"policy_id": policy_id, "kind": kind, "reason": reason.strip(), "by": by}
            new = sa.insert(promotions).values(row | {"at_s": time.time()}).returning(promotions)
            made = (await connection.execute(new)).mappings().one()
        return _promotion(made)


def _promotion(row: RowMapping) -> Promotion:
    values = {name: row[name] for name in row if name != "kind"}
    return Promotion(**values, kind=PromotionKind(row["kind"]))
