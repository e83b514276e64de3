"""A judge over a store: whatever it has not judged, several at once, kept as it goes.

Stopped and started again, it goes on where it was. What a verdict contradicts is queued for review with it.
What it failed at is kept too, by kind, and tried again the next time, behind what was never tried. An
endpoint that answers nobody is not asked for ever: the run ends after `GIVE_UP` failures in a row.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from deskhand_flywheel.errors import FlywheelError, NoVerdict, UnknownTrajectory
from deskhand_flywheel.judges.judge import Judge, OutcomeJudge, ProcessJudge
from deskhand_flywheel.judges.verdicts import VerdictRepair
from deskhand_flywheel.store import Store
from deskhand_flywheel.trajectories import OnDamaged
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
    """Those without one, by what went wrong; an episode whose record cannot be read counts as one."""
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
    on_damaged: OnDamaged = lambda _name, _why: None,
) -> JudgeReport:
    """Judge what this judge has not judged of whole trajectories: every step, or the outcome.

    Args:
        limit: trajectories at most.
        concurrency: requests under way at most.
        on_damaged: told of each whose record cannot be read, which is a failure too.

    Raises:
        StoreError: the store failed; what was judged until then is kept.
    """
    failed = await store.judge_failures(judge.scorer)
    tried: dict[str, int] = {}
    for each in failed:
        tried[each.trajectory_id] = max(each.attempts, tried.get(each.trajectory_id, 0))
    unjudged = store.unscored if isinstance(judge, ProcessJudge) else store.unjudged
    # what fails again and again must not keep a limited run from all others
    ids = sorted(await unjudged(judge.scorer, chosen), key=lambda each: tried.get(each, 0))[:limit]
    return await _Run(store, judge, _cases(store, judge, ids, progress, on_damaged), failed).through(
        concurrency
    )


async def _cases(
    store: Store,
    judge: ProcessJudge | OutcomeJudge,
    ids: Sequence[str],
    progress: Progress,
    on_damaged: OnDamaged,
) -> AsyncGenerator[_Case]:
    async def look(image: Image) -> Image:
        return replace(image, data=await store.image(image.digest))

    for begin in range(0, len(ids), _AT_ONCE):
        damaged: dict[str, FlywheelError] = {}
        read = store.each_trajectory(
            ids[begin : begin + _AT_ONCE],
            on_damaged=lambda name, why, damaged=damaged: damaged.update({name: why}),
        )
        number = begin
        async for trajectory in read:
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
        for name, why in damaged.items():
            number += 1
            progress(number, len(ids))
            if isinstance(why, UnknownTrajectory):  # dropped meanwhile
                continue
            on_damaged(name, why)
            yield _Case(trajectory_id=name, step_index=None, ask=partial(_unread, why))


async def _unread(why: FlywheelError) -> StepScore:
    raise NoVerdict(str(why), trouble=JudgeTrouble.RECORD)


class _Run:
    def __init__(
        self, store: Store, judge: Judge, cases: AsyncGenerator[_Case], failed_before: Sequence[JudgeFailure]
    ) -> None:
        self._store, self._judge, self._cases = store, judge, cases
        self._failed_before = {(each.trajectory_id, each.step_index) for each in failed_before}
        self._turn, self._keeping = asyncio.Lock(), asyncio.Lock()
        self._failures: Counter[JudgeTrouble] = Counter()
        self._judged: Counter[str] = Counter()
        self._in_a_row = 0
        self._stopped: str | None = None

    async def through(self, concurrency: int) -> JudgeReport:
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
                kept = self._failed(case, error)
            else:
                kept = self._keep(case, score)
            with suppress(UnknownTrajectory):  # dropped meanwhile
                await kept

    async def _keep(self, case: _Case, score: StepScore | OutcomeScore) -> None:
        # one after the other: whoever finds locks an episode, and two judges that each lock several in one
        # transaction would wait for one another
        async with self._keeping:
            await self._store.add_and_compare([score] if isinstance(score, StepScore) else score)
        # of the whole of it: its record could not be read
        for failed in {(case.trajectory_id, case.step_index), (case.trajectory_id, None)}:
            if failed in self._failed_before:
                self._failed_before.discard(failed)
                await self._store.drop_judge_failure(self._judge.scorer, *failed)
        self._judged[case.trajectory_id] += 1
        self._in_a_row = 0

    async def _failed(self, case: _Case, error: NoVerdict) -> None:
        await self._store.add_judge_failure(
            JudgeFailure(
                trajectory_id=case.trajectory_id,
                step_index=case.step_index,
                scorer=self._judge.scorer,
                trouble=error.trouble,
                detail=str(error),
            )
        )
        self._failures[error.trouble] += 1
        of_the_case = error.trouble in (JudgeTrouble.PICTURE, JudgeTrouble.RECORD) or (
            # a model that came to one verdict can
            error.trouble is JudgeTrouble.NONSENSE and self._judged
        )
        if of_the_case:
            return
        self._in_a_row += 1
        if self._in_a_row >= GIVE_UP:
            self._stopped = f"{self._in_a_row} failures in a row, the last: {error}"
