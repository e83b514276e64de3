"""Records go to JSON and back exactly."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest
from flywheel_episodes import make_end, make_start, make_step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskhand_agent.inference import Completion, CompletionRequest, Sampling
from deskhand_agent.types import (
    Candidate,
    Decision,
    Execution,
    Proposal,
    Review,
    Step,
    StepTimings,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel.errors import MalformedRecord, UnknownSchemaVersion
from deskhand_flywheel.records import decode, dumps, encode, encode_action, loads
from deskhand_sandbox.types import (
    Action,
    CallTool,
    Click,
    EnvironmentSpec,
    Image,
    Limits,
    Observation,
    Outcome,
    Task,
    VerifierSpec,
)

# every character Python can hold, lone surrogates and NUL among them: models and pages write them
anything = st.text(st.characters(exclude_categories=()), max_size=12)
numbers = st.floats(allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(anything, json_values, max_size=3)


def built(kind: type, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a dataclass: what is not given is drawn from its annotation."""
    hints = get_type_hints(kind)
    drawn = {f.name: given.get(f.name, _simple(hints[f.name])) for f in fields(kind)}
    return st.builds(kind, **drawn)


def _simple(hint: Any) -> st.SearchStrategy[Any]:
    replaced = {
        str: anything,
        float: numbers,
        str | None: st.none() | anything,
        float | None: st.none() | numbers,
    }
    return replaced.get(hint, st.nothing() if hint is Any else st.from_type(hint))


images = built(Image, data=st.none())
actions = st.one_of(
    [built(kind) for kind in get_args(Action) if kind is not CallTool] + [built(CallTool, arguments=mappings)]
)
samplings = built(Sampling, temperature=st.floats(0, 10), max_tokens=st.integers(1, 4096))
requests = built(CompletionRequest, images=st.lists(images, max_size=2).map(tuple), sampling=samplings)
completions = built(
    Completion,
    logprobs=st.lists(numbers, max_size=4).map(tuple),
    entropy=st.none() | numbers,
    value=st.none() | numbers,
)
observations = built(Observation, screenshot=images)
candidates = built(
    Candidate,
    actions=st.lists(actions, max_size=2).map(tuple),
    completion=st.none() | completions,
    rating=st.none() | numbers,
)
proposals = built(
    Proposal, actions=st.lists(actions, max_size=2).map(tuple), completion=st.none() | completions
)
decisions = built(
    Decision,
    execution=st.none() | built(Execution, completion=st.none() | completions),
    review=st.none() | built(Review, proposed=st.none() | proposals),
    actions=st.lists(actions, max_size=3).map(tuple),
    request=st.none() | requests,
    completion=st.none() | completions,
    cost=st.dictionaries(anything, numbers, max_size=2),
    rating=st.none() | numbers,
    others=st.lists(candidates, max_size=2).map(tuple),
)
steps = built(Step, observation=observations, decision=decisions, timings=built(StepTimings))
tasks = built(
    Task,
    environment=built(EnvironmentSpec, settings=mappings),
    verifier=built(VerifierSpec, settings=mappings),
    limits=built(Limits),
    labels=st.dictionaries(anything, anything, max_size=2),
)
starts = built(
    TrajectoryStart,
    task=tasks,
    labels=st.dictionaries(anything, anything, max_size=2),
    schema_version=st.just(1),
)
ends = built(TrajectoryEnd, final_observation=st.none() | observations, outcome=st.none() | built(Outcome))

_slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@_slow
@given(steps)
def test_a_step_comes_back_as_it_was(step: Step) -> None:
    assert loads(Step, dumps(step)) == step


@_slow
@given(starts)
def test_a_start_comes_back_as_it_was(start: TrajectoryStart) -> None:
    assert loads(TrajectoryStart, dumps(start)) == start


@_slow
@given(ends)
def test_an_end_comes_back_as_it_was(end: TrajectoryEnd) -> None:
    assert loads(TrajectoryEnd, dumps(end)) == end


@_slow
@given(actions)
def test_an_action_comes_back_as_its_own_kind(action: Action) -> None:
    back = decode(Action, encode_action(action))  # pyright: ignore[reportArgumentType]
    assert back == action
    assert type(back) is type(action)


@_slow
@given(decisions)
def test_the_text_is_ascii_and_json(decision: Decision) -> None:
    assert json.loads(dumps(decision))["schema_version"] == 1
    assert dumps(decision).isascii()


def test_image_bytes_are_never_written() -> None:
    step = make_step(0)
    assert step.observation.screenshot.data is not None
    assert "data" not in json.loads(dumps(step))["record"]["observation"]["screenshot"]
    assert loads(Step, dumps(step)).observation.screenshot.data is None


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_schema_version_is_refused_by_name(version: object) -> None:
    text = json.dumps({**json.loads(dumps(make_start("a"))), "schema_version": version})
    with pytest.raises(UnknownSchemaVersion, match="reads version 1"):
        loads(TrajectoryStart, text)


def test_a_field_with_a_default_may_be_missing_in_an_old_row() -> None:
    envelope = json.loads(dumps(make_end()))
    del envelope["record"]["failure_detail"]
    assert loads(TrajectoryEnd, json.dumps(envelope)) == make_end()


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda record: record.pop("index"), "index"),
        (lambda record: record.update(extra=1), "extra"),
        (lambda record: record.update(index="0"), "expected int"),
        (lambda record: record.update(index=True), "expected int"),
        (lambda record: record["decision"].update(actions=[{"type": "fly"}]), "fly"),
        (lambda record: record["decision"].update(actions="none"), "expected a list"),
        (lambda record: record.update(reward="much"), "expected a number"),
        (lambda record: record["observation"].update(screenshot=None), "expected a Image"),
    ],
)
def test_a_malformed_row_says_what_is_wrong(damage: Any, named: str) -> None:
    envelope = json.loads(dumps(make_step(0)))
    damage(envelope["record"])
    with pytest.raises(MalformedRecord, match=named):
        loads(Step, json.dumps(envelope))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"record": {}}'])
def test_text_that_is_no_envelope_is_malformed(text: str) -> None:
    with pytest.raises(MalformedRecord):
        loads(Step, text)


def test_an_action_is_tagged_by_its_name() -> None:
    assert encode_action(Click(x=1, y=2)) == {"type": "click", "x": 1, "y": 2, "button": "left", "count": 1}


def test_numbers_keep_their_kind() -> None:
    outcome = encode(Outcome(score=1, success=True))
    assert isinstance(decode(Outcome, outcome).score, float)
