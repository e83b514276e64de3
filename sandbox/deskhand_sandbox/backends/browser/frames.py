"""Frames of another origin than their page: it cannot see into them, so they are asked by themselves."""

from __future__ import annotations

import asyncio

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload

_INHERITING = ("about:blank", "about:srcdoc")
"""Addresses of frames that have their page's origin."""


class Frames:
    """What a page's frames are. Costs nothing while all of them are of the page's own origin."""

    def __init__(self, session: CdpSession) -> None:
        self._session = session
        self._origin = ""
        self._frames: dict[str, Payload] = {}
        self._contexts: dict[str, int] = {}
        self._listening = False
        self.unseen = False
        """There are frames the page cannot see into."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Every frame inside the page."""
        return tuple(self._frames)

    def navigated(self, frame: Payload) -> None:
        """A frame shows another document."""
        if "parentId" in frame:
            self._frames[frame["id"]] = frame
        else:
            self._origin = frame["securityOrigin"]
            self._frames.clear()
        self._look()

    def gone(self, frame_id: str) -> None:
        """A frame was taken out of its page."""
        self._frames.pop(frame_id, None)
        self._contexts.pop(frame_id, None)
        self._look()

    async def ask(self, question: str) -> list[asyncio.Future[Payload]]:
        """Evaluate an expression in every frame.

        Raises:
            CdpError: a frame went away.
        """
        if not self._listening:
            self._listening = True
            self._session.on("Runtime.executionContextCreated", self._context_made)
            self._session.on("Runtime.executionContextDestroyed", self._context_gone)
            # tells of the contexts there are before it answers
            await self._session.send("Runtime.enable")
        return [
            self._session.send(
                "Runtime.evaluate",
                {"expression": question, "contextId": context, "returnByValue": True, "awaitPromise": True},
            )
            for frame_id, context in self._contexts.items()
            if frame_id in self._frames
        ]

    def _look(self) -> None:
        self.unseen = any(self._is_foreign(frame) for frame in self._frames.values())

    def _is_foreign(self, frame: Payload) -> bool:
        origin = frame["securityOrigin"]
        if "//" not in origin or origin.endswith("//"):
            # an origin of its own, which is never another's, unless it inherits that of its page
            return not frame["url"].startswith(_INHERITING)
        return origin != self._origin

    def _context_made(self, event: Payload) -> None:
        made = event["context"]
        about = made.get("auxData") or {}
        if about.get("isDefault"):
            self._contexts[about["frameId"]] = made["id"]

    def _context_gone(self, event: Payload) -> None:
        number = event["executionContextId"]
        self._contexts = {frame: each for frame, each in self._contexts.items() if each != number}
