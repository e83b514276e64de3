"""Episodes from sandboxes into the store, and from there into samples: token in, token out.

Nothing is re-tokenised: a turn is trained on with the ids the engine was given and gave. What broke outside
the agent is dropped and counted; void turns stay (they are the agent's) and are counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from deskhand_agent.branching import BRANCH_OF, shared_turns
from deskhand_agent.episode import told_again
from deskhand_agent.inference import CompletionRequest
from deskhand_agent.types import Context, Policy, Step, StepSink, Trajectory
from deskhand_agent.users import AWAY
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats, run_episodes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import JudgeTrouble, TrajectoryFilter
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import AskUser, JsonValue, Split, Task
from deskhand_trainer.errors import RolloutsStalled
from deskhand_trainer.outcome_reward import Pay, by_verifier
from deskhand_trainer.shaping import conduct_of
from deskhand_trainer.types import Episode, TrainingSample


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedRange:
    """Seeds of one task: the `count` of its split from `offset` on, in the split's fixed order."""

    task_id: str
    split: str
    offset: int
    count: int

    def as_json(self) -> dict[str, JsonValue]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What came of some jobs."""

    trajectories: tuple[Trajectory, ...]
    """With a verdict, in the order of the jobs; pictures with their bytes."""
    dropped: Mapping[str, int]
    """Attempts that broke outside the agent, by kind of failure."""
    stats: WorkerStats
    reused: int = 0
    """Taken from the store: finished before the run's last death."""
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the store, by id why they cannot be read; their jobs were run again."""
    judging: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a judge of outcomes came to meanwhile (`JudgedOutcomes.figures`); empty without one."""
    stale_turns: int = 0
    """Of episodes that were played, too, and left out because they were too old to be learned from."""


Requester = Callable[[Context], CompletionRequest]
"""Shows a context to the model: `LocalPolicy.request`."""


def seed_ranges(
    tasks: Sequence[str], split: Split, *, episodes: int, offset: int, counts: Sequence[int] | None = None
) -> tuple[SeedRange, ...]:
    """`episodes` in all, each task's from `offset` on.

    Args:
        counts: of each task; None: dealt evenly.
    """
    base, extra = divmod(episodes, len(tasks))
    counts = counts or [base + (i < extra) for i in range(len(tasks))]
    return tuple(
        SeedRange(task_id=task, split=split.value, offset=offset, count=count)
        for task, count in zip(tasks, counts, strict=True)
        if count
    )


def jobs_of(
    ranges: Sequence[SeedRange],
    *,
    labels: Mapping[str, str],
    group_size: int = 1,
    turn_limits: Mapping[str, int] | None = None,
) -> list[Job]:
    """A group of episodes per seed, one after another.

    Args:
        group_size: episodes of each start state.
        turn_limits: by task, of its episodes where that is less than its own.

    Raises:
        UnknownName: no such task.
    """
    return [
        Job(
            task=_within(make_task(r.task_id, seed), (turn_limits or {}).get(r.task_id)),
            group_id=f"{r.task_id}#{seed}" if group_size > 1 else None,
            labels=labels,
            split=Split(r.split),
        )
        for r in ranges
        for seed in seeds(r.task_id, Split(r.split), r.count, r.offset)
        for _ in range(group_size)
    ]


async def collect(
    jobs: Sequence[Job],
    *,
    policy: Policy,
    source: SandboxSource,
    sink: StepSink,
    settings: WorkerSettings,
    owner: str,
    policy_update: int = 0,
    pay: Pay = by_verifier,
    on_done: Callable[[int], None] | None = None,
    done_before: int = 0,
) -> Collected:
    """Run jobs, many at once.

    Args:
        pay: asked about each episode as it ends, while others go on.
        on_done: told how many are done.
        done_before: jobs beside these that came to a verdict in an earlier life, and count as done.

    Raises:
        RolloutsStalled: more than half of the jobs, those done before included, broke for good.
        SandboxError: no sandbox can be had at all.
    """
    paying: list[asyncio.Task[Trajectory | JudgeTrouble]] = []

    def note(trajectory: Trajectory) -> None:
        paying.append(asyncio.ensure_future(pay(trajectory)))
        if on_done is not None:
            on_done(done_before + len(paying))

    try:
        stats = await run_episodes(
            jobs,
            source=source,
            policy=policy,
            sink=sink,
            settings=settings,
            concurrency=min(settings.concurrency, max(1, len(jobs))),
            policy_update=lambda: policy_update,
            owner=owner,
            on_done=note,
        )
        paid = await asyncio.gather(*paying)
    finally:
        for each in paying:
            each.cancel()
    done = [t for t in paid if isinstance(t, Trajectory)]
    dropped = Counter({failure.value: count for failure, count in stats.failures.items()})
    dropped.update(f"judge_{trouble}" for trouble in paid if isinstance(trouble, JudgeTrouble))
    kept = [t for t in done if to_learn_from(t)]
    whole = done_before + sum(BRANCH_OF not in t.start.labels for t in kept)
    if 2 * whole < done_before + len(jobs):
        details = {t.end.failure_detail for t in done if t.end is not None and t.end.failure_detail}
        raise RolloutsStalled(
            f"only {whole} of {done_before + len(jobs)} episodes came to a verdict ({dict(dropped)}): "
            + "; ".join(sorted(details)[:3])
        )
    return Collected(trajectories=in_order(kept, jobs), dropped=dict(dropped), stats=stats)


