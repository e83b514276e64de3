"""Accounts in the page: an administrator's day, and what a smaller role is not let through to."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from served_platform import MARKUP, Platform, Signed, record

from deskhand_flywheel.types import EventKind
from deskhand_platform.accounts.access import ROLES, Role

pytestmark = pytest.mark.browser

Open = Callable[..., Page]

OFFERED: dict[str, dict[str, str]] = {
    "/rounds": {"Start a round": "rounds:write"},
    "/rounds/policy": {"Promote or roll back": "policies:write"},
    "/rounds/schedules": dict.fromkeys(("Add a schedule", "Delete schedule 1"), "rounds:write"),
    "/flywheel": {
        "Route episodes": "datasets:write",
        **dict.fromkeys(("Check the store", "See what may go"), "store:write"),
    },
    "/tasks/evaluations": {"Measure": "datasets:write"},
    "/tasks": dict.fromkeys(("Submit", "Preview"), "tasks:write"),
    "replay": {
        "Branch…": "tasks:write",
        **dict.fromkeys(("Good", "Bad", "Add"), "annotations:write"),
    },
    "round": dict.fromkeys(("Pause", "Cancel", "Clone"), "rounds:write"),
}
"""What pages offer, and the scope of those they offer it to."""


@pytest.fixture
def somebody(platform: Platform, browser: Browser) -> Iterator[Open]:
    """Opens a browser of their own at a size, and signs it in by name and password."""
    contexts = []

    def sign_in(name: str, password: str, path: str = "/", width: int = 1366) -> Page:
        contexts.append(browser.new_context(viewport={"width": width, "height": 768}))
        page = contexts[-1].new_page()
        page.goto(f"{platform.url}{path}")
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        return page

    yield sign_in
    for context in contexts:
        context.close()


def first_password(platform: Platform) -> str:
    """As `deskhand serve` printed it."""
    printed = (platform.home / "serve.log").read_text()
    assert printed.count("name      owner") == 1
    return printed.split("password  ")[1].split()[0]


def add_user(page: Page, name: str, role: str) -> str:
    page.get_by_role("button", name="Add a user").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Role", exact=True).select_option(role)
    page.get_by_role("button", name="Add", exact=True).click()
    return shown_once(page)


def shown_once(page: Page) -> str:
    secret = page.get_by_test_id("secret").inner_text()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_test_id("secret")).to_have_count(0)
    return secret


def status(platform: Platform, token: str, path: str = "/v1/info") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{platform.url}{path}", headers=headers, trust_env=False, timeout=60).status_code


@pytest.mark.slow
def test_an_administrators_day(platform: Platform, somebody: Open) -> None:
    page = somebody("owner", first_password(platform))
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Admin").first.click()
    page.get_by_role("button", name="Add a user").click()
    page.get_by_label("Name", exact=True).fill("Not a name")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("a letter or digit first")
    page.get_by_role("button", name="Not now").click()
    password = add_user(page, "rita", "researcher")
    row = page.get_by_role("table", name="Users").get_by_role("row").filter(has_text="rita")
    expect(row).to_contain_text("researcher")

    theirs = somebody("rita", password)
    expect(theirs.get_by_role("link", name=re.compile("^rita"))).to_contain_text("researcher")
    expect(theirs.get_by_role("link", name="Admin")).to_have_count(0)

    row.get_by_role("button", name="Role: rita").click()
    page.get_by_label("Role", exact=True).select_option("operator")
    page.get_by_role("button", name="Change the role").click()
    expect(row).to_contain_text("operator")

    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Tokens").click()
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("What it is for").fill(MARKUP[:64])
    page.get_by_label("Whose").select_option("rita")
    page.get_by_label("How long").select_option("One day")
    page.get_by_label("tasks:read").check()
    page.get_by_role("button", name="Make", exact=True).click()
    token = shown_once(page)
    assert (status(platform, token), status(platform, token, "/v1/rounds")) == (200, 403)
    made = page.get_by_role("table", name="API tokens").get_by_role("row").filter(has_text="rita")
    expect(made).to_contain_text(MARKUP[:64])
    made.get_by_role("button").click()
    page.get_by_role("button", name="Keep it").click()
    assert status(platform, token) == 200
    made.get_by_role("button").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    expect(made).to_contain_text("nothing: revoked")
    assert status(platform, token) == 401

    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Quotas").click()
    page.get_by_role("button", name="Limits of rita").click()
    page.get_by_label("Tasks").fill("many")
    expect(page.get_by_role("button", name="Set the limits")).to_be_disabled()
    page.get_by_label("Tasks").fill("5")
    page.get_by_label("Stored").fill("2 GB")
    page.get_by_role("button", name="Set the limits").click()
    quota = page.get_by_role("table", name="Quotas").get_by_role("row").filter(has_text="rita")
    expect(quota).to_contain_text("0 of 5")
    expect(quota).to_contain_text("0 B of 2 GB")

    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("table", name="Settings")).to_contain_text("quotas.tasks")

    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Users").click()
    row.get_by_role("button", name="Disable: rita").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    expect(theirs.get_by_role("heading", name="Sign in to Deskhand")).to_be_visible()

    hostile = httpx.post(
        f"{platform.url}/login", json={"name": MARKUP, "password": "x"}, trust_env=False, timeout=60
    )
    assert hostile.status_code == 401
    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Audit").click()
    log = page.get_by_role("table", name="Audit log")
    expect(log).to_contain_text(MARKUP)
    expect(log).to_contain_text("PATCH /v1/users/{name}")
    page.get_by_label("Result").select_option("refused")
    expect(log).not_to_contain_text("PATCH")
    page.get_by_label("Who").fill("owner")
    expect(log).to_contain_text("422")
    page.get_by_label("What").fill("nothing of the kind")
    expect(page.get_by_text("Nothing of that kind was done")).to_be_visible()
    assert page.evaluate("() => window.harmed") is None
    assert page.locator("#bold").count() == 0


def test_a_submitter_sees_their_own_and_is_refused_the_rest(
    platform: Platform, signed: Signed, somebody: Open
) -> None:
    someone_elses = record(platform)
    page = signed.open("/admin")
    password = add_user(page, "sam", "submitter")
    theirs = somebody("sam", password, width=390)
    expect(theirs).to_have_url(re.compile("/tasks$"))
    places = theirs.get_by_role("navigation", name="Main").last
    expect(places.get_by_role("link")).to_have_text(["Trajectories", "Tasks"])
    theirs.get_by_label("Task", exact=True).fill("fake/press-button")
    theirs.get_by_role("button", name="Submit").click()
    row = theirs.get_by_role("table", name="Queue").get_by_role("row").filter(has_text="fake/press-button")
    expect(row).to_contain_text("success")
    expect(theirs.get_by_role("link", name="Evaluations")).to_have_count(0)
    row.get_by_role("link").click()
    expect(theirs.get_by_test_id("place")).to_contain_text("Step 0 of")
    expect(theirs.get_by_role("button", name="Branch")).to_be_visible()
    expect(theirs.get_by_text("Nobody has marked or noted anything here.")).to_be_visible()
    expect(theirs.get_by_role("button", name="Good")).to_have_count(0)
    refused_keys = list[str]()
    theirs.on("request", lambda request: refused_keys.append(request.method))
    theirs.keyboard.press("g")
    theirs.keyboard.press("ArrowRight")
    expect(theirs.get_by_test_id("place")).not_to_contain_text("Step 0 of")
    assert set(refused_keys) <= {"GET"}

    theirs.goto(f"{platform.url}/trajectories")
    listed = theirs.get_by_role("table", name="Trajectories")
    expect(listed).to_contain_text("fake/press-button")
    expect(listed).not_to_contain_text("fake/markup")
    theirs.goto(f"{platform.url}/trajectories/{someone_elses}")
    expect(theirs.get_by_role("alert")).to_contain_text("no trajectory")
    for path in ("/rounds", "/rounds/new", "/tasks/evaluations", "/admin", "/admin?part=audit"):
        theirs.goto(f"{platform.url}{path}")
        expect(theirs.get_by_text("This is not for your role")).to_be_visible()
    refused = theirs.evaluate(
        """async () => Promise.all(
            ["/v1/users", "/v1/audit", "/v1/rounds", "/v1/settings", "/v1/events?follow=false"]
                .map(async (path) => (await fetch(path)).status))"""
    )
    assert refused == [403] * 5
    # another site's page has no header of ours, and our page has
    answered = theirs.evaluate(
        """async () => {
            const send = (headers) => fetch("/v1/tasks", {
                method: "POST", headers: {"Content-Type": "application/json", ...headers},
                body: JSON.stringify({task_id: "fake/press-button"}),
            });
            return [(await send({})).status, (await send({"X-Deskhand-Page": "1"})).status];
        }"""
    )
    assert answered == [403, 201]


@pytest.mark.parametrize(
    "role",
    [
        Role.ANNOTATOR,
        pytest.param(Role.OPERATOR, marks=pytest.mark.slow),
        pytest.param(Role.RESEARCHER, marks=pytest.mark.slow),
    ],
)
def test_a_role_is_offered_what_it_may_do_and_no_more(
    platform: Platform, signed: Signed, somebody: Open, role: Role
) -> None:
    trajectory = record(platform, steps=2)
    started = platform.post("/v1/rounds", {"preset": "smoke"})
    if not platform.get("/v1/schedules"):
        platform.post("/v1/schedules", {"preset": "smoke", "cron": "0 3 1 1 *"})
    alarm = {"state": "raised", "value": 1.5, "limit": 2.0, "advice": "look"}
    platform.tell("platform", EventKind.ALARM, f"raised_for_{role}", alarm)
    password = add_user(signed.open("/admin"), f"a-{role}", role)
    refused = list[str]()
    page = somebody(f"a-{role}", password)
    page.on("response", lambda answer: refused.append(answer.url) if answer.status == 403 else None)
    places = page.get_by_role("navigation", name="Main").first
    expect(places.get_by_role("link", name="Admin")).to_have_count(0)
    commands = "rounds:write" in ROLES[role]
    raised = page.get_by_role("list", name="Alarms").get_by_role("listitem").filter(has_text=role)
    expect(raised).to_be_visible()
    expect(raised.get_by_role("button")).to_have_count(int(commands))

    def opened(path: str) -> None:
        page.goto(f"{platform.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("link", name=re.compile(f"^a-{role}"))).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^Loading"))).to_have_count(0)

    addresses = {"replay": f"/trajectories/{trajectory}?step=1", "round": f"/rounds/{started['id']}"}
    for place, offered in OFFERED.items():
        opened(addresses.get(place, place))
        for name, scope in offered.items():
            one = page.get_by_role("button", name=name).or_(page.get_by_role("link", name=name, exact=True))
            expect(one).to_have_count(int(scope in ROLES[role]))
    opened("/rounds/schedules")
    expect(page.get_by_role("switch", name="Schedule 1 enabled")).to_be_enabled(enabled=commands)
    opened("/rounds/new")
    expect(page.get_by_role("heading", name="Start a round")).to_be_visible()
    expect(page.get_by_text("This is not for your role")).to_have_count(int(not commands))
    for path in ("/compare", "/rounds/compare", "/annotate", "/sandboxes", "/account"):
        opened(path)
    assert refused == []


@contextmanager
def by_token(platform: Platform, browser: Browser, **order: Any) -> Generator[Page]:
    """A page that came with a token made to order."""
    made = platform.post("/v1/tokens", order)
    context = browser.new_context(base_url=platform.url)
    page = context.new_page()
    page.goto(f"/#token={made['token']}")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    yield page
    context.close()


def test_a_token_for_a_part_of_it_is_offered_no_other_token(platform: Platform, browser: Browser) -> None:
    with by_token(platform, browser, label="to look", scopes=["tasks:read", "rounds:read"]) as page:
        page.get_by_role("link", name=re.compile("^owner")).click()
        expect(page.get_by_text("You came with a token that is for some of this")).to_be_visible()
        expect(page.get_by_role("table", name="API tokens")).to_contain_text("to look")
        for name in ("Make a token", re.compile("^Revoke"), "Change the password"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_a_first_password_is_in_the_list_of_users_at_once(platform: Platform, signed: Signed) -> None:
    platform.post("/v1/users", {"name": "robot", "role": "operator", "token_only": True})
    page = signed.open("/admin")
    row = page.get_by_role("table", name="Users").get_by_role("row").filter(has_text="robot")
    expect(row.get_by_role("cell", name="tokens", exact=True)).to_be_visible()
    row.get_by_role("button", name="New password: robot").click()
    page.get_by_role("button", name="Make a new password").click()
    shown_once(page)
    expect(row.get_by_role("cell", name="password, tokens")).to_be_visible()


def test_a_limited_token_of_an_administrator_is_offered_no_change_of_accounts(
    platform: Platform, browser: Browser
) -> None:
    with by_token(platform, browser, label="for a minute", lasts_s=600) as page:
        page.goto("/admin")
        table = page.get_by_role("table", name="Users")
        expect(table).to_contain_text("owner")
        expect(page.get_by_role("button", name="Add a user")).to_have_count(0)
        expect(table.get_by_role("button")).to_have_count(0)


@pytest.mark.slow
def test_people_keep_their_own_tokens_and_password(
    platform: Platform, signed: Signed, somebody: Open
) -> None:
    page = signed.open("/admin")
    password = add_user(page, "tess", "operator")
    theirs = somebody("tess", password)
    theirs.get_by_role("link", name=re.compile("^tess")).click()
    expect(theirs.get_by_text("No token yet")).to_be_visible()
    theirs.get_by_role("button", name="Make a token").click()
    theirs.get_by_label("What it is for").fill("my laptop")
    expect(theirs.get_by_label("Whose")).to_have_count(0)
    theirs.get_by_role("button", name="Make", exact=True).click()
    token = shown_once(theirs)
    assert status(platform, token) == 200
    theirs.get_by_label("Current password").fill("not it")
    theirs.get_by_label("New password").fill("a better one")
    theirs.get_by_role("button", name="Change the password").click()
    expect(theirs.get_by_role("alert")).to_contain_text("is not your password")
    theirs.get_by_label("Current password").fill(password)
    theirs.get_by_role("button", name="Change the password").click()
    expect(theirs.get_by_role("heading", name="Sign in to Deskhand")).to_be_visible()
    somebody("tess", "a better one")
    assert status(platform, token) == 200
