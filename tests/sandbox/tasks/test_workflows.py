"""Work of several turns on generated pages, in a real browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.tasks.workflows import PROVEN, TURNS, next_actions
from deskhand_sandbox.types import Click, Outcome, Split, Task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

Play = Callable[[str, int], Awaitable[tuple[Outcome, float, int]]]
LAST_BUTTON = (
    "cart", "cart-long", "colors", "cycle", "folds", "keypad", "pages", "remove", "slides", "tick", "times",
    "untick", "wizard",
)  # fmt: skip
OTHERS_END = (
    "approve", "ask", "confirm", "confirm-long", "file", "folders", "instead", "interrupt", "mail", "more",
    "notice", "order", "order-long", "steps", "steps-long", "survey", "tabs", "undo",
)  # fmt: skip


async def state(task: Task, sandbox: Sandbox) -> tuple[bool, bool, float]:
    """Whether it is over and won, and the score."""
    verifier: Any = create_verifier(task.verifier)
    outcome = await verifier.score(sandbox, answer=None)
    return (await verifier.step_reward(sandbox)).terminated, outcome.success, outcome.score


async def click(sandbox: Sandbox, point: Any) -> None:
    await sandbox.act(Click(x=int(point[0]), y=int(point[1])))


async def work(task: Task, sandbox: Sandbox, turns: int) -> None:
    for turn in range(turns):
        for action in await next_actions(task, sandbox, turn):
            await sandbox.act(action)


@pytest.mark.parametrize("task_id", PROVEN)
async def test_the_oracle_wins_in_several_turns(play: Play, task_id: str) -> None:
    for split in (Split.TRAIN, Split.TEST):
        (seed,) = seeds(task_id, split, 1)
        outcome, rewards, turns = await play(task_id, seed)
        assert (outcome.success, rewards) == (True, pytest.approx(1.0)), seed
        assert 2 <= turns <= 6


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("task_id", PROVEN)
async def test_the_oracle_wins_on_many_seeds(play: Play, task_id: str) -> None:
    lost = [seed for seed in range(100, 150) if not (await play(task_id, seed))[0].success]
    assert lost == []


@pytest.mark.parametrize("name", LAST_BUTTON)
async def test_the_last_button_before_all_is_done_loses_for_good(sandbox: Sandbox, name: str) -> None:
    task = make_task(f"workflows/{name}", 1)
    await sandbox.reset(task)
    facts: Any = await sandbox.evaluate("generated.facts()")
    await click(sandbox, facts[-1]["point"])
    assert await state(task, sandbox) == (True, False, 0.0)
    await work(task, sandbox, 1)
    assert not (await state(task, sandbox))[1]


@pytest.mark.parametrize("name", OTHERS_END)
async def test_another_button_than_the_one_asked_for_loses(sandbox: Sandbox, name: str) -> None:
    task = make_task(f"workflows/{name}", 1)
    await sandbox.reset(task)
    wanted: Any = await sandbox.evaluate("generated.next().click")
    facts: Any = await sandbox.evaluate("generated.facts()")
    pressed = [each["point"] for each in facts if each["role"] in {"button", "item"}]
    await click(sandbox, next(point for point in pressed if point != wanted))
    assert await state(task, sandbox) == (True, False, 0.0)
    await work(task, sandbox, TURNS // 2)
    assert not (await state(task, sandbox))[1]


async def test_whoever_is_not_sure_has_not_confirmed(sandbox: Sandbox) -> None:
    task = make_task("workflows/confirm", 2)
    await sandbox.reset(task)
    await work(task, sandbox, 1)
    sure: Any = await sandbox.evaluate("generated.next().click")
    facts: Any = await sandbox.evaluate("generated.facts()")
    (other,) = [each["point"] for each in facts if each["role"] == "button" and each["point"] != sure]
    await click(sandbox, other)
    assert await state(task, sandbox) == (True, False, 0.0)


async def test_one_time_too_many_is_lost(sandbox: Sandbox) -> None:
    task = make_task("workflows/times", 1)
    await sandbox.reset(task)
    pressed: Any = await sandbox.evaluate("generated.next().click")
    for _ in range(5):
        await click(sandbox, pressed)
    assert await state(task, sandbox) == (False, False, 0.0)
    await work(task, sandbox, 1)
    assert (await state(task, sandbox))[:2] == (True, False)


@pytest.mark.parametrize("name", ["banner", "lock"])
async def test_a_page_that_is_locked_or_asks_first_does_nothing(sandbox: Sandbox, name: str) -> None:
    task = make_task(f"workflows/{name}", 1)
    await sandbox.reset(task)
    facts: Any = await sandbox.evaluate("generated.facts()")
    own = [each["point"] for each in facts if each["role"] == "button"][:4]
    for point in own:
        await click(sandbox, point)
    assert await state(task, sandbox) == (False, False, 0.0)
    await work(task, sandbox, 2)
    assert await state(task, sandbox) == (True, True, 1.0)


async def test_cookies_answered_otherwise_are_lost(sandbox: Sandbox) -> None:
    task = make_task("workflows/banner", 1)
    await sandbox.reset(task)
    wanted: Any = await sandbox.evaluate("generated.next().click")
    facts: Any = await sandbox.evaluate("generated.facts()")
    (other,) = [each["point"] for each in facts[-2:] if each["point"] != wanted]
    await click(sandbox, other)
    assert await state(task, sandbox) == (True, False, 0.0)


async def test_a_wrong_digit_can_be_taken_back(sandbox: Sandbox) -> None:
    task = make_task("workflows/keypad", 1)
    instruction = (await sandbox.reset(task)).instruction
    facts: Any = await sandbox.evaluate("generated.facts()")
    wrong = next(
        each["point"] for each in facts if each["name"].isdigit() and each["name"] not in instruction
    )
    await click(sandbox, wrong)
    await work(task, sandbox, 4)
    assert await state(task, sandbox) == (True, True, 1.0)


async def test_a_word_that_is_not_there_finds_nothing(sandbox: Sandbox) -> None:
    task = make_task("workflows/search", 1)
    await sandbox.reset(task)
    go: Any = await sandbox.evaluate("generated.facts().find((each) => each.role === 'button').point")
    await click(sandbox, go)
    assert await sandbox.evaluate("document.querySelector('main').innerText.includes('Nothing found')")
    await work(task, sandbox, 4)
    assert await state(task, sandbox) == (True, True, 1.0)
