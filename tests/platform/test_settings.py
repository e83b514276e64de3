from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from deskhand_platform import serving
from deskhand_platform.api.routes.in_force import in_force
from deskhand_platform.errors import SettingsError
from deskhand_platform.settings import exported, load_settings
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.host import HostSettings
from deskhand_sandbox.manager import PoolSettings


def test_arguments_beat_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("port: 1001\nworker: {slots: 5}\n")
    assert (load_settings().port, load_settings().worker.slots) == (1001, 5)
    monkeypatch.setenv("DESKHAND_PORT", "1002")
    monkeypatch.setenv("DESKHAND_WORKER__SLOTS", "6")
    assert (load_settings().port, load_settings().worker.slots) == (1002, 6)
    assert load_settings(port=1003).port == 1003


def test_an_administrator_says_what_browsers_reach_near_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    monkeypatch.setenv("DESKHAND_SANDBOX__POOLS__BROWSER__SETTINGS__NEIGHBOURS", "deny")
    told = load_settings().sandbox
    assert told.lending.pools_of(["browser"], most=2)["browser"].settings == {"neighbours": "deny"}
    monkeypatch.setenv("DESKHAND_SANDBOX__POOLS__BROWSER__SETTINGS__NEIGHBOURS", "all")
    with pytest.raises(InvalidPool, match="neighbours"):
        load_settings().sandbox.lending.pools_of(["browser"], most=2)


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
        ("sandbox: {pool: {}}", "sandbox.pool: .*did you mean pools"),
        ("sandbox: {pools: {androd: {}}}", "setting sandbox.pools: pool 'androd': .*did you mean android"),
        ("sandbox: {pools: {vm: {setings: {}}}}", "sandbox.pools: pool 'vm': .*did you mean settings"),
        ("sandbox: {terms: {ttl: 1}}", "sandbox.terms.ttl: .*did you mean ttl_s"),
        ("sandbox: {terms: {ttl_s: -1}}", "sandbox.terms: ttl_s must be a positive number"),
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


PHONE = """
sandbox:
  kinds: [fake]
  pools:
    phone: {kind: android, max_sandboxes: 1, settings: {machine: attached, serials: [R58M123ABC]}}
  terms: {ttl_s: 60}
"""


def test_pools_of_the_file_and_of_variables_make_one_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(PHONE)
    monkeypatch.setenv("DESKHAND_SANDBOX__POOLS__PHONE__MAX_SANDBOXES", "2")
    monkeypatch.setenv("DESKHAND_SANDBOX__POOLS__PHONE__SETTINGS__SERIALS", "[a, b]")
    monkeypatch.setenv("DESKHAND_SANDBOX__DEADLINES__RESET_S", "300")
    told = load_settings().sandbox
    assert (told.lent, told.terms.ttl_s, told.deadlines.reset_s) == (("fake", "android"), 60, 300)
    assert told.lent is told.lent  # looked up once: each submitted task asks
    phone = {
        "kind": "android",
        "max_sandboxes": 2,
        "settings": {"machine": "attached", "serials": ["a", "b"]},
    }
    assert told.pools == {"phone": phone}


def test_the_sandbox_host_lends_what_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(PHONE)
    started: list[HostSettings] = []
    monkeypatch.setattr(serving, "start_host", started.append)
    serving.sandbox_host(load_settings())()
    [host] = started
    assert host.kinds == {
        "fake": PoolSettings(max_sandboxes=16),
        "phone": PoolSettings(
            kind="android", max_sandboxes=1, settings={"machine": "attached", "serials": ["R58M123ABC"]}
        ),
    }
    assert host.terms.ttl_s == 60 and host.kinds["fake"].create_s >= 600
    (tmp_path / "config.yaml").write_text("sandbox: {pools: {browser: {settings: {isolated: yes}}}}")
    with pytest.raises(SettingsError, match=r"sandbox\.pools: pool 'browser': .*did you mean isolation"):
        serving.sandbox_host(load_settings())


def test_the_example_of_the_documentation_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs/sandbox.md").read_text()
    [example] = re.findall(r"^```yaml\n(sandbox:\n.+?)^```", text, re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(example)
    pools = load_settings().sandbox.lending.pools_of(["android", "desktop", "browser"], most=2)
    assert pools.keys() == {"android", "roomy", "desktop", "browser"}


ELSEWHERE = """
tasks: [/tasks/mine.yaml, ~/tasks]
downloads: /var/downloads
download_hosts: [files.lan]
chromium: /opt/chromium
adb: /opt/adb
"""


def test_what_rooms_below_read_from_the_environment_is_in_the_tree_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    for name in ("TASKS", "DOWNLOADS", "DOWNLOAD_HOSTS", "CHROMIUM", "ADB"):
        monkeypatch.delenv(f"DESKHAND_{name}", raising=False)
    (tmp_path / "config.yaml").write_text(ELSEWHERE)
    settings = load_settings()
    with exported(settings):
        assert {name: os.environ[name] for name in settings.variables} == {
            "DESKHAND_TASKS": "/tasks/mine.yaml:/home/ada/tasks",
            "DESKHAND_DOWNLOADS": "/var/downloads",
            "DESKHAND_DOWNLOAD_HOSTS": "files.lan",
            "DESKHAND_CHROMIUM": "/opt/chromium",
            "DESKHAND_ADB": "/opt/adb",
        }
        # a child reads the file as well as the environment
        assert load_settings().variables == settings.variables
    assert not settings.variables.keys() & os.environ.keys()
    monkeypatch.setenv("DESKHAND_TASKS", "a:b")
    monkeypatch.setenv("DESKHAND_DOWNLOAD_HOSTS", "one.lan, two.lan")
    told = load_settings()
    assert (told.tasks, told.download_hosts, told.adb) == (("a", "b"), ("one.lan", "two.lan"), "/opt/adb")
    assert {each.name for each in in_force(told) if each.changed} >= {"tasks", "download_hosts", "adb"}


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
