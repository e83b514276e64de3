"""What people do in the page: mark, answer what is about to be done, branch, look on, take over."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest
from PIL import Image as Picture
from playwright.sync_api import Browser, Page, Route, expect
from served_platform import MARKUP, PATIENCE_MS, Platform, Signed, grow, in_a_thread, record, unhurried

from deskhand_agent.reviewing import PersonsAnswer
from deskhand_agent.types import Context, Decision
from deskhand_flywheel.review_rules import read_review_rules
from deskhand_flywheel.types import StepScore
from deskhand_platform.proposals import Proposals
from deskhand_platform.tables import sessions
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import AskUser, EnvironmentSpec, Observation, Task, VerifierSpec

pytestmark = pytest.mark.browser
SHOWN = "() => document.querySelector('img[alt=\"The screen, live\"]')?.naturalWidth > 0"
ASKED_S = 3 * PATIENCE_MS / 1000
"""A question outlives every single wait, so that a wait that is too long is told by its own name."""
STEPS_ONLY = dict.fromkeys(("verifier_judge", "verifier_steps", "judge_steps"))


def until(ask: Callable[[], Any], limit_s: float = PATIENCE_MS / 1000) -> Any:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := ask():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come to pass in time")


def disagree(platform: Platform, trajectory: str, index: int) -> None:
    """Two scorers who think otherwise of a step, and the queue brought up to date."""

    async def write() -> None:
        async with await platform.store() as store:
            for scorer, score in (("prm:one", 0.0), ("judge:two", 1.0)):
                said = StepScore(
                    trajectory_id=trajectory,
                    step_index=index,
                    score=score,
                    scorer=scorer,
                    rationale=MARKUP,
                )
                await store.add_scores([said])
            await store.find_disagreements_of(trajectory, read_review_rules(STEPS_ONLY))

    in_a_thread(write)


def marks(platform: Platform, trajectory: str, by: str = "owner") -> list[tuple[int | None, float, str]]:
    found = platform.get(f"/v1/trajectories/{trajectory}/annotations")["marks"]
    return [(m["step_index"], m["score"], m["reason"]) for m in found if m["annotator"] == by]


def test_disagreements_are_settled_by_keys(platform: Platform, signed: Signed) -> None:
    first, second = record(platform, steps=4), record(platform, steps=4)
    disagree(platform, first, 1)
    disagree(platform, second, 2)
    page = signed.open("/annotate")
    queue = page.get_by_role("list", name="Disagreements")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_test_id("instruction")).to_have_text(MARKUP)
    expect(page.get_by_role("region", name="Marks and notes")).to_contain_text(re.compile("step [12]", re.I))
    expect(page.get_by_test_id("rule")).to_have_text(re.compile(r"^Found 20.*: queued from .* apart, with"))
    expect(page.get_by_role("button", name="Good")).to_be_enabled()
    page.keyboard.press("r")
    page.keyboard.type("It went <b>the right way</b>.")
    page.keyboard.press("Enter")
    page.keyboard.press("g")
    expect(queue.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("button", name="Good")).to_be_enabled()
    page.keyboard.press("b")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    said = sorted([*marks(platform, first), *marks(platform, second)], key=lambda mark: -mark[1])
    assert [mark[1:] for mark in said] == [(1.0, "It went <b>the right way</b>."), (0.0, "")]
    page.get_by_label("Which entries").select_option("resolved")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("list", name="Marks")).to_contain_text("owner")
    page.keyboard.press("u")
    expect(queue.get_by_role("listitem")).to_have_count(1)
    assert page.locator("#bold").count() == 0


def test_a_replay_shows_all_there_is_and_takes_marks_and_notes(platform: Platform, signed: Signed) -> None:
    trajectory = record(platform, steps=6)
    page = signed.open(f"/trajectories/{trajectory}?step=2")
    expect(page.get_by_role("button", name="Good")).to_be_enabled()
    page.keyboard.press("b")
    expect(page.get_by_role("list", name="Marks")).to_contain_text("owner bad")
    assert marks(platform, trajectory) == [(2, 0.0, "")]
    page.get_by_role("textbox", name="Note").fill(MARKUP)
    page.get_by_role("textbox", name="Note").press("Enter")
    expect(page.get_by_role("list", name="Notes")).to_contain_text(MARKUP)
    page.get_by_role("button", name="Reward, value").click()
    expect(page.get_by_test_id("curve reward").locator("svg")).to_be_visible()
    page.get_by_test_id("curve human:ada").locator("svg").click(position={"x": 2, "y": 10})
    expect(page.get_by_test_id("place")).to_have_text("Step 0 of 6")
    page.get_by_label("Before/after", exact=True).check()
    expect(page.get_by_test_id("before")).to_be_visible()
    page.get_by_label("Between before and after").fill("10")
    page.get_by_role("button", name="What the model saw").click()
    inside = page.get_by_role("region", name="Inside")
    expect(inside.get_by_text("No ids are known of this step")).to_be_visible()
    for part in ("Accessibility tree", "Terminal", "Dialog"):
        expect(inside.locator("section", has=page.get_by_role("heading", name=part))).to_contain_text(MARKUP)
    assert page.locator("#bold, main img[src=x]").count() == 0
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_test_id("place")).to_have_text("End after 6")
    expect(page.get_by_role("button", name="Good")).to_be_enabled()
    page.keyboard.press("g")
    expect(page.get_by_role("list", name="Marks")).to_contain_text("owner good")
    assert (None, 1.0, "") in marks(platform, trajectory)
    page.goto(f"{signed.url}/trajectories/{trajectory}?step=2")
    page.get_by_role("button", name="Take the note back").click()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    page.keyboard.press("ArrowRight")  # the replay's, which waits behind the question
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_test_id("place")).to_have_text("Step 2 of 6")
    expect(page.get_by_role("list", name="Notes")).to_be_visible()
    page.get_by_role("button", name="Take the note back").click()
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_role("list", name="Notes")).to_have_count(0)


def test_an_episode_is_branched_and_both_know_of_it(platform: Platform, signed: Signed) -> None:
    platform.send("POST", "/v1/tasks", {"task_id": "fake/press-in-order", "seed": 4})
    done = until(
        lambda: next(
            (
                task
                for task in platform.get("/v1/tasks")["items"]
                if task["seed"] == 4 and task["state"] == "done"
            ),
            None,
        )
    )
    signed.page.route(
        re.compile(r"/v1/trajectories\?label="),
        lambda route: route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url)),
    )
    page = signed.open(f"/trajectories/{done['trajectory_id']}?step=1")
    page.get_by_role("button", name="Branch").click()
    dialog = page.get_by_role("dialog", name="Branch at step 1")
    dialog.get_by_label("Episodes").fill("2")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("status")).to_contain_text("Queued")
    dialog.get_by_role("button", name="Close").click()
    left = page.get_by_role("region", name="Branches").get_by_role("listitem")
    page.get_by_role("region", name="Branches").get_by_role("button", name="Show older").click()
    expect(left).to_have_count(2)
    expect(left.first).to_contain_text("from step 1")
    expect(left.first).not_to_contain_text("inexact")
    left.first.get_by_role("link", name="from step 1").click()
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    origin = page.get_by_role("region", name="Branches")
    expect(origin).to_contain_text("at step 1")
    origin.get_by_role("link", name="compare").click()
    expect(page.get_by_text("They never part.")).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")


def begun(platform: Platform, body: dict[str, Any]) -> dict[str, Any]:
    """A submitted task whose episode has begun."""
    made = platform.send("POST", "/v1/tasks", body)
    return until(lambda: (t := platform.get(f"/v1/tasks/{made['id']}"))["trajectory_id"] and t)


def test_what_a_policy_asks_is_accepted_with_an_answer(platform: Platform, signed: Signed) -> None:
    spec = EnvironmentSpec(kind="fake")
    seen = Observation(screenshot=encoded(Picture.new("RGB", (160, 210))), captured_at_s=1.0, settled_ms=1.0)
    context = Context(
        task=Task(id="t", environment=spec, verifier=VerifierSpec(name="fake")),
        instruction="Buy shoes.",
        steps=(),
        observation=seen,
        trajectory_id="a",
    )

    async def ask() -> PersonsAnswer | None:
        decision = Decision(actions=(AskUser(question=MARKUP),), text="call_user(content='…')")
        async with await platform.store() as store:
            return await Proposals(store).review(context, decision, within_s=ASKED_S)

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(lambda: asyncio.run(ask()))
        page = signed.open("/annotate")
        panel = page.locator("section", has=page.get_by_role("heading", name="About to be done"))
        expect(panel.get_by_test_id("asked")).to_have_text(MARKUP)
        panel.get_by_label("Answer", exact=True).fill("The blue ones.")
        panel.get_by_role("button", name="Accept").click()
        assert asking.result() == PersonsAnswer(by="owner", answer="The blue ones.")


def test_what_is_about_to_be_done_is_accepted_and_replaced(platform: Platform, signed: Signed) -> None:
    page = signed.open("/tasks?task=fake/press-in-order")
    page.get_by_label("Seed").fill("6")
    page.get_by_text("Priority, deadline, review, labels").click()
    page.get_by_label("Priority").fill("high")
    page.get_by_label("Over within").fill("60")
    page.get_by_label("Seconds to review each action").fill("300")
    page.get_by_label("Labels").fill("batch=asked, by=ann")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("from -100 to 100")
    page.get_by_label("Priority").fill("5")
    expect(page.get_by_label("Labels")).to_be_visible()  # it stays open while it is mended
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status").filter(has_text="Queued.")).to_be_visible()
    [task] = platform.get("/v1/tasks?label=batch%3Dasked")["items"]
    assert (task["priority"], task["labels"]["by"]) == (5, "ann")
    assert 3000 < task["deadline_s"] - time.time() <= 3600
    task = until(lambda: (t := platform.get(f"/v1/tasks/{task['id']}"))["trajectory_id"] and t)
    page = signed.open("/annotate")
    panel = page.locator("section", has=page.get_by_role("heading", name="About to be done"))
    expect(panel.get_by_test_id("proposed")).to_contain_text("click(")
    expect(panel.locator("[data-mark=click]")).to_be_visible()
    expect(panel.get_by_role("button", name="Accept")).to_be_enabled()
    page.keyboard.press("a")
    expect(panel).to_contain_text("at step 1")
    panel.get_by_label("Point at what to do in its place").click(position={"x": 30, "y": 30})
    expect(panel.get_by_label("Or do this")).to_have_value(
        re.compile(r"^click\(point='<point>\d+ \d+</point>'\)$")
    )
    expect(panel.locator("[data-mark=hover]")).to_be_visible()
    panel.get_by_label("Reason").fill("There is something else to try.")
    panel.get_by_role("button", name="Do this instead").click()
    path = f"/v1/trajectories/{task['trajectory_id']}/steps"
    steps = until(lambda: len(found := platform.get(path)["items"]) >= 2 and found)
    assert [step["review"]["verdict"] for step in steps[:2]] == ["accepted", "replaced"]
    assert steps[1]["review"]["reason"] == "There is something else to try."
    stop(platform, task["id"])


def proposed(question: str) -> tuple[Context, Decision]:
    seen = Observation(screenshot=encoded(Picture.new("RGB", (160, 210))), captured_at_s=1.0, settled_ms=1.0)
    context = Context(
        task=Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake")),
        instruction=question,
        steps=(),
        observation=seen,
        trajectory_id=question,
    )
    return context, Decision(actions=(AskUser(question=question),), text="call_user(content='…')")


def test_what_is_over_stays_before_its_reader_until_they_go_on(platform: Platform, signed: Signed) -> None:
    async def ask(question: str) -> PersonsAnswer | None:
        async with await platform.store() as store:
            return await Proposals(store).review(*proposed(question), within_s=ASKED_S)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: asyncio.run(ask("first")))
        mine = until(lambda: platform.get("/v1/proposals")["items"])[0]["id"]
        page = signed.open("/annotate")
        panel = page.locator("section", has=page.get_by_role("heading", name="About to be done"))
        reply, surface = panel.get_by_label("Or do this"), panel.get_by_role("application")
        reply.fill("wait()")
        surface.hover()
        page.mouse.wheel(0, 40)
        page.wait_for_function("() => window.scrollY > 0")
        page.wait_for_timeout(300)  # turns of the wheel that come in one go are one action
        expect(reply).to_have_value("wait()")
        second = pool.submit(lambda: asyncio.run(ask("second")))
        until(lambda: len(platform.get("/v1/proposals")["items"]) == 2)
        body = {"verdict": "accepted", "reply": "", "answer": "", "reason": ""}
        platform.send("POST", f"/v1/proposals/{mine}/answer", body)
        expect(panel).to_contain_text("This one is over")
        expect(reply).to_have_value("wait()")
        expect(panel.get_by_role("button", name="Accept")).to_be_disabled()
        page.locator("body").press("a")
        assert [one["instruction"] for one in platform.get("/v1/proposals")["items"]] == ["second"]
        panel.get_by_role("button", name="Go on").click()
        expect(panel.get_by_test_id("asked")).to_have_text("second")
        expect(reply).to_have_value("")
        page.keyboard.down("Alt")
        surface.hover()
        page.mouse.wheel(0, 40)
        expect(reply).to_have_value(re.compile(r"^scroll\("))
        page.keyboard.up("Alt")
        panel.get_by_role("button", name="Accept").click()
        assert first.result() is not None and second.result() is not None
    expect(panel).to_have_count(0)


def test_a_person_works_a_task_at_the_page(platform: Platform, signed: Signed) -> None:
    shown = begun(platform, {"task_id": "fake/press-button", "seed": 61})
    path = f"/v1/trajectories/{shown['trajectory_id']}/steps"
    press = until(lambda: platform.get(path)["items"])[0]["actions"][0]["text"]
    page = signed.open("/tasks?task=fake/press-button")
    page.get_by_role("textbox", name="Seed").fill("61")
    page.get_by_label("Policy").select_option("person")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status").filter(has_text="Queued.")).to_be_visible()
    page.get_by_role("link", name="Annotate").first.click()
    panel = page.locator("section", has=page.get_by_role("heading", name="About to be done"))
    expect(panel).to_contain_text("Yours to act, at step 0")
    expect(panel.get_by_role("button", name="Accept")).to_have_count(0)
    page.keyboard.press("a")  # there is nothing to accept
    panel.get_by_label("Point at the screen, or write the action").fill(press)
    panel.get_by_role("button", name="Do this").click()
    [task] = [one for one in platform.get("/v1/tasks")["items"] if one["policy"]["name"] == "person"]
    done = until(lambda: (t := platform.get(f"/v1/tasks/{task['id']}"))["state"] == "done" and t)
    [step] = platform.get(f"/v1/trajectories/{done['trajectory_id']}/steps")["items"][:1]
    assert (step["review"]["verdict"], step["review"]["proposed"]) == ("replaced", [])


def steered(platform: Platform, trajectory: str) -> list[str]:
    """Kinds of the recorded actions that a person did; the last of them may still be under way."""
    steps = platform.get(f"/v1/trajectories/{trajectory}/steps")["items"]
    ours = [s for s in steps if s["review"] and s["review"]["verdict"] in ("steered", "replaced")]
    return [action["type"] for step in ours for action in step["actions"]]


def stop(platform: Platform, task: str) -> None:
    """Cancel a task unless it is over, and wait until its sandbox and what it proposed are gone: later tests
    are not to find them."""
    if platform.get(f"/v1/tasks/{task}")["state"] == "running":
        with suppress(httpx.HTTPStatusError):  # it may be over by now
            platform.send("DELETE", f"/v1/tasks/{task}")
    until(lambda: platform.get(f"/v1/tasks/{task}")["state"] != "running")


def drag(page: Page, surface: Any, start: tuple[int, int], end: tuple[int, int]) -> None:
    box = surface.bounding_box()
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=4)
    page.mouse.up()


def test_a_sandbox_is_looked_at_taken_over_and_handed_back(platform: Platform, signed: Signed) -> None:
    signed.page.clock.install()
    page = signed.open("/sandboxes")
    body = {"task_id": "fake/press-in-order", "seed": 8, "policy": {"name": "scripted", "review_s": 300}}
    task = begun(platform, body)
    card = page.get_by_role("list", name="Sandboxes").get_by_role("listitem").first
    expect(card.get_by_role("img", include_hidden=True).or_(card.locator("img"))).to_be_visible()
    card.get_by_role("link", name="fake/press-in-order").click()
    screen = page.get_by_alt_text("The screen, live")
    expect(screen).to_be_visible()
    page.wait_for_function(SHOWN)
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_role("button", name="Hand back")).to_be_visible()
    # what the policy had proposed meanwhile is nobody's to answer any more
    until(lambda: not platform.get("/v1/proposals")["items"])
    surface = page.get_by_role("application")
    with unhurried(page):  # or a slow double click was two, and slow keys were several texts
        surface.dblclick(position={"x": 90, "y": 90})
        surface.click(position={"x": 12, "y": 14})
        drag(page, surface, (20, 20), (60, 60))
        page.keyboard.type("hi there")
        page.keyboard.press("Enter")
    did = page.get_by_role("list", name="What you did").get_by_role("listitem")
    expect(did).to_have_count(5)
    expect(did.get_by_label("waiting")).to_have_count(0)
    expect(did.last).to_contain_text("left_double(")  # the first of them: the newest is on top
    page.keyboard.press("Shift+Escape")
    expect(page.get_by_role("button", name="Hand back")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    done = until(lambda: len(kinds := steered(platform, task["trajectory_id"])) >= 5 and kinds)
    assert done[:5] == ["click", "click", "drag", "type_text", "press"]
    platform.send("DELETE", f"/v1/tasks/{task['id']}")
    expect(page.get_by_text("This sandbox was given back")).to_be_visible()
    page.get_by_role("link", name="Replay what happened").click()
    expect(page.get_by_test_id("review")).to_contain_text("owner did this in place of")
    expect(page.get_by_role("list", name="Proposed")).to_contain_text("click(")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("review")).to_contain_text("owner had the controls")
    signed.complaints.clear()  # the browser notes that the lease is gone


def lease_of(platform: Platform, task: dict[str, Any]) -> str:
    [lease] = [one["id"] for one in platform.get("/v1/sandboxes")["items"] if one["task"] == task["id"]]
    return lease


def test_pictures_that_ended_are_asked_for_again(platform: Platform, signed: Signed) -> None:
    body = {"task_id": "fake/press-in-order", "seed": 64, "policy": {"name": "scripted", "review_s": 300}}
    task = begun(platform, body)
    lease = lease_of(platform, task)
    page, asked = signed.page, itertools.count(1)
    stream = f"**/sandboxes/{lease}/screen.mjpeg*"
    page.route(stream, lambda route: route.abort(), times=1)
    # the second time by itself, after a while
    with page.expect_request(lambda request: "/screen.mjpeg" in request.url and next(asked) == 2):
        signed.open(f"/sandboxes/{lease}")
    page.wait_for_function(SHOWN)
    with page.expect_request(stream):
        page.evaluate("() => window.dispatchEvent(new Event('online'))")
    page.route(f"**/v1/sandboxes/{lease}", lambda route: route.fulfill(status=503, json={}))
    expect(page.get_by_role("alert")).to_contain_text("503")
    with page.expect_request(stream):
        page.unroute(f"**/v1/sandboxes/{lease}")
    page.wait_for_function(SHOWN)
    signed.open("/")
    stop(platform, task["id"])
    signed.complaints.clear()  # the browser notes what was not answered


def test_who_may_only_look_on_is_not_offered_the_controls(platform: Platform, browser: Browser) -> None:
    task = begun(platform, {"task_id": "fake/press-in-order", "seed": 65, "policy": {"name": "person"}})
    scopes = ["sandboxes:read", "trajectories:read", "tasks:read"]
    made = platform.send("POST", "/v1/tokens", {"label": "to look on", "scopes": scopes})
    context = browser.new_context(base_url=platform.url)
    page = context.new_page()
    page.goto(f"/#token={made['token']}")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"/sandboxes/{lease_of(platform, task)}")
    expect(page.get_by_test_id("instruction")).to_be_visible()
    expect(page.get_by_role("button", name="Take over")).to_have_count(0)
    platform.send("PUT", f"/v1/trajectories/{task['trajectory_id']}/takeover")
    expect(page.get_by_text("owner has the controls")).to_be_visible()
    platform.send("DELETE", f"/v1/trajectories/{task['trajectory_id']}/takeover")
    context.close()
    stop(platform, task["id"])


def test_a_phone_has_no_keyboard_and_types_all_the_same(platform: Platform, browser: Browser) -> None:
    task = begun(platform, {"task_id": "fake/press-in-order", "seed": 63, "policy": {"name": "person"}})
    lease = lease_of(platform, task)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{platform.url}/#token={platform.token}")
    expect(page.get_by_role("button", name="Sign out")).to_be_attached()
    page.goto(f"{platform.url}/sandboxes/{lease}")
    page.get_by_role("button", name="Take over").tap()
    page.get_by_label("Text to type on the screen").fill("it's me")
    page.get_by_role("button", name="Type", exact=True).tap()
    page.get_by_role("button", name="Enter").tap()
    did = page.get_by_role("list", name="What you did").get_by_role("listitem")
    expect(did).to_have_count(2)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Hand back").tap()
    done = until(lambda: len(kinds := steered(platform, task["trajectory_id"])) >= 2 and kinds)
    assert done[:2] == ["type_text", "press"]
    context.close()
    stop(platform, task["id"])


def test_a_task_that_runs_is_watched_at_its_newest_step_and_live(platform: Platform, signed: Signed) -> None:
    body = {"task_id": "fake/press-in-order", "seed": 9, "policy": {"name": "scripted", "review_s": 300}}
    task = begun(platform, body)
    newest = f"/trajectories/{task['trajectory_id']}?step=end"
    page = signed.open("/tasks?state=running")
    row = page.get_by_role("table", name="Queue").get_by_role("row").filter(has_text="fake/press-in-order")
    expect(row.get_by_role("link", name="fake/press-in-order")).to_have_attribute("href", newest)
    row.get_by_role("link", name="Watch it live").click()
    expect(page.get_by_alt_text("The screen, live")).to_be_visible()
    live = page.url
    signed.open(newest)
    page.get_by_role("link", name="Watch it live").click()
    expect(page).to_have_url(live)
    platform.send("DELETE", f"/v1/tasks/{task['id']}")
    expect(page.get_by_text("This sandbox was given back")).to_be_visible()
    signed.open("/tasks?state=cancelled")
    page.locator(f"main a[href='{newest.removesuffix('?step=end')}']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("fake/press-in-order")
    expect(page.get_by_role("link", name="Watch it live")).to_have_count(0)
    signed.complaints.clear()  # the browser notes that the lease is gone


@pytest.mark.slow
def test_ten_thousand_steps_are_gone_through_without_a_stutter(platform: Platform, signed: Signed) -> None:
    trajectory = record(platform, steps=10_000)
    page = signed.open(f"/trajectories/{trajectory}?step=9990")
    expect(page.get_by_test_id("raw")).to_have_text("reply 9990")
    page.get_by_role("button", name="Reward, value").click()
    curve = page.get_by_test_id("curve reward").locator("svg")
    expect(curve).to_be_visible()
    assert page.get_by_role("list", name="Steps").get_by_role("listitem").count() < 80
    box = curve.bounding_box()
    assert box is not None
    curve.click(position={"x": box["width"] / 2, "y": 10})
    expect(page.get_by_test_id("place")).to_have_text(re.compile(r"Step (49|50)\d\d of 10000"))


@pytest.mark.parametrize("width", [390, 1366])
def test_the_new_pages_fit_their_screens(platform: Platform, browser: Browser, width: int) -> None:
    trajectory = record(platform, steps=3)
    disagree(platform, trajectory, 1)
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    page.goto(f"{platform.url}/#token={platform.token}")
    for path in ("/annotate", "/sandboxes", f"/trajectories/{trajectory}?step=1"):
        page.goto(f"{platform.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^Loading"))).to_have_count(0)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, path
    context.close()


@pytest.mark.slow
def test_a_researchers_day(platform: Platform, researcher: Signed) -> None:
    """Find, replay, mark, compare, branch, and find what came of it."""
    for seed in (41, 42):
        platform.send("POST", "/v1/tasks", {"task_id": "fake/press-in-order", "seed": seed})
    until(
        lambda: (
            sum(t["seed"] in (41, 42) and t["state"] == "done" for t in platform.get("/v1/tasks")["items"])
            == 2
        )
    )
    page = researcher.open("/trajectories")
    page.get_by_label("Words").fill("press then")
    page.get_by_label("Words").press("Enter")
    page.get_by_label("Outcome").select_option("success")
    rows = page.get_by_role("table", name="Trajectories").get_by_role("row")
    rows.nth(1).get_by_role("link").first.click()
    expect(page.get_by_test_id("place")).to_have_text("Step 0 of 2")
    found = page.url.rsplit("/", 1)[1].split("?")[0]
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="Marks of step 1")).to_be_visible()
    expect(page.get_by_role("button", name="Good")).to_be_enabled()
    page.keyboard.press("g")
    expect(page.get_by_role("list", name="Marks")).to_contain_text("rita good")
    assert marks(platform, found, "rita") == [(1, 1.0, "")]
    page.get_by_role("button", name="Compare with").click()
    page.get_by_label("Only those that began alike").uncheck()
    page.get_by_role("dialog").get_by_role("link").first.click()
    expect(page.get_by_role("region", name="First")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    page.get_by_role("button", name="Branch").click()
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    left = page.get_by_role("region", name="Branches").get_by_role("listitem")
    expect(left).to_have_count(1)
    expect(left).to_contain_text("success")
    left.get_by_role("link", name="compare").click()
    expect(page.get_by_text("They never part.")).to_be_visible()


def test_a_task_is_cancelled_when_that_is_meant_and_tried_again(platform: Platform, signed: Signed) -> None:
    body = {"task_id": "fake/press-in-order", "seed": 51, "policy": {"name": "scripted", "review_s": 300}}
    task = begun(platform, body)
    page = signed.open("/tasks")
    page.get_by_role("button", name="Cancel fake/press-in-order, seed 51").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("button", name="Cancel fake/press-in-order, seed 51")).to_be_focused()
    assert platform.get(f"/v1/tasks/{task['id']}")["state"] == "running"
    page.get_by_role("button", name="Cancel fake/press-in-order, seed 51").click()
    page.get_by_role("button", name="Cancel the task").click()
    until(lambda: platform.get(f"/v1/tasks/{task['id']}")["state"] == "cancelled")
    page.get_by_role("button", name="Try fake/press-in-order, seed 51, again").click()
    until(lambda: platform.get(f"/v1/tasks/{task['id']}")["state"] == "running")
    stop(platform, task["id"])


def test_a_task_without_an_oracle_is_not_given_to_one(platform: Platform, signed: Signed) -> None:
    page = signed.open("/tasks?task=fake/never-done")
    expect(page.get_by_role("table", name="Catalog")).to_contain_text("fake/never-done")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody wrote an oracle")
    # a program is told so, too; why a task failed is in the queue, on a phone as well
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        platform.send("POST", "/v1/tasks", {"task_id": "fake/never-done", "seed": 52})
    late = {"task_id": "fake/press-button", "seed": 52, "deadline_s": time.time() - 1}
    platform.send("POST", "/v1/tasks", late)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("table", name="Queue")).to_contain_text("its deadline passed before")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_a_computer_without_a_network_serves_its_own_page(platform: Platform, signed: Signed) -> None:
    page = signed.open("/rounds")
    expect(page).to_have_title("Rounds · Deskhand")
    page.evaluate("() => window.dispatchEvent(new Event('offline'))")
    page.get_by_role("link", name="Tasks", exact=True).first.click()
    expect(page.get_by_role("table", name="Catalog")).to_contain_text("fake/press-button")
    expect(page).to_have_title("Tasks · Deskhand")


def test_a_page_that_cannot_be_loaded_says_so_and_is_tried_again(platform: Platform, signed: Signed) -> None:
    page = signed.open("/rounds")
    expect(page.get_by_text("Sandboxes up")).to_be_visible()
    page.context.set_offline(True)
    page.get_by_role("link", name="Flywheel").first.click()
    expect(page.get_by_role("alert")).to_contain_text("The platform does not answer")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_contain_text("The platform does not answer")
    page.context.set_offline(False)  # back, and nobody clicks
    expect(page.get_by_role("heading", name="Flywheel")).to_be_visible()
    signed.complaints.clear()  # the browser notes what it could not load


def test_a_note_is_written_to_its_end_while_the_episode_goes_on(platform: Platform, signed: Signed) -> None:
    trajectory = grow(platform, None, range(2))
    page = signed.open(f"/trajectories/{trajectory}?step=end")
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    page.get_by_role("textbox", name="Note").click()
    page.keyboard.type("it clicked ")
    grow(platform, trajectory, range(2, 3))
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 3")
    page.keyboard.type("beside it")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("it clicked beside it")
    grow(platform, trajectory, range(3, 4), ends=True)


def test_what_is_written_while_a_note_is_sent_stays(platform: Platform, signed: Signed) -> None:
    trajectory = grow(platform, None, range(2))
    page = signed.open(f"/trajectories/{trajectory}?step=0")
    held: list[Route] = []
    page.route(re.compile("/notes$"), lambda route: held.append(route))
    note = page.get_by_role("textbox", name="Note")
    note.fill("it clicked")
    with page.expect_request(re.compile("/notes$")):
        note.press("Enter")
    note.fill("and beside it")
    held[0].continue_()
    expect(page.get_by_role("list", name="Notes")).to_contain_text("it clicked")
    expect(note).to_have_value("and beside it")
    grow(platform, trajectory, range(2, 3), ends=True)


def test_who_signs_in_again_goes_on_where_they_were(platform: Platform, signed: Signed) -> None:
    async def end() -> None:
        async with await platform.store() as store, store.database.write() as connection:
            await connection.execute(sessions.delete())

    trajectory = grow(platform, None, range(2))
    page = signed.open(f"/trajectories/{trajectory}?step=end")
    page.get_by_role("textbox", name="Note").fill("half a")
    in_a_thread(end)
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("heading", name="Sign in to Deskhand")).to_be_visible()
    page.get_by_role("button", name="Use a token").click()
    page.get_by_label("Token").fill(platform.token)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("textbox", name="Note")).to_have_value("half a")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    signed.complaints.clear()  # the browser notes what was refused meanwhile
    grow(platform, trajectory, range(2, 3), ends=True)


def test_a_branch_leaves_at_the_step_it_was_asked_for_at(platform: Platform, signed: Signed) -> None:
    trajectory = grow(platform, None, range(2))
    page = signed.open(f"/trajectories/{trajectory}?step=end")
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    page.get_by_role("button", name="Branch…").click()
    grow(platform, trajectory, range(2, 3))
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 3")
    expect(page.get_by_role("dialog")).to_contain_text("From step 1 on")
    grow(platform, trajectory, range(3, 4), ends=True)


def test_the_entry_under_review_stays_when_a_stronger_one_arrives(platform: Platform, signed: Signed) -> None:
    def turned(route: Route) -> None:
        response = route.fetch()
        listed = response.json()
        route.fulfill(response=response, json={**listed, "items": listed["items"][::-1]})

    for index in (1, 2):
        disagree(platform, record(platform, steps=4), index)
    page, lists = signed.open("/annotate"), re.compile(r"/v1/review-queue\?")
    entries = page.get_by_role("list", name="Disagreements").get_by_role("button")
    expect(entries.first).to_have_attribute("aria-current", "true")
    why = page.get_by_role("textbox", name="Why")
    why.fill("because")
    page.route(lists, turned)
    page.wait_for_timeout(1100)  # what was had within a second is not asked for again
    with page.expect_response(lists):
        page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(entries.last).to_have_attribute("aria-current", "true")
    expect(why).to_have_value("because")
    expect(why).to_be_focused()
    page.unroute_all(behavior="ignoreErrors")
