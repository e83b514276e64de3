"""An operator's day in a real browser: start, pause, log, retry, clone, compare, promote, schedule."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from served_platform import MARKUP, Platform, Signed, in_a_thread

from deskhand_flywheel.types import EventKind

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("SCREENSHOTS")
"""A folder: with it the pages are photographed for somebody to look at."""


def photograph(signed: Signed, browser: Browser, platform: Platform, path: str, name: str) -> None:
    """The page as a laptop and as a phone show it, light and dark."""
    if SHOTS is None:
        return
    for width, height, scheme in ((1366, 768, "light"), (1366, 768, "dark"), (390, 844, "light")):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            storage_state=signed.page.context.storage_state(),
        )
        page = context.new_page()
        page.goto(f"{platform.url}{path}")
        page.wait_for_timeout(2500)
        page.screenshot(path=str(Path(SHOTS) / f"{name}-{width}-{scheme}.png"), full_page=True)
        context.close()


def kept(platform: Platform, folder: Path, name: str) -> str:
    """A policy in the store; what its files hold is nothing to the page."""
    (folder / "weights.txt").write_text(name)

    async def keep() -> str:
        async with await platform.store() as store:
            return (await store.keep_policy(folder, parent_id=None, metadata={"name": MARKUP})).id

    return in_a_thread(keep)


def state(page: Page) -> Callable[[str], None]:
    """Waits for the state beside the round's heading."""
    header = page.locator("header", has=page.get_by_role("heading", name="Round"))
    return lambda wanted: expect(header.get_by_title(wanted, exact=True)).to_be_visible()


def number_of(page: Page) -> int:
    expect(page).to_have_url(re.compile(r"/rounds/\d+$"))
    return int(page.url.rsplit("/", 1)[1])


