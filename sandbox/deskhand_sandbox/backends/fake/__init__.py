"""A computer made of a few lines: a drawn screen with buttons, deterministic, and able to fail on request."""

from __future__ import annotations

from deskhand_sandbox.backends.fake.sandbox import FakeBackend, FakeSandbox
from deskhand_sandbox.backends.fake.screen import FakeSettings

__all__ = ["FakeBackend", "FakeSandbox", "FakeSettings", "create"]


def create(**settings: object) -> FakeBackend:
    """The backend `fake`; settings are defaults for those of its tasks (`FakeSettings`).

    Raises:
        InvalidTask: an unknown or wrong setting.
    """
    return FakeBackend(settings)
