"""The built page in a real browser, against `deskhand serve` with the fake sandbox."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect
from served_platform import MARKUP, Platform, Signed, grow, record, unhurried

from deskhand_agent.types import Decision
from deskhand_flywheel.types import EventKind
from deskhand_platform.client import Deskhand
from deskhand_sandbox.types import TypeText

pytestmark = pytest.mark.browser


def test_the_token_opens_the_page_and_another_does_not(platform: Platform, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{platform.url}/trajectories")
    page.get_by_role("button", name="Use a token").click()
    page.get_by_label("Token").fill("not-it")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not this platform's token")
    page.get_by_label("Token").fill(f" {platform.token}\n")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Trajectories")).to_be_visible()
    assert platform.token not in page.url
    [cookie] = context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert context.cookies() == []
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()
    context.close()


def test_the_printed_address_signs_in_and_forgets_the_token(platform: Platform, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{platform.url}/#token=wrong")
    expect(page.get_by_role("alert")).to_contain_text("not this platform's token")
    page.goto("about:blank")
    page.goto(f"{platform.url}/#token={platform.token}")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.url == f"{platform.url}/"
    page.go_back()
    assert platform.token not in page.url
    assert [url for url in asked if platform.token in url] == []
    context.close()


def test_a_slow_click_submits_the_task_just_typed(signed: Signed) -> None:
    page = signed.open("/tasks")
    expect(page.get_by_role("button", name="fake/press-in-order")).to_be_visible()
    page.get_by_label("Task", exact=True).fill("fake/press-in-order")
    page.get_by_label("Seed").fill("77")
    page.get_by_label("Task", exact=True).focus()
    page.get_by_role("button", name="Submit").hover()
    page.mouse.down()
    # leaving the field has put the task into the address
    expect(page).to_have_url(re.compile("task=fake"))
    page.mouse.up()
    expect(page.get_by_role("status").filter(has_text="Queued")).to_be_visible()
    expect(page.get_by_role("textbox", name="Seed")).to_have_value("77")


def test_a_submitted_task_can_be_followed_into_its_replay(platform: Platform, signed: Signed) -> None:
    signed.page.clock.install()
    page = signed.open("/tasks")
    page.get_by_label("Search tasks").fill("in-order")
    page.get_by_role("button", name="fake/press-in-order").click()
    expect(page.get_by_label("Task", exact=True)).to_have_value("fake/press-in-order")
    page.get_by_label("Seed").fill("-1")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("whole number")
    page.get_by_label("Seed").fill("5")
    page.get_by_role("button", name="Submit").click()
    # other tests of this platform submit the task too, with seeds of their own
    row = page.get_by_role("table", name="Queue").get_by_role("row", name=re.compile(r"press-in-order 5\b"))
    expect(row).to_contain_text("success")
    row.get_by_role("link").click()

    expect(page.get_by_test_id("place")).to_have_text("Step 0 of 2")
    trajectory = page.url.rsplit("/", 1)[1].split("?")[0]
    first, second = platform.get(f"/v1/trajectories/{trajectory}/steps")["items"]
    ring = page.locator("[data-mark=click]")
    x, y = first["actions"][0]["points"][0]
    assert (ring.get_attribute("data-x"), ring.get_attribute("data-y")) == (str(x), str(y))
    shown, drawn = page.locator("main img").bounding_box(), ring.locator("circle").first.bounding_box()
    assert shown is not None and drawn is not None
    scale = shown["width"] / first["image"]["width_px"]
    assert drawn["x"] + drawn["width"] / 2 == pytest.approx(shown["x"] + (x + 0.5) * scale, abs=1)
    assert drawn["y"] + drawn["height"] / 2 == pytest.approx(shown["y"] + (y + 0.5) * scale, abs=1)

    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    expect(page).to_have_url(re.compile(r"\?step=1$"))
    expect(page.get_by_test_id("raw")).to_have_text(second["text"])
    page.reload()
    expect(page.get_by_test_id("place")).to_have_text("Step 1 of 2")
    page.keyboard.press("End")
    expect(page.get_by_test_id("place")).to_have_text("End after 2")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"\?step=end$"))
    with unhurried(page):
        page.keyboard.press("Space")
        expect(page.get_by_test_id("place")).to_have_text("Step 0 of 2")
    expect(page.get_by_test_id("place")).to_have_text("End after 2")

    page.goto(f"{signed.url}/trajectories?outcome=success")
    expect(page.get_by_role("link", name="fake/press-in-order").first).to_be_visible()
    page.get_by_label("Outcome").select_option("failure")
    expect(page.get_by_text("No trajectory matches")).to_be_visible()


def test_what_models_and_pages_wrote_is_shown_as_text(platform: Platform, signed: Signed) -> None:
    trajectory = record(platform)
    page = signed.open("/trajectories")
    expect(page.get_by_role("table", name="Trajectories")).to_contain_text(MARKUP)
    page = signed.open(f"/trajectories/{trajectory}")
    expect(page.get_by_test_id("instruction")).to_have_text(MARKUP)
    expect(page.get_by_test_id("thought")).to_have_text(MARKUP)
    expect(page.get_by_test_id("raw")).to_have_text(MARKUP)
    expect(page.get_by_text("Why this score").locator("xpath=../..")).to_contain_text(MARKUP)
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-tag=text]")).to_contain_text('<img src="x"')
    expect(page.locator("[data-tag=keys] kbd")).to_have_text(["Ctrl", "<b>"])
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-mark=path] polyline").first).to_be_visible()
    expect(page.get_by_text(f"hit {MARKUP}")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_text(f"verdict {MARKUP}")).to_be_visible()
    assert page.locator("#bold, main img[src=x]").count() == 0


def test_a_round_is_started_watched_and_cancelled(platform: Platform, signed: Signed) -> None:
    page = signed.open("/rounds")
    page.get_by_role("link", name="Start a round").click()
    page.get_by_role("radio", name=re.compile("^smoke")).check()
    page.get_by_role("button", name="Start smoke").click()
    expect(page).to_have_url(re.compile(r"/rounds/\d+$"))
    number = int(page.url.rsplit("/", 1)[1])
    bar = page.get_by_role("progressbar", name="ppo progress")
    expect(bar).to_be_visible()
    expect(page.get_by_role("table", name="Results").get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("Waiting for the first iteration")).to_be_visible()
    expect(page.get_by_text("Until then: counting.")).to_be_visible()

    subject = f"run:round-{number}-ppo"
    figures = {"kl_per_turn": 0.02, "clip_fraction": 0.1, "entropy": 1.0}
    for step in (1, 2):
        told = {"step": step, "success_sampled": 0.1 * step, **figures}
        platform.tell(subject, EventKind.METRIC, "ppo/iteration", told)
    greedy = {"success_greedy": 0.5, "success_greedy_low": 0.4, "success_greedy_high": 0.6}
    platform.tell(subject, EventKind.METRIC, "ppo/validation", {"step": 2, **greedy})
    curve = page.get_by_test_id("curve Success")
    expect(curve).to_contain_text("50.0\N{NO-BREAK SPACE}%")
    expect(curve.locator(".recharts-line-curve").first).to_be_visible()
    platform.tell(subject, EventKind.METRIC, "ppo/iteration", {"step": 3, **figures, "kl_per_turn": 0.4})
    alarm = {"iteration": 3, "value": 0.4, "limit": 0.15, "advice": "steps are too large"}
    platform.tell(subject, EventKind.ALARM, "kl_high", alarm)
    expect(page.get_by_test_id("curve KL per turn")).to_contain_text("0.4")
    expect(page.get_by_text("iteration 3: 0.4, limit 0.15; steps are too large")).to_be_visible()

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("link", name="Rounds", exact=True).first.click()
    row = page.get_by_role("table", name="Rounds").get_by_role("row").filter(has_text=f"#{number}")
    expect(row).to_contain_text("30.0\N{NO-BREAK SPACE}%")
    expect(row).to_contain_text("running")
    page.wait_for_timeout(500)
    streams = [url for url in asked if "/v1/events" in url]
    assert len(streams) == 1 and f"subject=round%3A{number}" in streams[0]
    asked.clear()
    page.wait_for_timeout(3000)
    assert [url for url in asked if re.search(r"/v1/(rounds/\d|events)", url)] == []
    row.get_by_role("link").click()
    expect(curve).to_be_visible()
    page.wait_for_timeout(500)
    [stream] = [url for url in asked if "/v1/events" in url]
    assert f"subject=round%3A{number}&subject=run%3Around-{number}-ppo" in stream

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Keep it running").click()
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    assert platform.get(f"/v1/rounds/{number}")["state"] == "running"
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the round").click()
    expect(page.locator("header", has=page.get_by_role("heading", name="Round"))).to_contain_text("cancelled")
    expect(curve).to_contain_text("50.0\N{NO-BREAK SPACE}%")  # the past is fetched once nothing is live

    page.get_by_role("link", name="Rounds", exact=True).first.click()
    row = page.get_by_role("table", name="Rounds").get_by_role("row").filter(has_text=f"#{number}")
    expect(row).to_contain_text("30.0\N{NO-BREAK SPACE}%")
    row.get_by_text("smoke").click()
    expect(page).to_have_url(re.compile(rf"/rounds/{number}$"))


def test_a_round_that_never_began_takes_its_turn_anew(platform: Platform, signed: Signed) -> None:
    with Deskhand(platform.url, platform.token) as client:
        first = client.start_round("smoke", {"description": "it runs"}).id
        second = client.start_round("smoke", {"description": "it waits"}).id
        page = signed.open(f"/rounds/{second}")
        expect(page.get_by_text("In line")).to_be_visible()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Cancel the round").click()
        expect(page.get_by_text("It never began")).to_be_visible()
        expect(page.get_by_text("In line")).to_have_count(0)
        page.get_by_role("button", name="Retry", exact=True).click()
        expect(page.get_by_text("In line")).to_be_visible()
        assert client.round(second).state == "queued"
        for number in (second, first):
            client.cancel_round(number)
        expect(page.get_by_text("It never began")).to_be_visible()


@pytest.mark.parametrize("width", [pytest.param(1366, marks=pytest.mark.slow), 390])
def test_long_texts_scroll_in_their_place(platform: Platform, signed: Signed, width: int) -> None:
    long = "Read every word of this. " * 800
    typed = Decision(actions=(TypeText(text=long),), text=long, thought=long)
    trajectory = record(platform, decisions=[typed], instruction=f"First line.\n{long}")
    signed.page.set_viewport_size({"width": width, "height": 844})
    page = signed.open(f"/trajectories/{trajectory}?step=0")
    expect(page.get_by_role("region", name="Timeline")).to_be_in_viewport()
    instruction = page.get_by_test_id("instruction")
    assert instruction.evaluate("(box) => box.innerText.split('\\n')[0]") == "First line."
    instruction.focus()
    page.keyboard.press("PageDown")
    page.wait_for_function("() => document.querySelector('[data-testid=instruction]').scrollTop > 0")
    assert page.evaluate("() => document.documentElement.scrollHeight") < 4000


HELD_KEY = """(times) => new Promise((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    if (data === times) done();
  };
  for (let time = 1; time <= times; time += 1) port2.postMessage(time);
})"""
"""A key held down on a slow machine: the next press is there before the last is drawn."""


def test_a_long_replay_loads_only_what_is_looked_at(platform: Platform, signed: Signed) -> None:
    trajectory = record(platform, steps=500)
    page, asked = signed.page, list[str]()
    page.on("request", lambda request: asked.append(request.url))
    signed.open(f"/trajectories/{trajectory}?step=260")
    expect(page.get_by_test_id("place")).to_have_text("Step 260 of 500")
    expect(page.get_by_test_id("raw")).to_have_text("reply 260")
    strip = page.get_by_role("list", name="Steps")
    expect(strip.get_by_role("button", name="step 260")).to_be_visible()
    assert strip.get_by_role("listitem").count() < 80

    def pages() -> set[str]:
        return {found[1] for url in asked if (found := re.search(r"/steps\?offset=(\d+)&limit=50", url))}

    assert "250" in pages() and len(pages()) <= 4 and not pages() & {"0", "450"}
    page.evaluate(HELD_KEY, 130)
    expect(page.get_by_test_id("raw")).to_have_text("reply 390")
    expect(page).to_have_url(re.compile(r"\?step=390$"))
    assert "0" not in pages()
    page.keyboard.press("End")
    expect(page.get_by_test_id("place")).to_have_text("End after 500")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("raw")).to_have_text("reply 499")
    page.get_by_test_id("strip").evaluate("strip => strip.scrollTo({left: 0})")
    strip.get_by_role("button", name=re.compile("^step 3(,|$)")).click()
    expect(page.get_by_test_id("raw")).to_have_text("reply 3")
    counts = [sum(f"offset={offset}&" in url for url in asked) for offset in pages()]
    assert max(counts) == 1  # what was loaded is kept


def test_a_running_episode_grows_under_the_reader(platform: Platform, signed: Signed) -> None:
    trajectory = grow(platform, None, range(49))
    page = signed.open(f"/trajectories/{trajectory}?step=48")
    expect(page.get_by_test_id("raw")).to_have_text("reply 48")
    expect(page.get_by_role("button", name="Next step")).to_be_disabled()
    grow(platform, trajectory, range(49, 52))
    expect(page.get_by_test_id("place")).to_have_text("Step 48 of 52")
    page.keyboard.press("End")
    expect(page.get_by_test_id("raw")).to_have_text("reply 51")
    grow(platform, trajectory, range(52, 53), ends=True)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("list", name="Steps").get_by_role("button", name="end")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_test_id("place")).to_have_text("End after 53")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("raw")).to_have_text("reply 52")


def test_trajectories_are_found_by_words_and_turns_and_kept_as_a_view(
    platform: Platform, signed: Signed
) -> None:
    long, _ = record(platform, steps=7), record(platform)
    page = signed.open("/trajectories")
    rows = page.get_by_role("table", name="Trajectories").get_by_role("row")
    page.get_by_label("Words").fill('img "src x" -nowhere')
    page.get_by_label("Words").press("Enter")
    expect(page).to_have_url(re.compile("text="))
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Turns from").fill("7")
    page.get_by_label("Turns from").press("Enter")
    page.get_by_label("Turns to").fill("7")
    page.get_by_label("Turns to").press("Enter")
    page.get_by_label("Begun from").fill("2026-01-01")
    expect(rows).to_have_count(2)  # the header is one
    expect(rows.nth(1).get_by_role("link")).to_have_attribute("href", f"/trajectories/{long}")
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name").fill("seven turns")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Saved view")).to_have_value("seven turns")
    page.get_by_label("Begun until").fill("2026-01-02")
    expect(page.get_by_text("No trajectory matches")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Begun until")).to_have_value("2026-01-02")
    page.get_by_label("Saved view").select_option("seven turns")
    expect(page.get_by_label("Begun until")).to_have_value("")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Forget the view").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_label("Saved view")).to_have_value("seven turns")
    page.get_by_role("button", name="Forget the view").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_label("Saved view")).to_have_count(0)
    page.get_by_label("Words").fill("--- !!!")
    page.get_by_label("Words").press("Enter")
    expect(page.get_by_text("nothing to search for")).to_be_visible()
    page.goto("about:blank")
    signed.complaints.clear()  # the browser notes the refusal


def test_two_episodes_stand_side_by_side_from_where_they_part(platform: Platform, signed: Signed) -> None:
    one, other = record(platform, steps=9), record(platform, steps=11, other_at=4)
    page = signed.open(f"/trajectories/{one}")
    page.get_by_role("button", name="Compare with").click()
    page.get_by_role("dialog").get_by_role("link").filter(has_text="11 turns").click()
    expect(page.get_by_text("They part at row 4.")).to_be_visible()
    assert f"other={other}" in page.url
    first, second = (page.get_by_role("region", name=name, exact=True) for name in ("First", "Second"))
    expect(first.get_by_test_id("raw")).to_have_text("reply 4")
    expect(second.get_by_test_id("raw")).to_have_text("another reply")
    page.keyboard.press("ArrowDown")
    expect(second.get_by_test_id("raw")).to_have_text("reply 5")
    page.get_by_role("button", name="Row 9: apart").click()
    expect(first.get_by_text("No step here.")).to_be_visible()
    expect(second.get_by_test_id("raw")).to_have_text("reply 9")
    page.keyboard.press("End")
    for side in (first, second):
        expect(side.get_by_role("heading", name="End")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Row 11: the ends")).to_have_attribute("aria-current", "step")
    signed.open(f"/compare?one={one}&other={one}")
    expect(page.get_by_text("They never part.")).to_be_visible()
    signed.open("/compare")
    expect(page.get_by_text("Two trajectories are needed")).to_be_visible()


@pytest.mark.slow
def test_of_a_longer_episode_it_is_said_how_much_is_compared(platform: Platform, signed: Signed) -> None:
    long, short = record(platform, steps=2003), record(platform, steps=3)
    page = signed.open(f"/compare?one={long}&other={short}")
    first, second = (page.get_by_role("region", name=name, exact=True) for name in ("First", "Second"))
    expect(first).to_contain_text("The first 2,000 of 2,003 steps are compared.")
    expect(second).not_to_contain_text("are compared")
    page.keyboard.press("End")
    expect(first.get_by_role("heading", name="From step 2000 on")).to_be_visible()
    expect(first).to_contain_text("Not compared.")
    expect(first.get_by_role("img")).to_have_count(0)
    expect(second.get_by_role("heading", name="End")).to_be_visible()
    first.get_by_role("link", name="someone").click()
    expect(page.get_by_test_id("place")).to_have_text("Step 2000 of 2003")


def test_a_replay_says_which_keys_it_knows(platform: Platform, signed: Signed) -> None:
    page = signed.open(f"/trajectories/{record(platform, steps=2)}")
    button = page.get_by_role("button", name="Keys")
    keys = page.get_by_role("list", name="Keys")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(keys).to_contain_text("play, pause")
    page.keyboard.press("?")
    expect(keys).to_have_count(0)
    page.get_by_role("textbox", name="Note").press("?")
    expect(keys).to_have_count(0)
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(keys).to_contain_text("mark the step good, bad")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_phone_shows_every_page_without_scrolling_sideways(
    platform: Platform, browser: Browser, scheme: Any
) -> None:
    trajectory = record(platform)
    compared = f"/compare?one={trajectory}&other={record(platform)}"
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{platform.url}/#token={platform.token}")
    for path in ("/rounds", "/tasks", "/trajectories", f"/trajectories/{trajectory}?step=1", compared):
        page.goto(f"{platform.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^Loading"))).to_have_count(0)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, path
    back = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    lightness = float(re.findall(r"[\d.]+", back)[0])  # of 100, as the browser tells an OKLCH colour
    assert (lightness > 50) == (scheme == "light")
    context.close()


def test_a_filter_is_typed_to_its_end(signed: Signed) -> None:
    def one_more(route: Route) -> None:
        response = route.fetch()
        known = response.json()
        route.fulfill(response=response, json=[{**known[0], "id": "fake/press"}, *known])

    page = signed.page
    page.route("**/v1/catalog", one_more)
    signed.open("/trajectories")
    expect(page.locator('option[value="fake/press"]')).to_be_attached()
    task = page.get_by_label("Task", exact=True)
    task.click()
    for wanted in ("fake/press-in-order", "fake/press-button"):
        page.keyboard.press("Control+a")
        page.keyboard.press("Backspace")
        page.keyboard.type(wanted, delay=20)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"task={wanted.replace('/', '(/|%2F)')}$"))
        expect(task).to_have_value(wanted)
        expect(task).to_be_focused()


def test_the_curves_of_a_round_tried_again_are_those_of_the_last_try(signed: Signed) -> None:
    now: dict[str, Any] = {"state": "failed", "iterations": 1}

    def round_now(route: Route) -> None:
        shared = {"state": now["state"], "reason": None, "policy_out": None, "started_at_s": 1.0}
        phase = {"name": "ppo", "kind": "ppo", "attempt": 0, "run_id": "round-1-ppo", "progress": None}
        told = {"id": 1, "preset": "smoke", "cancelling": False, "pausing": False, "promoted": None, **shared}
        phases = [{**phase, **shared, "metrics": {}, "ended_at_s": None}]
        ended = None if now["state"] == "running" else 2.0
        route.fulfill(json={**told, "phases": phases, "rows": [], "created_at_s": 1.0, "ended_at_s": ended})

    def events(route: Route) -> None:
        iterations = range(1, now["iterations"] + 1)
        metric = {"at_s": 1.0, "subject": "run:round-1-ppo", "kind": "metric", "name": "ppo/iteration"}
        told = [{"id": i, **metric, "data": {"step": i, "success_sampled": i / 10}} for i in iterations]
        body = "".join(f"id: {one['id']}\nevent: metric\ndata: {json.dumps(one)}\n\n" for one in told)
        route.fulfill(content_type="text/event-stream", body=body)

    page = signed.page
    page.route(re.compile(r"/v1/rounds/1(/retry)?$"), round_now)
    page.route(
        re.compile(r"/v1/rounds/1/phases/"), lambda route: route.fulfill(json={"text": "", "over": True})
    )
    page.route(re.compile(r"/v1/events\?"), events)
    signed.open("/rounds/1")
    curve = page.get_by_test_id("curve Success")
    expect(curve).to_contain_text("10.0")
    page.get_by_role("button", name="Retry from…").click()
    now.update(state="running", iterations=3)
    page.get_by_role("button", name="Retry from ppo").click()
    expect(curve).to_contain_text("30.0")
    now.update(state="done", iterations=9)
    header = page.locator("header", has=page.get_by_role("heading", name="Round"))
    expect(header.get_by_title("done", exact=True)).to_be_visible()
    expect(curve).to_contain_text("90.0")
    page.unroute_all(behavior="ignoreErrors")
