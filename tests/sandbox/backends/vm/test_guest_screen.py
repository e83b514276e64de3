"""The guest's screen on a real X server of this machine, with the test in the window manager's place."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.backends.vm.image.recipe import GUEST

pytestmark = [
    pytest.mark.skipif(
        shutil.which("Xvfb") is None or importlib.util.find_spec("Xlib") is None,
        reason="Xvfb or python-xlib is not installed",
    ),
    # python-xlib leaves the file of keys open
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from Xlib import XK, display

    (tmp_path / "authority").touch()
    monkeypatch.setenv("XAUTHORITY", str(tmp_path / "authority"))

    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-noreset", "-nolisten", "tcp", "-screen", "0", "320x240x24"]
    with subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        try:
            os.close(write)
            with os.fdopen(read, "rb") as told:
                number = int(told.readline())
            spec = importlib.util.spec_from_file_location("guest_screen", GUEST / "screen.py")
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            made = module.Screen.__new__(module.Screen)  # not of :0, and with no window manager to wait for
            made._display = display.Display(f":{number}")
            made._root, made._lock = made._display.screen().root, threading.Lock()
            made._keysym, made._placed = XK.string_to_keysym, {}
            made._known, made._spare = made._read_keyboard()
            yield made
            made._display.close()
        finally:
            server.kill()


def listed(screen: Any, *kinds: str | None) -> list[Any]:
    """Windows of these types in the list a window manager keeps."""
    from Xlib import X, Xatom

    made: list[Any] = []
    for kind in kinds:
        made.append(screen._root.create_window(0, 0, 10, 10, 0, X.CopyFromParent))
        if kind is not None:
            name = screen._display.intern_atom("_NET_WM_WINDOW_TYPE")
            types = [screen._display.intern_atom(f"_NET_WM_WINDOW_TYPE_{kind}")]
            made[-1].change_property(name, Xatom.ATOM, 32, types)
    name = screen._display.intern_atom("_NET_CLIENT_LIST")
    screen._root.change_property(name, Xatom.WINDOW, 32, [each.id for each in made])
    screen._display.sync()
    return made


def test_a_splash_screen_is_no_window_yet(screen: Any) -> None:
    with pytest.raises(RuntimeError, match="1 windows did not appear"):
        screen.wait_for_windows(1, 0.1)
    listed(screen, "SPLASH")
    with pytest.raises(RuntimeError, match="1 windows did not appear"):
        screen.wait_for_windows(1, 0.1)
    listed(screen, "SPLASH", "NORMAL", None)
    screen.wait_for_windows(2, 120)
    with pytest.raises(RuntimeError, match="3 windows did not appear"):
        screen.wait_for_windows(3, 0.1)


def test_a_window_that_goes_while_it_is_looked_at_is_none(screen: Any) -> None:
    _, gone = listed(screen, "NORMAL", "NORMAL")
    gone.destroy()
    screen._display.sync()
    screen.wait_for_windows(1, 120)
    with pytest.raises(RuntimeError, match="2 windows did not appear"):
        screen.wait_for_windows(2, 0.1)


def test_full_width_text_is_typed_as_such(screen: Any) -> None:
    # their code points are the symbols of BackSpace, Tab, Escape and the like
    text = "（）；－ｐｑ，A\n"
    assert screen.type(text, fresh=True) == len(text)
    keys = [screen._keys_of(each)[-1] for each in text]  # Shift stands first
    assert [screen._display.get_keyboard_mapping(key, 1)[0][0] for key in keys] == [
        *(0x01000000 + ord(each) for each in text[:-2]),
        ord("a"),
        screen._keysym("Return"),
    ]
