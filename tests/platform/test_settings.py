from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.errors import SettingsError
from deskhand_platform.serving import sandbox_host
from deskhand_platform.settings import load_settings


def test_arguments_beat_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("port: 1001\nworker: {slots: 5}\n")
    assert (load_settings().port, load_settings().worker.slots) == (1001, 5)
    monkeypatch.setenv("DESKHAND_PORT", "1002")
    monkeypatch.setenv("DESKHAND_WORKER__SLOTS", "6")
    assert (load_settings().port, load_settings().worker.slots) == (1002, 6)
    assert load_settings(port=1003).port == 1003


def test_browsers_of_the_platform_are_told_of_what_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deskhand_platform.serving.start_host", lambda host: host)
    for told, expected in (({}, "named"), ({"neighbours": "deny"}, "deny")):
        host: Any = sandbox_host(load_settings(home=tmp_path, sandbox=told))()
        assert {name: dict(pool.settings) for name, pool in host.kinds.items()} == {
            "browser": {"neighbours": expected}, "desktop": {}, "fake": {}, "world": {},
        }  # fmt: skip


def test_everything_lies_in_a_private_home(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "a/home")
    assert stat.S_IMODE(settings.home.stat().st_mode) == 0o700
    assert settings.db_url == f"sqlite+aiosqlite:///{tmp_path}/a/home/deskhand.db"
    assert settings.blobs_url == f"file://{tmp_path}/a/home/blobs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("port: 99999999", "port"),
        ("prot: 1", "prot: .*did you mean port"),
        ("worker: {slot: 1}", "worker.slot: .*did you mean slots"),
        ("worker: [", "cannot be read"),
        ("- port: 1", "config.yaml has to be a mapping"),
        ("a port", "config.yaml has to be a mapping"),
        ("sandbox: {neighbours: all}", "sandbox.neighbours"),
        ("since: 2026-13-45", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(SettingsError, match=said):
        load_settings()


def test_a_file_of_other_letters_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_bytes(b"url: \xff\xfe")
    with pytest.raises(SettingsError, match=r"config\.yaml is no UTF-8"):
        load_settings()


def test_a_variable_that_sets_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    monkeypatch.setenv("DESKHAND_QUOTA__TASKS", "3")
    with pytest.raises(SettingsError, match=r"DESKHAND_QUOTA__TASKS.*did you mean quotas"):
        load_settings()


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="DESKHAND_HOME"):
        load_settings(home=tmp_path / "file/home")
