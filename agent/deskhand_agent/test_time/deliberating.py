"""A policy with what is computed for it at test time, by settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deskhand_agent.notebook import Notebook
from deskhand_agent.test_time.checking import Answering, AskedJudge, AskedModel, SelfCheck
from deskhand_agent.test_time.judging import StepJudge
from deskhand_agent.test_time.sampling import ManySamples, by_judge, by_majority
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.types import Policy
from deskhand_sandbox.types import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Deliberate:
    """A policy, and how its episodes are run."""

    policy: Policy
    self_check: SelfCheck | None = None
    attempts: int = 1
    turns: int = 0
    """That an episode, or each of its attempts, may have; 0: as many as the task says."""
    notebook: Notebook | None = None
    """Of what it writes in an episode, for later ones, by owner; None: it keeps none."""

    def limited(self, task: Task) -> Task:
        """The task with so many turns."""
        return replace(task, limits=replace(task.limits, turns=self.turns)) if self.turns else task


def deliberate(
    policy: Policy, settings: Deliberation, judge: StepJudge | None = None, *, greedy: bool = False
) -> Deliberate:
    """The policy as the settings have it.

    Args:
        judge: the process reward model they name.
        greedy: the policy says the same each time, and is asked once.

    Raises:
        ValueError: they want a judge and there is none.
        TypeError: they ask a policy that answers no questions.
    """
    if settings.judges and judge is None:
        raise ValueError("judge: there is no process reward model to score")
    return Deliberate(
        policy=policy if greedy else _sampling(policy, settings, judge),
        self_check=_self_check(policy, settings, judge),
        attempts=settings.attempts,
        turns=settings.turns,
    )


def _sampling(policy: Policy, settings: Deliberation, judge: StepJudge | None) -> Policy:
    if settings.samples == 1:
        return policy
    choose = by_majority(settings.radius_px)
    if judge is not None and settings.choose == "judge":
        choose = by_judge(judge)
    return ManySamples(policy, samples=settings.samples, choose=choose)


def _self_check(policy: Policy, settings: Deliberation, judge: StepJudge | None) -> SelfCheck | None:
    if not settings.checks_itself:
        return None
    if judge is not None and settings.check == "judge":
        return SelfCheck(checker=AskedJudge(judge=judge, least=settings.least_score), doubts=settings.checks)
    if not isinstance(policy, Answering):
        raise TypeError(f"check: {policy.id} answers no questions: let a judge say whether it is done")
    return SelfCheck(checker=AskedModel(model=policy), doubts=settings.checks)
