"""Every page and dialog, light and dark, wide and narrow: no serious fault by axe-core, none overflows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from served_platform import SCREENS, Platform, in_a_thread, record
from test_people import until

from deskhand_flywheel.review_rules import read_review_rules
from deskhand_flywheel.types import EventKind, SelectionRule, StepScore
from deskhand_platform.bench.page.accessibility import serious

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
ROUTER = Path(__file__).parents[2] / "web_ui/src/router.tsx"
DIALOGS = {
    "rounds/policy": "Promote or roll back",
    "rounds/schedules": "Add a schedule",
    "flywheel": "Route episodes",
    "admin": "Add a user",
    "account": "Make a token",
    "round": "Cancel",
    "replay": "Branch…",
    "compare with": "Compare with…",
}
"""By a page's name in `pages`: the button that opens one on it."""


@pytest.fixture(scope="module")
def pages(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of pages that have something on them, by name."""
    trajectory, other = record(platform, steps=3), record(platform)
    folder = tmp_path_factory.mktemp("model")
    (folder / "weights").write_text("none")

    async def write() -> tuple[str, str]:
        async with await platform.store() as store:
            for scorer, score in (("prm:one", 0.0), ("judge:two", 1.0)):
                said = StepScore(trajectory_id=trajectory, step_index=1, score=score, scorer=scorer)
                await store.add_scores([said])
            rules = dict.fromkeys(("verifier_judge", "verifier_steps", "judge_steps"))
            await store.find_disagreements_of(trajectory, read_review_rules(rules))
            dataset = await store.select_dataset("looked-at", SelectionRule.FAILURE)
            named = f"{dataset.name}@{dataset.version}"
            policy = await store.keep_policy(folder, parent_id=None, metadata={"dataset": named})
            return named, policy.id

    dataset, policy = in_a_thread(write)
    started = platform.post("/v1/rounds", {"preset": "smoke"})["id"]
    for step in (1, 2, 3):
        figures = {"success_sampled": 0.1 * step, "kl_per_turn": 0.02, "entropy": 1.0, "clip_fraction": 0.1}
        platform.tell(
            f"run:round-{started}-ppo", EventKind.METRIC, "ppo/iteration", {"step": step, **figures}
        )
    platform.post("/v1/promotions", {"policy_id": policy, "reason": "it is the only one"})
    platform.post("/v1/schedules", {"preset": "smoke", "cron": "0 3 1 1 *"})
    alarm = {"state": "raised", "value": 1.5, "limit": 2.0, "unit": "GB free", "advice": "make room"}
    platform.tell("platform", EventKind.ALARM, "disk_low", alarm)
    for step in range(8):  # more than are shown at once
        told = {"value": 0.4, "limit": 0.15, "iteration": step}
        platform.tell(f"run:round-{started}-ppo", EventKind.ALARM, "kl_high", told)
    over = platform.post("/v1/rounds", {"preset": "smoke", "overrides": {"ppo": {"iterations": 3}}})["id"]
    platform.post(f"/v1/rounds/{over}/cancel", {})
    measured = {"policy_id": None, "tasks": ["fake/press-button"], "episodes": 2, "modes": ["sampled"]}
    evaluation = platform.post("/v1/evaluations", {**measured, "split": "test"})["id"]
    platform.post(f"/v1/evaluations/{evaluation}/cancel", {})
    until(lambda: platform.get(f"/v1/evaluations/{evaluation}")["state"] == "cancelled")
    figures = {"episodes": 2, "success_sampled": 0.5, "success_sampled_low": 0.1, "success_sampled_high": 0.9}
    result = json.dumps({"policy_out": None, "metrics": figures, "seconds": 1.0})
    (platform.home / "runs" / evaluation / "result.json").write_text(result)  # measured after all
    reviewed = {"name": "scripted", "review_s": 600}
    platform.post("/v1/tasks", {"task_id": "fake/press-in-order", "seed": 6, "policy": reviewed})
    for seed in (1, 2):
        platform.post("/v1/tasks", {"task_id": "fake/press-button", "seed": seed})
    until(lambda: platform.get("/v1/proposals")["items"] and platform.get("/v1/sandboxes")["items"])
    sandbox = platform.get("/v1/sandboxes")["items"][0]["id"]
    return {
        "overview": "/",
        "rounds": "/rounds",
        "rounds/new": "/rounds/new?preset=smoke",
        "rounds/clone": f"/rounds/new?from={started}",
        "rounds/compare": f"/rounds/compare?ids=[{started}]",
        "rounds/policy": "/rounds/policy",
        "rounds/schedules": "/rounds/schedules",
        "round": f"/rounds/{started}",
        "a round that is over": f"/rounds/{over}",
        "trajectories": "/trajectories",
        "replay": f"/trajectories/{trajectory}?step=1",
        "its end": f"/trajectories/{other}?step=end",
        "compare with": f"/trajectories/{trajectory}",
        "compare": f"/compare?one={trajectory}&other={other}",
        "tasks": "/tasks?task=fake/press-button",
        "evaluations": f"/tasks/evaluations?old={policy}",
        "annotate": "/annotate",
        "sandboxes": "/sandboxes",
        "sandbox": f"/sandboxes/{sandbox}",
        "account": "/account",
        "admin": "/admin",
        **{part: f"/admin?part={part}" for part in ("tokens", "quotas", "audit", "settings")},
        "flywheel": "/flywheel",
        "a dataset": f"/flywheel?dataset={dataset}",
        "a policy": f"/flywheel?policy={policy}",
        "none": "/nowhere",
    }


@pytest.fixture(scope="module")
def token(platform: Platform, pages: dict[str, str]) -> str:
    """Of an administrator whose name is as long as names may be, for whom the header has least room."""
    name = "an-administrator-of-thirty-two-x"
    platform.post("/v1/users", {"name": name, "role": "admin"})
    return platform.post("/v1/tokens", {"label": "to look", "owner": name})["token"]


def signed_in(page: Page, platform: Platform, token: str) -> None:
    page.goto(f"{platform.url}/#token={token}")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def shown(page: Page, platform: Platform, address: str) -> None:
    """Open an address, and wait until all of it is there."""
    page.goto(f"{platform.url}{address}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("status", name=re.compile("^Loading|^Measuring|^Comparing"))).to_have_count(0)


def test_every_route_is_looked_at(pages: dict[str, str]) -> None:
    router = ROUTER.read_text()
    routes = re.findall(r'^  path: "([^"]+)"', router, re.MULTILINE)
    patterns = [re.compile(re.sub(r"\$\w+", "[^/?]+", route) + r"(\?.*)?") for route in routes]
    assert len(routes) == router.count("createRoute({")
    missing = [one.pattern for one in patterns if not any(map(one.fullmatch, pages.values()))]
    assert missing == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_no_dialog_has_a_serious_fault(
    platform: Platform, browser: Browser, pages: dict[str, str], token: str, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    signed_in(page, platform, token)
    faults = list[str]()
    for name, button in DIALOGS.items():
        shown(page, platform, pages[name])
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("dialog").or_(page.get_by_role("alertdialog"))).to_be_visible()
        expect(page.get_by_role("status", name=re.compile("^Loading"))).to_have_count(0)
        faults += [f"{name}, {button}: {fault}" for fault in serious(page)]
    shown(page, platform, "/")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Deskhand")).to_be_visible()
    faults += [f"signing in: {fault}" for fault in serious(page)]
    context.close()
    assert faults == []


@SCREENS
def test_no_page_has_a_serious_fault_or_scrolls_sideways(
    platform: Platform, browser: Browser, pages: dict[str, str], token: str, scheme: Any, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    signed_in(page, platform, token)
    faults = list[str]()
    for name, address in pages.items():
        shown(page, platform, address)
        faults += [f"{name}: {fault}" for fault in serious(page)]
        if page.evaluate("() => document.documentElement.scrollWidth") > width:
            faults.append(f"{name}: scrolls sideways")
    context.close()
    assert faults == []
