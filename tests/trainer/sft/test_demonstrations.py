from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.ending import ended
from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.grammar import parse_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory, memory_of
from deskhand_agent.models.bundle import BUNDLE_FILE, ModelBundle, load_bundle, save_bundle
from deskhand_agent.models.prompting import decode_reply, encode_text, message_header
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.prompt import SUMMARISE
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, Trajectory, TrajectoryStart
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.prm.examples import read_steps
from deskhand_flywheel.store import Store
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    Observation,
    Outcome,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.cloning import apart
from deskhand_trainer.config import SftConfig
from deskhand_trainer.demonstrations import cloning_samples
from deskhand_trainer.rollouts import SeedRange, collect, episode_of, jobs_of
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.sft.run import run_sft
from deskhand_trainer.types import TrainingSample, last_attempt


def trajectory(pages: list[SeenPage], *decisions: Decision) -> Trajectory:
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    steps = tuple(
        Step(
            index=index,
            observation=Observation(screenshot=pages[index].image, captured_at_s=0, settled_ms=0),
            decision=decision,
            reward=float(index),
            timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0),
            finished_at_s=0,
        )
        for index, decision in enumerate(decisions)
    )
    start = TrajectoryStart(
        id="x",
        task=task,
        instruction="Click button ONE, then click button TWO.",
        policy_id="scripted",
        policy_update=0,
        group_id=None,
        split=Split.TRAIN,
        started_at_s=0,
    )
    return Trajectory(start=start, steps=steps, end=None)


def clicked(x: int, y: int) -> Decision:
    return Decision(actions=(Click(x=x, y=y),), text="scripted")


