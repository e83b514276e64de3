"""The replay page in a real Chromium: steps by keyboard, marks the action, takes no orders from a task."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import NoReturn

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write
from playwright.async_api import Page, async_playwright

from deskhand_agent.reviewing import PersonsAnswer, reviewed
from deskhand_agent.types import Fault, Trajectory
from deskhand_flywheel.replay import render_replay
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_sandbox.backends.browser.chromium import find_chromium
from deskhand_sandbox.types import CallTool, Click, Drag, Press, TypeText

HOSTILE = (
    "</script><script>window.owned=1</script><img src=x onerror=window.owned=1>{{script}}\u2028&lt;b&gt;"
)
BROWSER_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]


@pytest.fixture
async def page() -> AsyncGenerator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=BROWSER_ARGS)
        opened = await browser.new_page(viewport={"width": 1366, "height": 768})
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("console", lambda message: problems.append(message.text))
        yield opened
        await browser.close()
    # an error of the script and a breach of the page's own policy are both reported here
    assert problems == []


def _episode() -> Trajectory:
    steps = (
        make_step(0),
        make_step(1, actions=(Drag(path=((20, 60), (120, 60))), TypeText(text="hello\n")), reward=0.5),
        make_step(2, actions=(Press(keys=("Control", "a")), Click(x=30, y=40, count=2), Click(x=9, y=9))),
        make_step(3, actions=()),
    )
    return make_trajectory("a" * 32, steps=steps, end=make_end(), labels={"run": "round-3"})


async def _open(page: Page, folder: Path, html: str) -> None:
    file = folder / "replay.html"
    file.write_text(html, encoding="utf-8")
    await page.goto(file.as_uri())


@pytest.mark.browser
async def test_the_page_steps_by_keyboard_and_marks_the_actions(
    store: Store, page: Page, tmp_path: Path
) -> None:
    await write(store, _episode())
    scored = [
        StepScore(trajectory_id="a" * 32, step_index=n, score=n / 4, scorer="prm:1", rationale="so")
        for n in range(4)
    ]
    await store.add_scores(scored)
    await _open(page, tmp_path, render_replay(await store.trajectory("a" * 32, images=True), scored))

    assert await page.inner_text("#position") == "Step 1 of 4"
    assert await page.inner_text("#chips li.good") == "Success · score 1"
    ring = page.locator("circle.mark")
    assert [await ring.get_attribute(name) for name in ("cx", "cy")] == ["70", "92"]
    box = await page.locator("#screen svg").bounding_box()
    seen = await ring.bounding_box()
    assert box is not None and seen is not None
    # the ring's middle is where the click was, whatever the size the picture is shown at
    assert (seen["x"] + seen["width"] / 2 - box["x"]) / box["width"] == pytest.approx(70 / 160, abs=0.01)
    assert (seen["y"] + seen["height"] / 2 - box["y"]) / box["height"] == pytest.approx(92 / 210, abs=0.01)

    await page.keyboard.press("ArrowRight")
    assert await page.inner_text("#position") == "Step 2 of 4"
    assert await page.locator("polyline.mark").first.get_attribute("points") == "20,60 120,60"
    assert await page.inner_text("#said") == "hello⏎"
    assert "Reward\n0.5" in await page.inner_text("#panel")
    assert "prm:1\nso" in await page.inner_text("#panel table")

    await page.keyboard.press("j")
    assert await page.locator("#said kbd").all_inner_texts() == ["Control", "a"]
    assert await page.locator("text.number").all_text_contents() == ["1", "2"]
    await page.keyboard.press("m")
    assert not await page.locator("circle.mark").first.is_visible()

    await page.keyboard.press("End")
    assert "The task is done, score 1." in await page.inner_text("#panel")
    await page.keyboard.press("ArrowRight")
    assert await page.inner_text("#position") == "End, after 4 steps"
    await page.keyboard.press("k")
    assert "No action." in await page.inner_text("#panel")
    await page.click("#strip button >> nth=1")
    assert await page.get_attribute("#strip button >> nth=1", "aria-current") == "step"
    await page.keyboard.press("Home")
    assert await page.inner_text("#position") == "Step 1 of 4"


@pytest.mark.browser
async def test_what_a_turn_cost_and_what_was_wrong_with_it_is_shown(page: Page, tmp_path: Path) -> None:
    episode = _episode()
    dear = replace(
        episode.steps[0],
        decision=replace(
            episode.steps[0].decision, repairs=("fence", "prose"), cost={"usd": 0.0021, "rate_limited": 2.0}
        ),
    )
    void = replace(
        episode.steps[3],
        decision=replace(episode.steps[3].decision, error="no teleport", fault=Fault.UNKNOWN_ACTION),
    )
    await _open(page, tmp_path, render_replay(replace(episode, steps=(dear, void))))
    assert "0.0021 usd, 2 rate_limited, 1 unknown_action faults" in await page.inner_text("#chips")
    panel = await page.inner_text("#panel")
    assert "usd\n0.0021" in panel
    assert "rate limited\n2" in panel
    assert "The reply was mended: fence, prose." in panel
    await page.keyboard.press("ArrowRight")
    assert "unknown action: no teleport" in await page.inner_text("#panel")


@pytest.mark.browser
async def test_the_picture_is_drawn_from_the_page_itself(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split(":")[0]))
    await _open(page, tmp_path, render_replay(_episode()))
    href = await page.get_attribute("#screen image", "href")
    assert href is not None and href.startswith("data:image/png;base64,")
    size = await page.evaluate(
        "async (href) => { const image = new Image(); image.src = href; await image.decode();"
        " return [image.width, image.height]; }",
        href,
    )
    assert size == [160, 210]
    assert set(asked) <= {"file", "data"}


@pytest.mark.browser
async def test_hostile_texts_stay_text(page: Page, tmp_path: Path) -> None:
    step = make_step(0, actions=(TypeText(text=HOSTILE), Click(x=1, y=2)))
    step = replace(
        step,
        observation=replace(step.observation, url=f"javascript:{HOSTILE}", output=HOSTILE),
        decision=replace(step.decision, thought=HOSTILE, text=HOSTILE, error=HOSTILE),
        action_error=HOSTILE,
        answer=HOSTILE,
    )
    end = make_end(failure_detail=HOSTILE)
    assert end.outcome is not None
    end = replace(end, outcome=replace(end.outcome, detail=HOSTILE))
    start = make_start(
        "a", task_id=HOSTILE, instruction=HOSTILE, policy_id=HOSTILE, labels={HOSTILE: HOSTILE}
    )
    score = StepScore(trajectory_id="a", step_index=0, score=0.5, scorer=HOSTILE, rationale=HOSTILE)
    html = render_replay(Trajectory(start=start, steps=(step,), end=end), [score])
    await _open(page, tmp_path, html)
    assert await page.evaluate("window.owned === undefined")
    assert await page.evaluate("document.scripts.length") == 2
    assert await page.locator("img, a, iframe").count() == 0
    assert await page.text_content("#instruction") == HOSTILE
    assert await page.text_content(".thought") == HOSTILE
    assert await page.text_content("#address") == f"javascript:{HOSTILE}"
    assert await page.title() == f"{HOSTILE} · a"


@pytest.mark.browser
async def test_nothing_sticks_out_at_any_width_light_or_dark(page: Page, tmp_path: Path) -> None:
    long_words = make_trajectory(
        "a" * 32, steps=_episode().steps, end=make_end(), instruction="w" * 300, policy_id="p" * 90
    )
    await _open(page, tmp_path, render_replay(long_words))
    for width in (1366, 900, 390, 320):
        await page.set_viewport_size({"width": width, "height": 700})
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    grounds: list[int] = []
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds.append(sum(int(part) for part in re.findall(r"\d+", ground)[:3]))
    assert grounds[0] > 600 and grounds[1] < 150


@pytest.mark.browser
async def test_missing_pictures_and_an_unfinished_episode_are_shown_as_such(
    store: Store, page: Page, tmp_path: Path
) -> None:
    await store.begin(make_start("a"))
    await store.step("a", make_step(0))
    await _open(page, tmp_path, render_replay(await store.trajectory("a")))
    assert await page.inner_text("#chips li.warn") == "Unfinished"
    assert await page.text_content(".missing-text") == "picture missing"
    await _open(page, tmp_path, render_replay(make_trajectory("b", steps=())))
    assert await page.inner_text("#panel") == "No step was written."


def test_figures_no_browser_can_read_are_left_out() -> None:
    odd = make_step(0, actions=(CallTool(name="t", arguments={"a": [inf, 1.5]}),), reward=nan)
    html = render_replay(make_trajectory("a", steps=(odd,)))
    island = html.split('id="episode">')[1].split("</script>")[0]

    def unknown(word: str) -> NoReturn:
        raise AssertionError(f"{word} is no JSON")

    (step,) = json.loads(island, parse_constant=unknown)["steps"]
    assert step["reward"] is None and step["actions"][0]["mark"]["arguments"] == {"a": [None, 1.5]}


@pytest.mark.browser
async def test_what_a_person_made_of_a_turn_is_shown(page: Page, tmp_path: Path) -> None:
    decided = make_step(0).decision
    answer = PersonsAnswer(by="ada", actions=(Click(x=1, y=2),), reason="It <b>missed</b>.")
    replaced = make_step(0, decision=reviewed(decided, answer, waited_s=1.0))
    unseen = make_step(1, decision=reviewed(decided, None, waited_s=30.0))
    await _open(page, tmp_path, render_replay(replace(_episode(), steps=(replaced, unseen))))
    said = "ada did this in place of: click at 70, 92. It <b>missed</b>."
    assert said in await page.inner_text("#panel")
    await page.keyboard.press("ArrowRight")
    assert "Nobody looked at it within 30 s." in await page.inner_text("#panel")


def test_a_picture_seen_in_many_turns_is_in_the_page_once() -> None:
    image = make_step(0).observation.screenshot
    steps = tuple(make_step(index, image=image) for index in range(20))
    assert render_replay(make_trajectory("a", steps=steps)).count("data:image/png") == 1
