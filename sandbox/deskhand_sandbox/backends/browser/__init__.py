"""Chromium as a computer: Playwright keeps browser and contexts, direct protocol sessions do the rest."""

from __future__ import annotations

from deskhand_sandbox.backends.browser.backend import BrowserBackend
from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
from deskhand_sandbox.backends.browser.settings import BrowserSettings, PageSettings
from deskhand_sandbox.backends.settings_checks import backend_settings

__all__ = ["BrowserBackend", "BrowserSandbox", "BrowserSettings", "PageSettings", "create"]


def create(**settings: object) -> BrowserBackend:
    """The backend `browser`; settings as in `BrowserSettings`.

    Raises:
        BackendMissing: there is no Chromium.
        InvalidTask: an unknown setting.
    """
    return BrowserBackend(backend_settings("browser", BrowserSettings, settings))
