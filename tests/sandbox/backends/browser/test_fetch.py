"""Addresses asked beside the page, as far as the task's network policy goes."""

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.types import EditFile, Fetch, ReadFile, WriteFile

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def test_an_answer_has_its_status_and_its_text(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    assert (await sandbox.act(Fetch(url=f"{site}/next"))).output == "200 OK\n<h1>next</h1>"
    assert (await sandbox.act(Fetch(url=f"{site}/redirect?/next"))).output == "200 OK\n<h1>next</h1>"
    assert (await sandbox.act(Fetch(url=f"{site}/next", method="PUT"))).output.startswith("501 ")  # type: ignore[union-attr]
    own = (await sandbox.act(Fetch(url="http://miniwob.localhost/miniwob/click-test.html"))).output
    assert own is not None and own.startswith("200 OK\n<!DOCTYPE html>")
    long = (await sandbox.act(Fetch(url=f"{site}/file/a/100000"))).output
    assert long is not None and long.endswith("x\n[cut after 65536 bytes]")
    for url, said in (
        ("file:///etc/passwd", "http:// or https://"),
        ("nowhere", "http:// or https://"),
        ("http://127.0.0.1:9/", "cannot be fetched"),
        (f"{site}/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/next", "more than 5"),
        (f"{site}/redirect?file:///etc/passwd", "http:// or https://"),
    ):
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(Fetch(url=url))


async def test_the_network_policy_holds_for_it(sandbox: BrowserSandbox, visit, site: str) -> None:
    own = site.removeprefix("http://")
    await sandbox.reset(visit(f"{site}/", network=[own]))
    assert (await sandbox.act(Fetch(url=f"{site}/next"))).output == "200 OK\n<h1>next</h1>"
    for url in (site.replace("127.0.0.1", "localhost"), f"{site}/redirect?http://localhost:1/"):
        with pytest.raises(InvalidAction, match="network policy does not allow localhost"):
            await sandbox.act(Fetch(url=url))


@pytest.mark.skipif(not Confinement.available(), reason="bubblewrap cannot make namespaces here")
async def test_files_are_edited_in_place(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("here"))
    await sandbox.act(WriteFile(path="a.txt", content="one two"))
    await sandbox.act(EditFile(path="a.txt", old="two", new="three"))
    assert (await sandbox.act(ReadFile(path="a.txt"))).output == "one three"
    with pytest.raises(InvalidAction, match="cannot be edited"):
        await sandbox.act(EditFile(path="a.txt", old="two", new="three"))