async def readable(store: Store, ids: Sequence[str]) -> tuple[list[Trajectory], dict[str, str]]:
    """Those of the episodes that can be read, with pictures; and of the others, by id why not."""
    damaged: dict[str, str] = {}
    read = store.each_trajectory(
        ids, images=True, on_damaged=lambda name, why: damaged.update({name: str(why)})
    )
    return [t async for t in read], damaged


async def _paid(
    store: Store, ids: Sequence[str], pay: Pay, *, pictures: bool
) -> tuple[list[Trajectory], dict[str, str]]:
    """Of the episodes those that can be read, and learned from, as they are paid; and as `readable`."""
    damaged: dict[str, str] = {}
    read = store.each_trajectory(
        ids, images=pictures, on_damaged=lambda name, why: damaged.update({name: str(why)})
    )
    # each as it is read: what `pay` leaves out of one is let go of before the next ones come
    paying: list[asyncio.Task[Trajectory | JudgeTrouble]] = []
    try:
        async for t in read:
            paying.append(asyncio.ensure_future(pay(t)))
        paid = await asyncio.gather(*paying)
    finally:
        for each in paying:
            each.cancel()
    return [t for t in paid if isinstance(t, Trajectory) and to_learn_from(t)], damaged


async def collect_or_reuse(
    jobs: Sequence[Job],
    *,
    store: Store,
    labels: Mapping[str, str],
    policy: Policy,
    source: SandboxSource,
    settings: WorkerSettings,
    owner: str,
    policy_update: int = 0,
    pay: Pay = by_verifier,
    on_done: Callable[[int], None] | None = None,
    sink: StepSink | None = None,
    pictures: bool = True,
) -> Collected:
    """As `collect`, into the store or a sink over it; jobs the store has whole under the same labels are
    taken from there, not run again; without their pictures where nobody looks at these.

    So a run killed while it collected loses only the episodes in flight, and those that cannot be read.
    """
    tasks = tuple(sorted({job.task.id for job in jobs}))
    ids = await store.trajectory_ids(TrajectoryFilter(labels=labels, task_ids=tasks, ended=True))
    found, unreadable = await _paid(store, ids, pay, pictures=pictures)
    whole: dict[tuple[str, int], list[Trajectory]] = {}
    branches: dict[str, list[Trajectory]] = {}
    for t in found:
        if trunk := t.start.labels.get(BRANCH_OF):
            branches.setdefault(trunk, []).append(t)
        else:
            whole.setdefault((t.start.task.id, t.start.task.seed), []).append(t)
    reused: list[Trajectory] = []
    beside: list[Trajectory] = []
    missing: list[Job] = []
    for job in jobs:
        same = whole.get(_key(job))
        if same:
            reused.append(trunk := same.pop())
            beside += branches.get(trunk.id, [])
        else:
            missing.append(job)
    fresh = await collect(
        missing,
        policy=policy,
        source=source,
        sink=sink or store,
        settings=settings,
        owner=owner,
        policy_update=policy_update,
        pay=pay,
        on_done=on_done,
        done_before=len(reused),
    )
    return Collected(
        trajectories=in_order([*reused, *beside, *fresh.trajectories], jobs),
        dropped=fresh.dropped,
        stats=fresh.stats,
        reused=len(reused),
        unreadable=unreadable,
    )


def to_learn_from(trajectory: Trajectory) -> bool:
    """Whether it came to a verdict on at least one turn."""
    end = trajectory.end
    return end is not None and end.outcome is not None and bool(trajectory.steps)


