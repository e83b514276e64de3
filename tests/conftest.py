"""For every test: signals mean what they mean at a terminal, wherever the tests were started."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Undo what nohup or a background job had ignored: programs that tests start would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that only this test and its programs have their temporary files in."""
    # a short name: sockets below it have little room for theirs
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the place of the one that comes with the package."""
    # not above: most tests have no need of torch
    from deskhand_agent import shipped
    from deskhand_agent.checksums import write_sums
    from deskhand_agent.models.bundle import build_tiny, save_bundle
    from deskhand_agent.models.tiny import TinyConfig

    folder = tmp_path / "package"
    save_bundle(build_tiny(TinyConfig(vision_depth=1, text_depth=1)), folder)
    write_sums(folder)
    monkeypatch.setattr(shipped, "FOLDER", folder)
    return folder
