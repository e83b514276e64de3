"""`deskhand sandbox …` as a person types it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deskhand_platform.cli.sandboxes import lender
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.manager import PoolSettings

PICTURE = b"\x89PNG"


def deskhand(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deskhand_platform.cli.app", "sandbox", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=120)


def test_the_kinds_are_listed() -> None:
    listed = deskhand("list")
    assert listed.returncode == 0
    for kind in ("browser", "desktop", "fake", "world"):
        assert kind in listed.stdout
    kinds = {one["kind"]: one for one in json.loads(deskhand("list", "--json").stdout)}
    assert kinds["fake"] == {"kind": "fake", "here": True, "missing": None}


def test_actions_are_done_in_order_and_each_screen_is_kept(tmp_path: Path) -> None:
    click = "click(point='<point>20 60</point>')"
    done = deskhand("try", "fake", "--task", "fake/press-button", "--screens", str(tmp_path), "--do", click)
    assert done.returncode == 0, done.stderr
    assert "Press " in done.stdout
    pictures = sorted(tmp_path.iterdir())
    assert [each.name for each in pictures] == ["000.png", "001.png"]
    assert all(each.read_bytes().startswith(PICTURE) for each in pictures)


def test_settings_of_the_kind_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text("sandbox: {pools: {small: {kind: fake, settings: {width_px: 90}}}}")
    screens = tmp_path / "screens"
    away = ("--screens", str(screens), "--do", "click(point='<point>20 90</point>')")
    done = deskhand("try", "small", "--set", "height_px=70", *away)
    assert "off the screen, which is 90 x 70 pixels" in done.stderr


def test_what_a_terminal_shows_is_printed(tmp_path: Path) -> None:
    told = ("--task", "worlds/chain", "--screens", str(tmp_path), "--do", "hotkey(key='right')")
    done = deskhand("try", "world", *told)
    assert done.returncode == 0, done.stderr
    assert "@----G" in done.stdout and "-@---G" in done.stdout


def test_lines_of_the_standard_input_are_actions(tmp_path: Path) -> None:
    lines = "help\nclik()\nclick(point='<point>900 60</point>')\nclick(point='<point>20 60</point>')\n"
    done = deskhand("try", "fake", "--screens", str(tmp_path), given=lines)
    assert done.returncode == 0
    assert "type(content='text')" in done.stdout
    assert "expected click" in done.stderr
    assert "off the screen" in done.stderr
    assert (tmp_path / "001.png").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("try", "fak"), 2, "did you mean fake?"),
        (("try", "fake", "--task", "miniwob/click-test"), 2, "for a browser sandbox"),
        (("try", "fake", "--task", "fake/pres-button"), 2, "did you mean fake/press-button"),
        (("try", "fake", "--do", "clik()"), 2, "expected click"),
        (("try", "fake", "--do", "finished()"), 2, "Finish is said to a task"),
        (("try", "fake", "--do", "click(point='<point>900 1</point>')"), 1, "off the screen"),
        (("try", "fake", "--vnc"), 1, "a fake sandbox serves no VNC; desktop and vm do"),
        (("mcp", "fak"), 2, "did you mean fake?"),
        (("try", "fake", "--set", "widht_px=80"), 2, "did you mean width_px"),
        (("mcp", "android", "--set", "machin=attached"), 2, "did you mean machine?"),
        (("try", "fake", "--set", "width_px"), 2, "name=value, e.g. machine=attached"),
    ],
)
@pytest.mark.usefixtures("temporary")
def test_what_is_wrong_is_said(arguments: tuple[str, ...], status: int, said: str) -> None:
    done = deskhand(*arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("temporary")
async def test_one_sandbox_is_lent_at_a_time_and_another_once_it_has_ended() -> None:
    async with lender(PoolSettings(kind="fake", max_sandboxes=1)) as lend:
        first = await lend()
        again = await lend()
        assert again.id == first.id and not first.alive()
        with pytest.raises(SandboxDied):
            await first.observe()
        await again.close()
        assert (await lend()).alive()


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = deskhand("try", "fake", "--live", "--port", port, "--do", "wait()")
    assert done.returncode == 1
    assert f"port {port} cannot be listened on: Address already in use; choose another" in done.stderr
    assert "Traceback" not in done.stderr
