"""Files of the sandbox for a page's file chooser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload
from deskhand_sandbox.backends.browser.folder import OwnFolder
from deskhand_sandbox.backends.browser.input import PageInput
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Point

CHOOSER_S = 3.0
"""How long after the click a file chooser may take to open."""
UPLOAD_BYTES = 100 * 1024 * 1024


async def stage(folder: OwnFolder, paths: Sequence[str], place: Path) -> list[Path]:
    """Copies of files of the sandbox, in a new folder that the browser reads and no agent writes.

    Raises:
        InvalidAction: there is no such file, or they are too long.
    """
    if not paths:
        raise InvalidAction("an upload needs at least one file")
    left = UPLOAD_BYTES
    staged: list[Path] = []
    for number, path in enumerate(paths):
        data = await folder.get(path, left)
        left -= len(data)
        name = Path(path).name
        if not name or name == "..":
            raise InvalidAction(f"{path!r} names no file")
        target = place / str(number) / name
        await asyncio.to_thread(_write, target, data)
        staged.append(target)
    return staged


async def upload(page: CdpSession, pointer: PageInput, at: Point, files: Sequence[Path]) -> None:
    """Click, and answer the file chooser this opens.

    Raises:
        InvalidAction: the click opened none, or one that takes a single file.
    """
    opened: asyncio.Future[Payload] = asyncio.get_running_loop().create_future()

    def chooses(event: Payload) -> None:
        if not opened.done():
            opened.set_result(event)

    page.on("Page.fileChooserOpened", chooses)
    await page.send("Page.setInterceptFileChooserDialog", {"enabled": True})
    try:
        await pointer.click(page, at, "left", 1)
        async with asyncio.timeout(CHOOSER_S):
            chooser = await opened
        if "backendNodeId" not in chooser:
            raise InvalidAction(f"the click at {at} asked for files in a way that takes none from here")
        if chooser["mode"] == "selectSingle" and len(files) > 1:
            raise InvalidAction(f"the file chooser at {at} takes one file, not {len(files)}")
        node = chooser["backendNodeId"]
        await page.send("DOM.setFileInputFiles", {"files": [str(f) for f in files], "backendNodeId": node})
    except TimeoutError:
        raise InvalidAction(f"the click at {at} opened no file chooser") from None
    finally:
        page.send("Page.setInterceptFileChooserDialog", {"enabled": False})


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(data)
