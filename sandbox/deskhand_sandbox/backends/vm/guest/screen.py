"""The guest's X screen, for what no key of a keyboard does: any text, windows, the sideways wheel."""

from __future__ import annotations

import threading
import time
from typing import Any

START_S = 90.0
BACKGROUND = 0x2F4858
POLL_S = 0.01
SHIFT = "Shift_L"
SPLASH = "_NET_WM_WINDOW_TYPE_SPLASH"
NO_SYMBOL = 0
_SHOWN_BY_NAME = {"\n": "Return", "\t": "Tab"}
_VENDOR_KEYS = range(0x10080000, 0x1009FFFF)
"""Keys of media keyboards, which a guest without one can do without."""


class Screen:
    """Waits until the X server and the window manager answer."""

    def __init__(self) -> None:
        from Xlib import XK, display, error

        self._keysym = XK.string_to_keysym
        deadline = time.monotonic() + START_S
        while True:
            try:
                self._display: Any = display.Display(":0")
                break
            except (error.DisplayConnectionError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self._root: Any = self._display.screen().root
        self._lock = threading.Lock()
        self._wait(
            lambda: self._property(self._root, "_NET_SUPPORTING_WM_CHECK"), START_S, "a window manager"
        )
        self._root.change_attributes(background_pixel=BACKGROUND)
        self._root.clear_area(0, 0, 0, 0)
        self._display.sync()
        self._known, self._spare = self._read_keyboard()
        self._placed: dict[str, int] = {}
        """Characters the keyboard lacks -> the spare keys that mean them now."""

    def resize(self, width: int, height: int) -> None:
        """Give the screen another size, with the timing `start.sh` gives it at first."""
        from Xlib.ext import randr

        own: dict[str, Any] = {
            "display": self._display.display,
            "opcode": self._display.display.get_extension_major(randr.extname),
        }
        with self._lock:
            now = self._root.get_geometry()
            if (now.width, now.height) == (width, height):
                return
            there = randr.GetScreenResources(window=self._root, **own)
            mode = {
                "id": 0,
                "width": width,
                "height": height,
                "dot_clock": (width + 160) * (height + 30) * 60,
                "h_sync_start": width + 48,
                "h_sync_end": width + 80,
                "h_total": width + 160,
                "h_skew": 0,
                "v_sync_start": height + 3,
                "v_sync_end": height + 8,
                "v_total": height + 30,
                "name_length": 4,
                "flags": 0,
            }
            made = randr.CreateMode(window=self._root, mode=mode, name="desk", **own).mode
            output, crtc = there.outputs[0], there.crtcs[0]
            randr.AddOutputMode(output=output, mode=made, **own)
            place: dict[str, Any] = {"crtc": crtc, "timestamp": 0, "x": 0, "y": 0, "rotation": 1, **own}
            place["config_timestamp"] = there.config_timestamp
            randr.SetCrtcConfig(mode=0, outputs=[], **place)
            size = {"width": width, "height": height}
            millimetres = {"width_in_millimeters": width // 4, "height_in_millimeters": height // 4}
            randr.SetScreenSize(window=self._root, **size, **millimetres, **own)
            told = randr.SetCrtcConfig(mode=made, outputs=[output], **place)
            if told.status:
                raise RuntimeError(f"the screen cannot be {width} x {height} pixels")
            self._display.sync()

    def wait_for_windows(self, count: int, deadline_s: float) -> None:
        """Wait for so many windows; what a program shows only while it starts is none."""

        def there() -> bool:
            with self._lock:
                found = self._property(self._root, "_NET_CLIENT_LIST")
                return found is not None and sum(map(self._stays, found.value)) >= count

        if count:
            self._wait(there, deadline_s, f"{count} windows")

    def type(self, text: str, *, fresh: bool) -> int:
        """Type text; how many characters were typed before the spare keys ran out.

        A spare key that comes to mean another character is read as that by programs that have not read it
        yet: only who knows that they have may ask to begin afresh.
        """
        with self._lock:
            if fresh:
                self._placed.clear()
            self._place(text)
            for at, character in enumerate(text):
                keys = self._keys_of(character)
                if keys is None:
                    return at
                for code in keys:
                    self._fake(code, press=True)
                for code in reversed(keys):
                    self._fake(code, press=False)
                # together: a key that is held for long on a busy machine would type again and again
                self._display.sync()
            return len(text)

    def keys(self, down: list[str], up: list[str]) -> None:
        """Press and release characters the host's keyboard has no key for."""
        with self._lock:
            self._placed.clear()
            self._place("".join(down + up))
            for name, press in [(each, True) for each in down] + [(each, False) for each in up]:
                for code in self._keys_of(name) or []:
                    self._fake(code, press=press)
            self._display.sync()

    def scroll_sideways(self, right: int) -> None:
        from Xlib import X
        from Xlib.ext import xtest

        with self._lock:
            for _ in range(abs(right)):
                for event in (X.ButtonPress, X.ButtonRelease):
                    xtest.fake_input(self._display, event, 7 if right > 0 else 6)
            self._display.sync()

    # ---- how

    def _read_keyboard(self) -> tuple[dict[int, tuple[int, bool]], list[int]]:
        """Symbol -> key and whether with Shift; and the keys nobody needs."""
        first = self._display.display.info.min_keycode
        last = self._display.display.info.max_keycode
        known: dict[int, tuple[int, bool]] = {}
        spare: list[int] = []
        for at, row in enumerate(self._display.get_keyboard_mapping(first, last - first + 1)):
            symbols = [each for each in row if each != NO_SYMBOL]
            if all(each in _VENDOR_KEYS for each in symbols):
                spare.append(first + at)
                continue
            for shifted, symbol in enumerate(row[:2]):
                known.setdefault(symbol, (first + at, bool(shifted)))
        return known, spare

    def _keys_of(self, character: str) -> list[int] | None:
        """The keys that type a character together; None where it has none yet."""
        if character in self._placed:
            return [self._placed[character]]
        found = self._known.get(self._symbol(character))
        if found is None:
            return None
        code, shifted = found
        return [self._known[self._keysym(SHIFT)][0], code] if shifted else [code]

    def _place(self, text: str) -> None:
        """Give free spare keys to characters that have none."""
        taken = set(self._placed.values())
        free = [code for code in self._spare if code not in taken]
        lacking = [each for each in dict.fromkeys(text) if self._keys_of(each) is None]
        for character, code in zip(lacking, free, strict=False):
            symbol = self._symbol(character)
            self._display.change_keyboard_mapping(code, [(symbol, symbol)])
            self._placed[character] = code
        self._display.sync()

    def _symbol(self, character: str) -> int:
        """What X calls a character; beyond Latin-1 its code point alone may be that of Escape or its like."""
        if name := _SHOWN_BY_NAME.get(character):
            return self._keysym(name)
        point = ord(character)
        return point if point < 0x100 else 0x01000000 + point

    def _fake(self, code: int, *, press: bool) -> None:
        from Xlib import X
        from Xlib.ext import xtest

        xtest.fake_input(self._display, X.KeyPress if press else X.KeyRelease, code)

    def _stays(self, number: int) -> bool:
        """Whether a window is more than a splash screen."""
        from Xlib import error

        window = self._display.create_resource_object("window", number)
        try:
            kinds = self._property(window, "_NET_WM_WINDOW_TYPE")
        except error.BadWindow:  # it has gone meanwhile
            return False
        return kinds is None or self._display.intern_atom(SPLASH) not in kinds.value

    def _property(self, window: Any, name: str) -> Any:
        from Xlib import X

        return window.get_full_property(self._display.intern_atom(name), X.AnyPropertyType)

    def _wait(self, held: Any, deadline_s: float, what: str) -> None:
        deadline = time.monotonic() + deadline_s
        while not held():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not appear in {deadline_s:g} s")
            time.sleep(POLL_S)
