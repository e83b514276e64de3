"""What questions stand behind is what an agent is shown, token by token."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import Text, build_prompt
from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Image, Observation, Task
from deskhand_trainer.base.asking import Asker
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.packing import prefix_of, showing
from deskhand_trainer.base.perception import Perception


def observation(image: Image) -> Observation:
    return Observation(screenshot=image, captured_at_s=0.0, settled_ms=0.0)


def agents_prompt(bundle: ModelBundle, change: SeenChange, task: Task, question: str) -> tuple[int, ...]:
    """What the agent's own prompt is after the action, with two screenshots in memory; then the question."""
    step = Step(
        index=0,
        observation=observation(change.before.image),
        decision=Decision(actions=(change.action,), text=""),
        reward=0.0,
        timings=StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0),
        finished_at_s=0.0,
    )
    context = Context(task=task, instruction="", steps=(step,), observation=observation(change.after.image))
    messages = build_prompt(context, memory=WindowMemory(n_screenshots=2), coordinates=bundle.coordinates)
    last = replace(messages[-1], segments=(*messages[-1].segments, Text(text=question)))
    return tokenise_prompt(bundle, [*messages[:-1], last]).ids


@pytest.fixture
def task() -> Task:
    return make_task("generated/fill-1", 0)


def test_two_pictures_stand_as_the_agent_places_them(
    bundle: ModelBundle, changes: list[SeenChange], task: Task
) -> None:
    asker, perception = Asker(bundle), Perception(bundle)
    for change in changes[:6]:
        studied = perception.study_change(change)
        prefix = perception.prefix(studied, asker.written(change.action, (64, 64)))
        asked, _ = perception.ask([studied], random.Random(0), questions=4)
        for each in asked.asked:
            text = asker.text(each.question, (64, 64)) + "\n"
            assert prefix.ids + each.ids == agents_prompt(bundle, change, task, text)
        assert len(prefix.pictures) == 2 * bundle.images.tokens(64, 64)


def test_changes_packed_equal_one_prompt_each(bundle: ModelBundle, changes: list[SeenChange]) -> None:
    """Some actions told and others not, so that what stands before is of several lengths."""
    perception = Perception(bundle)
    studied = [perception.study_change(change) for change in changes[:6]]
    prepared = perception.prepare_pages(studied, random.Random(4), questions=3)
    draw = random.Random(4)
    draw.getrandbits(62)  # what of the labels is asked about
    asked, prefixes = perception.ask(studied, draw, questions=3)
    assert len({len(prefix.ids) for prefix in prefixes}) > 1
    _, tokens = perception._encode(prepared)
    hidden, _ = perception._answer(prepared, tokens)
    for row, each in enumerate(asked.asked):
        change, prefix = changes[row // 3], prefixes[row // 3]
        images = (change.before.image, change.after.image)
        alone = TokenSequence(ids=prefix.ids + each.ids + each.answer, images=images)
        expected, _ = forward(bundle, collate(bundle, [alone]))
        count = len(each.ids) + len(each.answer)
        torch.testing.assert_close(hidden[row, :count], expected[0, -count:], rtol=1e-5, atol=1e-5)


def test_an_action_that_is_asked_for_is_not_told(bundle: ModelBundle, changes: list[SeenChange]) -> None:
    perception = Perception(bundle)
    for seed in range(8):
        asked, (prefix,) = perception.ask(
            [perception.study_change(changes[0])], random.Random(seed), questions=6
        )
        text = str(bundle.tokenizer.decode(prefix.ids))
        told = "click(point" in text
        assert told != ("user\n" in text.split("<|im_end|>\n")[1])
        assert not told or "action" not in {str(each.question.kind) for each in asked.asked}


def test_where_to_look_is_in_the_right_picture(bundle: ModelBundle, changes: list[SeenChange]) -> None:
    perception = Perception(bundle)
    studied = [perception.study_change(change) for change in changes[:6]]
    asked, _ = perception.ask(studied, random.Random(0), questions=1, examined=True)
    rows, _, cover = asked.looks
    half = cover.shape[1] // 2
    for row, covered in zip(rows.tolist(), cover, strict=True):
        first = asked.asked[row].question.before
        assert covered[:half].any() == first
        assert covered[half:].any() != first


def test_one_picture_stands_alone(bundle: ModelBundle, changes: list[SeenChange]) -> None:
    image = changes[0].after.image
    (message,) = showing([image], None)
    assert message.text == ""
    whole = tokenise_prompt(bundle, [message]).ids
    prefix = prefix_of(bundle, [image], (8, 8), None)
    assert prefix.ids == whole[: len(prefix.ids)]
    assert prefix.after == prefix.positions.max() + 1