@pytest.mark.timeout(600)
def test_an_operators_day(platform: Platform, operator: Signed, browser: Browser, tmp_path: Path) -> None:
    signed = operator
    page = signed.open("/rounds")
    expect(page.get_by_text("No round yet")).to_be_visible()
    page.get_by_role("link", name="Start a round").click()

    # what cannot be is said at its field, by the page or by the server
    page.get_by_role("radio", name=re.compile("^smoke")).check()
    page.get_by_label("Find a setting").fill("ppo.iterations")
    iterations = page.get_by_label("iterations", exact=True)
    expect(iterations).to_have_value("2")
    iterations.fill("0")
    page.get_by_role("button", name="Start smoke").click()
    place = page.locator('[data-field="ppo.iterations"]')
    expect(place.get_by_role("alert")).to_have_text("At least 1, such as 50.")
    expect(place.get_by_role("textbox")).to_be_focused()
    place.get_by_role("textbox").fill("3")
    page.get_by_label("Find a setting").fill("ppo.tasks")
    page.locator('[data-field="ppo.tasks"] textarea').fill("miniwob/click-tes")
    signed.complaints.clear()
    page.get_by_role("button", name="Start smoke").click()
    place = page.locator('[data-field="ppo.tasks"]')
    expect(place.get_by_role("alert")).to_contain_text("did you mean miniwob/click-test")
    assert all("422" in one for one in signed.complaints), signed.complaints
    signed.complaints.clear()
    photograph(signed, browser, platform, "/rounds/new?preset=smoke", "new")
    place.get_by_role("button", name="Set tasks back").click()
    page.get_by_label("Find a setting").fill("ppo.threads")
    page.locator('[data-field="ppo.threads"] input').fill("1024")
    page.get_by_role("button", name="Start smoke").click()
    place = page.locator('[data-field="ppo.threads"]')
    expect(place.get_by_role("alert")).to_contain_text("1024 threads, each on a core of its own")
    signed.complaints.clear()
    place.get_by_role("button", name="Set threads back").click()
    page.get_by_role("button", name="Start smoke").click()
    first = number_of(page)
    assert platform.get(f"/v1/rounds/{first}")["config"]["ppo"]["iterations"] == 3

    # pause, and go on at the same step
    shows = state(page)
    expect(page.get_by_role("progressbar", name="ppo progress")).to_be_visible()
    log = page.get_by_role("log", name="Log of ppo")
    expect(log).to_contain_text("counting from 0 to 90000")
    page.get_by_role("button", name="Pause").click()
    shows("paused")
    expect(log).to_contain_text("stopped at")
    reached = platform.get(f"/v1/rounds/{first}")["phases"]
    done = next(phase["progress"]["done"] for phase in reached if phase["name"] == "ppo")
    page.get_by_role("button", name="Resume").click()
    shows("running")
    expect(log).to_contain_text(f"counting from {done} to 90000")
    subject = f"run:round-{first}-ppo"
    for step in range(1, 6):
        told = {
            "step": step, "success_sampled": 0.1 * step, "kl_per_turn": 0.02, "entropy": 1 - 0.1 * step,
            "reward_outcome": 0.1 * step, "reward_process": 0.02, "staleness_mean": 0.5, "staleness_max": 1,
            "turns": 30, "seconds": 20.0, "time_environment": 0.5, "time_inference": 0.3,
            "time_training": 0.2, "clip_fraction": 0.1, "explained_variance": 0.4,
        }  # fmt: skip
        platform.tell(subject, EventKind.METRIC, "ppo/iteration", told)
    greedy = {"success_greedy": 0.5, "success_greedy_low": 0.4, "success_greedy_high": 0.6}
    platform.tell(subject, EventKind.METRIC, "ppo/validation", {"step": 2, **greedy})
    platform.tell(subject, EventKind.METRIC, "ppo/validation", {"step": 5, **greedy, "success_greedy": 0.55})
    for chart in ("Success", "Reward parts", "Staleness", "Turns per second", "Time", "Entropy"):
        expect(page.get_by_test_id(f"curve {chart}")).to_be_visible()
    expect(page.get_by_test_id("curve Turns per second")).to_contain_text("1.5")
    photograph(signed, browser, platform, f"/rounds/{first}", "round")

    # stop it, and try a phase again
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the round").click()
    shows("cancelled")
    page.get_by_role("button", name="Retry from…").click()
    page.get_by_role("dialog").get_by_role("combobox").select_option("ppo")
    expect(page.get_by_text("ppo goes on from its checkpoint")).to_be_visible()
    page.get_by_role("button", name="Retry from ppo").click()
    shows("running")

    # a second like it, but for one thing
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_role("heading", name=f"Clone round {first}")).to_be_visible()
    page.get_by_label("Find a setting").fill("ppo.iterations")
    expect(page.get_by_label("iterations", exact=True)).to_have_value("3")
    page.get_by_label("iterations", exact=True).fill("4")
    page.get_by_role("button", name=f"Start a clone of round {first}").click()
    expect(page.get_by_role("heading", name=f"Round {first + 1}")).to_be_visible()
    second = number_of(page)
    assert platform.get(f"/v1/rounds/{second}")["config"]["ppo"]["iterations"] == 4
    state(page)("queued")

    page.get_by_role("link", name="Rounds", exact=True).first.click()
    photograph(signed, browser, platform, "/rounds", "rounds")
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_text("No round chosen")).to_be_visible()
    for number in (first, second):
        page.get_by_role("group", name="Rounds to compare").get_by_text(f"#{number}").click()
    curve = page.get_by_test_id("curve Success, greedy")
    expect(curve).to_contain_text("55.0\N{NO-BREAK SPACE}%")
    page.get_by_label("Measure").select_option("Entropy")
    expect(page.get_by_test_id("curve Entropy")).to_contain_text("0.5")
    expect(page).to_have_url(re.compile(r"measure=iteration"))
    photograph(signed, browser, platform, page.url.removeprefix(platform.url), "compare")

    # promote, and think better of it
    old, new = kept(platform, tmp_path, "old"), kept(platform, tmp_path, "new")
    page.get_by_role("link", name="Promoted policy").click()
    expect(page.get_by_text("Nothing was promoted yet")).to_be_visible()
    for policy, reason, act in (
        (old, MARKUP, "Promote"),
        (new, "better on the held-out tasks", "Promote"),
        (old, "people complained", "Roll back"),
    ):
        page.get_by_role("button", name="Promote or roll back").click()
        page.get_by_role("dialog").get_by_role("combobox").select_option(policy)
        expect(page.get_by_role("dialog").get_by_role("button", name=act)).to_be_disabled()
        page.get_by_label("Reason").fill(reason)
        page.get_by_role("dialog").get_by_role("button", name=act).click()
        # both were made by one run: what tells them apart is how their ids begin
        expect(page.get_by_test_id("promoted")).to_contain_text(policy.removeprefix("policy-")[:4])
    rows = page.get_by_role("table", name="Promotions").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("people complained")
    expect(rows.nth(3)).to_contain_text(MARKUP)
    photograph(signed, browser, platform, "/rounds/policy", "policy")

    # let rounds begin by themselves
    page.get_by_role("link", name="Schedules").click()
    expect(page.get_by_text("No schedule yet")).to_be_visible()
    page.get_by_role("button", name="Add a schedule").click()
    page.get_by_label("Cron expression").fill("61 * * * *")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("for example cron=")
    signed.complaints.clear()
    page.get_by_label("Cron expression").fill("30 4 * * *")
    page.get_by_role("button", name="Add", exact=True).click()
    listed = page.get_by_role("list", name="Schedules").get_by_role("listitem")
    expect(listed).to_contain_text("next 20")
    page.get_by_role("button", name="Add a schedule").click()
    page.get_by_label("Begins").select_option("successes")
    page.get_by_role("textbox", name="New successes").fill("1000")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(listed).to_have_count(2)
    expect(listed.nth(1)).to_contain_text("when there are 1,000 new successes; 0 by now")
    page.get_by_label("Schedule 1 enabled").click()
    expect(listed.first).to_contain_text("off")
    photograph(signed, browser, platform, "/rounds/schedules", "schedules")
    page.get_by_role("button", name="Delete schedule 1").click()
    page.get_by_role("button", name="Delete the schedule").click()
    expect(listed).to_have_count(1)
