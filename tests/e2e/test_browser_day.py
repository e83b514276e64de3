"""The page over real browsers: a task is submitted, watched live and replayed, and no text of its harms."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from served_platform import MARKUP, Platform, Signed
from test_people import begun, until
from waiting_model import waiting_model

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
TASK = "miniwob/click-test"
ALIVE = "() => document.querySelector('img[alt=\"The screen, live\"]')?.naturalWidth > 0"
HOSTILE_PAGE = f"<!doctype html><title>{html.escape(MARKUP)}</title><button>{html.escape(MARKUP)}</button>"
OWN_TASK: dict[str, Any] = {
    "id": f"own/{MARKUP}",
    "instruction": MARKUP,
    "labels": {MARKUP: MARKUP},
    "environment": {
        "kind": "browser",
        "settings": {"url": f"data:text/html,{quote(HOSTILE_PAGE)}", "viewport_px": [400, 300]},
    },
    "verifier": {
        "name": "expression",
        "settings": {"expression": f"document.title === {json.dumps(MARKUP)}"},
    },
}


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with waiting_model(thinks_s=1) as url:
        yield url


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[Platform]:
    made = Platform(tmp_path_factory.mktemp("home"), kinds=["browser"], endpoints=[model])
    yield made
    made.stop()


@pytest.mark.slow
def test_a_browser_task_is_submitted_watched_and_replayed(
    platform: Platform, researcher: Signed, model: str
) -> None:
    page = researcher.open(f"/tasks?task={TASK}")
    screen = page.get_by_role("img", name=f"First screen of {TASK}, seed 0")
    expect(screen).to_be_visible()
    page.get_by_label("Seed").fill("5")
    page.get_by_role("button", name="Submit").click()
    queue = page.get_by_role("table", name="Queue").get_by_role("row")
    expect(queue.filter(has_text=TASK)).to_contain_text("success")

    page.get_by_label("Policy").select_option("openai")
    page.get_by_label("Model").fill("waits")
    page.get_by_label("Address").fill(model)
    page.get_by_label("Seed").fill("6")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name="Live", exact=True).first.click()
    card = page.get_by_role("list", name="Sandboxes").get_by_role("listitem").first
    card.get_by_role("link", name=TASK).click()
    expect(page.get_by_text(re.compile("^browser · "))).to_be_visible()
    page.wait_for_function(ALIVE)
    [task] = [one for one in platform.get("/v1/tasks")["items"] if one["seed"] == 6]
    path = f"/v1/trajectories/{task['trajectory_id']}/steps"
    until(lambda: platform.get(path)["items"])
    platform.send("DELETE", f"/v1/tasks/{task['id']}")
    expect(page.get_by_text("This sandbox was given back")).to_be_visible()
    page.get_by_role("link", name="Replay what happened").click()
    expect(page.get_by_test_id("raw")).to_contain_text("wait(seconds=1)")
    page.wait_for_function("() => document.querySelector('main img')?.naturalWidth > 0")
    researcher.complaints.clear()  # the browser notes that the lease is gone

    page = researcher.open(f"/trajectories?task={quote(TASK, safe='')}&outcome=success")
    page.get_by_role("table", name="Trajectories").get_by_role("link").first.click()
    expect(page.locator("[data-mark=click]")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_test_id("place")).to_have_text(re.compile(r"End after \d+"))


def unharmed(page: Page) -> None:
    assert page.locator("#bold, main img[src=x]").count() == 0
    assert page.evaluate("() => window.harmed") is None


def test_a_hostile_task_and_a_hostile_title_are_shown_as_text(
    platform: Platform, signed: Signed, model: str
) -> None:
    policy = {"name": "openai", "settings": {"base_url": model, "model": MARKUP}}
    order = {"task": OWN_TASK, "policy": policy, "labels": {MARKUP: MARKUP}}
    task = begun(platform, order)
    page = signed.open("/tasks")
    expect(page.get_by_role("table", name="Queue")).to_contain_text(MARKUP)
    unharmed(page)
    signed.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("main")).to_contain_text(MARKUP)
    unharmed(page)
    signed.open("/sandboxes")
    card = page.get_by_role("list", name="Sandboxes").get_by_role("listitem").first
    expect(card).to_contain_text(MARKUP)
    unharmed(page)
    card.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(MARKUP)
    page.wait_for_function(ALIVE)
    unharmed(page)
    [lease] = platform.get("/v1/sandboxes")["items"]
    assert lease["task_id"] == OWN_TASK["id"]
    until(lambda: platform.get(f"/v1/trajectories/{task['trajectory_id']}/steps")["items"])
    platform.send("DELETE", f"/v1/tasks/{task['id']}")
    expect(page.get_by_text("This sandbox was given back")).to_be_visible()
    signed.complaints.clear()  # the browser notes that the lease is gone

    page = signed.open("/trajectories")
    expect(page.get_by_role("table", name="Trajectories").get_by_role("row").nth(1)).to_contain_text(MARKUP)
    unharmed(page)
    signed.open(f"/trajectories/{task['trajectory_id']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text(MARKUP)
    expect(page.get_by_test_id("instruction")).to_have_text(MARKUP)
    expect(page.locator("main")).to_contain_text(f"openai:{MARKUP}")
    unharmed(page)
