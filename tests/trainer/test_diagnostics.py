from __future__ import annotations

import math
from dataclasses import replace

import pytest

from deskhand_agent.inference import Completion, FinishReason
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, Trajectory, TrajectoryStart
from deskhand_agent.worker import WorkerStats
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, Click, Image, KeyDown, Observation, Split, TypeText
from deskhand_trainer.batches import Batch
from deskhand_trainer.diagnostics import (
    Stopwatch,
    TimeSplit,
    alarms,
    entropy_by_action,
    iteration_metrics,
    rollout_metrics,
)
from deskhand_trainer.rollouts import Collected
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import Episode

CALM = UpdateReport(
    policy_loss=0.0, value_loss=0.0, entropy=1.0, kl_per_turn=0.15, clip_fraction=0.30, ratio_mean=1.0,
    ratio_max=1.2, logprob_gap=0.0, actor_grad_norm=1.0, critic_grad_norm=1.0, optimizer_steps=2,
)  # fmt: skip
BATCH = Batch(samples=(), explained_variance=math.nan, reward_parts=())


def episodes(wins: int, of: int) -> list[Episode]:
    return [
        Episode(
            trajectory_id=str(i), task_id="t", seed=i, samples=(), outcome=float(i < wins), success=i < wins,
            stop_reason=StopReason.TERMINATED,
        )
        for i in range(of)
    ]  # fmt: skip


def test_an_iterations_figures_are_what_its_episodes_come_to(an_episode: Episode) -> None:
    """Four episodes of 3, 1, 2 and 2 turns with 2 tokens each: one cut off by turns and one by time, one
    ended by a watcher, one that succeeded at its second attempt."""
    (sample,) = an_episode.samples
    turn = replace(sample, reply_ids=(1, 2))
    made = [
        replace(
            an_episode, samples=(turn,) * 3, stop_reason=StopReason.TURN_LIMIT, void_turns=2, questions=2,
            unanswered=1,
        ),
        replace(an_episode, samples=(turn,), stop_reason=StopReason.DOOMED, void_turns=1),
        replace(an_episode, samples=(turn,) * 2, stop_reason=StopReason.TIME_LIMIT, questions=1),
        replace(
            an_episode, samples=(turn, replace(turn, attempt=1)), success=True,
            stop_reason=StopReason.FINISHED,
        ),
    ]  # fmt: skip
    learned = tuple(s for e in made for s in e.samples)
    batch = Batch(
        samples=(*learned[:5], *(replace(s, in_policy_loss=False) for s in learned[5:])),
        explained_variance=0.5, reward_parts=(("outcome", 0.25), ("void", -0.1)), replayed=1, skipped_steps=2,
    )  # fmt: skip
    report = replace(
        CALM, policy_loss=-0.5, value_loss=2.0, entropy=0.7, ratio_mean=1.1, logprob_gap=0.02,
        actor_grad_norm=3.0, critic_grad_norm=4.0, skipped_steps=1, effective_share=0.9, held=True,
    )  # fmt: skip
    times = TimeSplit(environment_s=1.0, inference_s=2.0, training_s=5.0)
    told = iteration_metrics(made, batch, report, times, lr=0.01)
    of_episodes = {
        "episodes": 4, "success_sampled": 0.25, "turns": 8, "mean_turns": 2.0, "tokens_per_turn": 2.0,
        "void_turns": 3, "void_share": 0.375, "over_turn_share": 0.25, "truncated": 2, "doomed": 1,
        "retried": 1, "questions": 3, "unanswered": 1, "learned_turns": 5, "replayed": 1,
        "reward_outcome": 0.25, "reward_void": -0.1,
    }  # fmt: skip
    of_update = {
        "explained_variance": 0.5, "policy_loss": -0.5, "value_loss": 2.0, "entropy": 0.7,
        "kl_per_turn": 0.15, "clip_fraction": 0.30, "ratio_mean": 1.1, "ratio_max": 1.2, "logprob_gap": 0.02,
        "actor_grad_norm": 3.0, "critic_grad_norm": 4.0, "optimizer_steps": 2, "skipped_steps": 3,
        "effective_share": 0.9, "policy_held": 1.0, "lr": 0.01, "seconds": 8.0, "time_training": 0.625,
    }  # fmt: skip
    assert {name: told[name] for name in (*of_episodes, *of_update)} == {**of_episodes, **of_update}


def test_the_effective_share_of_first_scores_goes_before_that_of_the_first_step(an_episode: Episode) -> None:
    times = TimeSplit(environment_s=1.0, inference_s=2.0, training_s=5.0)
    scored, report = replace(BATCH, effective_share=0.8), replace(CALM, effective_share=0.9)
    assert iteration_metrics([an_episode], scored, report, times, lr=0.0)["effective_share"] == 0.8
    assert "effective_share" not in iteration_metrics([an_episode], BATCH, CALM, times, lr=0.0)


def test_a_user_who_does_not_answer_is_named_and_none_who_was_not_there_to_answer() -> None:
    asked = [replace(each, questions=2, unanswered=1) for each in episodes(5, 10)]
    assert alarms(asked, BATCH, CALM, highest=0.5) == ()
    asked[0] = replace(asked[0], unanswered=2)
    (raised,) = alarms(asked, BATCH, CALM, highest=0.5)
    assert (raised.name, raised.data["value"]) == ("unanswered", 0.55)


