"""Overview, flywheel, evaluations, previews and thumbnails in a real browser, against `deskhand serve`."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
import sqlalchemy as sa
from playwright.sync_api import Route, expect
from served_platform import MARKUP, Platform, Signed, in_a_thread, record

from deskhand_flywheel.tables import trajectories
from deskhand_flywheel.types import EventKind, SelectionRule
from deskhand_sandbox.types import JsonValue

pytestmark = pytest.mark.browser
QUALITY: JsonValue = {
    "steps": 40,
    "settled": 20,
    "auc": 0.875,
    "calibration_error": 0.125,
    "brier": 0.2,
    "bins": [
        {"count": 30, "mean_score": 0.2, "mean_label": 0.3},
        {"count": 10, "mean_score": 0.8, "mean_label": 0.7},
    ],
}
CALIBRATION: dict[str, JsonValue] = {
    "scorer": "prm:tried",
    "scaling": {"scale": 1.0, "shift": 0.0},
    "measured_on": "held-out tasks",
    "fitted": 8,
    "before": QUALITY,
    "after": QUALITY,
    "kappa": None,
    "marked": 0,
}


def keep(platform: Platform, folder: Path, **metadata: JsonValue) -> str:
    """A policy in the store, of one small file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text(str(metadata))

    async def write() -> str:
        async with await platform.store() as store:
            return (await store.keep_policy(folder, parent_id=None, metadata=metadata)).id

    return in_a_thread(write)


def select(platform: Platform, name: str) -> str:
    """A dataset of everything that failed."""

    async def write() -> str:
        async with await platform.store() as store:
            made = await store.select_dataset(name, SelectionRule.FAILURE)
            return f"{made.name}@{made.version}"

    return in_a_thread(write)


@pytest.mark.slow
def test_an_alarm_appears_while_the_overview_is_looked_at_and_is_acknowledged(
    platform: Platform, signed: Signed
) -> None:
    page = signed.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_role("list", name="Sandboxes").get_by_text("fake")).to_be_visible()
    told = {"state": "raised", "value": 1.5, "limit": 2.0, "unit": "GB free", "advice": MARKUP}
    platform.tell("platform", EventKind.ALARM, "disk_full_of_markup", told)
    alarms = page.get_by_role("list", name="Alarms").get_by_role("listitem")
    alarm = alarms.filter(has_text="disk full of markup")
    expect(alarm).to_contain_text(f"1.5 GB free, limit 2; {MARKUP}")
    expect(page.get_by_role("link", name=re.compile("1 alarm"))).to_be_visible()
    alarm.get_by_role("button", name=re.compile("^Acknowledge")).click()
    expect(alarm).to_contain_text("seen by owner")
    expect(page.get_by_role("link", name=re.compile("alarm"))).to_have_count(0)
    platform.tell("platform", EventKind.ALARM, "disk_full_of_markup", {"state": "cleared"})
    expect(alarm).to_have_count(0)


def test_a_task_is_previewed_before_it_is_submitted(platform: Platform, signed: Signed) -> None:
    page = signed.open("/tasks?task=fake/press-in-order")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("fake, ")
    expect(page.get_by_test_id("preview-instruction")).not_to_be_empty()  # nobody asked for it
    screen = page.get_by_role("img", name="First screen of fake/press-in-order, seed 0")
    expect(screen).to_be_visible()
    expect(screen).to_have_js_property("complete", True)
    assert screen.evaluate("image => image.naturalWidth") > 100
    assert platform.get("/v1/tasks")["items"] == []
    page.get_by_label("Seed").fill("3")
    expect(screen).to_have_count(0)
    expect(page.get_by_role("img", name="First screen of fake/press-in-order, seed 3")).to_be_visible()
    page.get_by_label("Task", exact=True).fill("fake/press-nothing")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Preview").get_by_role("alert")).to_contain_text("fake/press")
    signed.complaints.clear()  # the browser notes the refusal


