"""MiniWoB++ in the real browser: every page starts, draws its instruction, repeats, and starts clean."""

import asyncio
import random
from dataclasses import replace

import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox
from deskhand_sandbox.base import RewardingVerifier
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.layout import page_layout
from deskhand_sandbox.tasks.miniwob import task_ids
from deskhand_sandbox.tasks.miniwob_names import MOVING
from deskhand_sandbox.types import Click, Drag, Navigate, Outcome, StepReward, TypeText, VerifierSpec

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

TWELVE = (
    "bisect-angle",
    "book-flight",
    "chase-circle",
    "choose-date",
    "click-collapsible-nodelay",
    "click-color",
    "click-pie",
    "email-inbox-nl-turk",
    "login-user",
    "terminal",
    "use-spinner",
    "visual-addition",
)


def verifier() -> RewardingVerifier:
    made = create_verifier(VerifierSpec(name="miniwob"))
    assert isinstance(made, RewardingVerifier)
    return made


async def use(sandbox: BrowserSandbox, draw: random.Random) -> None:
    """Click, type and drag about, as an agent that knows nothing."""
    for _ in range(3):
        points = [
            each.point for each in (await page_layout(sandbox)).elements if each.clickable and each.point
        ]
        x, y = draw.choice(points or [(80, 130)])
        await sandbox.act(Click(x=x, y=y))
    await sandbox.act(TypeText(text="q"))
    ends = [(draw.randrange(160), draw.randrange(50, 210)) for _ in range(2)]
    await sandbox.act(Drag(path=tuple(ends)))


async def starts_clean(sandbox: BrowserSandbox, task_id: str, rounds: int) -> str | None:
    """What is wrong with a task's start states; None when nothing is."""
    moving = task_id.removeprefix("miniwob/") in MOVING
    task = make_task(task_id, 1)
    if moving:  # it never rests, and its pictures are not compared
        settings = {**task.environment.settings, "settle_deadline_ms": 100}
        task = replace(task, environment=replace(task.environment, settings=settings))
    fresh = await sandbox.reset(task)
    if not fresh.instruction.strip():
        return "no instruction"
    if await verifier().step_reward(sandbox) != StepReward(reward=0.0, terminated=False):
        return "done before it began"
    if (await verifier().score(sandbox, answer=None)).success:
        return "succeeds with nothing done"
    draw = random.Random(task_id)
    for seed in range(1, rounds + 1):
        await use(sandbox, draw)
        again = await sandbox.reset(task)
        if again.instruction != fresh.instruction:
            return f"another instruction after use {seed}"
        if again.observation.screenshot.digest != fresh.observation.screenshot.digest and not moving:
            return f"another start state after use {seed}"
    return None


@pytest.mark.parametrize("name", TWELVE)
async def test_a_page_starts_clean_after_use(sandbox: BrowserSandbox, name: str) -> None:
    assert await starts_clean(sandbox, f"miniwob/{name}", rounds=1) is None


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_every_page_starts_clean_after_use(backend: BrowserBackend) -> None:
    waiting, wrong = list(task_ids()), dict[str, str]()

    async def work() -> None:
        async with await backend.create() as sandbox:
            while waiting:
                task_id = waiting.pop()
                found = await starts_clean(sandbox, task_id, rounds=3)
                if found is not None:
                    wrong[task_id] = found

    await asyncio.gather(*(work() for _ in range(4)))
    assert wrong == {}


async def test_seeds_draw_different_episodes(sandbox: BrowserSandbox) -> None:
    drawn = {(await sandbox.reset(make_task("miniwob/click-button", seed))).instruction for seed in range(12)}
    assert len(drawn) > 6


async def test_the_right_click_is_rewarded_and_the_wrong_one_is_not(sandbox: BrowserSandbox) -> None:
    task = make_task("miniwob/click-test-2", 5)
    for wanted, reward in (("ONE", 1.0), ("TWO", -1.0)):
        await sandbox.reset(task)
        layout = await page_layout(sandbox)
        point = next(each.point for each in layout.elements if each.tag == "button" and each.text == wanted)
        assert point is not None
        await sandbox.act(Click(x=point[0], y=point[1]))
        assert await verifier().step_reward(sandbox) == StepReward(reward=reward, terminated=True)
        outcome = await verifier().score(sandbox, answer=None)
        assert (outcome.score, outcome.success) == (max(0.0, reward), reward > 0)
        assert outcome.detail.startswith(f"raw reward {reward:g}")


async def test_a_line_of_no_length_halves_no_angle(sandbox: BrowserSandbox) -> None:
    await sandbox.reset(make_task("miniwob/bisect-angle", 1))
    drawn = "document.querySelector('.init-blue').getBoundingClientRect()"
    vertex = await sandbox.evaluate(
        f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({drawn})"
    )
    submit = next(each for each in (await page_layout(sandbox)).elements if each.tag == "button")
    assert isinstance(vertex, list) and submit.point is not None
    x, y = (round(float(str(each))) for each in vertex)
    await sandbox.act(Click(x=x, y=y))
    await sandbox.act(Click(x=submit.point[0], y=submit.point[1]))
    assert await verifier().step_reward(sandbox) == StepReward(reward=-1.0, terminated=True)
    assert not (await verifier().score(sandbox, answer=None)).success


async def test_the_reward_does_not_melt_with_time(sandbox: BrowserSandbox) -> None:
    await sandbox.reset(make_task("miniwob/click-test", 1))
    # ten seconds are the page's own limit: put its beginning twenty back
    await sandbox.evaluate("core.ept0 -= 20000")
    button = next(each for each in (await page_layout(sandbox)).elements if each.tag == "button")
    assert button.point is not None
    await sandbox.act(Click(x=button.point[0], y=button.point[1]))
    assert await verifier().step_reward(sandbox) == StepReward(reward=1.0, terminated=True)


async def test_an_agent_that_leaves_the_page_has_done_nothing(sandbox: BrowserSandbox) -> None:
    await sandbox.reset(make_task("miniwob/click-test", 1))
    await sandbox.act(Navigate(url="about:blank"))
    assert await verifier().step_reward(sandbox) == StepReward(reward=0.0, terminated=False)
    assert await verifier().score(sandbox, answer="done") == Outcome(
        score=0.0, success=False, detail="the page's task was not finished"
    )
    assert (await sandbox.reset(make_task("miniwob/click-test", 1))).instruction == "Click the button."


DONE = "WOB_DONE_GLOBAL = true, WOB_RAW_REWARD_GLOBAL = 1, WOB_REWARD_REASON = ''"


@pytest.mark.parametrize(
    "url", [f"data:text/html,<script>{DONE}</script>", "http://miniwob.localhost/miniwob/click-button.html"]
)
async def test_no_other_page_says_that_the_task_is_done(sandbox: BrowserSandbox, url: str) -> None:
    task = make_task("miniwob/click-test", 1)
    made = create_verifier(task.verifier)
    assert isinstance(made, RewardingVerifier)
    await sandbox.reset(task)
    await sandbox.evaluate(DONE)
    assert (await made.score(sandbox, answer=None)).success
    await sandbox.act(Navigate(url=url))
    await sandbox.evaluate(DONE)
    assert await made.step_reward(sandbox) == StepReward(reward=0.0, terminated=False)
    assert (await made.score(sandbox, answer=None)).score == 0.0
