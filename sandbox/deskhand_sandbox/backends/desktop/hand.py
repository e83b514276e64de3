"""What runs inside a desktop: it starts the screen, moves pointer and keys by pyautogui, and looks by mss.

`python hand.py WIDTH HEIGHT` speaks on its standard input and output: a request is a line of JSON, an answer
a line of JSON and then as many raw bytes as its "bytes" says. The first answer comes unasked, once the screen
is there, and names its display. It imports nothing of Deskhand.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import importlib
import io
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

EARLY = ("Xlib.display", "Xlib.ext.xtest", "Xlib.XK", "pytweening", "PIL.PngImagePlugin")
"""What pyautogui and we need, imported while the screen starts; pyautogui itself wants a display first."""
UNUSED = ("mouseinfo", "pymsgbox", "pyscreeze")
"""What pyautogui has for its pictures and windows, and does without: half of its import."""
BUS = "unix:path=/tmp/.deskhand-bus"
STEPS = 8
"""Pointer events between two points of a drag: programs take a single jump for no drag at all."""
POLL_S = 0.012
SCREEN_S = 10.0
ECHO_S = 1.0
"""How long a program may take to show what was typed."""
READ_MS = 80.0
LONGEST_ERROR = 2000
PR_SET_DUMPABLE = 4
SPLASH = "_NET_WM_WINDOW_TYPE_SPLASH"
KEYBOARD_S = 2.0
"""Longest wait for a window to get the keyboard: what is typed before goes nowhere."""
OTHERS_KEYS = 4
"""Spare keys, the first ones, that are left to VNC servers, which use them as we do."""


class Screen:
    """An X server, and, once it answers, a window manager, a message bus and our eye, side by side."""

    def __init__(self, width: int, height: int) -> None:
        Path.home().joinpath(".Xauthority").touch()
        self._told, write = os.pipe()
        screen = ["-screen", "0", f"{width}x{height}x24"]
        _start(["Xvfb", "-displayfd", str(write), *screen, "-nolisten", "tcp", "-noreset"], keep=write)
        os.close(write)
        self._eye: Any = None
        self._answers = threading.Event()
        self._starting = threading.Thread(target=self._furnish, daemon=True)
        self._starting.start()

    def wait(self) -> None:
        """Return when the X server answers."""
        self._answers.wait()
        if "DISPLAY" not in os.environ:
            raise SystemExit("the X server did not start")

    def eye(self) -> Any:
        """What takes pictures of it."""
        self._starting.join()
        return self._eye

    def _furnish(self) -> None:
        with os.fdopen(self._told) as file:
            number = file.readline().strip()  # to its end: the server dies of a pipe closed before
        if number:
            os.environ.update(DISPLAY=f":{number}", XDG_SESSION_TYPE="x11", DBUS_SESSION_BUS_ADDRESS=BUS)
        self._answers.set()
        if not number:
            return
        _start(["openbox", "--sm-disable"])
        # the accessibility bus comes up by itself when the first program asks for it
        _start(["dbus-daemon", "--session", f"--address={BUS}", "--nofork", "--nopidfile", "--nosyslog"])
        import mss

        self._eye = mss.MSS()


def find_library(name: str) -> str | None:
    """As `ctypes.util.find_library`, which runs a program for each library, and mss looks for eight."""
    for number in range(10):
        with contextlib.suppress(OSError):
            found = f"lib{name}.so.{number}"
            ctypes.CDLL(found)
            return found
    return None


def _start(command: list[str], *, keep: int | None = None) -> subprocess.Popen[bytes]:
    none = subprocess.DEVNULL
    kept = () if keep is None else (keep,)
    return subprocess.Popen(command, pass_fds=kept, stdin=none, stdout=none, stderr=none)


class Hand:
    """Pointer, keyboard and eye of one screen."""

    def __init__(self, screen: Screen) -> None:
        import pyautogui
        from Xlib import display

        pyautogui.PAUSE = 0
        pyautogui.FAILSAFE = False
        self._gui: Any = pyautogui
        self._display = display.Display()
        self._root: Any = self._display.screen().root
        self._gui.platformModule.keyboardMapping.update(self._shifted())
        self._spare = self._unused_keycodes()
        self._placed: dict[str, int] = {}
        """Characters the keyboard lacks -> the spare keys that mean them now."""
        self._before = b""
        """The screen when they were placed, or before the last of them was typed."""
        self._eye = screen.eye()
        self._wait(lambda: self._property(self._root, "_NET_SHOWING_DESKTOP"), SCREEN_S, "a window manager")

    # ---- requests

    def open(self, commands: list[list[str]], deadline_s: float) -> None:
        """Start programs, and wait until as many windows are there, and one of them has the keyboard."""
        for command in commands:
            _start(command)
        count = len(commands)
        self._wait(lambda: sum(map(self._stays, self._windows())) >= count, deadline_s, f"{count} windows")
        if commands:
            with contextlib.suppress(RuntimeError):  # there are windows that take no keyboard
                self._wait(self._has_keyboard, KEYBOARD_S, "a window with the keyboard")

    def ping(self) -> None:
        """Answer, and have the X server answer."""
        self._display.sync()

    def click(self, x: int, y: int, button: str, count: int) -> None:
        self._gui.click(x, y, clicks=count, interval=0.02, button=button)

    def move(self, x: int, y: int) -> None:
        self._gui.moveTo(x, y)

    def press(self, button: str) -> None:
        self._gui.mouseDown(button=button)

    def release(self, button: str) -> None:
        self._gui.mouseUp(button=button)

    def drag(self, path: list[list[int]], button: str) -> None:
        self._gui.moveTo(*path[0])
        self._gui.mouseDown(button=button)
        for (x0, y0), (x1, y1) in itertools.pairwise(path):
            for step in range(1, STEPS + 1):
                self._gui.moveTo(x0 + (x1 - x0) * step // STEPS, y0 + (y1 - y0) * step // STEPS)
                time.sleep(0.004)
        self._gui.mouseUp(button=button)

    def scroll(self, x: int, y: int, right: int, down: int) -> None:
        self._gui.moveTo(x, y)
        if down:
            self._gui.vscroll(-down)
        if right:
            self._gui.hscroll(right)

    def keys(self, down: list[str], up: list[str]) -> None:
        for name in down:
            self._key(name, press=True)
        for name in up:
            self._key(name, press=False)

    def type(self, text: str) -> None:
        """Any text: a character the keyboard lacks gets a spare key, until the spare keys are used up."""
        plain = ""
        for at, character in enumerate(text):
            if self._on_keyboard(character):
                plain += character
                continue
            self._gui.write(plain)
            plain = ""
            if character not in self._placed:
                self._place(text[at:])
            following = next((c for c in text[at + 1 :] if not self._on_keyboard(c)), character)
            if following not in self._placed:
                self._before = self._at_rest()  # the keys change after this one: it has to be seen
            self._fake(self._placed[character], press=True)
            self._fake(self._placed[character], press=False)
        self._gui.write(plain)

    def look(
        self, deadline_ms: float, still_ms: float, format: str, quality: int
    ) -> tuple[dict[str, object], bytes]:
        """The screen once it has not changed for a while, or at the deadline."""
        from PIL import Image

        began = time.perf_counter()
        seen, still = self._until_still(deadline_ms, still_ms)
        settled_ms = (time.perf_counter() - began) * 1000
        picture = Image.frombytes("RGB", (seen.width, seen.height), bytes(seen.raw), "raw", "BGRX")
        out = io.BytesIO()
        if format == "png":
            picture.save(out, "PNG", compress_level=1)
        else:
            picture.save(out, format.upper(), quality=quality)
        return {"settled": still, "settled_ms": settled_ms}, out.getvalue()

    def check(self) -> None:
        """End with the X server: one that is killed answers nothing, even before its process is gone."""
        from Xlib.error import ConnectionClosedError

        try:
            self._display.sync()
        except (ConnectionClosedError, OSError, TypeError) as error:  # TypeError: python-xlib on EPIPE
            raise SystemExit("the X server has ended") from error

    # ---- how

    def _key(self, name: str, *, press: bool) -> None:
        if len(name) == 1 and not self._on_keyboard(name):
            if name not in self._placed:
                self._place(name)
            self._fake(self._placed[name], press=press)
        elif press:
            self._gui.keyDown(name)
        else:
            self._gui.keyUp(name)

    def _on_keyboard(self, character: str) -> bool:
        return character in "\n\t" or " " <= character <= "~"

    def _shifted(self) -> dict[str, int]:
        """Characters pyautogui holds Shift for -> the key that means them with it.

        It takes any key that has them: for "<" one that means ">" with Shift.
        """
        shifted = filter(self._gui.isShiftCharacter, map(chr, range(ord(" "), ord("~") + 1)))
        keys = self._display.keysym_to_keycodes
        return {each: min(code for code, level in keys(ord(each)) if level == 1) for each in shifted}

    def _unused_keycodes(self) -> list[int]:
        first = self._display.display.info.min_keycode
        last = self._display.display.info.max_keycode
        rows = self._display.get_keyboard_mapping(first, last - first + 1)
        return [first + at for at, row in enumerate(rows) if not any(row)][OTHERS_KEYS:]

    def _place(self, text: str) -> None:
        """Give spare keys to the next characters of a text that have none."""
        if len(self._placed) == len(self._spare):
            self._wait_until_read()
            self._placed.clear()
        free = [keycode for keycode in self._spare if keycode not in self._placed.values()]
        lacking = [c for c in dict.fromkeys(text) if not self._on_keyboard(c) and c not in self._placed]
        for character, keycode in zip(lacking, free, strict=False):
            point = ord(character)
            symbol = point if point < 0x100 else 0x01000000 + point
            self._display.change_keyboard_mapping(keycode, [(symbol, symbol)])
            self._placed[character] = keycode
        self._display.sync()
        self._before = bytes(self._grab().raw)

    def _wait_until_read(self) -> None:
        """A key that comes to mean something else is read as that by programs that have not read it yet.

        Nothing tells when they have; the screen changes when they show what was typed.
        """
        deadline = time.perf_counter() + ECHO_S
        while bytes(self._grab().raw) == self._before and time.perf_counter() < deadline:
            time.sleep(POLL_S)
        self._at_rest()

    def _at_rest(self) -> bytes:
        """The screen once it has come to rest."""
        return bytes(self._until_still(ECHO_S * 1000, READ_MS)[0].raw)

    def _grab(self) -> Any:
        return self._eye.grab(self._eye.monitors[0])

    def _until_still(self, deadline_ms: float, still_ms: float) -> tuple[Any, bool]:
        """The screen, and whether it stood still for a while before the deadline."""
        seen = self._grab()
        began = changed = time.perf_counter()
        while True:
            now = time.perf_counter()
            if (still := (now - changed) * 1000 >= still_ms) or (now - began) * 1000 >= deadline_ms:
                return seen, still
            time.sleep(POLL_S)
            again = self._grab()
            if bytes(again.raw) != bytes(seen.raw):
                seen, changed = again, time.perf_counter()

    def _fake(self, keycode: int, *, press: bool) -> None:
        from Xlib import X
        from Xlib.ext import xtest

        xtest.fake_input(self._display, X.KeyPress if press else X.KeyRelease, keycode)
        self._display.sync()

    def _property(self, window: Any, name: str) -> Any:
        from Xlib import X

        return window.get_full_property(self._display.intern_atom(name), X.AnyPropertyType)

    def _windows(self) -> list[Any]:
        found = self._property(self._root, "_NET_CLIENT_LIST")
        return [] if found is None else list(found.value)

    def _has_keyboard(self) -> bool:
        """Whether the window manager has given the keyboard to a window, some time after it appeared."""
        found = self._property(self._root, "_NET_ACTIVE_WINDOW")
        return found is not None and found.value[0] in self._windows()

    def _stays(self, number: int) -> bool:
        """Whether a window is more than a splash screen."""
        from Xlib import error

        window = self._display.create_resource_object("window", number)
        try:
            kinds = self._property(window, "_NET_WM_WINDOW_TYPE")
        except error.BadWindow:  # it has gone meanwhile
            return False
        return kinds is None or self._display.intern_atom(SPLASH) not in kinds.value

    def _wait(self, held: Callable[[], object], deadline_s: float, what: str) -> None:
        deadline = time.perf_counter() + deadline_s
        while not held():
            if time.perf_counter() > deadline:
                raise RuntimeError(f"{what} did not appear in {deadline_s:g} s")
            time.sleep(0.004)


def main() -> None:
    """Make a screen, and answer requests until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    # programs of the same user shall not read what we read, nor answer for us
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    ctypes.util.find_library = find_library
    modules: Any = sys.modules
    modules.update(dict.fromkeys(UNUSED))
    screen = Screen(int(sys.argv[1]), int(sys.argv[2]))
    for name in EARLY:
        importlib.import_module(name)
    screen.wait()
    hand = Hand(screen)
    _answer(out, {name: os.environ[name] for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")}, b"")
    _serve(hand, out)


def _serve(hand: Hand, out: BinaryIO) -> None:
    for line in sys.stdin.buffer:
        asked: dict[str, Any] = json.loads(line)
        try:
            found = getattr(hand, asked.pop("do"))(**asked)
        except Exception as error:  # noqa: BLE001  the other side decides what it means
            hand.check()
            _answer(out, {"error": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}, b"")
        else:
            told, data = found or ({}, b"")
            _answer(out, told, data)


def _answer(out: BinaryIO, told: dict[str, object], data: bytes) -> None:
    out.write(json.dumps({**told, "bytes": len(data)}).encode() + b"\n" + data)
    out.flush()


if __name__ == "__main__":
    main()