@pytest.mark.slow
def test_a_policy_is_measured_and_compared(platform: Platform, signed: Signed, tmp_path: Path) -> None:
    old, new = (keep(platform, tmp_path / name, name=name) for name in ("old", "new"))
    page = signed.open("/tasks")
    page.get_by_role("link", name="Evaluations").click()
    page.get_by_label("Suite").select_option("chosen tasks")
    page.get_by_label("Task", exact=True).fill("fake/press-button")
    page.get_by_label("Episodes of each task").fill("3")
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("Queued.")).to_be_visible()
    row = page.get_by_role("table", name="Evaluations").get_by_role("row").filter(has_text="scripted oracle")
    expect(row).to_contain_text("fake/press-button, test seeds")
    expect(row.get_by_text("done")).to_be_visible(timeout=300_000)
    page.get_by_label("Old policy").select_option(old)
    page.get_by_label("New policy").select_option(new)
    expect(page.get_by_text("No task was measured with both.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("New policy")).to_have_value(new)


@pytest.mark.slow
def test_a_suite_is_put_together_measured_and_deleted(platform: Platform, signed: Signed) -> None:
    page = signed.open("/tasks/evaluations")
    page.get_by_role("combobox", name="Suite").select_option("chosen tasks")
    page.get_by_label("Task", exact=True).fill("fake/press-button")
    page.get_by_role("button", name="Add another task").click()
    page.get_by_label("Task", exact=True).fill("fake/press-in-order")
    page.get_by_role("button", name="Keep as a suite").click()
    dialog = page.get_by_role("dialog", name="Keep as a suite")
    dialog.get_by_label("Name").fill("smoke")
    expect(dialog).to_contain_text("Deskhand comes with a suite of this name")
    expect(dialog.get_by_role("button", name="Keep")).to_be_disabled()
    dialog.get_by_label("Name").fill("presses")
    dialog.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("combobox", name="Suite")).to_have_value("presses")
    # keeping it measures nothing yet
    assert all(len(one["tasks"]) == 1 for one in platform.get("/v1/evaluations")["items"])
    kept = {"name": "presses", "tasks": ["fake/press-button", "fake/press-in-order"], "own": True}
    assert platform.get("/v1/evaluations/suites")[-1] == kept
    expect(page.get_by_label("Replies")).to_be_disabled()  # the oracle draws none
    page.get_by_label("Episodes of each task").fill("2")
    page.get_by_role("button", name="Measure").click()
    row = page.get_by_role("table", name="Evaluations").get_by_role("row").filter(has_text="presses, 2 tasks")
    expect(row.get_by_text("done")).to_be_visible(timeout=300_000)
    row.get_by_text("Task by task").click()
    expect(row.get_by_text("fake/press-in-order, sampled")).to_be_visible()
    page.get_by_role("button", name="Delete the suite").click()
    page.get_by_role("button", name="Keep it").click()
    assert platform.get("/v1/evaluations/suites")[-1] == kept
    page.get_by_role("button", name="Delete the suite").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("option", name="presses, 2 tasks")).to_have_count(0)
    expect(row).to_have_count(0)  # measured still, and named by its number of tasks
    expect(page.get_by_role("table", name="Evaluations")).to_contain_text("2 tasks, test seeds")


def test_the_flywheel_shows_datasets_origins_and_what_judges_them(
    platform: Platform, signed: Signed, tmp_path: Path
) -> None:
    for _ in range(2):
        record(platform)
    dataset = select(platform, "failed")
    policy = keep(platform, tmp_path / "model", dataset=dataset, run="by hand", calibration=CALIBRATION)
    page = signed.open("/flywheel")
    page.get_by_role("table", name="Datasets").get_by_role("link", name=dataset).click()
    expect(page.get_by_test_id("lineage")).to_contain_text(dataset)
    expect(page.get_by_test_id("lineage")).to_contain_text("0 succeeded")
    expect(page.get_by_test_id("reliability").locator("circle")).to_have_count(4)
    expect(page.get_by_role("table", name="Quality of the scores")).to_contain_text("0.875")
    expect(page.get_by_role("list", name="Scorers")).to_contain_text("human:ada")
    expect(page.get_by_text("episodes with a verdict")).to_be_visible()
    expect(page.get_by_text(re.compile(r"trajectories \d+, .*steps \d+"))).to_be_visible()
    page.get_by_role("table", name="Policies").get_by_role("link", name="by hand").click()
    expect(page.get_by_role("group", name="Lineage of by hand")).to_contain_text(policy)
    page.get_by_text("As a list").click()
    page.get_by_role("link", name=dataset).first.click()
    expect(page).to_have_url(re.compile("dataset="))

    page.get_by_role("button", name="Route episodes").click()
    page.get_by_label("Name of the datasets").fill("by-hand")
    page.get_by_label(re.compile("^Routes")).fill("sft: {outcome: sucess}")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("did you mean success")
    signed.complaints.clear()  # the browser notes the refusal
    page.get_by_label(re.compile("^Routes")).fill("rejected: {outcome: failure}")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("list", name="What each route takes")).to_contain_text("by-hand/rejected")
    page.get_by_role("button", name="Make datasets").click()
    expect(page.get_by_role("table", name="Datasets")).to_contain_text("by-hand/rejected@1")


def test_trajectories_show_their_last_screen_small(platform: Platform, signed: Signed) -> None:
    record(platform, steps=2)
    page, asked = signed.page, list[str]()
    page.on("request", lambda request: asked.append(request.url))
    signed.open("/trajectories")
    picture = page.get_by_role("table", name="Trajectories").locator("img").first
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('main img')?.naturalWidth === 80")
    assert all("width=80" in url for url in asked if "/v1/images/" in url)


