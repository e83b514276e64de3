"""What a reader has stays: their place in a list, what they typed, a mark that was not kept, a picture."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect
from served_platform import Platform, begin, in_a_thread, plain, record, write_end, write_steps

pytestmark = pytest.mark.browser
ON_FIRE = {"error": {"type": "internal", "message": "the store is on fire", "suggestions": []}}
AT_THE_TOP = r"""(list) => {
  const top = list.getBoundingClientRect().top + 40;  // below what names the columns
  const rows = [...list.querySelectorAll('[role=row]')].map((row) => [row.getBoundingClientRect().top, row]);
  const [[, first]] = rows.filter(([at]) => at >= top).sort(([one], [other]) => one - other);
  return first.innerText.match(/the \d+th/)[0];
}"""
COVERED = """new MutationObserver(() => {
  const cells = [...document.querySelectorAll('[data-testid=strip] li')].map((cell) => cell.style);
  const left = (cell) => Number(/translateX\\((.*)px\\)/.exec(cell.transform)[1]);
  cells.slice(1).forEach((cell, at) => {
    if (left(cell) < left(cells[at]) + parseFloat(cells[at].width)) window.covered = true;
  });
}).observe(document, { subtree: true, childList: true, attributes: true })"""


def refuse(route: Route) -> None:
    route.fulfill(status=500, json=ON_FIRE)


def test_who_reads_far_down_a_list_finds_that_place_again(platform: Platform, page: Page) -> None:
    async def write() -> None:
        async with await platform.store() as store:
            for number in range(60):
                begun = await begin(store, f"the {number}th")
                await write_end(store, await write_steps(store, [plain(0)], begun))

    in_a_thread(write)
    page.goto("/trajectories")
    table = page.get_by_role("table", name="Trajectories")
    expect(table.get_by_text("the 59th")).to_be_visible()
    table.evaluate("(list) => list.scrollTo(0, 720)")
    row = table.get_by_role("row").filter(has_text="the 35th")
    expect(row).to_be_visible()
    there = table.evaluate(AT_THE_TOP)
    row.get_by_role("link").click()
    expect(page.get_by_role("button", name="Next step")).to_be_visible()
    record(platform, steps=1, instruction="a newer one")
    page.wait_for_timeout(1100)  # a list of the last second is not asked for again
    with page.expect_response(lambda answer: "/v1/trajectories?limit=100" in answer.url):
        page.go_back()
    expect(page.locator("section[aria-busy=false]")).to_be_visible()
    assert table.evaluate(AT_THE_TOP) == there
    table.evaluate("(list) => list.scrollTo(0, 0)")
    expect(table.get_by_text("a newer one")).to_be_visible()


def test_on_a_phone_the_rows_of_a_list_are_links(platform: Platform, page: Page) -> None:
    record(platform, steps=1, instruction="to be opened")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/trajectories")
    page.get_by_role("table", name="Trajectories").get_by_role("link", name="to be opened").click()
    expect(page.get_by_test_id("instruction")).to_have_text("to be opened")


def test_a_press_beside_a_dialog_loses_nothing_that_was_typed(page: Page) -> None:
    page.goto("/flywheel")
    opening, dialog = page.get_by_role("button", name="Route episodes"), page.get_by_role("dialog")
    opening.click()
    expect(dialog).to_be_visible()
    page.mouse.click(20, 400)
    expect(dialog).to_have_count(0)
    opening.click()
    dialog.get_by_label("Routes, as YAML").fill("sft:\n")
    page.mouse.click(20, 400)
    expect(dialog.get_by_label("Routes, as YAML")).to_have_value("sft:\n")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)

    page.goto("/account")
    page.get_by_role("button", name="Make a token").click()
    dialog.get_by_label("What it is for").fill("a program")
    dialog.get_by_role("button", name="Make", exact=True).click()
    secret = page.get_by_test_id("secret")
    expect(secret).to_be_visible()
    page.mouse.click(20, 600)
    page.keyboard.press("Escape")
    expect(secret).to_be_visible()
    dialog.get_by_role("button", name="Done").click()
    expect(secret).to_have_count(0)


def test_what_is_written_about_a_step_waits_there(platform: Platform, page: Page) -> None:
    page.goto(f"/trajectories/{record(platform, steps=3)}?step=1")
    why, note = page.get_by_label(re.compile("^Why")), page.get_by_label("Note", exact=True)
    why.fill("the wrong field")
    note.fill("look again")
    note.blur()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", name="Marks of step 0")).to_be_visible()
    expect(why).to_have_value("")
    page.keyboard.press("ArrowRight")
    expect(why).to_have_value("the wrong field")
    expect(note).to_have_value("look again")
    page.keyboard.press("B")  # with Caps Lock
    marks = page.get_by_role("list", name="Marks")
    expect(marks).to_contain_text("bad: the wrong field")
    expect(why).to_have_value("")


def test_a_mark_that_was_not_kept_is_told_at_the_next_step(platform: Platform, page: Page) -> None:
    marking = re.compile("/marks/")
    page.route(marking, refuse)
    page.goto(f"/trajectories/{record(platform, steps=3, marked=False)}")
    panel = page.get_by_role("region", name="Marks and notes")
    expect(panel.get_by_role("button", name="Good")).to_be_enabled()
    with page.expect_response(marking):
        page.keyboard.press("g")
        page.keyboard.press("ArrowRight")
    expect(panel.get_by_role("heading", name="Marks of step 1")).to_be_visible()
    expect(panel.get_by_role("alert")).to_have_text("The mark of step 0 is not kept: the store is on fire")
    page.unroute(marking)
    page.keyboard.press("ArrowLeft")
    expect(panel.get_by_role("alert")).to_have_text("the store is on fire")
    page.keyboard.press("g")
    expect(panel.get_by_role("list", name="Marks")).to_contain_text("good")
    expect(panel.get_by_role("alert")).to_have_count(0)


def test_the_cells_of_a_replay_never_cover_each_other(platform: Platform, page: Page) -> None:
    page.add_init_script(COVERED)
    page.goto(f"/trajectories/{record(platform, steps=3)}?step=1")
    expect(page.get_by_test_id("strip").get_by_role("listitem")).to_have_count(4)
    expect(page.get_by_role("img", name="Screen at step 1")).to_be_visible()
    assert page.evaluate("() => window.covered") is None


def test_a_picture_that_could_not_be_fetched_is_fetched_again(platform: Platform, page: Page) -> None:
    pictures = re.compile("/v1/images/")
    page.route(pictures, lambda route: route.abort())
    page.goto(f"/trajectories/{record(platform, steps=2)}")
    screen = page.get_by_role("region", name="Screen")
    expect(screen.get_by_role("alert")).to_contain_text("The picture cannot be fetched.")
    page.unroute(pictures)
    screen.get_by_role("button", name="Try again").click()
    expect(screen.get_by_role("alert")).to_have_count(0)
    expect(screen.get_by_role("img", name="Screen at step 0")).to_have_js_property("complete", True)


def test_a_round_that_is_not_there_leaves_the_others_compared(platform: Platform, page: Page) -> None:
    platform.post("/v1/rounds", {"preset": "smoke"})
    page.goto("/rounds/compare?ids=[1,999]")
    expect(page.get_by_role("link", name="Round 1 · smoke")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_text("None of these rounds has told of this measure.")).to_be_visible()
    page.get_by_role("checkbox", name="#999").click()  # and it is not offered again
    expect(page.get_by_role("alert")).to_have_count(0)
    platform.post("/v1/rounds/1/cancel", {})


def test_a_list_outlives_a_poll_that_failed(platform: Platform, page: Page) -> None:
    platform.post("/v1/schedules", {"preset": "smoke", "cron": "0 3 1 1 *"})
    page.goto("/rounds/schedules")
    schedules = page.get_by_role("list", name="Schedules")
    expect(schedules).to_contain_text(re.compile(r"next \d{4}-01-01 \d\d:00:00 GMT"))
    page.get_by_role("button", name="Delete schedule").click()
    page.route(re.compile("/v1/schedules$"), refuse)
    for _ in range(2):  # by the second it is drawn what came of the first
        page.wait_for_timeout(1100)  # what was had within a second is not asked for again
        with page.expect_response(lambda response: response.status == 500):
            page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("alertdialog")).to_be_visible()


def test_a_form_with_changes_is_left_when_that_is_meant(page: Page) -> None:
    page.goto("/rounds/new?preset=smoke")
    description, leaving = page.get_by_role("textbox", name="description"), page.get_by_role("alertdialog")
    description.fill("mine")
    away = page.get_by_role("navigation", name="Main").get_by_role("link", name="Tasks")
    away.click()
    leaving.get_by_role("button", name="Stay").click()
    expect(description).to_have_value("mine")
    page.get_by_role("radio", name="flywheel").check()  # the same form
    expect(description).to_have_value("mine")
    away.click()
    leaving.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
