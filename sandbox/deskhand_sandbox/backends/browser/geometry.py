"""Where the elements of a page and of its frames are on its screenshot, from one snapshot of its layout."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from deskhand_sandbox.backends.browser.cdp import CdpError, CdpSession, Payload
from deskhand_sandbox.types import Point

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the screenshot."""
STYLES = ("visibility", "display", "position", "overflow-x", "overflow-y", "transform", "filter", "overlay")
"""Computed styles that are told of every element drawn, in this order."""
_CLIPPING = ("block", "flex", "grid", "flow-root", "table-cell", "list-item", "table-caption")
"""Ends of the `display` of elements that can clip or scroll what is in them."""


@dataclass(slots=True)
class Document:
    """The document of the page or of a frame in it."""

    frame_id: str
    nodes: Payload
    layout: Payload
    scroll: tuple[float, float]
    origin: tuple[float, float] = (0.0, 0.0)
    clip: Box = (0.0, 0.0, 0.0, 0.0)
    """What of the screenshot can show it."""
    inside: dict[int, int] = field(default_factory=dict[int, int])
    """Index of a frame's element -> index of the document in it."""
    clips: list[Box] = field(default_factory=list[Box])
    """For each node, what of the screenshot can show it: what it lies in may be scrolled, or cut it off."""

    def boxes(self) -> dict[int, Box]:
        """Index of a node -> where it is drawn, whether or not that is on the screen."""
        left = self.origin[0] - self.scroll[0]
        top = self.origin[1] - self.scroll[1]
        return {
            index: (left + x, top + y, left + x + width, top + y + height)
            for index, (x, y, width, height) in zip(
                self.layout["nodeIndex"], self.layout["bounds"], strict=True
            )
        }


@dataclass(slots=True)
class Snapshot:
    """A page with its frames, as it lies."""

    strings: list[str]
    documents: list[Document]
    frames: dict[int, str]
    """Number of a frame's element -> id of the frame."""

    def centres(self) -> dict[int, Point]:
        """Number of an element (Chromium's backend node id) -> centre of what is seen of it."""
        found: dict[int, Point] = {}
        for document in self.documents:
            numbers = document.nodes["backendNodeId"]
            for index, box in document.boxes().items():
                at = centre(box, document.clips[index])
                if at is not None:
                    found.setdefault(numbers[index], at)
        return found


async def take_snapshot(page: CdpSession, size_px: tuple[int, int]) -> Snapshot:
    """The layout of a page and its frames, with `STYLES`."""
    told = await page.send("DOMSnapshot.captureSnapshot", {"computedStyles": list(STYLES)})
    strings: list[str] = told["strings"]
    documents = [
        Document(
            frame_id=strings[each["frameId"]],
            nodes=each["nodes"],
            layout=each["layout"],
            scroll=(each.get("scrollOffsetX", 0), each.get("scrollOffsetY", 0)),
            inside=_sparse(each["nodes"].get("contentDocumentIndex")),
        )
        for each in told["documents"]
    ]
    snapshot = Snapshot(strings=strings, documents=documents, frames={})
    documents[0].clip = (0.0, 0.0, float(size_px[0]), float(size_px[1]))
    await _place_frames(page, snapshot)
    return snapshot


def centre(box: Box, clip: Box) -> Point | None:
    """The pixel in the middle of what `clip` leaves of a box; None when that is nothing."""
    left, top, right, bottom = _meet(box, clip)
    if right - left < 1 or bottom - top < 1:
        return None
    return int((left + right) / 2), int((top + bottom) / 2)


async def _place_frames(page: CdpSession, snapshot: Snapshot) -> None:
    owners = [
        (document, index, inner)
        for document in snapshot.documents
        for index, inner in document.inside.items()
    ]
    numbers = [document.nodes["backendNodeId"][index] for document, index, _ in owners]
    models = await asyncio.gather(
        *(page.send("DOM.getBoxModel", {"backendNodeId": number}) for number in numbers),
        return_exceptions=True,
    )
    _clip(snapshot.documents[0], snapshot.strings)
    # a frame's element comes before the frames in it
    for (outer, index, inner), number, model in zip(owners, numbers, models, strict=True):
        snapshot.frames[number] = snapshot.documents[inner].frame_id
        if isinstance(model, BaseException) and not isinstance(model, CdpError):
            raise model
        if not isinstance(model, BaseException):  # else it is not drawn
            content = model["model"]["content"]
            box = (min(content[::2]), min(content[1::2]), max(content[::2]), max(content[1::2]))
            snapshot.documents[inner].origin = box[:2]
            snapshot.documents[inner].clip = _meet(box, outer.clips[index])
        _clip(snapshot.documents[inner], snapshot.strings)


@dataclass(frozen=True, slots=True)
class _Room:
    """What of the screenshot can show the children of an element, by their `position`."""

    flow: Box
    absolute: Box
    fixed: Box


def _clip(document: Document, strings: list[str]) -> None:
    """Find what every node of a document is cut off by (CSS Overflow 3, CSS Positioned Layout 3)."""
    layout, boxes, whole = document.layout, document.boxes(), document.clip
    styles = {
        index: [strings[each] for each in told]
        for index, told in zip(layout["nodeIndex"], layout["styles"], strict=True)
        if told
    }
    rooms: list[_Room] = []
    document.clips = []
    for index, parent in enumerate(document.nodes["parentIndex"]):
        room = rooms[parent] if parent >= 0 else _Room(whole, whole, whole)
        style = styles.get(index)
        if style is None:  # a text, or an element without a box of its own
            document.clips.append(room.flow)
            rooms.append(room)
            continue
        _, _, position, _, _, transform, filtered, overlay = style
        on_top = overlay == "auto"  # above all others, as a modal dialog
        clip = whole if on_top else {"fixed": room.fixed, "absolute": room.absolute}.get(position, room.flow)
        inner = clip
        if not _is_the_page_s(index, document, strings, styles):
            inner = _meet(clip, _shown_by(style, boxes[index]))
        contains = transform != "none" or filtered != "none"
        document.clips.append(clip)
        rooms.append(
            _Room(
                flow=inner,
                absolute=inner if contains or position != "static" else room.absolute,
                fixed=inner if contains else whole if on_top else room.fixed,
            )
        )


def _is_the_page_s(index: int, document: Document, strings: list[str], styles: dict[int, list[str]]) -> bool:
    """Whether an element's overflow is that of the page: of its root, or of a body whose root has none."""
    name, parent = strings[document.nodes["nodeName"][index]], document.nodes["parentIndex"][index]
    return name == "HTML" or (name == "BODY" and styles.get(parent, ["visible"] * 4)[3] == "visible")


def _shown_by(style: list[str], box: Box) -> Box:
    """What an element lets be seen of what is in it."""
    _, display, _, across, down, *_ = style
    left, top, right, bottom = box
    if not display.endswith(_CLIPPING):
        return -inf, -inf, inf, inf
    if across == "visible":
        left, right = -inf, inf
    if down == "visible":
        top, bottom = -inf, inf
    return left, top, right, bottom


def _meet(one: Box, two: Box) -> Box:
    return max(one[0], two[0]), max(one[1], two[1]), min(one[2], two[2]), min(one[3], two[3])


def _sparse(told: Mapping[str, list[int]] | None) -> dict[int, int]:
    return dict(zip(told["index"], told["value"], strict=True)) if told else {}