def test_history_and_reply_are_rounded_alike(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    first, second = samples_from_trajectories([trajectory(pages, clicked(13, 22), clicked(41, 50))], bundle)
    assert decode_reply(bundle, first.reply_ids) == "click(point='<point>12 24</point>')"
    (click,) = parse_reply(decode_reply(bundle, second.reply_ids)).actions
    assert click == Click(x=40, y=52)
    prompt = str(bundle.tokenizer.decode(second.prompt_ids))
    assert "Click button ONE, then click button TWO.\n" in prompt
    assert "1. click(point='<point>12 24</point>')\n" in prompt
    assert second.images == (pages[1].image,)
    assert (first.last, second.last) == (False, True)
    assert (first.reward, second.reward) == (0.0, 1.0)
    assert first.behaviour_logprobs == (0.0,) * len(first.reply_ids)


def test_the_memory_decides_how_many_pictures(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    both = trajectory(pages, clicked(12, 24), clicked(40, 52))
    _, second = samples_from_trajectories([both], bundle, WindowMemory(n_screenshots=2))
    assert second.images == (pages[0].image, pages[1].image)


def test_turns_without_an_action_are_left_out(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    void = Decision(actions=(), text="?", error="nothing")
    (only,) = samples_from_trajectories([trajectory(pages, void, clicked(12, 24))], bundle)
    assert only.turn_index == 1


def test_turns_longer_than_the_model_are_left_out(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    typed = Decision(actions=(TypeText(text="deskhand " * 2_000),), text="typed")
    (only,) = samples_from_trajectories([trajectory(pages, typed, clicked(12, 24))], bundle)
    assert only.turn_index == 1


def test_turns_say_which_attempt_they_are_of(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    void = Decision(actions=(), text="?", error="nothing")
    played = trajectory(pages, clicked(40, 52), void, clicked(12, 24), clicked(40, 52))
    again = tuple(replace(s, answer=TRY_AGAIN if s.index in (1, 2) else None) for s in played.steps)
    samples = samples_from_trajectories([played, replace(played, steps=again)], bundle)
    assert [(s.turn_index, s.attempt) for s in samples] == [(0, 0), (2, 0), (3, 0), (0, 0), (2, 1), (3, 2)]
    assert [s.turn_index for s in last_attempt(samples[3:])] == [3]
    assert samples[5].prompt_ids != samples[2].prompt_ids and last_attempt(()) == ()
    outcome = Outcome(score=1.0, success=True)
    won = replace(played, steps=again, end=ended(StopReason.TERMINATED, outcome=outcome))
    assert [s.turn_index for s in cloning_samples([won], bundle)] == [3]


async def test_of_several_attempts_a_warm_start_clones_the_one_that_succeeded(
    bundle: ModelBundle, pages: list[SeenPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    played = trajectory(pages, clicked(40, 52), clicked(12, 24))
    steps = (replace(played.steps[0], answer=TRY_AGAIN), played.steps[1])
    learned: list[int] = []

    def notes(_: ModelBundle, samples: Sequence[TrainingSample], *rest: Any, **named: Any) -> None:
        learned.extend(s.turn_index for s in samples)

    monkeypatch.setattr("deskhand_trainer.sft.run.train_sft", notes)
    source: Any = None
    await run_sft(bundle, [replace(played, steps=steps)], source, SftConfig(perception_tasks=()))
    assert learned == [1]


def test_sampled_ids_are_kept_as_they_were(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    request = CompletionRequest(
        prompt_ids=(9, 9), images=(), processor_hash=bundle.processor_hash, sampling=Sampling()
    )
    completion = Completion(
        ids=(8, 7),
        logprobs=(-1.0, -1.0),
        finish_reason=FinishReason.STOP,
        policy_id="p",
        policy_update=0,
    )
    sampled = Decision(
        actions=(Click(x=1, y=1),), text="t", request=request, completion=completion, trainable=True
    )
    (kept,) = samples_from_trajectories([trajectory(pages, sampled)], bundle)
    assert (kept.prompt_ids, kept.reply_ids) == ((9, 9), (8, 7))
    mended = replace(sampled, actions=(Click(x=12, y=24),), repairs=("prose",))
    (anew,) = samples_from_trajectories([trajectory(pages, mended)], bundle)
    assert decode_reply(bundle, anew.reply_ids) == "click(point='<point>12 24</point>')"
    foreign = replace(sampled, request=replace(request, processor_hash="0"))
    (written,) = samples_from_trajectories([trajectory(pages, foreign)], bundle)
    assert written.prompt_ids != (9, 9)


def test_a_constant_memory_is_shown_thoughts_and_learns_to_write_them(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    first = replace(clicked(12, 24), thought="ONE is left")
    second = replace(clicked(40, 52), thought="TWO is left")
    samples = samples_from_trajectories(
        [trajectory(pages, first, second)], bundle, WindowMemory(strategy="constant")
    )
    replies = [decode_reply(bundle, sample.reply_ids) for sample in samples]
    assert [parse_reply(reply).thought for reply in replies] == ["ONE is left", "TWO is left"]
    assert "What you keep in mind:\nONE is left\n" in decode_reply(bundle, samples[1].prompt_ids)


@pytest.mark.parametrize(
    "memory",
    [
        WindowMemory(screens="text", n_screenshots=3),
        WindowMemory(n_screenshots=2, summary_after=1),
        WindowMemory(strategy="constant"),
    ],
)
def test_a_reward_model_reads_turns_as_the_model_below_it_learns_them(
    bundle: ModelBundle, pages: list[SeenPage], memory: WindowMemory
) -> None:
    summary = Decision(actions=(), text="Thought: so far\n\nONE is done", summary="ONE is done")
    first, last = replace(clicked(13, 22), thought="ONE is left"), replace(clicked(41, 50), thought="TWO is")
    done = trajectory([pages[0], pages[1], pages[1]], first, summary, last)
    remembering = replace(bundle, memory=memory)
    learned, reads = samples_from_trajectories([done], remembering), read_steps(done, remembering)
    assert [read.prompt_ids for read in reads] == [sample.prompt_ids for sample in learned]
    assert [read.images for read in reads] == [sample.images for sample in learned]
    assert decode_reply(bundle, reads[1].reply_ids) == "ONE is done"
    written = decode_reply(bundle, learned[1].prompt_ids)
    assert (memory_of(memory).question or SUMMARISE) in written


async def test_a_released_model_learns_from_what_it_was_told_when_it_acted(
    tiny: ModelBundle, store: Store, spot: Any, one_reply: Any, tmp_path: Path
) -> None:
    """The grammar stands in the ids of rollouts, of PPO's samples, and of turns that are written anew."""
    save_bundle(tiny, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).unlink()
    released = load_bundle(tmp_path / "hub")
    policy = LocalPolicy(bundle=released, engine=one_reply(released, "wait()"))
    jobs = jobs_of([SeedRange(task_id="fake/spot", split="train", offset=0, count=1)], labels={})
    played = await collect(
        jobs, policy=policy, source=spot, sink=store, settings=WorkerSettings(concurrency=1), owner="t"
    )
    (done,) = played.trajectories
    shown = [step.decision.request.prompt_ids for step in done.steps if step.decision.request is not None]
    told = (*message_header(released, "system"), *encode_text(released, released.system))
    assert len(shown) == 2 and all(ids[: len(told)] == told for ids in shown)
    episode = episode_of(done, policy.request)
    assert episode is not None
    foreign = replace(done, steps=tuple(_elsewhere(step) for step in done.steps))
    for found in (
        episode.samples,
        samples_from_trajectories([done], released),
        samples_from_trajectories([foreign], released),
        read_steps(foreign, released),
    ):
        assert [sample.prompt_ids for sample in found] == shown


def test_demonstrations_are_written_in_the_models_form(
    bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text('{"reply_format": "ui_tars"}')
    released = load_bundle(tmp_path / "hub")
    done = trajectory(pages, clicked(13, 22), clicked(41, 50))
    first, second = samples_from_trajectories([done], released, WindowMemory(n_screenshots=2))
    said = decode_reply(released, first.reply_ids)
    assert said.startswith("Thought: \nAction: click(point='<point>")
    assert said in decode_reply(released, second.prompt_ids)


def _elsewhere(step: Step) -> Step:
    """The step as another processor would have sampled it."""
    assert step.decision.request is not None
    request = replace(step.decision.request, processor_hash="0")
    return replace(step, decision=replace(step.decision, request=request))


def test_tries_of_one_start_state_are_held_out_together(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """What is measured on was not learned from another episode of it."""

    def tries(task_id: str, seed: int, name: str) -> Trajectory:
        one = trajectory(pages, clicked(13, 22))
        task = replace(one.start.task, id=task_id, seed=seed)
        return replace(one, start=replace(one.start, id=name, task=task))

    several = [tries("t", seed, f"{seed}{n}") for n in range(3) for seed in range(4)]
    fixed = [tries("grown/one", seed, f"grown {seed}") for seed in range(3)]
    samples = samples_from_trajectories([*several, *fixed], bundle)
    assert {each.start for each in samples} == {"t#0", "t#1", "t#2", "t#3", "grown/one"}
    learned, held = apart(samples, held_out=0.4, seed=0)
    assert len({each.start for each in held}) == 2 and len(learned) + len(held) == len(samples)
    assert not {each.start for each in learned} & {each.start for each in held}
