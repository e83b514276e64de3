"""Success on seeds used for nothing else: sampled and greedy, with intervals and what the clicks hit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from deskhand_agent.accounts import spent, together
from deskhand_agent.test_time.checking import SelfCheck
from deskhand_agent.types import Policy, StepSink, Trajectory
from deskhand_agent.users import User, by_rule
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.store import Store
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import measured_on
from deskhand_trainer.click_targets import Hit, TargetWatcher
from deskhand_trainer.outcome_reward import Pay, by_verifier, counted
from deskhand_trainer.rollouts import SeedRange, collect, collect_or_reuse, jobs_of, limited
from deskhand_trainer.wilson import Rate, Tries, clustered_wilson, wilson


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """One task, one way of drawing replies."""

    task_id: str
    mode: str
    """"sampled" or "greedy"."""
    rate: Rate
    """Over all tries; its interval knows which of them began at one start state (`clustered_wilson`)."""
    starts: Sequence[Tries]
    """Each start state that was tried."""
    mean_turns: float
    passed: Rate | None
    """Start states with a success among the tries; None where each was tried once."""
    void_turns: int
    hits: Mapping[str, int]
    """Clicks by what they hit; empty when nobody asked the page."""
    first_hits: Mapping[str, int]
    """Of first turns only."""
    seeds: SeedRange
    dropped: Mapping[str, int]
    """Attempts that broke outside the agent."""
    cost: Mapping[str, float]
    """Of all turns (`Decision.cost`); tokens are counted for models that run here, too."""


async def evaluate(
    tasks: Sequence[str],
    *,
    mode: str,
    policy: Policy,
    source: SandboxSource,
    sink: StepSink,
    split: Split,
    episodes: int,
    offset: int,
    concurrency: int,
    labels: Mapping[str, str],
    owner: str,
    tries: int = 1,
    targets: bool = False,
    policy_update: int = 0,
    void_limit: int,
    user: User = by_rule,
    attempts: int = 1,
    self_check: SelfCheck | None = None,
    turns: int | None = None,
    pay: Pay = by_verifier,
    reuse: Store | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """Work `episodes` seeds of each task. A sandbox is waited for as long as another episode may have it.

    Args:
        mode: names the way the policy draws; kept on the trajectories.
        split: "validation" is of held-out tasks the test seeds that are kept for choosing (`measured_on`).
        tries: episodes of each seed.
        attempts, self_check: as in `WorkerSettings`.
        turns: that an episode may have; None: as many as its task says.
        pay: whose verdict counts.
        targets: ask the page what each click hit (needs sandboxes that evaluate).
        reuse: where episodes under the same labels are looked for, which are not played again. With `targets`
            all are played: what clicks hit is known of those that are watched. None: there are none before.
        on_done: told how many episodes are done, over all tasks.

    Raises:
        RolloutsStalled: more than half of a task's episodes broke.
        SandboxError: no sandbox can be had.
    """
    labels = {**labels, "purpose": "evaluation", "mode": mode}
    work = partial(collect, sink=sink)
    if reuse is not None and not targets:
        work = partial(collect_or_reuse, store=reuse, labels=labels, pictures=pay is not by_verifier)
    found: list[Evaluation] = []
    for number, task in enumerate(tasks):
        own, begin = measured_on(task, split, offset)
        ranged = SeedRange(task_id=task, split=own.value, offset=begin, count=episodes)
        watcher = TargetWatcher(policy) if targets else None
        before = number * episodes * tries
        jobs = jobs_of([ranged], labels=labels, group_size=tries)
        if turns is not None:
            jobs = [replace(job, task=limited(job.task, turns)) for job in jobs]
        limit_s = max((job.task.limits.seconds for job in jobs), default=0.0)
        collected = await work(
            jobs,
            policy=watcher or policy,
            source=source,
            settings=WorkerSettings(
                concurrency=concurrency,
                lease_wait_s=WorkerSettings().lease_wait_s + limit_s,
                void_limit=void_limit,
                user=user,
                attempts=attempts,
                self_check=self_check,
            ),
            owner=owner,
            policy_update=policy_update,
            pay=counted(pay),
            on_done=None if on_done is None else lambda n, before=before: on_done(before + n),
        )
        found.append(_summary(task, mode, ranged, collected.trajectories, collected.dropped, watcher))
    return found


def pooled(evaluations: Sequence[Evaluation], mode: str) -> Rate:
    """Success over all tasks of one mode."""
    return clustered_wilson([each for e in evaluations if e.mode == mode for each in e.starts])


def as_metrics(evaluations: Sequence[Evaluation]) -> dict[str, JsonValue]:
    """Flat figures: `success_<mode>` with `_low`, `_high`, `episodes_<mode>`, and the same per task;
    where start states were tried several times, `passed_<mode>`, the share with a success among the tries."""
    metrics: dict[str, JsonValue] = {}
    for mode in dict.fromkeys(e.mode for e in evaluations):
        chosen = [e for e in evaluations if e.mode == mode]
        _add_success(metrics, mode, pooled(evaluations, mode))
        passed = [e.passed for e in chosen if e.passed is not None]
        if passed:
            _add(metrics, f"passed_{mode}", _pooled(passed))
        metrics[f"turns_{mode}"] = round(sum(e.mean_turns * e.rate.count for e in chosen))
        for name, amount in together(e.cost for e in chosen).items():
            metrics[f"{name}_{mode}"] = amount
        for hit in Hit:
            if any(e.hits for e in chosen):
                metrics[f"clicks_{hit.value}_{mode}"] = sum(e.hits.get(hit.value, 0) for e in chosen)
                metrics[f"first_clicks_{hit.value}_{mode}"] = sum(
                    e.first_hits.get(hit.value, 0) for e in chosen
                )
        if len(chosen) > 1:
            for e in chosen:
                _add_success(metrics, f"{mode}:{e.task_id}", e.rate)
                if e.passed is not None:
                    _add(metrics, f"passed_{mode}:{e.task_id}", e.passed)
    metrics["episodes"] = sum(e.rate.count for e in evaluations)
    metrics["dropped"] = sum(sum(e.dropped.values()) for e in evaluations)
    metrics["seed_ranges"] = [e.seeds.as_json() for e in {e.task_id: e for e in evaluations}.values()]
    return metrics


def as_json(evaluation: Evaluation) -> dict[str, JsonValue]:
    """The record as it goes into artifacts."""
    return asdict(evaluation)


def _pooled(rates: Sequence[Rate]) -> Rate:
    return wilson(round(sum(r.value * r.count for r in rates)), sum(r.count for r in rates))


def _add_success(metrics: dict[str, JsonValue], name: str, rate: Rate) -> None:
    _add(metrics, f"success_{name}", rate)
    metrics[f"episodes_{name}"] = rate.count


def _add(metrics: dict[str, JsonValue], name: str, rate: Rate) -> None:
    metrics[name] = rate.value
    metrics[f"{name}_low"] = rate.low
    metrics[f"{name}_high"] = rate.high


def _summary(
    task: str,
    mode: str,
    ranged: SeedRange,
    trajectories: Sequence[Trajectory],
    dropped: Mapping[str, int],
    watcher: TargetWatcher | None,
) -> Evaluation:
    won = Counter(
        t.start.task.seed
        for t in trajectories
        if t.end is not None and t.end.outcome is not None and t.end.outcome.success
    )
    tried = Counter(t.start.task.seed for t in trajectories)
    starts = tuple((won[seed], tried[seed]) for seed in sorted(tried))
    steps = [step for t in trajectories for step in t.steps]
    hits = watcher.hits if watcher is not None else None
    return Evaluation(
        task_id=task,
        mode=mode,
        rate=clustered_wilson(starts),
        starts=starts,
        mean_turns=len(steps) / len(trajectories),
        passed=wilson(len(won), len(tried)) if len(tried) < len(trajectories) else None,
        void_turns=sum(step.decision.void for step in steps),
        hits={} if hits is None else {k.value: n for k, n in hits.counts.items()},
        first_hits={} if hits is None else {k.value: n for k, n in hits.first.items()},
        seeds=ranged,
        dropped=dropped,
        cost=together(spent(step.decision) for step in steps),
    )
