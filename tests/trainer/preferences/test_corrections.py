"""Corrections of a person as pairs of replies to one prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS
from deskhand_agent.grammar import format_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.reviewing import PersonsAnswer, reviewed
from deskhand_agent.types import Decision, Step, StepTimings, Trajectory, TrajectoryStart
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Action,
    Click,
    EnvironmentSpec,
    Observation,
    Press,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)
from deskhand_trainer.preferences.corrections import correction_pairs

PROMPT = (5, 6, 7)
ENTER, ESCAPE = Press(keys=("Enter",)), Press(keys=("Escape",))


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    return build_tiny(TinyConfig(vision_depth=1, text_depth=1))


def step(index: int, decision: Decision) -> Step:
    screen = encoded(Picture.new("RGB", (160, 210), (index, 0, 0)))
    return Step(
        index=index, observation=Observation(screenshot=screen, captured_at_s=1.0, settled_ms=1.0),
        decision=decision, reward=0.0, timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
    )  # fmt: skip


def episode(*decisions: Decision) -> Trajectory:
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    start = TrajectoryStart(
        id="a", task=task, instruction="Press it.", policy_id="p", policy_update=0, group_id=None,
        split=Split.TRAIN, started_at_s=1.0,
    )  # fmt: skip
    steps = tuple(step(index, decision) for index, decision in enumerate(decisions))
    return Trajectory(start=start, steps=steps, end=None)


def sampled(bundle: ModelBundle, *actions: Action) -> Decision:
    ids = tokenise_reply(bundle, format_reply(None, [ESCAPE]))
    request = CompletionRequest(
        prompt_ids=PROMPT, images=(), processor_hash=bundle.processor_hash, sampling=Sampling()
    )
    completion = Completion(
        ids=ids, logprobs=(-0.5,) * len(ids), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0
    )
    return Decision(
        actions=actions or (ESCAPE,), text="…", request=request, completion=completion, trainable=True
    )


def corrected(decision: Decision, *actions: Action, **said: Any) -> Decision:
    return reviewed(decision, PersonsAnswer(by="ada", actions=actions or (ENTER,), **said), waited_s=1.0)


def test_the_persons_reply_stands_against_the_sampled_one_after_the_prompt_it_was_shown(
    bundle: ModelBundle,
) -> None:
    decided = sampled(bundle)
    (pair,) = correction_pairs([episode(decided, corrected(decided))], bundle, limit=9)
    (better,), (worse,) = pair.sides
    assert better.prompt_ids == worse.prompt_ids == PROMPT and better.turn_index == worse.turn_index == 1
    assert decided.completion is not None and worse.reply_ids == decided.completion.ids
    assert better.reply_ids == tokenise_reply(bundle, format_reply(None, [ENTER]))
    assert pair.returns == (1.0, 0.0) and pair.task_id == "t"


def test_without_ids_both_sides_are_written_after_one_prompt(bundle: ModelBundle) -> None:
    plain = Decision(actions=(Click(x=10, y=10),), text="click")
    (pair,) = correction_pairs([episode(plain, corrected(plain))], bundle, limit=9)
    (better,), (worse,) = pair.sides
    assert better.prompt_ids == worse.prompt_ids and better.images == worse.images and worse.images
    assert better.reply_ids != worse.reply_ids


def test_what_is_longer_than_the_model_makes_no_pair(bundle: ModelBundle) -> None:
    first, decided = Decision(actions=(ENTER,), text="press"), sampled(bundle)
    typed = TypeText(text="deskhand " * 2_000)
    assert correction_pairs([episode(first, decided, corrected(decided, typed))], bundle, limit=9) == []


def test_what_is_no_correction_makes_no_pair(bundle: ModelBundle) -> None:
    decided = sampled(bundle)
    void = Decision(actions=(), text="hm", error="no action")
    alike = Decision(actions=(ENTER,), text="press")
    accepted = reviewed(decided, PersonsAnswer(by="ada"), waited_s=1.0)
    unanswered = reviewed(decided, None, waited_s=1.0)
    nothing = episode(decided, corrected(void), corrected(alike), accepted, unanswered)
    assert correction_pairs([nothing], bundle, limit=9) == []


def test_a_branch_repeats_no_pair_of_the_episode_it_left(bundle: ModelBundle) -> None:
    decided = sampled(bundle)
    left = episode(corrected(decided), corrected(decided))
    labels = {BRANCH_OF: left.id, SHARED_TURNS: "1"}
    branch = replace(left, start=replace(left.start, id="b", labels=labels))
    pairs = correction_pairs([left, branch], bundle, limit=9)
    turns = [(side.trajectory_id, side.turn_index) for pair in pairs for side in pair.sides[0]]
    assert turns == [("a", 0), ("a", 1), ("b", 1)]


def test_a_task_has_so_many_pairs_at_most(bundle: ModelBundle) -> None:
    decided = sampled(bundle)
    several = episode(*[corrected(decided)] * 3)
    assert len(correction_pairs([several, several], bundle, limit=4)) == 4
