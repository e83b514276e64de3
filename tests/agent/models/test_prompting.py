from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import encode_text, prompt_of, tokenise_reply
from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.types import CallTool, EnvironmentSpec, Image, Observation, Task, VerifierSpec

HALVES = "a\ud83db\ude00\ud83d"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HALVES, "a\ufffdb\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ufeffé 😀 \ufffd\n漢\x00", "\ufeffé 😀 \ufffd\n漢\x00"),
        ("", ""),
    ],
)
def test_the_tokenizer_is_shown_whole_characters_alone(text: str, shown: str) -> None:
    told: list[str] = []

    def tokenizer(text: str, **_: object) -> dict[str, list[int]]:
        told.append(text)
        return {"input_ids": [7]}

    bundle = cast(ModelBundle, SimpleNamespace(tokenizer=tokenizer))
    assert encode_text(bundle, text) == [7] and told == [shown]


def test_a_turn_that_holds_half_a_pair_can_be_shown(
    bundle: ModelBundle, picture: Callable[..., Image]
) -> None:
    seen = Observation(screenshot=picture(), captured_at_s=0.0, settled_ms=0.0)
    called = CallTool(name="find", arguments={"text": HALVES})
    step = Step(
        index=0,
        observation=seen,
        decision=Decision(actions=(called,), text=HALVES, thought=HALVES),
        reward=0.0,
        answer=HALVES,
        timings=StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0),
        finished_at_s=1.0,
    )
    task = Task(
        id="a/b",
        environment=EnvironmentSpec(kind="fake"),
        verifier=VerifierSpec(name="none"),
        instruction="x",
    )
    context = Context(
        task=task, instruction=HALVES, trajectory_id="t", steps=(step,), observation=seen, sandbox=None
    )
    assert prompt_of(bundle, context, thoughts=True).ids
    assert tokenise_reply(bundle, HALVES)
