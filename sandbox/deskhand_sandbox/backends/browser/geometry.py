"""Where the elements of a page and of its frames are on its screenshot, from one snapshot of its layout."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from deskhand_sandbox.backends.browser.cdp import CdpError, CdpSession, Payload
from deskhand_sandbox.types import Point

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the screenshot."""


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
                at = centre(box, document.clip)
                if at is not None:
                    found.setdefault(numbers[index], at)
        return found


async def take_snapshot(page: CdpSession, size_px: tuple[int, int], styles: tuple[str, ...] = ()) -> Snapshot:
    """The layout of a page and its frames.

    Args:
        styles: computed styles to tell of every node.
    """
    told = await page.send("DOMSnapshot.captureSnapshot", {"computedStyles": list(styles)})
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
    for (outer, _, inner), number, model in zip(owners, numbers, models, strict=True):
        snapshot.frames[number] = snapshot.documents[inner].frame_id
        if isinstance(model, CdpError):
            continue  # a frame that is not drawn
        if isinstance(model, BaseException):
            raise model
        content = model["model"]["content"]
        box = (min(content[::2]), min(content[1::2]), max(content[::2]), max(content[1::2]))
        snapshot.documents[inner].origin = box[:2]
        snapshot.documents[inner].clip = _meet(box, outer.clip)


def _meet(one: Box, two: Box) -> Box:
    return max(one[0], two[0]), max(one[1], two[1]), min(one[2], two[2]), min(one[3], two[3])


def _sparse(told: Mapping[str, list[int]] | None) -> dict[int, int]:
    return dict(zip(told["index"], told["value"], strict=True)) if told else {}
