"""Downloads land in the sandbox's own folder, and files of it can be uploaded."""

import asyncio
import re
from pathlib import Path

import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox
from deskhand_sandbox.backends.browser.downloads import Downloads
from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.types import Click, Navigate, Observation, ReadFile, Run, Upload, Wait, WriteFile

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

confined = pytest.mark.skipif(not Confinement.available(), reason="bubblewrap cannot make namespaces here")


def link(url: str, more: str = "") -> str:
    return f"document.body.innerHTML = `<a href='{url}' {more} style='font-size:60px'>get</a>`; 1"


@confined
async def test_a_download_is_named_once_it_is_there_and_can_be_read(
    sandbox: BrowserSandbox, visit, site: str
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(link("/file/report.txt/2000/slow"))
    seen = await told(sandbox, await sandbox.act(Click(x=40, y=50)))
    assert seen.output == "[downloaded downloads/report.txt, 2000 bytes]"
    assert seen.url == f"{site}/"
    assert (await sandbox.act(ReadFile(path="downloads/report.txt"))).output == "x" * 2000
    seen = await told(sandbox, await sandbox.act(Click(x=40, y=50)))
    assert seen.output == "[downloaded downloads/report (1).txt, 2000 bytes]"
    assert (await sandbox.act(Run(command="ls downloads"))).output == "'report (1).txt'   report.txt"


async def told(sandbox: BrowserSandbox, seen: Observation) -> Observation:
    """The observation that tells of a download: it may begin only after the click has settled."""
    async with asyncio.timeout(120):
        while seen.output is None:
            seen = await sandbox.act(Wait(seconds=0.05))
    return seen


async def test_every_name_fits_a_file_system(tmp_path: Path) -> None:
    downloads = Downloads(tmp_path, 1000, lambda number: None)
    for suggested in ("漢" * 200 + ".txt", "🙂" * 300 + ".txt", "." * 300, "a" * 300 + ".txt"):
        names = {downloads._free_name(suggested) for _ in range(12)}
        for name in names:
            (tmp_path / name).touch()
            assert name.endswith(Path(suggested).suffix) and not name.startswith(".")
        assert len(names) == 12
    assert len(list(tmp_path.iterdir())) == 48


@confined
async def test_a_download_in_a_window_of_its_own_lands_too(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(link("/file/a.bin/10", "target=_blank"))
    seen = await told(sandbox, await sandbox.act(Click(x=40, y=50)))
    assert seen.output == "[downloaded downloads/a.bin, 10 bytes]"
    assert (await sandbox.observe()).url == f"{site}/"


async def test_what_is_too_big_is_stopped_and_names_are_made_safe(
    sandbox: BrowserSandbox, visit, site: str
) -> None:
    await sandbox.reset(visit(f"{site}/", download_bytes=1000))
    seen = await told(sandbox, await sandbox.act(Navigate(url=f"{site}/file/big.bin/500000/slow")))
    assert seen.output == "[download of big.bin stopped: more than 1000 bytes]"
    seen = await told(sandbox, await sandbox.act(Navigate(url=f"{site}/file/..%5C.hid'den/5")))
    found = re.fullmatch(r"\[downloaded downloads/([^/]+), 5 bytes\]", seen.output or "")
    assert found is not None and not found[1].startswith(".")


@confined
async def test_downloads_are_gone_after_a_reset(sandbox: BrowserSandbox, visit, site: str) -> None:
    task = visit(f"{site}/")
    await sandbox.reset(task)
    files = sandbox.context.files
    await told(sandbox, await sandbox.act(Navigate(url=f"{site}/file/kept.txt/5")))
    await sandbox.reset(task)
    with pytest.raises(InvalidAction, match=r"downloads/kept.txt cannot be read: No such file"):
        await sandbox.act(ReadFile(path="downloads/kept.txt"))
    assert (await sandbox.act(Run(command="ls"))).output == ""
    await sandbox.close()
    assert not files.exists()


async def test_without_a_terminal_downloads_alone_can_be_read(
    backend: BrowserBackend, visit, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Confinement, "available", lambda: False)
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, BrowserSandbox)
        await sandbox.reset(visit(f"{site}/"))
        await told(sandbox, await sandbox.act(Navigate(url=f"{site}/file/plain.txt/5")))
        assert (await sandbox.act(ReadFile(path="downloads/plain.txt"))).output == "xxxxx"
        for path in ("/etc/passwd", "downloads/../../passwd", "downloads/..", "downloads", "nothing", "a\0b"):
            with pytest.raises(InvalidAction, match="cannot be read"):
                await sandbox.act(ReadFile(path=path))
        with pytest.raises(UnsupportedCapability, match="bubblewrap"):
            await sandbox.act(Run(command="true"))


CHOOSER = """<body style='margin:0'><input type=file id=f style='width:150px;height:40px'>
<script>window.texts = new Promise((done) => { f.onchange = async () => {
  done(await Promise.all([...f.files].map(async (each) => each.name + '=' + await each.text())));
}; })</script>"""


@confined
async def test_files_of_the_sandbox_are_uploaded(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(CHOOSER.replace("id=f", "id=f multiple")))
    await sandbox.act(WriteFile(path="notes/one.txt", content="grüße"))
    await sandbox.act(WriteFile(path="two.txt", content="2"))
    await sandbox.act(Upload(x=30, y=20, paths=("notes/one.txt", "two.txt")))
    assert await sandbox.evaluate("texts") == ["one.txt=grüße", "two.txt=2"]


@confined
async def test_what_cannot_be_uploaded_is_the_agent_s_fault(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(CHOOSER))
    await sandbox.act(Run(command="echo 1 > a; echo 2 > b; ln -s /etc/hostname outside"))
    for action, said in (
        (Upload(x=30, y=20, paths=("a", "b")), "takes one file, not 2"),
        (Upload(x=190, y=150, paths=("a",)), "opened no file chooser"),
        (Upload(x=30, y=20, paths=("nothing",)), "nothing cannot be read: No such file"),
        (Upload(x=30, y=20, paths=()), "at least one file"),
        (Upload(x=999, y=20, paths=("a",)), "off the screen"),
        (Upload(x=30, y=20, paths=("outside",)), "No such file"),
    ):
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(action)
    assert await sandbox.evaluate("f.files.length") == 0
    await sandbox.act(Upload(x=30, y=20, paths=("a",)))
    assert await sandbox.evaluate("texts") == ["a=1\n"]