def test_at_the_limits_there_is_no_alarm() -> None:
    assert alarms(episodes(1, 10), BATCH, CALM, highest=1.0) == ()
    assert alarms(episodes(1, 10), BATCH, replace(CALM, logprob_gap=math.nan), highest=1.0) == ()


@pytest.mark.parametrize(
    ("wins", "change", "name"),
    [
        (0, {}, "success_low"),
        (5, {"clip_fraction": 0.31}, "clip_high"),
        (5, {"kl_per_turn": 0.151}, "kl_high"),
        (5, {"logprob_gap": math.log(1.06)}, "logprob_gap"),
        (5, {"skipped_steps": 1}, "not_finite"),
    ],
)
def test_each_limit_raises_its_own(wins: int, change: dict[str, float], name: str) -> None:
    raised = alarms(episodes(wins, 10), BATCH, replace(CALM, **change), highest=0.61)  # type: ignore[arg-type]
    assert [a.name for a in raised] == [name]
    assert raised[0].data["advice"]


def test_large_steps_are_nothing_to_look_at_while_success_holds() -> None:
    large = replace(CALM, clip_fraction=0.9, kl_per_turn=2.0)
    assert alarms(episodes(5, 10), BATCH, large, highest=0.6) == ()
    assert [a.name for a in alarms(episodes(5, 10), BATCH, large, highest=0.61)] == ["clip_high", "kl_high"]


def test_steps_that_the_critic_of_turns_left_out_raise_it_too() -> None:
    (raised,) = alarms(
        episodes(5, 10), replace(BATCH, skipped_steps=2), replace(CALM, skipped_steps=1), highest=0.5
    )
    assert (raised.name, raised.data["value"]) == ("not_finite", 3.0)


def acted(entropy: float | None, *actions: Action, summary: str | None = None) -> Step:
    """A turn whose reply was drawn with so much entropy."""
    completion = Completion(
        ids=(1,), logprobs=(-0.1,), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0,
        entropy=entropy,
    )  # fmt: skip
    screen = Image(digest="d", format="png", width_px=8, height_px=8, data=b"")
    return Step(
        index=0, observation=Observation(screenshot=screen, captured_at_s=0, settled_ms=0),
        decision=Decision(actions=actions, text="", completion=completion, summary=summary), reward=0.0,
        timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0), finished_at_s=0,
    )  # fmt: skip


def test_entropy_is_told_by_the_kind_of_the_first_action() -> None:
    click, typed, held = Click(x=1, y=1), TypeText(text="a"), KeyDown(key="Shift")
    steps = [
        acted(0.5, click), acted(1.5, click, typed), acted(2.0, typed), acted(0.25, held), acted(4.0),
        acted(1.0, summary="so far"), acted(None, click),
    ]  # fmt: skip
    assert entropy_by_action(steps) == {
        "entropy_click": 1.0, "entropy_key_down": 0.25, "entropy_summary": 1.0, "entropy_type_text": 2.0,
        "entropy_void": 4.0,
    }  # fmt: skip


def test_rollouts_say_what_was_dropped_how_old_turns_with_ids_are_and_how_sure_the_policy_was(
    an_episode: Episode,
) -> None:
    (sample,) = an_episode.samples
    samples = (
        replace(sample, policy_update=1),
        replace(sample, policy_update=4),
        replace(sample, reply_ids=()),
    )
    nothing = WorkerStats(
        episodes=0, successes=0, steps=0, failures={}, given_up=0, seconds=1.0, model_s=0.0, act_s=0.0
    )
    start = TrajectoryStart(
        id="t", task=make_task("fake/never-done", 0), instruction="", policy_id="p", policy_update=0,
        group_id=None, split=Split.TRAIN, started_at_s=0.0,
    )  # fmt: skip
    played = tuple(
        Trajectory(start=start, steps=(acted(entropy, Click(x=1, y=1)), acted(2.0)), end=None)
        for entropy in (0.25, 0.75)
    )
    collected = Collected(trajectories=played, dropped={"sandbox_died": 2, "stale": 1}, stats=nothing)
    assert rollout_metrics(collected, [replace(an_episode, samples=samples)], update=5) == {
        "dropped": 3, "dropped_sandbox_died": 2, "dropped_stale": 1, "staleness_mean": 2.5,
        "staleness_max": 4, "entropy_click": 0.5, "entropy_void": 2.0,
    }  # fmt: skip


def test_time_fractions_add_up() -> None:
    shares = TimeSplit(environment_s=1.0, inference_s=2.0, training_s=5.0).fractions()
    assert shares == {"time_environment": 0.125, "time_inference": 0.25, "time_training": 0.625}


def test_what_the_engine_computes_beside_the_update_is_no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 s until a stream's rollouts are in, of which the engine computes 1.5, then 10 s of training."""
    now = busy = 0.0
    monkeypatch.setattr("deskhand_trainer.diagnostics.time.monotonic", lambda: now)
    watch = Stopwatch(lambda: busy)
    now, busy = 2.0, 1.5
    watch.rolled()
    now, busy = 12.0, 11.5
    assert watch.split() == TimeSplit(environment_s=0.5, inference_s=1.5, training_s=10.0)
    assert watch.split().seconds == 12.0


def test_a_reply_that_was_under_way_takes_no_more_time_than_there_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = busy = 0.0
    monkeypatch.setattr("deskhand_trainer.diagnostics.time.monotonic", lambda: now)
    watch = Stopwatch(lambda: busy)
    now, busy = 2.0, 3.0
    watch.rolled()
    assert watch.split() == TimeSplit(environment_s=0.0, inference_s=2.0, training_s=0.0)
