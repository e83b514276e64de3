"""Dialogs of a page (alert, confirm, prompt, leaving it): they stop its scripts, no screenshot shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from deskhand_sandbox.backends.browser.cdp import CdpSession, DialogOpened, Payload

LEAVING = "beforeunload"
LEAVING_TEXT = "The page asks whether it is to be left: what was changed in it may be lost."
"""What a browser says where the page's own words are not shown."""


class Dialogs:
    """The dialog of one page. While one is open, the page answers nothing else."""

    def __init__(self, session: CdpSession, wake: Callable[[], None]) -> None:
        """
        Args:
            wake: called when a dialog has opened, for who waits for something else of the page.
        """
        self._session = session
        self._wake = wake
        self._open: Payload | None = None
        self._closed = asyncio.Event()
        self.heard = False
        """The page tells of its dialogs."""
        self.on_opened: Callable[[DialogOpened], None] | None = None
        """Told of each that somebody is to answer: pages of one process stop together."""
        self.attended = False
        """Somebody is going to answer; else each is dismissed as it comes, and a page may be left."""
        session.on("Page.javascriptDialogOpening", self._opened)
        session.on("Page.javascriptDialogClosed", self._closed_now)

    @property
    def text(self) -> str | None:
        """Type and words of the open dialog ("confirm: Delete it?"); None when there is none."""
        if self._open is None:
            return None
        kind, said = self._open["type"], self._open["message"]
        if kind == LEAVING:
            return f"{kind}: {said or LEAVING_TEXT}"
        default = self._open.get("defaultPrompt")
        return f"{kind}: {said}" + (f" [{default}]" if kind == "prompt" and default else "")

    def refuse_when_open(self) -> None:
        """
        Raises:
            DialogOpened: one is open.
        """
        if self._open is not None:
            raise DialogOpened(f"a dialog waits for an answer: {self.text}")

    async def answer(self, *, accept: bool, text: str = "") -> None:
        """Close the open dialog; returns once the page goes on.

        Raises:
            CdpError: it has gone already.
            CdpClosed: the page went with it.
        """
        self._closed.clear()
        await self._send(accept=accept, text=text)
        await self._closed.wait()

    async def dismiss(self) -> None:
        """Close the open dialog, where there is one, as somebody does who only wants to go on."""
        if self._open is not None:
            await self.answer(accept=self._open["type"] == LEAVING)

    def _send(self, *, accept: bool, text: str) -> asyncio.Future[Payload]:
        return self._session.send("Page.handleJavaScriptDialog", {"accept": accept, "promptText": text})

    def _opened(self, event: Payload) -> None:
        if not self.attended:
            self._send(accept=event["type"] == LEAVING, text="")
            return
        self._open = event
        why = DialogOpened(f"a dialog opened: {self.text}")
        self._session.abandon(why)
        self._wake()
        if self.on_opened is not None:
            self.on_opened(why)

    def _closed_now(self, _: Payload) -> None:
        self._open = None
        self._closed.set()
