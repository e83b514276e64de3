"""Replies that were drawn and not taken, as pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image as Picture

from deskhand_agent.grammar import format_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.reviewing import PersonsAnswer, reviewed
from deskhand_agent.types import Candidate, Decision, Step, StepTimings, Trajectory, TrajectoryStart
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Action,
    EnvironmentSpec,
    Observation,
    Press,
    Split,
    Task,
    VerifierSpec,
)
from deskhand_trainer.preferences.others import lowest, other_pairs
from deskhand_trainer.preferences.pairs import Pair

ENTER, ESCAPE, TAB = (Press(keys=(key,)) for key in ("Enter", "Escape", "Tab"))


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    return build_tiny(TinyConfig(vision_depth=1, text_depth=1))


def completion(bundle: ModelBundle, action: Action) -> Completion:
    ids = tokenise_reply(bundle, format_reply(None, [action]))
    return Completion(
        ids=ids, logprobs=(-0.5,) * len(ids), finish_reason=FinishReason.STOP, policy_id="p", policy_update=0
    )


def other(bundle: ModelBundle, action: Action | None, rating: float | None) -> Candidate:
    if action is None:
        return Candidate(actions=(), text="hm", rating=rating)
    drawn = completion(bundle, action)
    return Candidate(actions=(action,), text="…", completion=drawn, rating=rating)


def taken(
    bundle: ModelBundle, rating: float | None, *others: Candidate, prompt: tuple[int, ...] = (5, 6)
) -> Decision:
    """ENTER, of several."""
    request = CompletionRequest(
        prompt_ids=prompt, images=(), processor_hash=bundle.processor_hash, sampling=Sampling()
    )
    return Decision(
        actions=(ENTER,), text="…", request=request, completion=completion(bundle, ENTER), trainable=True,
        rating=rating, others=others,
    )  # fmt: skip


def episode(*decisions: Decision, task_id: str = "t") -> Trajectory:
    task = Task(id=task_id, environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    start = TrajectoryStart(
        id="a", task=task, instruction="Press it.", policy_id="p", policy_update=0, group_id=None,
        split=Split.TRAIN, started_at_s=1.0,
    )  # fmt: skip
    screen = encoded(Picture.new("RGB", (160, 210)))
    steps = tuple(
        Step(
            index=index, observation=Observation(screenshot=screen, captured_at_s=1.0, settled_ms=1.0),
            decision=decision, reward=0.0, timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
            finished_at_s=1.0,
        )
        for index, decision in enumerate(decisions)
    )  # fmt: skip
    return Trajectory(start=start, steps=steps, end=None)


def pairs(bundle: ModelBundle, *episodes: Trajectory, margin: float = 0.1, limit: int = 99) -> list[Pair]:
    return other_pairs(episodes, bundle, margin=margin, limit=limit)


def test_the_reply_taken_stands_against_the_lowest_rated_by_the_ids_that_were_sampled(
    bundle: ModelBundle,
) -> None:
    drawn = taken(bundle, 0.9, other(bundle, TAB, 0.5), other(bundle, ESCAPE, 0.25))
    (pair,) = pairs(bundle, episode(drawn))
    (better,), (worse,) = pair.sides
    assert better.prompt_ids == worse.prompt_ids == (5, 6)
    assert better.reply_ids == completion(bundle, ENTER).ids
    assert worse.reply_ids == completion(bundle, ESCAPE).ids
    assert pair.returns == (0.9, 0.25)


def test_the_margin_is_met_exactly_and_what_is_rated_alike_is_no_pair(bundle: ModelBundle) -> None:
    drawn = taken(bundle, 0.75, other(bundle, ESCAPE, 0.5))
    assert len(pairs(bundle, episode(drawn), margin=0.25)) == 1
    assert pairs(bundle, episode(drawn), margin=0.26) == []
    alike = taken(bundle, 0.75, other(bundle, ESCAPE, 0.75))
    assert pairs(bundle, episode(alike), margin=0.0) == []
    # one that was not taken for want of an action may have been rated higher
    higher = taken(bundle, 0.5, other(bundle, ESCAPE, 0.9))
    assert pairs(bundle, episode(higher), margin=0.0) == []


def test_a_pair_of_replies_to_one_prompt_comes_once(bundle: ModelBundle) -> None:
    drawn = taken(bundle, 0.9, other(bundle, ESCAPE, 0.1))
    rated_otherwise = taken(bundle, 0.8, other(bundle, ESCAPE, 0.2))
    another_prompt = taken(bundle, 0.9, other(bundle, ESCAPE, 0.1), prompt=(5, 7))
    found = pairs(bundle, episode(drawn, drawn, another_prompt), episode(rated_otherwise))
    assert [side.prompt_ids for pair in found for (side, *_) in pair.sides[:1]] == [(5, 6), (5, 7)]
    assert [pair.returns for pair in found] == [(0.9, 0.1), (0.9, 0.1)]


def test_what_cannot_be_compared_makes_no_pair(bundle: ModelBundle) -> None:
    low = other(bundle, ESCAPE, 0.1)
    decided = taken(bundle, 0.9, low)
    replaced = reviewed(decided, PersonsAnswer(by="ada", actions=(TAB,)), waited_s=1.0)
    nothing = (
        taken(bundle, 0.9),
        taken(bundle, None, low),
        taken(bundle, 0.9, other(bundle, ESCAPE, None)),
        taken(bundle, 0.9, other(bundle, None, 0.1)),
        taken(bundle, 0.9, other(bundle, ENTER, 0.1)),
        replace(decided, actions=(), error="no action"),
        replace(decided, actions=(), summary="so far"),
        replaced,
    )
    assert pairs(bundle, episode(*nothing)) == []
    accepted = reviewed(decided, PersonsAnswer(by="ada"), waited_s=1.0)
    assert lowest(accepted, margin=0.1) == low


def test_a_task_has_so_many_pairs_at_most(bundle: ModelBundle) -> None:
    low = other(bundle, ESCAPE, 0.1)
    several, more = ([taken(bundle, 0.9, low, prompt=(task, n)) for n in range(4)] for task in (5, 6))
    found = pairs(bundle, episode(*several), episode(*more, task_id="u"), limit=3)
    assert [pair.task_id for pair in found] == ["t"] * 3 + ["u"] * 3


def test_what_an_endpoint_said_is_written_in_the_policys_words(bundle: ModelBundle) -> None:
    drawn = Decision(
        actions=(ENTER,),
        text="press",
        rating=1.0,
        others=(Candidate(actions=(TAB,), text="tab", rating=0.0),),
    )
    (pair,) = pairs(bundle, episode(drawn))
    (better,), (worse,) = pair.sides
    assert better.prompt_ids == worse.prompt_ids and better.images == worse.images and worse.images
    assert worse.reply_ids == tokenise_reply(bundle, format_reply(None, [TAB]))
