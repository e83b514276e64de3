"""A platform that is served, and a browser that is signed in to it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from served_platform import PATIENCE_MS, Platform, Signed

from deskhand_platform.accounts.access import Role
from deskhand_platform.client import Deskhand

STATIC = Path(__file__).parents[2] / "platform/deskhand_platform/static"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    assert (STATIC / "index.html").exists(), "the page is not built: run make setup"
    made = Platform(tmp_path_factory.mktemp("home"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Whatever is done in a page of its waits as long for what is to come as an `expect`."""
    binary = shutil.which("chromium-headless-shell")
    assert binary is not None, "no Chromium: run make setup"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=binary, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        make = launched.new_context

        def patient(**options: Any) -> BrowserContext:
            made = make(**options)
            made.set_default_timeout(PATIENCE_MS)
            return made

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(launched, "new_context", patient)
            yield launched
        launched.close()


@pytest.fixture
def signed(platform: Platform, browser: Browser) -> Iterator[Signed]:
    """By the token of the first start: an administrator."""
    with in_a_browser(platform, browser) as made:
        made.open(f"/#token={platform.token}")
        expect(made.page.get_by_role("button", name="Sign out")).to_be_visible()
        yield made


@pytest.fixture
def page(platform: Platform, browser: Browser) -> Iterator[Page]:
    """Signed in likewise, and free to complain: what it asks may be made to fail."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=platform.url)
    page = context.new_page()
    page.goto(f"/#token={platform.token}")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    page.unroute_all(behavior="ignoreErrors")
    context.close()


@pytest.fixture
def operator(platform: Platform, browser: Browser) -> Iterator[Signed]:
    with by_name(platform, browser, "olga", Role.OPERATOR) as made:
        yield made


@pytest.fixture
def researcher(platform: Platform, browser: Browser) -> Iterator[Signed]:
    with by_name(platform, browser, "rita", Role.RESEARCHER) as made:
        yield made


@contextmanager
def by_name(platform: Platform, browser: Browser, name: str, role: Role) -> Generator[Signed]:
    """Somebody with an account of that role, who signs in by name and password."""
    with Deskhand(platform.url, platform.token) as admin:
        password = admin.add_user(name, role).password
    assert password is not None
    with in_a_browser(platform, browser) as made:
        page = made.open("/")
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name=re.compile(f"^{name}"))).to_contain_text(role.value)
        made.complaints.clear()  # the browser notes that nobody was signed in at first
        yield made


@contextmanager
def in_a_browser(platform: Platform, browser: Browser) -> Generator[Signed]:
    """A page of its own, which at the end has complained of nothing and was not harmed."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    made = Signed(context.new_page(), platform.url)
    yield made
    harmed = made.page.evaluate("() => window.harmed")
    context.close()
    assert made.complaints == []
    assert harmed is None
