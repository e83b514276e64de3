"""Whose verdict an episode is paid for: its verifier's, or a judge's that reads it (UI-TARS-2's generative
outcome reward, arXiv 2509.02544).

A judge is asked as each episode ends, while others go on. Its word is kept in the store as its opinion, under
its version, and the episode's own verdict stays what it was; where the two contradict each other, the episode
is queued for a person's review. An episode on which it comes to no word in time is void: it earns nothing,
not 0; it is counted by what went wrong, and kept for the judge to be asked again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeAlias

from deskhand_agent.accounts import spent
from deskhand_agent.errors import EndpointError
from deskhand_agent.time_limits import TimeLimit
from deskhand_agent.types import Decision, StopReason, Trajectory
from deskhand_flywheel.errors import NoVerdict
from deskhand_flywheel.judges import JudgeSettings, OutcomeJudge, Rubric
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import JudgeFailure, JudgeTrouble, OutcomeScore
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import Observation, Outcome
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.outcome_config import OutcomeConfig

Pay: TypeAlias = Callable[[Trajectory], Awaitable[Trajectory | JudgeTrouble]]
"""The episode with the outcome it is paid for, or why there is none."""


UNSEEN = Observation(screenshot=as_image(b"", (1, 1)), captured_at_s=0.0, settled_ms=0.0)


async def by_verifier(trajectory: Trajectory) -> Trajectory | JudgeTrouble:
    """As its verifier says."""
    return trajectory


def counted(pay: Pay) -> Pay:
    """The same, of episodes that are only counted: without what was seen and said, of which there may be any
    amount. What turns cost and which were void stays."""

    async def paid(trajectory: Trajectory) -> Trajectory | JudgeTrouble:
        told = await pay(trajectory)
        if isinstance(told, JudgeTrouble):
            return told
        steps = tuple(replace(s, observation=UNSEEN, decision=_unsaid(s.decision)) for s in told.steps)
        return replace(told, steps=steps, end=told.end and replace(told.end, final_observation=None))

    return paid


def _unsaid(decision: Decision) -> Decision:
    summary = None if decision.summary is None else ""
    return Decision(actions=decision.actions, text="", summary=summary, cost=spent(decision))


class JudgedOutcomes:
    """A judge beside a run's rollouts."""

    def __init__(self, store: Store, judge: OutcomeJudge, config: OutcomeConfig) -> None:
        self._store, self._judge, self._config = store, judge, config
        self._turn = asyncio.Semaphore(config.at_once)
        self.scorer = judge.scorer
        self._counts: Counter[str] = Counter()
        self._told: Mapping[str, float] = {}

    async def reward(self, trajectory: Trajectory) -> Trajectory | JudgeTrouble:
        """The episode with what it earns, as the config has it; one that broke stays as it is."""
        if self._config.by == "verifier_then_judge":
            return await self.verdict(trajectory)
        return await self._judged(trajectory)

    async def verdict(self, trajectory: Trajectory) -> Trajectory | JudgeTrouble:
        """The same for measuring: a verifier's word counts for more than a judge's wherever there is one."""
        if trajectory.end is None or trajectory.end.outcome is not None:
            return trajectory
        return await self._judged(trajectory)

    def figures(self) -> Mapping[str, float]:
        """What it came to since this was last asked: "judged", "judge_void", "judge_unreadable" and the cost,
        as in `Decision.cost`, of all replies."""
        asked = self._judge.asked
        counts = {name: self._counts[name] for name in ("judged", "judge_void")}
        cost = {f"judge_{name}": amount for name, amount in asked.cost.items()}
        now: dict[str, float] = {**counts, "judge_unreadable": asked.unreadable, **cost}
        before, self._told = self._told, now
        return {name: amount - before.get(name, 0.0) for name, amount in now.items()}

    async def _judged(self, trajectory: Trajectory) -> Trajectory | JudgeTrouble:
        end = trajectory.end
        if end is None or end.failure is not None or end.stop_reason is StopReason.CANCELLED:
            return trajectory
        if not trajectory.steps:
            return trajectory
        score = await self._known(trajectory.id)
        if score is None:
            try:
                score = await self._asked(trajectory)
            except NoVerdict as error:
                self._counts["judge_void"] += 1
                await self._store.add_judge_failure(
                    JudgeFailure(
                        trajectory_id=trajectory.id,
                        step_index=None,
                        scorer=self.scorer,
                        trouble=error.trouble,
                        detail=str(error),
                    )
                )
                return error.trouble
        outcome = Outcome(
            score=score.score, success=score.score >= self._config.success_from, detail=score.scorer
        )
        return replace(trajectory, end=replace(end, outcome=outcome))

    async def _known(self, trajectory_id: str) -> OutcomeScore | None:
        """What it said before: of an episode of the run's earlier life it is not asked twice."""
        said = await self._store.outcome_scores(trajectory_id)
        return next((score for score in said if score.scorer == self.scorer), None)

    async def _asked(self, trajectory: Trajectory) -> OutcomeScore:
        """
        Raises:
            NoVerdict: it came to no verdict in time.
        """
        within_s = self._config.within_s
        try:
            async with self._turn, TimeLimit(within_s).enforced():
                score = await self._judge.score(trajectory)
        except TimeoutError as error:
            late = f"no verdict within {within_s:g} s of being asked"
            raise NoVerdict(late, trouble=JudgeTrouble.TIMEOUT) from error
        await self._store.add_and_compare(score)
        await self._store.drop_judge_failure(self.scorer, trajectory.id, None)
        self._counts["judged"] += 1
        return score


@asynccontextmanager
async def judging(store: Store, config: OutcomeConfig) -> AsyncGenerator[JudgedOutcomes | None]:
    """The judge a config asks for, for the length of the block; None where the verifier's word is all.

    Raises:
        RunRefused: the endpoint is not to be asked as it is given.
    """
    if config.by == "verifier":
        yield None
        return
    try:
        rubric = Rubric(text=config.rubric) if config.rubric else None
        judge = OutcomeJudge(JudgeSettings(model=config.model, base_url=config.judge), rubric)
    except EndpointError as error:
        raise RunRefused(f"field 'outcome.judge': {error}") from error
    try:
        yield JudgedOutcomes(store, judge, config)
    finally:
        await judge.close()
