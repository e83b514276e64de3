"""A platform that answers 500: every place says so and can try again, and none takes it for an empty one."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, Page, Route, expect
from served_platform import Platform, record

pytestmark = pytest.mark.browser
ROUTER = Path(__file__).parents[2] / "web_ui/src/router.tsx"
ANSWER = {"error": {"type": "internal", "message": "the store is on fire", "suggestions": []}}
SOME = "01900b4a7c3e7d2f9c4b1a2d3e4f5a6b"
ASKED_FOR = {
    "/compare": f"?one={SOME}&other={SOME}",
    "/rounds/compare": "?ids=[1]",
    "/flywheel": "?dataset=sft@1",
    "/tasks/evaluations": "?old=policy-1&new=policy-2",
}
"""What a place needs in its address before it asks for anything."""
PARTS = ("tokens", "quotas", "audit", "settings")
NOTHING_YET = re.compile(
    r"\b(yet|nothing|never|is needed|none kept|no (other|such|task|trajectory|episode)\b)", re.I
)
ALL = re.compile(r"/v1/(?!info$)")


def places() -> list[str]:
    found = re.findall(r'^  path: "([^"]+)"', ROUTER.read_text(), re.MULTILINE)
    ids = {"/rounds/$id": "1"}
    shown = [path.replace("$id", ids.get(path, SOME)) + ASKED_FOR.get(path, "") for path in found]
    return [*shown, *(f"/admin?part={part}" for part in PARTS)]


def refuse(route: Route) -> None:
    route.fulfill(status=500, json=ANSWER)


def refusals(within: Page | Locator) -> Locator:
    page = within.page if isinstance(within, Locator) else within
    return within.get_by_role("alert").filter(has=page.get_by_role("button", name="Try again"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_place_takes_a_failure_for_nothing(page: Page) -> None:
    page.route(ALL, refuse)
    wrong = list[str]()
    for place in places():
        page.goto(place)
        expect(refusals(page).first, place).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^Loading")), place).to_have_count(0)
        said = page.get_by_role("main").inner_text()
        wrong += [f"{place}: {line}" for line in said.splitlines() if NOTHING_YET.search(line)]
    assert wrong == []


def test_curves_that_cannot_be_read_are_not_taken_for_none(platform: Platform, page: Page) -> None:
    number = platform.post("/v1/rounds", {"preset": "smoke"})["id"]
    streams = re.compile(r"/v1/events\?")
    for place in (f"/rounds/{number}", f"/rounds/compare?ids=[{number}]"):
        page.route(streams, refuse)
        page.goto("/rounds/schedules")
        page.goto(place)
        expect(refusals(page)).to_contain_text("The events of this run cannot be read.")
        expect(page.get_by_text(re.compile("No curve yet|Waiting for the first"))).to_have_count(0)
        page.unroute(streams)
        refusals(page).get_by_role("button", name="Try again").click()
        expect(refusals(page)).to_have_count(0)
        expect(page.get_by_text(re.compile("No curve yet|Waiting for the first"))).to_be_visible()

    platform.post(f"/v1/rounds/{number}/cancel", {})
    over = page.locator("header", has=page.get_by_role("heading", name="Round")).get_by_title("cancelled")
    page.route(streams, refuse)
    page.goto(f"/rounds/{number}")
    expect(over.first).to_be_visible()
    page.reload()
    expect(refusals(page)).to_contain_text("The events of this run cannot be read.")
    page.unroute(streams)
    refusals(page).get_by_role("button", name="Try again").click()
    expect(page.get_by_text("No curve yet")).to_be_visible()


def test_what_to_choose_from_is_asked_for_again(platform: Platform, page: Page) -> None:
    def mended(picker: Locator, wanted: str) -> None:
        """Its list could not be had, and is there after another try."""
        expect(refusals(picker).first).to_contain_text("the store is on fire")
        again = refusals(picker).get_by_role("button", name="Try again")
        page.unroute(lists)
        # the page asks by itself, too: a button may be gone, or its try may join one that was refused before
        while again.count():
            with suppress(PlaywrightError):
                again.first.click(timeout=1000)
        expect(refusals(picker)).to_have_count(0)
        expect(picker.locator("option", has_text=wanted).first).to_be_attached()
        page.route(lists, refuse)

    lists = re.compile(r"/v1/(policies|evaluations/suites|users|catalog)$")
    branches = re.compile(r"/v1/trajectories\?label=")
    trajectory = record(platform, steps=3)
    page.route(lists, refuse)
    page.goto("/tasks/evaluations")
    form = page.locator("form", has=page.get_by_label("Suite"))
    expect(refusals(form)).to_have_count(2)
    mended(form, "task")
    page.goto("/tasks")
    page.get_by_label("Policy", exact=True).select_option("local")
    mended(page.locator("form", has=page.get_by_label("Kept policy")), "deskhand-tiny")
    page.goto("/admin?part=tokens")
    page.get_by_role("button", name="Make a token").click()
    mended(page.get_by_role("dialog"), "owner")
    page.route(branches, refuse)
    page.goto(f"/trajectories/{trajectory}?step=1")
    expect(refusals(page.get_by_role("region", name="Branches"))).to_be_visible()
    page.get_by_role("button", name="Branch…").click()
    mended(page.get_by_role("dialog"), "deskhand-tiny")


def test_a_sandbox_that_could_not_be_asked_for_is_asked_for_again(page: Page) -> None:
    known = {"id": SOME, "kind": "fake", "owner": "somebody", "age_s": 1.0, "connected": True, "vnc": False}
    unset = dict.fromkeys(("task_id", "task", "trajectory_id", "taken_by"))
    one = re.compile(f"/v1/sandboxes/{SOME}$")
    page.route(one, lambda route: route.fulfill(json={**known, **unset}))
    page.goto(f"/sandboxes/{SOME}")
    expect(page.get_by_role("heading", name="fake sandbox")).to_be_visible()
    page.route(one, refuse)
    expect(page.get_by_role("alert")).to_have_text("the store is on fire")
    expect(page.get_by_role("heading", name="fake sandbox")).to_be_visible()
    page.unroute(one, refuse)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_clone_is_sent_again_under_its_key_until_it_is_changed(page: Page) -> None:
    def lost(route: Route) -> None:
        keys.append((route.request.post_data_json or {})["key"])
        refuse(route)

    keys, clone = list[str](), re.compile("/v1/rounds/7/clone$")
    page.add_init_script("delete Crypto.prototype.randomUUID")  # as over http from another computer
    page.route(re.compile("/v1/rounds/7$"), lambda route: route.fulfill(json={"id": 7, "config": {}}))
    page.route(clone, lost)
    page.goto("/rounds/new?from=7")
    page.get_by_label("Find a setting").fill("description")
    page.get_by_label("Find a setting").press("Enter")  # finds, and starts nothing
    start = page.get_by_role("button", name="Start a clone of round 7")
    for change in ("", "", "another"):
        if change:
            page.get_by_role("textbox", name="description").fill(change)
        with page.expect_response(clone):
            start.click()
        expect(start).to_be_enabled()
    first, again, changed = keys
    assert first == again != changed


def test_what_is_typed_outlives_a_poll_that_failed(page: Page) -> None:
    picture = {"digest": "", "format": "png", "width_px": 160, "height_px": 210, "url": "/none.png"}
    proposal = {"id": SOME, "trajectory_id": SOME, "step_index": 0, "instruction": "", "image": picture}
    proposal |= {"thought": "", "text": "", "actions": [], "asks": None, "answer_by_s": 0.0}
    polls, typed = re.compile("/v1/proposals$"), page.get_by_label(re.compile("or write the action"))
    page.route(polls, lambda route: route.fulfill(json={"items": [proposal]}))
    page.goto("/annotate")
    typed.fill("click(")
    page.route(polls, refuse)
    for _ in range(2):  # by the second it is drawn what came of the first
        with page.expect_response(lambda response: response.status == 500):
            pass
    expect(typed).to_have_value("click(")

    page.goto("/account")
    password = page.get_by_label("Current password")
    password.fill("a secret")
    page.route(re.compile("/v1/info$"), refuse)
    expect(page.get_by_role("status").filter(has_text="No connection")).to_be_visible()
    expect(password).to_have_value("a secret")


def test_older_rows_that_cannot_be_had_are_asked_for_again(platform: Platform, page: Page) -> None:
    def one_a_page(route: Route) -> None:
        route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url))

    def mended(within: Locator, rows: Locator) -> None:
        page.route(older, refuse)
        expect(rows).to_have_count(1)
        within.get_by_role("button", name="Show older").click()
        expect(within.get_by_role("alert")).to_have_text("the store is on fire")
        expect(rows).to_have_count(1)
        page.unroute(older)
        within.get_by_role("button", name="Show older").click()
        expect(rows).to_have_count(2)
        expect(within.get_by_role("alert")).to_have_count(0)

    older = re.compile("cursor=")
    page.route(re.compile(r"/v1/(trajectories|tasks)\?"), one_a_page)
    for seed in (1, 2):
        platform.post("/v1/tasks", {"task_id": "fake/press-button", "seed": seed})
    page.goto("/tasks")
    queue = page.locator("section", has=page.get_by_role("table", name="Queue"))
    mended(queue, queue.locator("tbody tr"))
    first, *_ = [record(platform, steps=1) for _ in range(3)]
    page.goto(f"/trajectories/{first}")
    page.get_by_role("button", name="Compare with…").click()
    mended(page.get_by_role("dialog"), page.get_by_role("dialog").get_by_role("listitem"))
