"""A judge over a store: whatever it has not judged, several at once, kept as it goes.

Stopped and started again, it goes on where it was. What it failed at is kept too, by kind, and tried again
the next time. An endpoint that answers nobody is not asked for ever: the run ends after `GIVE_UP` failures in
a row.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from deskhand_flywheel.errors import NoVerdict
from deskhand_flywheel.judges.judge import Judge, OutcomeJudge, ProcessJudge
from deskhand_flywheel.judges.verdicts import VerdictRepair
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import (
    JudgeFailure,
    JudgeTrouble,
    OutcomeScore,
    StepScore,
    TrajectoryFilter,
)
from deskhand_sandbox.types import Image

GIVE_UP = 12
_AT_ONCE = 16
"""Trajectories read in one query."""

Progress = Callable[[int, int], None]
"""Trajectories begun and in all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReport:
    """What a run came to."""

    scorer: str
    judged: int
    """Steps, or episodes, with a new verdict."""
    failures: Mapping[JudgeTrouble, int]
    """Those without one, by what went wrong."""
    repairs: Mapping[VerdictRepair, int]
    """What was mended in replies."""
    unreadable: int
    """Replies that held no verdict, those that were asked for again included."""
    cost: Mapping[str, float]
    """As in `Decision.cost`, added up."""
    trajectories: tuple[str, ...]
    """Those with a new verdict."""
    stopped: str | None
    """Why it ended early; None: it went through all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """One thing to be judged."""

    trajectory_id: str
    step_index: int | None
    ask: Callable[[], Awaitable[StepScore | OutcomeScore]]


async def judge_store(
    store: Store,
    judge: ProcessJudge | OutcomeJudge,
    chosen: TrajectoryFilter | None = None,
    *,
    limit: int | None = None,
    concurrency: int = 4,
    progress: Progress = lambda _done, _total: None,
) -> JudgeReport:
    """Judge what this judge has not judged of whole trajectories: every step, or the outcome.

    Args:
        limit: trajectories at most.
        concurrency: requests under way at most.

    Raises:
        StoreError: the store failed; what was judged until then is kept.
    """
    return await _Run(store, judge, _cases(store, judge, chosen, limit, progress)).through(concurrency)


async def _cases(
    store: Store,
    judge: ProcessJudge | OutcomeJudge,
    chosen: TrajectoryFilter | None,
    limit: int | None,
    progress: Progress,
) -> AsyncGenerator[_Case]:
    async def look(image: Image) -> Image:
        return replace(image, data=await store.image(image.digest))

    unjudged = store.unscored if isinstance(judge, ProcessJudge) else store.unjudged
    ids = (await unjudged(judge.scorer, chosen))[:limit]
    for begin in range(0, len(ids), _AT_ONCE):
        number = begin
        async for trajectory in store.each_trajectory(ids[begin : begin + _AT_ONCE]):
            number += 1
            progress(number, len(ids))
            if isinstance(judge, OutcomeJudge):
                yield _Case(
                    trajectory_id=trajectory.id, step_index=None, ask=partial(judge.score, trajectory, look)
                )
                continue
            judged = {score.step_index for score in await store.scores(trajectory.id, scorer=judge.scorer)}
            for place, step in enumerate(trajectory.steps):
                if step.index not in judged:
                    yield _Case(
                        trajectory_id=trajectory.id,
                        step_index=step.index,
                        ask=partial(judge.score_step, trajectory, place, look),
                    )


class _Run:
    def __init__(self, store: Store, judge: Judge, cases: AsyncGenerator[_Case]) -> None:
        self._store, self._judge, self._cases = store, judge, cases
        self._turn = asyncio.Lock()
        self._failures: Counter[JudgeTrouble] = Counter()
        self._judged: Counter[str] = Counter()
        self._in_a_row = 0
        self._stopped: str | None = None

    async def through(self, concurrency: int) -> JudgeReport:
        failed_before = await self._store.judge_failures(self._judge.scorer)
        self._failed_before = {(each.trajectory_id, each.step_index) for each in failed_before}
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(self._work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            await self._cases.aclose()
        asked = self._judge.asked
        return JudgeReport(
            scorer=self._judge.scorer,
            judged=self._judged.total(),
            failures=dict(self._failures),
            repairs=dict(asked.repairs),
            unreadable=asked.unreadable,
            cost=dict(asked.cost),
            trajectories=tuple(sorted(self._judged)),
            stopped=self._stopped,
        )

    async def _work(self) -> None:
        while self._stopped is None:
            async with self._turn:
                case = await anext(self._cases, None)
            if case is None:
                return
            try:
                score = await case.ask()
            except NoVerdict as error:
                await self._failed(case, error)
            else:
                await self._keep(case, score)

    async def _keep(self, case: _Case, score: StepScore | OutcomeScore) -> None:
        if isinstance(score, StepScore):
            await self._store.add_scores([score])
        else:
            await self._store.add_outcome_scores([score])
        if (case.trajectory_id, case.step_index) in self._failed_before:
            await self._store.drop_judge_failure(self._judge.scorer, case.trajectory_id, case.step_index)
        self._judged[case.trajectory_id] += 1
        self._in_a_row = 0

    async def _failed(self, case: _Case, error: NoVerdict) -> None:
        self._failures[error.trouble] += 1
        await self._store.add_judge_failure(
            JudgeFailure(
                trajectory_id=case.trajectory_id,
                step_index=case.step_index,
                scorer=self._judge.scorer,
                trouble=error.trouble,
                detail=str(error),
            )
        )
        of_the_case = error.trouble is JudgeTrouble.PICTURE or (
            # a model that came to one verdict can
            error.trouble is JudgeTrouble.NONSENSE and self._judged
        )
        if of_the_case:
            return
        self._in_a_row += 1
        if self._in_a_row >= GIVE_UP:
            self._stopped = f"{self._in_a_row} failures in a row, the last: {error}"
