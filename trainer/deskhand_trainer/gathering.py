"""Where a loop's episodes come from: a batch while everybody waits, or a stream that goes on meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from deskhand_agent.branching import Branching
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Trajectory, Watcher, reads_tree
from deskhand_agent.worker import Job, WorkerSettings
from deskhand_flywheel.trajectories import MAX_PAGE
from deskhand_flywheel.types import JudgeTrouble, TrajectoryFilter, TrajectoryPage
from deskhand_trainer.acting import ActingEngines
from deskhand_trainer.admission import LoopSeeds
from deskhand_trainer.curriculum import in_turn, shares, turn_limit, turn_limits
from deskhand_trainer.demonstrations import Choose, demonstrations, successes
from deskhand_trainer.early_stop import LowScores
from deskhand_trainer.experts import experts, screens
from deskhand_trainer.loop_state import Cursor, PpoSetting
from deskhand_trainer.outcome_reward import Pay, by_verifier
from deskhand_trainer.rollouts import (
    Collected,
    SeedRange,
    collect_or_reuse,
    jobs_of,
    readable,
    seed_ranges,
    to_learn_from,
)
from deskhand_trainer.scoring_thread import ScoringThread
from deskhand_trainer.self_play import games
from deskhand_trainer.semi_online import SemiOnline, all_beside
from deskhand_trainer.silence import STALL_S, HeardSink, Silence
from deskhand_trainer.single_steps import Stage, all_replied, stage_of
from deskhand_trainer.streaming import (
    START,
    RolloutStream,
    StreamSettings,
    as_older,
    drawn_by,
    stats_of,
    turns_of,
)

ROLLOUT = "rollout"
WEIGHTS = "weights"
"""Label of an episode: digest of the weights that it was begun with."""


class Gatherer:
    """Rolls out for one loop; `close` ends what is under way."""

    def __init__(
        self,
        setting: PpoSetting,
        cursor: Cursor,
        seeds: LoopSeeds,
        *,
        engine: ActingEngines,
        policy: LocalPolicy,
        updates: Callable[[], int],
        weights: Callable[[], str],
        on_done: Callable[[int], None],
        on_stall: Callable[[str], None],
    ) -> None:
        """
        Args:
            cursor: what is used up, and of a stream learned from, is counted there.
            updates: optimizer updates so far.
            weights: digest of those that act.
            on_done: told how many episodes of a batch are done.
            on_stall: told why rollouts stand still.
        """
        self._s, self._config, self._cursor, self._seeds = setting, setting.config, cursor, seeds
        self._engine, self._policy, self._updates, self._weights = engine, policy, updates, weights
        self.scoring, self._watching = ScoringThread(setting.config), ScoringThread(setting.config)
        self._on_done, self._on_stall = on_done, on_stall
        self._stream: RolloutStream | None = None

    async def iteration(self) -> Collected:
        """What an iteration learns from.

        Raises:
            RolloutsStalled: too much broke, or nothing ended for far too long.
        """
        config = self._config
        if (stage := stage_of(config.curriculum, iteration=self._cursor.iteration)) is not None:
            return await self._single_replies(stage)
        if config.rollouts == "stream":
            return self._told(await self._from_stream())
        return await self.played(ROLLOUT, config.episodes_per_iteration)

    async def played(self, purpose: str, episodes: int) -> Collected:
        """So many episodes as the loop learns from them, while the caller waits."""
        match self._config.rollouts:
            case "recorded":
                return await self._beside_experts(episodes)
            case "self_play":
                return await self._against_itself(episodes)
            case "batch" | "stream":
                return await self.batch(purpose, episodes, oracle=self._config.algorithm == "cloning")

    @property
    def paid_by(self) -> Pay:
        """Whose verdict rollouts are paid for."""
        return by_verifier if self._s.outcomes is None else self._s.outcomes.reward

    @property
    def measured_by(self) -> Pay:
        """Whose verdict counts where the policy is measured."""
        return by_verifier if self._s.outcomes is None else self._s.outcomes.verdict

    async def stored(self, ids: Sequence[str]) -> list[Trajectory]:
        """Episodes of the store with what they are paid for; those that came to no verdict are left out, and
        those that cannot be read."""
        paid = await asyncio.gather(*map(self.paid_by, await self._readable(ids)))
        return [t for t in paid if isinstance(t, Trajectory) and to_learn_from(t)]

    async def successes(self, most: int) -> list[Trajectory]:
        """The store's newest demonstrations of the tasks, and its newest successful rollouts, so many of each
        at most, with what they are paid for."""
        ids: list[str] = []
        for purpose in ("demonstration", ROLLOUT):
            ids += (await self._won(purpose))[-most:]
        found = await self.stored(ids)
        self._cursor.learn(each.id for each in found)
        return found

    async def _won(self, purpose: str) -> Sequence[str]:
        """Ids of the store's successes at the tasks that the run may learn from, oldest first."""
        return await successes(self._choose, self._config.tasks, self._seeds.split, purpose)

    @property
    def _choose(self) -> Choose:
        return self._s.choose or self._s.store.trajectory_ids

    async def _readable(self, ids: Sequence[str]) -> list[Trajectory]:
        found, damaged = await readable(self._s.store, ids)
        await self._leave_out(damaged)
        return found

    async def _leave_out(self, damaged: Mapping[str, str]) -> None:
        """Count episodes that cannot be read, and say so of each once; by id, why."""
        known = self._cursor.unreadable
        new = {name: why for name, why in damaged.items() if name not in known}
        known.extend(new)
        await self._s.reporter.unreadable(new)

    def _told(self, collected: Collected) -> Collected:
        """With what the judge of outcomes came to, where there is one."""
        judge = self._s.outcomes
        return collected if judge is None else replace(collected, judging=judge.figures())

    async def _from_stream(self) -> Collected:
        """What of the stream has ended and is not too old: no less than an iteration is to begin with."""
        config = self._config
        stream = self._stream = self._stream or await self._begin()
        taken = await stream.batch(
            starts=config.episodes_per_iteration // config.group_size,
            turns=config.minimum_turns,
            fresh=lambda t: self._staleness(t) <= config.max_staleness,
            least=self._least,
        )
        self._on_done(len(taken.trajectories))
        return Collected(
            trajectories=taken.trajectories,
            dropped=+Counter({**taken.dropped, "stale": len(taken.stale)}),
            stats=stats_of(taken.trajectories, taken.waited_s),
            stale_turns=turns_of(taken.stale),
        )

    async def _against_itself(self, episodes: int) -> Collected:
        config, cursor = self._config, self._cursor
        count = -(-episodes // 2)
        numbers = range(cursor.seeds_used, cursor.seeds_used + count)
        cursor.seeds_used += count
        return await self._without_sandboxes(
            games(
                config.tasks,
                numbers,
                self._policy,
                concurrency=config.concurrency,
                policy_update=self._updates(),
            )
        )

    async def _beside_experts(self, episodes: int) -> Collected:
        """Beside the next of the demonstrations."""
        config, cursor = self._config, self._cursor
        ids = await demonstrations(self._choose, config.tasks, self._seeds.split)
        found, cursor.seeds_used = await experts(
            ids, self._readable, first=cursor.seeds_used, count=-(-episodes // config.group_size)
        )
        cursor.learn(expert.id for _, expert in found)
        return await self._without_sandboxes(
            all_beside(
                [expert for _, expert in found],
                self._policy,
                SemiOnline(patches=config.patches),
                group_size=config.group_size,
                concurrency=config.concurrency,
                policy_update=self._updates(),
            )
        )

    async def _single_replies(self, stage: Stage) -> Collected:
        """To the next screens of demonstrations."""
        config, cursor = self._config, self._cursor
        ids = await demonstrations(self._choose, config.tasks, self._seeds.split)
        count = config.episodes_per_iteration // config.group_size
        shown = await screens(ids, self._readable, first=cursor.iteration * count, count=count)
        cursor.learn(each.expert.id for each in shown)
        return await self._without_sandboxes(
            all_replied(
                shown,
                self._policy,
                stage,
                group_size=config.group_size,
                concurrency=config.concurrency,
                policy_update=self._updates(),
            )
        )

    async def _without_sandboxes(
        self, playing: Awaitable[tuple[Sequence[Trajectory], Mapping[str, int]]]
    ) -> Collected:
        began = time.monotonic()
        found, dropped = await playing
        self._on_done(len(found))
        stats = stats_of(found, time.monotonic() - began)
        return Collected(trajectories=tuple(found), dropped=dropped, stats=stats)

    async def batch(self, purpose: str, episodes: int, *, oracle: bool = False) -> Collected:
        """So many episodes, run while the caller waits; those the store has of an earlier life are reused."""
        config, cursor = self._config, self._cursor
        ranges = self._ranges(-(-episodes // config.group_size))
        # the labels name iteration and weights: a resumed run finds what it had collected of it, and nothing
        # that weights drew which it did not come to again
        labels = {
            **self._s.labels,
            "run": self._s.run_id,
            "purpose": "demonstration" if oracle else purpose,
            "iteration": str(cursor.iteration),
            "stage": purpose,
            **({} if oracle else {WEIGHTS: self._weights()}),
        }
        silence = Silence(stall_s=STALL_S, waiting=lambda: self._engine.waiting, on_stall=self._on_stall)

        async def paid(trajectory: Trajectory) -> Trajectory | JudgeTrouble:
            return (await silence.paid(trajectory, self.paid_by))[0]

        async with silence.told_of(self._s.source):
            collected = await collect_or_reuse(
                jobs_of(ranges, labels=labels, group_size=config.group_size, turn_limits=self._turn_limits()),
                store=self._s.store,
                labels=labels,
                policy=ScriptedPolicy(reads_tree=reads_tree(self._policy)) if oracle else self._policy,
                source=self._s.source,
                settings=self._worker(
                    attempts=1 if oracle else config.attempts,
                    branches=config.branches if purpose == ROLLOUT and not oracle else 0,
                ),
                owner=self._s.run_id,
                policy_update=self._updates(),
                pay=paid,
                on_done=self._on_done,
                sink=HeardSink(self._s.store, silence.turn),
            )
        await self._leave_out(collected.unreadable)
        cursor.seeds_used += max(r.count for r in ranges)
        return self._told(collected)

    def paused(self) -> AbstractContextManager[None]:
        """A stream begins no episode meanwhile: there may be no more sandboxes than it has."""
        return nullcontext() if self._stream is None else self._stream.paused()

    async def close(self) -> None:
        """End the stream; its episodes under way are recorded as cancelled."""
        if self._stream is not None:
            await self._stream.close()
        self.scoring.close()
        self._watching.close()

    async def _begin(self) -> RolloutStream:
        config = self._config
        ended = await self.stored(await self._unlearned())
        # what an earlier life came to after its last checkpoint is gone, and its number is given anew
        update, weights = self._updates(), self._weights()
        known = [t for t in ended if max(drawn_by(t), default=0) <= update]
        finished = [t if t.start.labels.get(WEIGHTS) == weights else as_older(t, update) for t in known]
        starts = config.episodes_per_iteration // config.group_size
        return RolloutStream(
            self._jobs_of_start,
            state=self._cursor.stream,
            policy=self._policy,
            source=self._s.source,
            sink=self._s.store,
            settings=StreamSettings(ahead=starts + -(-config.concurrency // config.group_size)),
            worker=self._worker(attempts=config.attempts),
            owner=self._s.run_id,
            policy_update=self._updates,
            waiting=lambda: self._engine.waiting,
            on_stall=self._on_stall,
            pay=self.paid_by,
            finished=finished,
        )

    async def _unlearned(self) -> list[str]:
        """Ids of the stream's episodes that nobody learned from: all of a long run's fit into no memory."""
        chosen = TrajectoryFilter(labels=self._stream_labels(), ended=True)
        found: list[str] = []
        page: TrajectoryPage | None = None
        while page is None or page.next_cursor is not None:
            cursor = None if page is None else page.next_cursor
            page = await self._s.store.trajectories(chosen, cursor=cursor, limit=MAX_PAGE)
            waiting = (t.id for t in page.items if not self._cursor.stream.taken(int(t.labels[START])))
            found += [*waiting, *page.unreadable]
        return sorted(found)

    def _worker(self, *, attempts: int, branches: int = 0) -> WorkerSettings:
        """How episodes are run."""
        config = self._config
        branching = Branching(branches=branches, rise=config.branch_rise, in_a_row=config.branches_in_a_row)
        return WorkerSettings(
            concurrency=config.concurrency,
            void_limit=config.void_limit,
            attempts=attempts,
            branching=branching if branches else None,
            user=self._s.user,
            watcher=self._watcher(),
            notebook=self._s.notebook,
        )

    def _watcher(self) -> Callable[[], Watcher] | None:
        """What ends episodes whose process score stays low, where the config asks for it."""
        config, model = self._config, self._s.reward_model
        if config.stop_below is None or model is None:
            return None
        # what the trainer has scored takes long, and environments would wait for it
        score = partial(self._watching.run, model.turn_scores)
        return partial(LowScores, score, below=config.stop_below, steps=config.stop_after)

    def _stream_labels(self) -> dict[str, str]:
        return {**self._s.labels, "run": self._s.run_id, "purpose": ROLLOUT, "stage": "stream"}

    def _jobs_of_start(self, number: int) -> Sequence[Job]:
        """Tasks take turns, each as often as its share says, all through the same seeds in order."""
        config, seeds = self._config, self._seeds
        starts = config.episodes_per_iteration // config.group_size
        # with fewer start states in an iteration than tasks, some of the tasks would never have their turn
        counts = self._shares(max(starts, len(config.tasks))) or [1] * len(config.tasks)
        turns = in_turn(config.tasks, counts)
        offset = seeds.offset + config.seed_offset + self._cursor.seeds_used + number
        one = SeedRange(task_id=turns[number % len(turns)], split=seeds.split.value, offset=offset, count=1)
        labels = {**self._stream_labels(), START: str(number), WEIGHTS: self._weights()}
        return jobs_of([one], labels=labels, group_size=config.group_size, turn_limits=self._turn_limits())

    @property
    def _least(self) -> int:
        """Episodes of a start state that teach something: where groups are compared, one alone does not."""
        c = self._config
        return 2 if c.compares_groups and c.group_size > 1 else 1

    def _staleness(self, trajectory: Trajectory) -> int:
        """Updates since the oldest weights that drew a turn of it."""
        return self._updates() - min(drawn_by(trajectory), default=self._updates())

    def _turn_limits(self) -> dict[str, int]:
        config, cursor = self._config, self._cursor
        whole = cursor.iteration - config.curriculum.iterations
        limit = turn_limit(config.turn_limits, every=config.turn_limit_every, iteration=whole)
        return dict(turn_limits(config.tasks, limit, cursor.tasks if config.curate else {}))

    def _ranges(self, starts: int) -> tuple[SeedRange, ...]:
        offset = self._seeds.offset + self._config.seed_offset + self._cursor.seeds_used
        tasks = self._config.tasks
        counts = self._shares(starts)
        return seed_ranges(tasks, self._seeds.split, episodes=starts, offset=offset, counts=counts)

    def _shares(self, starts: int) -> list[int] | None:
        """Of each task, where the config does not give all alike."""
        config, records = self._config, self._cursor.tasks
        if config.success_band is not None:
            return shares(config.tasks, starts, records, band=config.success_band)
        return shares(config.tasks, starts, records) if config.curate else None
