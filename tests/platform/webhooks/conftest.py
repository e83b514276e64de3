"""Whoever sends looks for what is due all the time."""

from __future__ import annotations

import pytest

from deskhand_platform.webhooks import sending


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "LOOK_S", 0.01)
