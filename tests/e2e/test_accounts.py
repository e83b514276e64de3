"""Accounts in the page: an administrator's day, and what a smaller role is not let through to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from served_platform import MARKUP, Platform, Signed, record

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


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
    return httpx.get(f"{platform.url}{path}", headers=headers, trust_env=False).status_code


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
    row.get_by_role("link").click()
    expect(theirs.get_by_test_id("place")).to_contain_text("Step 0 of")

    theirs.goto(f"{platform.url}/trajectories")
    listed = theirs.get_by_role("table", name="Trajectories")
    expect(listed).to_contain_text("fake/press-button")
    expect(listed).not_to_contain_text("fake/markup")
    theirs.goto(f"{platform.url}/trajectories/{someone_elses}")
    expect(theirs.get_by_role("alert")).to_contain_text("no trajectory")
    for path in ("/rounds", "/admin", "/admin?part=audit"):
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
