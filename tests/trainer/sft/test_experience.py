"""Early experience as samples: what is asked and what is answered, id by id, and that it alone is learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_agent.episode import run_episode
from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply, prompt_of, tokenise_reply
from deskhand_agent.models.scoring import score_turns
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Policy, Trajectory
from deskhand_sandbox.backends.fake import FakeBackend
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Click, Finish, Split, Wait
from deskhand_trainer.config import SftConfig, parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.sft.experience import FORETELL, ExperienceSeen, Lesson, experience_samples
from deskhand_trainer.sft.train import train_sft
from deskhand_trainer.types import TrainingSample

TASK = "fake/press-button"


class Idle:
    """Waits, and says that it is done."""

    id = "idle"

    async def act(self, context: Context) -> Decision:
        action = Finish(text="") if context.steps else Wait(seconds=0.01)
        return Decision(actions=(action,), text=format_reply(None, [action]))


async def play(policy: Policy, seed: int) -> Trajectory:
    task = make_task(TASK, seed)
    async with await FakeBackend({}).create() as sandbox:
        return await run_episode(
            task, sandbox=sandbox, policy=policy, verifier=create_verifier(task.verifier), sink=MemorySink(),
            split=Split.TRAIN,
        )  # fmt: skip


async def episodes(count: int = 3) -> list[Trajectory]:
    """Of each start a success and a failure."""
    chosen = seeds(TASK, Split.TRAIN, count)
    return [await play(policy, seed) for seed in chosen for policy in (ScriptedPolicy(), Idle())]


def lessons(played: list[Trajectory], bundle: ModelBundle) -> tuple[list[Lesson], list[Lesson]]:
    seen = ExperienceSeen(bundle.coordinates)
    for each in played:
        seen.add(each)
    return seen.next_states(99, seed=0), seen.reflections(99, seed=0)


def samples(played: list[Trajectory], chosen: list[Lesson], bundle: ModelBundle) -> list[TrainingSample]:
    return [
        sample
        for each in played
        for sample in experience_samples(each, [o for o in chosen if o.turn.trajectory_id == each.id], bundle)
    ]


async def test_what_came_of_an_action_is_told_after_the_agents_own_prompt(tiny: ModelBundle) -> None:
    won, idle = await episodes(1)
    states, _ = lessons([won, idle], tiny)
    said = {
        (each.trajectory_id, each.turn_index): decode_reply(tiny, each.reply_ids)
        for each in samples([won, idle], states, tiny)
    }
    assert said[won.id, 0] == "It leads to another screen."
    assert said[idle.id, 0] == "It changes nothing on this screen."
    (sample, *_) = samples([won], states, tiny)
    step = won.steps[0]
    context = Context(
        task=won.start.task, instruction=won.start.instruction, steps=(), observation=step.observation
    )
    (own, *_) = samples_from_trajectories([won], tiny)
    asked = f"{FORETELL}\n{decode_reply(tiny, own.reply_ids)}"
    assert sample.prompt_ids == prompt_of(tiny, context, asking=asked).ids
    assert sample.images == own.images == (step.observation.screenshot,)
    assert sample.reply_ids == tokenise_reply(tiny, "It leads to another screen.")


async def test_a_screen_in_words_says_what_is_new_on_it(tiny: ModelBundle) -> None:
    reading = replace(tiny, memory=WindowMemory(screens="tree"))
    (won, _) = await episodes(1)
    trees = ('button "one" (8, 8)\nfield "name" (8, 40)', 'button "one" (8, 8)\nfield "done" (8, 40)')
    seen = [replace(each, observation=replace(each.observation, text_tree=trees[0])) for each in won.steps]
    assert won.end is not None and won.end.final_observation is not None
    last = replace(won.end.final_observation, text_tree=trees[1])
    read = replace(won, steps=tuple(seen), end=replace(won.end, final_observation=last))
    states, _ = lessons([read], reading)
    (*_, told) = samples([read], sorted(states, key=lambda o: o.turn.index), reading)
    x, y = reading.coordinates.frame(last.size_px).to_model((8, 40))
    assert decode_reply(reading, told.reply_ids).endswith(f'\nNew there:\nfield "done" ({x}, {y})')


async def test_a_reflection_is_the_thought_before_what_succeeded(tiny: ModelBundle) -> None:
    played = await episodes(1)
    _, reflections = lessons(played, tiny)
    # to wait was no use there, and to say that it is done neither
    waited, gave_up = sorted(reflections, key=lambda each: "finished" in str(each.thought))
    assert gave_up.turn == waited.turn
    (sample,) = samples(played, [waited], tiny)
    won, _ = played
    (own, *_) = samples_from_trajectories([won], tiny)
    assert (sample.prompt_ids, sample.images) == (own.prompt_ids, own.images)
    done, idled = decode_reply(tiny, own.reply_ids), format_reply(None, [Wait(seconds=0.01)])
    thought = f"{idled} changes nothing on this screen. {done} is on the way on which the task was done."
    assert sample.reply_ids == tokenise_reply(tiny, f"<think>{thought}</think>\n{done}")
    read = parse_reply(decode_reply(tiny, sample.reply_ids))
    assert read.thought == thought and isinstance(read.actions[0], Click)


async def test_a_step_learns_the_answers_beside_what_is_imitated(
    tiny: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = await episodes()
    shown = [each for each in played if each.end and each.end.outcome and each.end.outcome.success]
    states, reflections = lessons(played, tiny)
    beside = {"next_states": samples(played, states, tiny), "reflections": samples(played, reflections, tiny)}
    for sample in beside["next_states"] + beside["reflections"]:
        scores = score_turns(tiny, [sample])
        # of each turn the reply alone has a log-probability
        assert int(scores.mask.sum()) == int((scores.logprobs != 0).sum()) == len(sample.reply_ids)
    learned: list[TrainingSample] = []

    def noted(bundle: ModelBundle, turns: Any, *, tokens: int) -> torch.Tensor:
        learned.extend(turns)
        assert tokens >= sum(len(each.reply_ids) for each in turns)
        return -score_turns(bundle, turns).logprobs.sum() / tokens

    monkeypatch.setattr("deskhand_trainer.sft.train.cloning_loss", noted)
    config = SftConfig(
        perception_tasks=(), cloning_epochs=1, threads=1, parts=1, warmup_steps=0, device="cpu"
    )
    imitated = samples_from_trajectories(shown, tiny)
    before = {name: value.clone() for name, value in tiny.model.state_dict().items()}
    report = train_sft(tiny, imitated, [], config, beside=beside)
    starts = {each.start for each in learned}
    whole = [*imitated, *beside["next_states"], *beside["reflections"]]
    # a start state that is held out is held out of all of them
    assert len(starts) == len(shown) - 1
    assert sorted(map(id, learned)) == sorted(id(each) for each in whole if each.start in starts)
    assert {name for name in report.figures if name.endswith("/loss")} == {
        "cloning/loss", "next_states/loss", "reflections/loss"
    }  # fmt: skip
    assert any((before[name] != value).any() for name, value in tiny.model.state_dict().items())


async def test_so_many_of_a_task_are_drawn_and_the_same_turn_counts_once(tiny: ModelBundle) -> None:
    played = await episodes(2)
    once, twice = (lessons(each, tiny) for each in (played, [*played, *played]))
    assert once == twice
    seen = ExperienceSeen(tiny.coordinates)
    for each in played:
        seen.add(each)
    assert len(seen.next_states(1, seed=3)) == len(seen.reflections(1, seed=3)) == 1
    assert seen.next_states(2, seed=3) == seen.next_states(2, seed=3)


async def test_an_answer_longer_than_the_model_takes_is_left_out(tiny: ModelBundle) -> None:
    played = await episodes(1)
    _, (lesson, *_) = lessons(played, tiny)
    endless = replace(lesson, thought="no " * tiny.longest)
    (kept,) = samples(played, [endless, lesson], tiny)
    assert len(kept.reply_ids) < tiny.longest


def test_what_nothing_would_be_cloned_for_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"reflections: learned while cloning, and cloning_epochs is 0"):
        parse_config(SftConfig, {"reflections": 4, "cloning_epochs": 0})
    assert SftConfig(cloning_epochs=0).next_states == 0