def test_a_list_says_what_it_could_not_read(platform: Platform, signed: Signed) -> None:
    whole, damaged = record(platform, steps=2), record(platform, steps=2)

    async def damage(start: str) -> str:
        async with await platform.store() as store, store.database.write() as connection:
            of_it = trajectories.c.id == damaged
            kept = await connection.scalar(sa.select(trajectories.c.start).where(of_it))
            await connection.execute(trajectories.update().where(of_it).values(start=start))
        return str(kept)

    kept = in_a_thread(lambda: damage("no JSON"))
    said = f"1 episode could not be read: {damaged}; deskhand flywheel fsck says why."
    page = signed.open("/trajectories")
    expect(page.get_by_role("note")).to_have_text(said)
    signed.open(f"/trajectories/{whole}")
    page.get_by_role("button", name="Compare with").click()
    expect(page.get_by_role("dialog").get_by_role("note")).to_have_text(said)
    in_a_thread(lambda: damage(kept))
    signed.open("/trajectories")
    expect(page.get_by_role("table", name="Trajectories")).to_be_visible()
    expect(page.get_by_role("note")).to_have_count(0)


@pytest.mark.slow
def test_the_store_is_checked_and_what_may_go_is_seen_before_it_is_dropped(
    platform: Platform, signed: Signed
) -> None:
    marked, trajectory = record(platform), record(platform, steps=2, marked=False)
    page = signed.open("/flywheel")
    jobs = page.get_by_role("list", name="Checks and collections").get_by_role("listitem")
    page.get_by_role("button", name="Check the store").click()
    expect(jobs.first).to_contain_text("Check: nothing is lost among")
    page.get_by_label("Episodes older than so many days, too").fill("0")
    page.get_by_role("button", name="See what may go").click()
    expect(jobs.first).to_contain_text(re.compile("What may go of what is older than 0 days: .* would go"))
    jobs.first.get_by_role("button", name="Drop it…").click()
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("would go.")
    asked.get_by_role("button", name="Keep it").click()
    assert platform.get(f"/v1/trajectories/{trajectory}")["id"] == trajectory
    jobs.first.get_by_role("button", name="Drop it…").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Drop it").click()
    expect(jobs.first).to_contain_text("dropped.")
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    listed = platform.get("/v1/trajectories?limit=200")["items"]
    assert marked in [one["id"] for one in listed] and trajectory not in [one["id"] for one in listed]


def test_a_check_that_runs_is_stopped_when_that_is_meant(platform: Platform, signed: Signed) -> None:
    page = signed.open("/flywheel")
    jobs = page.get_by_role("list", name="Checks and collections").get_by_role("listitem")
    page.get_by_role("button", name="Check the store").click()
    expect(jobs.first).to_contain_text("Check: nothing is lost")
    stopped = list[str]()

    def running(route: Route) -> None:
        """Small stores are checked before anybody could stop it."""
        response = route.fetch()
        listed = response.json()
        items = [{**job, "state": "running"} for job in listed["items"]]
        route.fulfill(response=response, json={**listed, "items": items})

    def stop(route: Route) -> None:
        stopped.append(route.request.url)
        route.fulfill(json=platform.get("/v1/jobs")["items"][0])

    page.route(re.compile(r"/v1/jobs(\?.*)?$"), running)
    page.route(re.compile(r"/v1/jobs/.*/cancel$"), stop)
    signed.open("/flywheel")
    jobs.first.get_by_role("button", name="Stop").click()
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("Stop this check?")
    asked.get_by_role("button", name="Let it go on").click()
    expect(asked).to_have_count(0)
    assert stopped == []
    jobs.first.get_by_role("button", name="Stop").click()
    asked.get_by_role("button", name="Stop it").click()
    expect(asked).to_have_count(0)
    assert len(stopped) == 1
    page.unroute_all(behavior="ignoreErrors")  # the list is asked for all the time


def test_a_download_that_is_refused_says_why(platform: Platform, signed: Signed) -> None:
    record(platform, steps=2)
    page = signed.open("/trajectories?task=fake%2Fmarkup&outcome=failure")
    told = {"error": {"code": "too_large", "message": "narrow the choice"}}
    page.route(re.compile(r"/v1/export\?"), lambda route: route.fulfill(status=413, json=told))
    page.get_by_role("link", name="Download").click()
    expect(page.get_by_role("alert")).to_have_text("narrow the choice")
    signed.complaints.clear()


def test_what_a_list_shows_is_downloaded(platform: Platform, signed: Signed, tmp_path: Path) -> None:
    trajectory = record(platform, steps=2)
    page = signed.open("/trajectories?task=fake%2Fmarkup&outcome=failure")
    with page.expect_download() as begun:
        page.get_by_role("link", name="Download").click()
    begun.value.save_as(tmp_path / "archive.tar")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        [name] = (one for one in archive.getnames() if one.startswith("trajectories/"))
        table = parquet.read_table(archive.extractfile(name), columns=["id"])
    assert trajectory in table["id"].to_pylist()
