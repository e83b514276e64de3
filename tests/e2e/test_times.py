"""Times are told where the reader is, whatever the clock of the server or of a run says."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, timezone

import httpx
import pytest
from playwright.sync_api import Browser, expect
from served_platform import Platform

pytestmark = pytest.mark.browser
KOLKATA = timezone(timedelta(hours=5, minutes=30))
AT = datetime(2026, 11, 25, 20, 44, 25, tzinfo=UTC)


@pytest.mark.slow
def test_someone_in_kolkata_reads_their_own_time(platform: Platform, browser: Browser) -> None:
    headers = {"Authorization": f"Bearer {platform.token}"}
    with httpx.Client(base_url=platform.url, headers=headers, trust_env=False, timeout=60) as client:
        yearly = {"preset": "smoke", "cron": "0 3 1 1 *", "timezone": "Asia/Kolkata"}
        client.post("/v1/schedules", json=yearly).raise_for_status()
        number = client.post("/v1/rounds", json={"preset": "smoke"}).json()["id"]
    log = platform.home / f"runs/round-{number}-ppo/log.txt"
    deadline = time.monotonic() + 60
    while not log.exists():
        assert time.monotonic() < deadline, "PPO has not begun"
        time.sleep(0.1)
    with log.open("a") as more:
        more.write(f"[{AT:%Y-%m-%dT%H:%M:%SZ}] metric ppo/iteration step=1\nat [{AT:%H:%M:%S}] as it was\n")

    context = browser.new_context(
        viewport={"width": 1366, "height": 768}, timezone_id="Asia/Kolkata", base_url=platform.url
    )
    page = context.new_page()
    page.goto(f"/#token={platform.token}")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"/rounds/{number}")
    read = page.get_by_role("log", name="Log of ppo")
    expect(read).to_contain_text("[2026-11-26 02:14:25] metric ppo/iteration step=1")
    expect(read).to_contain_text("at [20:44:25] as it was")
    page.goto("/rounds/schedules")
    schedules = page.get_by_role("list", name="Schedules")
    expect(schedules).to_contain_text(re.compile(r"next \d{4}-01-01 03:00:00"))
    page.goto("/admin?part=audit")
    row = page.get_by_role("row").filter(has_text="POST /v1/schedules")
    [entry] = [each for each in platform.get("/v1/audit")["items"] if each["action"] == "POST /v1/schedules"]
    expect(row).to_contain_text(f"{datetime.fromtimestamp(entry['at_s'], KOLKATA):%Y-%m-%d %H:%M:%S}")
    context.close()
    platform.post(f"/v1/rounds/{number}/cancel", {})
