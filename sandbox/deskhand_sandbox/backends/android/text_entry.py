"""Text as a device takes it: plain characters by `input text`, any others through a keyboard app.

`input text` knows the characters of one keyboard and no others. ADBKeyboard (github.com/senzhk/ADBKeyBoard)
is a keyboard app that types whatever a broadcast brings, in base64; where it is installed it is used.
"""

from __future__ import annotations

import base64
import re
import shlex

from deskhand_sandbox.backends.action_checks import typed_text
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.errors import InvalidAction

KEYBOARD = "com.android.adbkeyboard/.AdbIME"
PART = 400
"""Characters typed by one command."""
ENTER, TAB = 66, 61
_PIECES = re.compile(r"([\n\t])")


class Typing:
    """Types on one device, and remembers whether it has the keyboard app."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._any_text: bool | None = None

    def forget(self) -> None:
        """The device begins anew: look for the keyboard again."""
        self._any_text = None

    async def type(self, text: str) -> None:
        """Type text where the focus is.

        Raises:
            InvalidAction: a character nothing on this device can type; nothing was typed.
            InfrastructureError: the device failed.
        """
        text = typed_text(text)
        if not text.replace("\n", "").replace("\t", "").isascii():
            await self._choose_keyboard(text)
        for piece in _PIECES.split(text):
            if piece in ("\n", "\t"):
                await self._device.told("input", "keyevent", str(ENTER if piece == "\n" else TAB))
            elif piece.isascii():
                await self._plain(piece)
            else:
                await self._any(piece)

    async def _plain(self, text: str) -> None:
        for line in text_lines(text):
            result = await self._device.script(line)
            if result.code:
                raise InvalidAction(
                    f"the device cannot type {text!r}: {result.err.decode(errors='replace').strip()}"
                )

    async def _any(self, text: str) -> None:
        for at in range(0, len(text), PART):
            message = base64.b64encode(text[at : at + PART].encode()).decode()
            await self._device.told("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", message)

    async def _choose_keyboard(self, text: str) -> None:
        if self._any_text is None:
            installed = await self._device.told("ime", "list", "-a", "-s")
            self._any_text = KEYBOARD in installed.split()
            if self._any_text:
                await self._device.told("ime", "enable", KEYBOARD)
                await self._device.told("ime", "set", KEYBOARD)
        if not self._any_text:
            wrong = next(c for c in text if not c.isascii())
            raise InvalidAction(
                f"this device's keyboard has no {wrong!r}; with ADBKeyboard installed any text can be typed"
            )


def text_lines(text: str) -> list[str]:
    """Commands that type plain text; `input text` takes %s for a space, so a written %s goes in two."""
    words: list[str] = []
    for at in range(0, len(text), PART):
        part = text[at : at + PART].replace("%s", "%\0s").replace(" ", "%s")
        words += [word for word in part.split("\0") if word]
    return [f"input text {shlex.quote(word)}" for word in words]
