"""Actions that wait for a person: a policy's next one in a live sandbox, to be accepted or replaced.

A row of `proposals` is how the episode worker asks and the API answers. Whoever answers first is heard; after
the deadline the policy has its way, and an answer comes too late.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Row

from deskhand_agent.ids import new_id
from deskhand_agent.reviewing import PersonsAnswer
from deskhand_agent.types import Context, Decision, Proposal
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import dumps, loads
from deskhand_flywheel.store import Store
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import ProposalState
from deskhand_platform.tables import proposals
from deskhand_platform.takeovers import Takeovers
from deskhand_sandbox.types import AskUser, Image

POLL_S = 0.2
KEPT_S = 24 * 3600.0
"""How long one that is over can be looked up: its screen is kept as long as it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
    """What a policy is about to do."""

    id: str
    trajectory_id: str
    step_index: int
    instruction: str
    screenshot: Image
    """What it decided on; its points are in its pixels."""
    proposal: Proposal
    asked_at_s: float
    answer_by_s: float
    """Unix time after which it has its way."""
    state: ProposalState
    answer: PersonsAnswer | None
    """None until a person answered."""

    @property
    def asks(self) -> str | None:
        """What the policy asks its user, in its words: empty where it only calls; None: nothing."""
        asked = [one.question for one in self.proposal.actions if isinstance(one, AskUser)]
        return "\n".join(filter(None, asked)) if asked else None


class Proposals:
    """Implements the agent's `Reviewer`, and the person's side of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database
        self._takeovers = Takeovers(store.database)

    async def review(self, context: Context, decision: Decision, *, within_s: float) -> PersonsAnswer | None:
        """Put a decision before people; what one says, or None after the deadline or once one takes over.

        Raises:
            StoreError, BlobError: the database or the blob store failed.
        """
        proposed = await self._ask(context, decision, within_s)
        left = ProposalState.WITHDRAWN
        try:
            while time.time() < proposed.answer_by_s:
                if (found := await self.get(proposed.id)).state is not ProposalState.WAITING:
                    return found.answer
                if await self._takeovers.get(context.trajectory_id) is not None:
                    break  # who has the controls decides, whatever was proposed
                await asyncio.sleep(min(POLL_S, max(0.0, proposed.answer_by_s - time.time())))
            else:
                left = ProposalState.LAPSED
        finally:
            # also when the episode is cancelled: nobody is to answer it any more
            closed = await asyncio.shield(self._close(proposed.id, left))
        return None if closed else (await self.get(proposed.id)).answer

    async def get(self, proposal_id: str) -> Proposed:
        """One of them, over or not.

        Raises:
            NotFound: there is none of that id, or it was over a day ago.
        """
        query = sa.select(proposals).where(proposals.c.id == proposal_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            raise NotFound("proposal", proposal_id)
        return _read(row)

    async def waiting(self, *, after: str | None = None, limit: int = 50) -> tuple[Proposed, ...]:
        """Those that wait for a person, the longest first; `after` is the id of the last one seen."""
        query = sa.select(proposals).where(
            proposals.c.state == ProposalState.WAITING, proposals.c.answer_by_s > time.time()
        )
        if after is not None:
            query = query.where(proposals.c.id > after)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(proposals.c.id).limit(limit))).all()
        return tuple(_read(row) for row in rows)

    async def answer(self, proposal_id: str, answer: PersonsAnswer) -> Proposed:
        """Accept or replace it.

        Raises:
            NotFound: there is none of that id.
            WrongState: somebody was first, or it is too late.
        """
        values = {"state": ProposalState.ANSWERED, "answer": dumps(answer)}
        in_time = [proposals.c.state == ProposalState.WAITING, proposals.c.answer_by_s > time.time()]
        async with self._database.write() as connection:
            done = await connection.execute(
                sa.update(proposals).where(proposals.c.id == proposal_id, *in_time).values(values)
            )
        found = await self.get(proposal_id)
        if not done.rowcount:
            if found.answer is not None:
                raise WrongState(f"{found.answer.by} has answered already")
            raise WrongState("it is too late: the policy had its way, or its episode has ended")
        return found

    async def _ask(self, context: Context, decision: Decision, within_s: float) -> Proposed:
        screenshot = context.observation.screenshot
        if screenshot.data is not None:
            await self._store.blobs.put(screenshot.data)
        now, proposal_id = time.time(), new_id()
        row = {
            "id": proposal_id,
            "trajectory_id": context.trajectory_id,
            "step_index": len(context.steps),
            "instruction": column_text(context.instruction),
            "screenshot": dumps(screenshot),
            "decision": dumps(
                Proposal(actions=decision.actions, text=decision.text, thought=decision.thought)
            ),
            "asked_at_s": now,
            "answer_by_s": now + within_s,
            "state": ProposalState.WAITING,
        }
        async with self._database.write() as connection:
            await connection.execute(sa.delete(proposals).where(proposals.c.answer_by_s < now - KEPT_S))
            await connection.execute(sa.insert(proposals).values(row))
        return await self.get(proposal_id)

    async def _close(self, proposal_id: str, state: ProposalState) -> bool:
        """False where it was over already."""
        waiting = [proposals.c.id == proposal_id, proposals.c.state == ProposalState.WAITING]
        async with self._database.write() as connection:
            done = await connection.execute(sa.update(proposals).where(*waiting).values(state=state))
        return bool(done.rowcount)


def _read(row: Row[Any]) -> Proposed:
    return Proposed(
        id=row.id,
        trajectory_id=row.trajectory_id,
        step_index=row.step_index,
        instruction=row.instruction,
        screenshot=loads(Image, row.screenshot),
        proposal=loads(Proposal, row.decision),
        asked_at_s=row.asked_at_s,
        answer_by_s=row.answer_by_s,
        state=ProposalState(row.state),
        answer=None if row.answer is None else loads(PersonsAnswer, row.answer),
    )
