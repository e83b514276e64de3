"""`screencap`, `wm`, `dumpsys` and `uiautomator`: what is on the screen."""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree

from PIL import Image

from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator

DENSITY = 160
RGBA_8888 = 1
DUMP = "/sdcard/window_dump.xml"
SERVICES = ("activity", "battery", "display", "input_method", "window")


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""

    async def screencap(call: Call) -> int:
        return await _screencap(simulator, call)

    async def wm(call: Call) -> int:
        return await _wm(simulator, call)

    async def dumpsys(call: Call) -> int:
        return await _dumpsys(simulator, call)

    async def uiautomator(call: Call) -> int:
        return await _uiautomator(simulator, call)

    return {"screencap": screencap, "wm": wm, "dumpsys": dumpsys, "uiautomator": uiautomator}


async def front(simulator: Simulator) -> tuple[str, bool]:
    """The activity in front, and whether the keyboard is shown."""
    shown: Any = await simulator.screen.call("front")
    package = shown["package"] or "org.deskhand.launcher"
    return f"{package}/{package}.Main", bool(shown["keyboard"])


async def _screencap(simulator: Simulator, call: Call) -> int:
    words = [word for word in call.words[1:] if word != "-p"]
    await simulator.shown()
    data = await simulator.screen.png()
    if "-p" not in call.words and not (words and words[0].endswith(".png")):
        data = await asyncio.to_thread(_raw, data)
    if not words:
        await call.write(data)
        return 0
    try:
        simulator.files.write(words[0], data)
    except OSError as error:
        return await call.complain(f"Error opening file: {words[0]} ({error.strerror})")
    return 0


def _raw(png: bytes) -> bytes:
    """A picture as `screencap` writes it without -p: size, format, colour space, then RGBA."""
    with Image.open(io.BytesIO(png)) as picture:
        pixels = picture.convert("RGBA")
        return struct.pack("<4I", pixels.width, pixels.height, RGBA_8888, 1) + pixels.tobytes()


async def _wm(simulator: Simulator, call: Call) -> int:
    width, height = simulator.natural_px
    match call.words[1:]:
        case ("size",):
            await call.say(f"Physical size: {width}x{height}")
        case ("density",):
            await call.say(f"Physical density: {DENSITY}")
        case ("dismiss-keyguard",):
            pass
        case ("size" | "density", *_):
            return await call.complain("java.lang.SecurityException: this display has one size and density")
        case _:
            raise UsageError("usage: wm size | density")
    return 0


async def _dumpsys(simulator: Simulator, call: Call) -> int:
    words = call.words[1:]
    if not words or words[0] == "-l":
        await call.say("Currently running services:\n" + "\n".join(f"  {name}" for name in SERVICES))
        return 0
    activity, keyboard = await front(simulator)
    record = f"ActivityRecord{{1f00d u0 {activity.replace('/' + activity.split('/')[0], '/')} t1}}"
    width, height = simulator.size_px
    match words[0]:
        case "window":
            await call.say(
                f"  Display: init={width}x{height} {DENSITY}dpi cur={width}x{height} app={width}x{height}\n"
                f"  mRotation={simulator.rotation} mCurrentRotation=ROTATION_{90 * simulator.rotation}\n"
                f"  mCurrentFocus=Window{{1f00d u0 {activity}}}\n  mFocusedApp={record}"
            )
        case "activity":
            await call.say(f"  mResumedActivity: {record}\n  topResumedActivity={record}")
        case "display":
            await call.say(f"  mCurrentLayerStack=0\n  mViewport orientation={simulator.rotation}")
        case "input_method":
            await call.say(f"  mInputShown={str(keyboard).lower()}")
        case "battery":
            await call.say("Current Battery Service state:\n  AC powered: true\n  status: 5\n  level: 100")
        case "SurfaceFlinger":
            await call.say("Display 0 HWC layers:")
        case _:
            return await call.complain(f"Can't find service: {words[0]}")
    return 0


async def _uiautomator(simulator: Simulator, call: Call) -> int:
    words = [word for word in call.words[1:] if word != "--compressed"]
    if not words or words[0] != "dump" or len(words) > 2:
        raise UsageError("usage: uiautomator dump [--compressed] [file]")
    await simulator.shown()
    shown, _ = await front(simulator)
    document = _hierarchy(await simulator.screen.tree(), shown.split("/")[0], simulator.rotation)
    place = words[1] if len(words) > 1 else DUMP
    if place == "/dev/tty":
        await call.write(document)
    else:
        try:
            simulator.files.write(place, document)
        except OSError as error:
            return await call.complain(f"java.io.FileNotFoundException: {place}: {error.strerror}")
    # the spelling is Android's
    await call.say(f"UI hierchary dumped to: {place}")
    return 0


def _hierarchy(root: Mapping[str, Any], package: str, rotation: int) -> bytes:
    top = ElementTree.Element("hierarchy", rotation=str(rotation))
    _add(top, root, 0, package)
    return ElementTree.tostring(top, encoding="UTF-8", xml_declaration=True)


def _add(above: ElementTree.Element, node: Mapping[str, Any], index: int, package: str) -> None:
    def told(name: str) -> str:
        return str(bool(node.get(name))).lower()

    left, top, right, bottom = cast("Sequence[int]", node["bounds"])
    name = str(node.get("id") or "")
    element = ElementTree.SubElement(
        above,
        "node",
        {
            "index": str(index),
            "text": _printable(str(node.get("text") or "")),
            "resource-id": f"{package}:id/{name}" if name else "",
            "class": str(node["class"]),
            "package": package,
            "content-desc": _printable(str(node.get("description") or "")),
            "checkable": told("checkable"),
            "checked": told("checked"),
            "clickable": told("clickable"),
            "enabled": "true",
            "focusable": told("focusable"),
            "focused": told("focused"),
            "scrollable": told("scrollable"),
            "long-clickable": told("long"),
            "password": "false",
            "selected": told("selected"),
            "bounds": f"[{left},{top}][{right},{bottom}]",
        },
    )
    for number, child in enumerate(node["children"]):
        _add(element, child, number, package)


def _printable(text: str) -> str:
    """Text without what XML cannot hold; Android writes dots for it too."""
    return "".join(c if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff") else "." for c in text)
