"""`deskhand sandbox …` as a person types it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.cli.sandboxes import lender
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.manager import PoolSettings

PICTURE = b"\x89PNG"
Deskhand = Callable[..., Any]


@pytest.fixture
def sandbox(deskhand: Deskhand) -> Deskhand:
    return partial(deskhand, "sandbox")


def test_the_kinds_are_listed(sandbox: Deskhand) -> None:
    listed = sandbox("list")
    assert listed.status == 0
    for kind in ("browser", "desktop", "fake", "world"):
        assert kind in listed.out
    kinds = {one["kind"]: one for one in json.loads(sandbox("list", "--json").out)}
    assert kinds["fake"] == {"kind": "fake", "here": True, "missing": None}


def test_actions_are_done_in_order_and_each_screen_is_kept(tmp_path: Path, sandbox: Deskhand) -> None:
    screens = tmp_path / "screens"
    click = "click(point='<point>20 60</point>')"
    done = sandbox("try", "fake", "--task", "fake/press-button", "--screens", str(screens), "--do", click)
    assert done.status == 0, done.err
    assert "Press " in done.out
    pictures = sorted(screens.iterdir())
    assert [each.name for each in pictures] == ["000.png", "001.png"]
    assert all(each.read_bytes().startswith(PICTURE) for each in pictures)


def test_settings_of_the_kind_are_set(tmp_path: Path, sandbox: Deskhand) -> None:
    (tmp_path / "config.yaml").write_text("sandbox: {pools: {small: {kind: fake, settings: {width_px: 90}}}}")
    screens = tmp_path / "screens"
    away = ("--screens", str(screens), "--do", "click(point='<point>20 90</point>')")
    done = sandbox("try", "small", "--set", "height_px=70", *away, home=tmp_path)
    assert "off the screen, which is 90 x 70 pixels" in done.err


def test_what_a_terminal_shows_is_printed(tmp_path: Path, sandbox: Deskhand) -> None:
    told = ("--task", "worlds/chain", "--screens", str(tmp_path), "--do", "hotkey(key='right')")
    done = sandbox("try", "world", *told)
    assert done.status == 0, done.err
    assert "@----G" in done.out and "-@---G" in done.out


def test_lines_of_the_standard_input_are_actions(tmp_path: Path) -> None:
    lines = "help\nclik()\nclick(point='<point>900 60</point>')\nclick(point='<point>20 60</point>')\n"
    # standard input that comes from another program
    command = [sys.executable, "-m", "deskhand_platform.cli.app", "sandbox", "try", "fake"]
    done = subprocess.run(
        [*command, "--screens", str(tmp_path)],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
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
def test_what_is_wrong_is_said(sandbox: Deskhand, arguments: tuple[str, ...], status: int, said: str) -> None:
    done = sandbox(*arguments)
    assert done.status == status
    assert said in done.err
    assert "Traceback" not in done.err


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


def test_a_port_that_is_taken_is_said(sandbox: Deskhand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = sandbox("try", "fake", "--live", "--port", port, "--do", "wait()")
    assert done.status == 1
    assert f"port {port} cannot be listened on: Address already in use; choose another" in done.err
    assert "Traceback" not in done.err
