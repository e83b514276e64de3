from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from deskhand_platform.errors import SettingsError
from deskhand_platform.settings import load_settings


def test_arguments_beat_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("port: 1001\nworker: {slots: 5}\n")
    assert (load_settings().port, load_settings().worker.slots) == (1001, 5)
    monkeypatch.setenv("DESKHAND_PORT", "1002")
    monkeypatch.setenv("DESKHAND_WORKER__SLOTS", "6")
    assert (load_settings().port, load_settings().worker.slots) == (1002, 6)
    assert load_settings(port=1003).port == 1003


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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DATABSE", "DATABASE"),
        ("DATABASE_URL", "DATABASE"),
        ("POTR", "PORT"),
        ("WORKER_SLOTS", "WORKER__SLOTS"),
        ("TOKN", "TOKEN"),
    ],
)
def test_a_misspelt_variable_is_refused(
    name: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DESKHAND_{name}", "1")
    with pytest.raises(SettingsError, match=f"DESKHAND_{name} sets nothing.* mean DESKHAND_{meant}\\?"):
        load_settings(home=tmp_path)


def test_variables_that_are_no_settings_are_left_to_whom_they_tell_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    texts = [root / "Makefile", *(root / "docs").glob("*.md"), *(root / "infra").rglob("*.sh")]
    for package in ("sandbox", "agent", "flywheel", "trainer", "platform"):
        texts += (root / package).rglob("*.py")
    named = {name for text in texts for name in re.findall(r"\bDESKHAND_[A-Z_]+[A-Z]\b", text.read_text())}
    settings = {"DESKHAND_HOST", "DESKHAND_PORT", "DESKHAND_NEAR_FRAMES"}
    assert len(named - settings) > 15
    for name in named - settings:
        if "__" not in name:
            monkeypatch.setenv(name, str(tmp_path))
    for of_kubernetes in (
        "SERVICE_HOST",
        "SANDBOX_PORT",
        "SANDBOX_SERVICE_PORT_HTTP",
        "DATABASE_PORT_5432_TCP",
    ):
        monkeypatch.setenv(f"DESKHAND_{of_kubernetes}", "tcp://10.0.0.1:5432")
    for structured in ("HOSTS", "PROXIES", "LOGS", "URL", "DATABASE", "BLOBS"):
        monkeypatch.delenv(f"DESKHAND_{structured}", raising=False)
    assert load_settings(home=tmp_path).home == tmp_path
