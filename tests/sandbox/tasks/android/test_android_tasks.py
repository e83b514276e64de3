"""Every task proves itself on a simulator: fails at its start, passes on its oracle, scores alike twice."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.android import create
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks.android import PROVEN, TEMPLATES, make, next_actions, task_ids
from deskhand_sandbox.tasks.android.drawn import Tap, equals, find
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Answer, Finish, Split, Touch

FAST = ("android/contacts-add", "android/clock-timer", "android/messages-read", "android/settings-brightness")
"""One of each way to verify; the others take their turn with the slow tests."""
EVERY = [
    pytest.param(task_id, marks=() if task_id in FAST else pytest.mark.slow) for task_id in sorted(TEMPLATES)
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    backend = create()
    async with await backend.create() as sandbox:
        yield sandbox
    await backend.close()


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("split", [Split.TRAIN, pytest.param(Split.TEST, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task_id", EVERY)
async def test_a_task_proves_itself(sandbox: Sandbox, task_id: str, split: Split) -> None:
    task = make(task_id, seeds(task_id, split, 1)[0])
    await sandbox.reset(task)
    verifier = create_verifier(task.verifier)
    before = await verifier.score(sandbox, answer=None)
    assert not before.success, before.detail
    answer: str | None = None
    for turn in range(task.limits.turns):
        actions = await next_actions(task, sandbox, turn)
        if isinstance(actions[0], Finish):
            break
        for action in actions:
            if isinstance(action, Answer):
                answer = action.text
            else:
                await sandbox.act(action)  # type: ignore[arg-type]
    else:
        pytest.fail(f"the oracle of {task_id} does not finish within {task.limits.turns} turns")
    after = [await verifier.score(sandbox, answer=answer) for _ in range(2)]
    assert after[0].success, after[0].detail
    assert after[0] == after[1]


def test_every_task_has_an_oracle_and_says_what_it_is() -> None:
    assert task_ids() == PROVEN == tuple(sorted(TEMPLATES)) and len(PROVEN) >= 12
    for task_id in task_ids():
        task = make(task_id, 0)
        assert task.id == task_id and task.environment.kind == "android" and task.instruction
        assert task.labels["description"].endswith(".")


def test_a_seed_draws_the_same_and_another_something_else() -> None:
    for task_id in task_ids():
        assert make(task_id, 3) == make(task_id, 3)
        assert len({make(task_id, seed).instruction for seed in range(12)}) > 1, task_id


def test_what_is_drawn_for_training_is_not_drawn_for_the_test() -> None:
    for task_id in ("android/contacts-add", "android/notes-write", "android/clock-timer"):
        train, held = (
            {make(task_id, seed).instruction for seed in seeds(task_id, split, 30)}
            for split in (Split.TRAIN, Split.TEST)
        )
        assert not train & held


def test_a_label_is_found_on_the_screen() -> None:
    tree = (
        '- ScrollView [0,88][412,871] scrollable\n  - EditText "Mo" desc="Name" id=name [16,100][396,150]\n'
        '  - SeekBar desc="Brightness" id=brightness [32,200][132,228]\n'
        '- Button "Save" [10,500][60,540] clickable'
    )
    assert find(tree, Tap(label="Name")) == Touch(x=206, y=125) == find(tree, Tap(label="Mo"))
    assert find(tree, Tap(label="Brightness", share=1.0)) == Touch(x=131, y=214)
    with pytest.raises(InfrastructureError, match="nothing on the screen is called 'Sav'; there are 'Mo'"):
        find(tree, Tap(label="Sav"))


def test_conditions_are_quoted() -> None:
    assert equals(name="O'Neil", count=3) == "name = 'O''Neil' AND count = 3"