def in_order(trajectories: Sequence[Trajectory], jobs: Sequence[Job]) -> tuple[Trajectory, ...]:
    """Trajectories in the order of their jobs, and those of one start state in order of beginning, whatever
    the order they ended in, or were read in."""
    place = {_key(job): i for i, job in enumerate(jobs)}
    return tuple(sorted(trajectories, key=lambda t: (place[t.start.task.id, t.start.task.seed], t.id)))


def episode_of(
    trajectory: Trajectory, request: Requester | None, said: Sequence[TrainingSample] | None = None
) -> Episode | None:
    """The trajectory as the learner takes it; None when a turn's ids are not known exactly.

    Args:
        trajectory: with a verdict and at least one step, pictures with their bytes.
        request: shows the final state of an episode that was cut off and paid nothing to the model, for V
            there; None: it ended there.
        said: each turn, where it is not taken as it was drawn.
    """
    end = trajectory.end
    assert end is not None and end.outcome is not None
    # V foretells the verdict, which would count twice where it paid already
    goes_on = trajectory.truncated and end.outcome.score == 0
    samples: list[TrainingSample] = []
    attempt = 0
    for step in trajectory.steps:
        drawn = sample_of(step, trajectory.id) if said is None else said[step.index]
        if drawn is None:
            return None
        last = step.index == len(trajectory.steps) - 1
        samples.append(replace(drawn, last=last, attempt=attempt))
        attempt += told_again(step)
    return Episode(
        trajectory_id=trajectory.id,
        task_id=trajectory.start.task.id,
        seed=trajectory.start.task.seed,
        group_id=trajectory.start.group_id,
        branch_of=trajectory.start.labels.get(BRANCH_OF),
        shared_turns=shared_turns(trajectory.start),
        samples=tuple(samples),
        outcome=end.outcome.score,
        success=end.outcome.success,
        stop_reason=end.stop_reason,
        environment_rewards=tuple(step.reward for step in trajectory.steps),
        after=_state_after(trajectory, request) if goes_on and request is not None else None,
        attempt_turns=sum(
            step.decision.summary is None and sample.attempt == samples[-1].attempt
            for step, sample in zip(trajectory.steps, samples, strict=True)
        ),
        failed_attempts=tuple((s.index, s.attempt_score) for s in trajectory.steps if told_again(s)),
        conduct=conduct_of(trajectory.steps),
        void_turns=sum(step.decision.void for step in trajectory.steps),
        questions=sum(_asks(step) for step in trajectory.steps),
        unanswered=sum(_asks(step) and _unanswered(step) for step in trajectory.steps),
        answer=right_answer(trajectory.start.task),
    )


def _asks(step: Step) -> bool:
    return any(isinstance(action, AskUser) for action in step.decision.actions)


def _unanswered(step: Step) -> bool:
    return step.answer is not None and any(why in step.answer for why in AWAY)


def right_answer(task: Task) -> str | None:
    """What is to be answered, where the task says it."""
    expected = task.verifier.settings.get("expected") if task.verifier.name == "answer" else None
    return None if expected is None else str(expected)


def sample_of(step: Step, trajectory_id: str = "") -> TrainingSample | None:
    """A turn as it was drawn, its reward still to come; None when its ids are not known exactly."""
    asked, given = step.decision.request, step.decision.completion
    if not step.decision.trainable or asked is None or given is None:
        return None
    return TrainingSample(
        trajectory_id=trajectory_id,
        turn_index=step.index,
        prompt_ids=asked.prompt_ids,
        reply_ids=given.ids,
        images=asked.images,
        behaviour_logprobs=given.logprobs,
        policy_update=given.policy_update,
        reward=0.0,
    )


def _state_after(trajectory: Trajectory, request: Requester) -> TrainingSample | None:
    end = trajectory.end
    if end is None or end.final_observation is None:
        return None
    shown = request(
        Context(
            task=trajectory.start.task,
            instruction=trajectory.start.instruction,
            notes=trajectory.start.notes,
            steps=trajectory.steps,
            observation=end.final_observation,
        )
    )
    return TrainingSample(
        trajectory_id=trajectory.id,
        turn_index=len(trajectory.steps),
        prompt_ids=shown.prompt_ids,
        reply_ids=(),
        images=shown.images,
        behaviour_logprobs=(),
        reward=0.0,
    )


def limited(task: Task, turns: int) -> Task:
    """The task with another turn limit."""
    return replace(task, limits=replace(task.limits, turns=turns))


def _within(task: Task, turns: int | None) -> Task:
    return task if turns is None else limited(task, min(turns, task.limits.turns))


def _key(job: Job) -> tuple[str, int]:
    return job.task.id, job.task.seed
