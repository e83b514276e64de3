"""A page and its frames as text: one line for each thing there is, with the pixel to click at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import cast

from deskhand_sandbox.backends.browser.cdp import CdpError, Payload
from deskhand_sandbox.backends.browser.dom_tree import dom_lines
from deskhand_sandbox.backends.browser.geometry import Snapshot, take_snapshot
from deskhand_sandbox.backends.browser.quoting import quoted
from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.types import Point

INDENT = "  "

_SILENT = frozenset({"none", "generic", "Iframe", "IframePresentational"})
"""Roles that say nothing by themselves: shown where they have a name, what is in them in any case."""
_NEVER = frozenset({"InlineTextBox", "LineBreak", "ListMarker"})
"""Roles whose text another role has told."""
_FLAGS = ("focused", "disabled", "required", "readonly", "selected", "modal", "busy")
_STATES = ("checked", "pressed", "expanded", "invalid", "level")


async def text_tree_of(tab: Tab, settings: PageSettings) -> str:
    """The text tree of the page in a tab, in the form the task asks for.

    Raises:
        DialogOpened: a dialog waits for an answer.
        CdpClosed: the tab is gone.
    """
    limit_ms = settings.text_tree_deadline_ms
    try:
        async with asyncio.timeout(limit_ms / 1000):
            if settings.text_tree == "dom":
                snapshot = await take_snapshot(tab.session, settings.viewport_px)
                lines = dom_lines(snapshot)
            else:
                lines = await _accessible(tab, settings)
            return "\n".join(_capped(lines, settings.text_tree_nodes))
    except CdpError as error:
        return f"[left out: the page went away in between ({error})]"
    except TimeoutError:
        return f"[left out: the tree took longer than {limit_ms:g} ms]"


async def _accessible(tab: Tab, settings: PageSettings) -> Iterable[str]:
    page = tab.session
    told, snapshot = await asyncio.gather(
        page.send("Accessibility.getFullAXTree"), take_snapshot(page, settings.viewport_px)
    )
    frames = list(snapshot.frames.values())
    answers = await asyncio.gather(
        *(page.send("Accessibility.getFullAXTree", {"frameId": each}) for each in frames),
        return_exceptions=True,
    )
    trees = {snapshot.documents[0].frame_id: _by_id(told)}
    for frame, answer in zip(frames, answers, strict=True):
        if isinstance(answer, CdpError):
            continue  # it went away in between
        if isinstance(answer, BaseException):
            raise answer
        trees[frame] = _by_id(answer)
    return _lines(snapshot, trees)


def _by_id(told: Payload) -> dict[str, Payload]:
    return {each["nodeId"]: each for each in told["nodes"]}


def _lines(snapshot: Snapshot, trees: Mapping[str, dict[str, Payload]]) -> Iterable[str]:
    centres = snapshot.centres()
    main = snapshot.documents[0].frame_id
    # frame, number in its tree, depth, name of what it is in
    waiting: list[tuple[str, str, int, str]] = [(main, next(iter(trees[main]), ""), 0, "")]
    while waiting:
        frame, number, depth, around = waiting.pop()
        node = trees[frame].get(number)
        if node is None:
            continue
        line = None if node["ignored"] else _line(node, around, centres)
        if line is not None:
            yield INDENT * depth + line
            depth, around = depth + 1, f"{_text(node, 'name')} {_text(node, 'value')}"
        waiting += [(frame, each, depth, around) for each in reversed(node.get("childIds", []))]
        inner = snapshot.frames.get(node.get("backendDOMNodeId", -1))
        if inner is not None and inner in trees:
            waiting.append((inner, next(iter(trees[inner]), ""), depth, ""))


def _line(node: Payload, around: str, centres: Mapping[int, Point]) -> str | None:
    role, name, value = _text(node, "role"), _text(node, "name"), _text(node, "value")
    if role in _NEVER or (role in _SILENT and not name):
        return None
    if role == "StaticText":
        if not name or name in around:
            return None
        role = "text"
    words = [role]
    if name:
        words.append(quoted(name))
    if value and value != name:
        words.append(f"value={quoted(value)}")
    words += _states(node)
    at = centres.get(node.get("backendDOMNodeId", -1))
    if at is not None:
        words.append(f"({at[0]}, {at[1]})")
    elif role != "RootWebArea":
        words.append("[off the screen]")
    return " ".join(words)


def _states(node: Payload) -> list[str]:
    told = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
    words = [name for name in _FLAGS if told.get(name) is True]
    for name in _STATES:
        match told.get(name):
            case None | "false" if name != "expanded":
                pass
            case False if name == "expanded":
                words.append("collapsed")
            case True | "true":
                words.append(name)
            case None | False | "":
                pass
            case other:
                words.append(f"{name}={other}")
    if node.get("role", {}).get("value") == "RootWebArea":
        words = [each for each in words if each != "focused"]
    return [f"[{word}]" for word in words]


def _text(node: Payload, part: str) -> str:
    told = cast("object", node.get(part, {}).get("value", ""))
    return " ".join(str(told).split())


def _capped(lines: Iterable[str], most: int) -> list[str]:
    shown: list[str] = []
    left_out = 0
    for line in lines:
        if len(shown) < most:
            shown.append(line)
        else:
            left_out += 1
    return [*shown, f"[{left_out} more left out]"] if left_out else shown
