"""Chromium as a computer: Playwright keeps browser and contexts, direct protocol sessions do the rest."""

from __future__ import annotations

import dataclasses

from deskhand_sandbox.backends.browser.backend import BrowserBackend
from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
from deskhand_sandbox.backends.browser.settings import BrowserSettings, PageSettings
from deskhand_sandbox.errors import InvalidTask, UnknownName

__all__ = ["BrowserBackend", "BrowserSandbox", "BrowserSettings", "PageSettings", "create"]


def create(**settings: object) -> BrowserBackend:
    """The backend `browser`; settings as in `BrowserSettings`.

    Raises:
        BackendMissing: there is no Chromium.
        InvalidTask: an unknown setting.
    """
    known = {each.name for each in dataclasses.fields(BrowserSettings)}
    for name in settings:
        if name not in known:
            raise InvalidTask(str(UnknownName("setting of the browser backend", name, known)))
    return BrowserBackend(BrowserSettings(**settings))  # pyright: ignore[reportArgumentType]
