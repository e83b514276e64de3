"""Multi-turn PPO online: roll out, estimate, update, publish; and the arms that stand beside it.

    python -m deskhand_trainer.run RUN_DIR          with a spec of kind "ppo"

After Turn-PPO (turn-level GAE and ratio), VC-PPO (value pretraining, decoupled λ) and DAPO (clip-higher).
The unit of training is the turn; ids sampled are ids trained; a batch is whole trajectories, of one policy
or, streamed, of the last few. torchrun makes it several processes (`company`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from deskhand_agent.branching import shared_turns
from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import save_bundle
from deskhand_agent.models.value import ValueHead
from deskhand_agent.policies.local import LocalPolicy
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.acting import acting_engines
from deskhand_trainer.admission import loop_seeds
from deskhand_trainer.archer import TurnCritic
from deskhand_trainer.batches import Batch, first_scores, prepare, reward_rule, with_rewards
from deskhand_trainer.checkpoints import (
    confirm,
    load_checkpoint,
    next_number,
    random_state,
    restore_random_state,
    save_checkpoint,
)
from deskhand_trainer.company import Company
from deskhand_trainer.curriculum import recorded
from deskhand_trainer.demonstrations import cloning_samples, shown_episodes
from deskhand_trainer.diagnostics import Stopwatch, alarms, iteration_metrics, rollout_metrics, success_rate
from deskhand_trainer.entropy import band_push
from deskhand_trainer.errors import NoTrainableTurns
from deskhand_trainer.estimates import by_attempt
from deskhand_trainer.evaluation import as_metrics, evaluate, pooled
from deskhand_trainer.gathering import Gatherer
from deskhand_trainer.imitation import nothing_learned, oracle_episodes, to_learn
from deskhand_trainer.information import informed
from deskhand_trainer.learner import actor_lr
from deskhand_trainer.loop_state import Cursor, PpoOutcome, PpoSetting, loop_metrics
from deskhand_trainer.process_reward import judged, keep_scores
from deskhand_trainer.replay import Successes, replayed
from deskhand_trainer.rollouts import Collected, episode_of
from deskhand_trainer.self_imitation import imitated, usual, warmed_up
from deskhand_trainer.self_play import compared
from deskhand_trainer.single_steps import Stage, stage_of
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import Episode, TrainingSample
from deskhand_trainer.value_config import ValuePretrainingConfig
from deskhand_trainer.value_pretraining import pretrain_value, value_alarms

P = ParamSpec("P")
T = TypeVar("T")


class PpoLoop:
    """One training run; `train` does it, from wherever the last checkpoint is."""

    def __init__(self, setting: PpoSetting) -> None:
        self.seeds = loop_seeds(setting.config.tasks, probe=setting.config.probe)
        self.s, self.config = setting, setting.config
        self.company = Company(setting.ranks)
        self.company.build(setting.bundle, self.config)
        self.model, self.learner = self.company.model, self.company.learner
        self.cursor, self.phase = Cursor(), "starting"
        self.successes = Successes(size=max(self.config.replay, self.config.self_imitation))
        q, v = (ValueHead(setting.bundle.text_width) for _ in range(2))
        self.turn_critic = TurnCritic(q, v, self.config) if self.config.advantage == "archer" else None
        self._replay: tuple[dict[str, list[str]], dict[str, list[float]], dict[str, int]] = ({}, {}, {})
        self._alarms: set[asyncio.Task[None]] = set()
        self.shuffle = torch.Generator().manual_seed(self.config.seed + 1)
        self._resume()
        self.acting = setting.bundle.clone()
        self.acting.model.load_state_dict(dict(self.company.publish()))
        self.engine = acting_engines(
            setting, self.acting, update=self.learner.updates, features=self.company.features
        )
        self.sampled = self._policy(self.config.temperature)
        self.greedy = self._policy(0.0)
        self.beyond = self.sampled.request if self.config.truncation == "bootstrap" else None
        self.gather = Gatherer(
            setting,
            self.cursor,
            self.seeds,
            engine=self.engine,
            policy=self._policy(self.config.temperature, mending=self.config.shaping.format > 0),
            updates=lambda: self.learner.updates,
            weights=lambda: self.company.published,
            on_done=self._beat,
            on_stall=self._stalled,
        )

    async def train(self) -> PpoOutcome:
        """Value pretraining, then iterations until the budget is spent."""
        try:
            await self._restore_episodes()
            if self.cursor.best < 0:
                await self._evaluate()
            if not self.cursor.pretrained and not self._spent():
                await self._pretrain_value()
            while not self._spent():
                await self._iterate()
                last = self._spent()
                if last or self.cursor.iteration % self.config.evaluate_every == 0:
                    with self.gather.paused():
                        await self._evaluate()
                if last or self.cursor.iteration % self.config.checkpoint_every == 0:
                    await asyncio.to_thread(self._checkpoint)
            metrics = loop_metrics(self.cursor, self.seeds, self.config)
            learned_from = tuple(self.cursor.learned_from)
            return PpoOutcome(best=self.s.folder / "best", metrics=metrics, learned_from=learned_from)
        finally:
            await self.gather.close()
            await asyncio.to_thread(self.engine.close)
            if self._alarms:
                await asyncio.wait(self._alarms)

    # ---- one iteration ----

    async def _iterate(self) -> None:
        watch = self._watch()
        number = self.cursor.iteration + 1
        name = "PPO" if self.config.algorithm == "ppo" else self.config.algorithm
        self._say(f"{name} iteration {number} of {self.config.iterations}")
        collected = await self.gather.iteration()
        watch.rolled()
        update = self.learner.updates
        spent = self.cursor.progress(self.config)
        lr = actor_lr(self.config, iteration=self.cursor.iteration, progress=spent)
        episodes, batch, report = await self._learn(collected, lr)
        if lr is not None:
            weights = await self._compute(self.company.publish)
            # it waits for replies under way; the event loop, which serves a stream's environments, does not
            await asyncio.to_thread(self.engine.update_weights, weights, update=self.learner.updates)
        times = watch.split()
        lengths = [len(t.steps) - shared_turns(t.start) for t in collected.trajectories]
        self.cursor.account(times, lengths, stale_turns=collected.stale_turns)
        metrics = iteration_metrics(episodes, batch, report, times, lr=lr or 0.0)
        metrics |= rollout_metrics(collected, episodes, update) | {"elapsed_s": self.cursor.elapsed_s}
        await self.s.reporter.metric("ppo/iteration", metrics, step=number)
        for alarm in () if self._clones else alarms(episodes, batch, report, highest=self.cursor.highest):
            await self.s.reporter.alarm(alarm.name, {"iteration": number, **alarm.data})
        self.cursor.highest = max(self.cursor.highest, success_rate(episodes))

    async def _learn(
        self, collected: Collected, lr: float | None
    ) -> tuple[list[Episode], Batch, UpdateReport]:
        """The update."""
        again: list[TrainingSample] = []
        if self._clones:
            samples = cloning_samples(collected.trajectories, self.s.bundle)
            episodes = oracle_episodes(collected)
            batch = Batch(samples=samples, explained_variance=float("nan"), reward_parts=())
        else:
            episodes = await self._episodes(collected)
            if self.config.rollouts == "self_play":
                episodes, self.cursor.sides = compared(episodes, self.cursor.sides)
            mixed, again = list(episodes), await self._compute(self._imitated, episodes)
            if self.config.replay:
                mixed, self.successes = replayed(episodes, self.successes, newest=self.config.replay)
            elif self.config.self_imitation:
                self.successes = self.successes.stored(episodes)
            shuffle = self.shuffle if self.config.shuffled_rewards else None
            told: dict[str, Any] = {"turn_critic": self.turn_critic, "update": self.learner.updates}
            batch = await self._compute(prepare, mixed, self.model, self.config, shuffle=shuffle, **told)
            swapped = (new is not old for new, old in zip(mixed, episodes, strict=True))
            batch = replace(batch, samples=to_learn(self.config, mixed, batch), replayed=sum(swapped))
            if self._stage is None:
                outcomes = [(e.task_id, e.success, e.attempt_turns) for e in episodes]
                self.cursor.tasks = recorded(self.cursor.tasks, outcomes)
        if not (samples := [*batch.samples, *again]):
            return episodes, batch, nothing_learned()
        push = 0.0
        if batch.entropy is not None:
            low, high = self.config.entropy_band
            push = band_push(batch.entropy, self.cursor.entropies, low=low, high=high)
            self.cursor.entropies.append(batch.entropy)
        held = not 0 < self.config.kl_iterations <= self.cursor.iteration
        report = await self._compute(self.learner.update, samples, lr=lr, entropy_push=push, held=held)
        return episodes, batch, report

    async def _episodes(self, collected: Collected, *, beside: Sequence[Episode] = ()) -> list[Episode]:
        episodes = [e for t in collected.trajectories if (e := episode_of(t, self.beyond)) is not None]
        if not episodes:
            raise NoTrainableTurns(
                f"none of {len(collected.trajectories)} episodes has turns whose ids are known; "
                f"dropped {dict(collected.dropped)}"
            )
        episodes += beside
        if self.config.information_weight > 0:
            episodes = await self._compute(informed, episodes, self.s.bundle, self._logprobs)
        return await self._scored(episodes)

    def _logprobs(self, samples: Sequence[TrainingSample]) -> Tensor:
        return first_scores(samples, self.model, self.config).logprobs

    def _imitated(self, episodes: Sequence[Episode]) -> list[TrainingSample]:
        """Successes of earlier iterations, to be learned again beside these episodes."""
        if not self.config.self_imitation:
            return []
        self.cursor.usual = usual(self.cursor.usual, episodes)
        weight = warmed_up(self.cursor.iteration, iterations=self.config.self_imitation_warmup)
        scored = self._logprobs if self.config.self_imitation_ratio == "update" else None
        newest = self.successes.newest(self.config.self_imitation)
        return imitated(newest, self.cursor.usual, weight=weight, scored=scored)

    async def _scored(self, episodes: Sequence[Episode]) -> list[Episode]:
        """With the process reward model's scores, where there is one; they are kept, too."""
        if (model := self.s.reward_model) is None or self._stage is not None:
            return list(episodes)
        try:
            scored = await self.gather.scoring.run(judged, model, episodes, self.config.process_form)
        except TimeoutError:
            late = {"turns": sum(len(e.samples) for e in episodes), "limit_s": self.config.scoring_s}
            await self.s.reporter.alarm("reward_model_too_slow", late)
            return list(episodes)
        await keep_scores(self.s, scored)
        return scored

    # ---- before the loop, and beside it ----

    async def _restore_episodes(self) -> None:
        """Take up the episodes a checkpoint names."""
        self.successes = await self.successes.restored(*self._replay, self._stored)
        if self.turn_critic is not None:
            await self.turn_critic.restore(self._stored)

    async def _stored(self, ids: Sequence[str]) -> list[Episode]:
        found = [episode_of(t, self.beyond) for t in await self.gather.stored(ids)]
        return await self._scored([e for e in found if e is not None])

    async def _stored_successes(self, config: ValuePretrainingConfig) -> list[Episode]:
        """What the critic is fitted to beside rollouts."""
        if config.fitted_to == "rollouts":
            return []
        played = await self.gather.successes(config.episodes)
        return await self._compute(shown_episodes, played, self.s.bundle, self.sampled.request)

    async def _pretrain_value(self) -> None:
        """Fit the critic to the start policy's returns; where there is none, a run that goes on may do it."""
        config = self.config.value_pretraining
        if not self.config.fits_value:
            return
        watch = self._watch()
        self._say("value pretraining")
        collected = await self.gather.played("value_pretraining", config.episodes)
        watch.rolled()
        shuffle = self.shuffle if self.config.shuffled_rewards else None
        stored = await self._stored_successes(config)
        told = await self._episodes(collected, beside=stored)
        episodes = with_rewards(told, reward_rule(self.config), shuffle=shuffle)
        own = episodes[: len(episodes) - len(stored)]
        report = await self._compute(
            pretrain_value,
            self.model,
            by_attempt(episodes, self.config),
            config,
            gamma=self.config.gamma,
            advantage=self.config.advantage,
            seed=self.config.seed,
            microbatch=self.config.microbatch,
            max_skipped_steps=self.config.max_skipped_steps,
            trunk=self.company.trunk,
            on_epoch=self._beat,
        )
        self.cursor.account(watch.split(), [len(e.samples) for e in own], iteration=False)
        if math.isfinite(report.explained_variance):
            self.cursor.value_explained_variance = report.explained_variance
        values = {**asdict(report), "success_sampled": success_rate(own), "stored": len(stored)}
        await self.s.reporter.metric("ppo/value_pretraining", values, step=0)
        for alarm in value_alarms(report, config):
            await self.s.reporter.alarm(alarm.name, alarm.data)
        self.cursor.pretrained = True
        await asyncio.to_thread(self._checkpoint)

    async def _evaluate(self) -> None:
        """Validation seeds choose the checkpoint; their time is not training time."""
        self._say(f"evaluating after iteration {self.cursor.iteration}")
        found = [
            result
            for mode, policy in (("sampled", self.sampled), ("greedy", self.greedy))
            for result in await evaluate(
                self.config.tasks,
                mode=mode,
                policy=policy,
                source=self.s.source,
                sink=self.s.store,
                split=self.seeds.validation,
                episodes=self.config.validation_episodes,
                offset=self.seeds.validation_offset,
                concurrency=self.config.concurrency,
                labels={**self.s.labels, "run": self.s.run_id},
                owner=self.s.run_id,
                policy_update=self.learner.updates,
                void_limit=self.config.void_limit,
                user=self.s.user,
                pay=self.gather.measured_by,
                on_done=self._beat,
            )
        ]
        measured = as_metrics(found) | {"turns": self.cursor.turns}
        await self.s.reporter.metric("ppo/validation", measured, step=self.cursor.iteration)
        # both ways of drawing count: a policy that is sure of the wrong thing does well in neither
        score = (pooled(found, "sampled").value + pooled(found, "greedy").value) / 2
        if score >= self.cursor.best:
            self.cursor.best, self.cursor.best_iteration = score, self.cursor.iteration
            await asyncio.to_thread(save_bundle, self.acting, self.s.folder / f"best-{self.cursor.iteration}")
        await asyncio.to_thread(self._checkpoint)
        confirm(self.s.folder / "best", self.cursor.best_iteration)

    # ---- bookkeeping ----

    async def _compute(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Off the event loop, so that heartbeats and signals go on; with this run's number of threads."""

        def threaded() -> T:
            # a thread begins with whatever any other thread set last
            torch.set_num_threads(self.config.threads)
            return work(*args, **kwargs)

        return await asyncio.to_thread(threaded)

    @property
    def _clones(self) -> bool:
        return self.config.algorithm == "cloning"

    @property
    def _stage(self) -> Stage | None:
        """Of the curriculum before whole episodes."""
        return stage_of(self.config.curriculum, iteration=self.cursor.iteration)

    def _policy(self, temperature: float, *, mending: bool = False) -> LocalPolicy:
        return LocalPolicy(
            bundle=self.s.bundle,
            engine=self.engine,
            sampling=Sampling(temperature=temperature, max_tokens=self.config.max_tokens),
            policy_id=self.s.policy_id,
            executor=self.s.executor,
            mending=mending,
            longest_s=self.config.decision_s,
        )

    def _spent(self) -> bool:
        solved = self.config.solved
        return self.cursor.progress(self.config) >= 1.0 or (solved is not None and self.cursor.best >= solved)

    def _watch(self) -> Stopwatch:
        return Stopwatch(lambda: self.engine.busy_s)

    def _say(self, phase: str) -> None:
        self.phase = phase
        self._beat()

    def _stalled(self, cause: str) -> None:
        """No episode ends: say so while there is time to mend it."""
        data: dict[str, JsonValue] = {"iteration": self.cursor.iteration + 1, "cause": cause}
        task = asyncio.get_running_loop().create_task(self.s.reporter.alarm("no_rollouts_arriving", data))
        self._alarms.add(task)
        task.add_done_callback(self._alarms.discard)

    def _beat(self, *_: object) -> None:
        self.s.progress(self.phase, self.cursor.iteration, self.config.iterations)

    def _checkpoint(self) -> None:
        state: dict[str, Any] = {
            "learner": self.learner.state(),
            "cursor": asdict(self.cursor),
            "replay": self.successes.ids(),
            "gains": self.successes.gains(),
            "waiting": dict(self.successes.waiting),
            "shuffle": self.shuffle.get_state(),
            "rng": random_state(),
            "turn_critic": None if self.turn_critic is None else self.turn_critic.state(),
        }
        # one number per state kept: evaluation and iteration leave one each
        save_checkpoint(folder := self.s.folder / "checkpoint", next_number(folder), state)

    def _resume(self) -> None:
        if (found := load_checkpoint(self.s.folder / "checkpoint")) is None:
            return
        state = found[1]
        self.learner.load(state["learner"])
        self.cursor = Cursor.restored(state["cursor"])
        self._replay = tuple(state.get(name, {}) for name in ("replay", "gains", "waiting"))
        self.shuffle.set_state(state["shuffle"])
        if self.turn_critic is not None and (kept := state["turn_critic"]) is not None:
            self.turn_critic.load(kept)
        restore_random_state(state["rng"])
        confirm(self.s.folder / "best", self.cursor.best_iteration)
