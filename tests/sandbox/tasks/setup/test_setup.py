"""Set-up steps on a real desktop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest
import pytest_asyncio

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, InvalidTask
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import guest as guests
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.guest import Guest, Ran
from deskhand_sandbox.tasks.setup import (
    SETUP,
    asked_s,
    check_steps,
    programs,
    run_steps,
    set_up,
    tabs,
    windows,
)
from deskhand_sandbox.tasks.setup.downloads import FOLDER_VARIABLE, HOSTS_VARIABLE, TOTAL_S, Downloads
from deskhand_sandbox.tasks.setup.steps import SetupContext
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec


def desk(*steps: JsonValue) -> Task:
    settings: dict[str, JsonValue] = {"size_px": [640, 420], SETUP: list(steps)}
    return Task(
        id="set/up",
        environment=EnvironmentSpec(kind="desktop", settings=settings),
        verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
        instruction="Work.",
    )


def step(type: str, **parameters: JsonValue) -> JsonValue:
    return {"type": type, "parameters": parameters}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[Sandbox]:
    backend = create_backend("desktop")
    async with await backend.create() as sandbox:
        yield sandbox
    await backend.close()  # others wait ready


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_files_commands_and_windows(desktop: Sandbox) -> None:
    start = await set_up(
        desktop,
        desk(
            step("write", path="~/a folder/note.txt", content="grüße\n"),
            step("execute", command="echo $((6 * 7)) > answer; pwd > where", shell=True),
            step("command", command=["touch", "two words"]),
            step("execute", command=["python", "-c", "import pyautogui; pyautogui.moveTo(5, 5)"]),
            step("launch", command=["xterm", "-title", "First one"]),
            step("launch", command="xterm -title 'Second one'", shell=True),
            step("activate_window", window_name="First one"),
            step("activate_window", window_name="second ONE"),
            step("close_window", window_name="First one", strict=True),
            step("open", path="/home/agent/a folder/note.txt"),
            step("sleep", seconds=0.05),
        ),
    )
    assert start.observation.terminal is None
    guest = Guest(desktop)
    assert (await guest.get("a folder/note.txt") or b"").decode() == "grüße\n"
    assert (await guest.run("cat answer where; ls")).out.splitlines()[:2] == ["42", "/home/agent"]
    assert "two words" in (await guest.run("ls")).out
    async with asyncio.timeout(120):
        while "First one" in (there := (await guest.run("wmctrl -l")).out) or "note.txt" not in there:
            pass  # a window goes, and gets its title, in its own time
    assert "Second one" in there


async def test_a_window_in_the_place_of_another_has_appeared(desktop: Sandbox) -> None:
    await set_up(desktop, desk(step("launch", command=["xterm", "-title", "One"])))
    guest = Guest(desktop)
    assert await windows.activate(guest, "One", strict=True, by_class=False)
    before = await windows.marks(guest)
    assert await windows.close(guest, "One", strict=True, by_class=False)
    async with asyncio.timeout(120):
        while await windows.titles(guest):
            pass
    with pytest.raises(InfrastructureError, match=r"no window appeared in 0\.1 s"):
        await windows.wait_for_another(guest, before, wait_s=0.1)
    await guest.launch(["mousepad"])
    await windows.wait_for_another(guest, before)
    assert len(await windows.titles(guest)) == 1


async def test_steps_say_how_long_they_may_take() -> None:
    two = [{"url": f"http://files.invalid/{name}", "path": name} for name in "ab"]
    task = desk(
        step("download", files=two),
        step("sleep", seconds=7.5),
        step("execute", command="true"),
        step("execute", command="true", until={"returncode": 0}),
        step("chrome_open_tabs", urls_to_open=["a", "b", "c"]),
        step("write", path="a", content="b"),
    )
    waits_s = 3 * tabs.WAIT_S
    assert asked_s(task) == 2 * TOTAL_S + 7.5 + 2 * programs.TIMEOUT_S + programs.UNTIL_S + waits_s
    assert asked_s(desk()) == 0
    with pytest.raises(InvalidTask, match="set/up"):
        asked_s(desk(step("sleep")))


async def test_a_window_without_a_title_counts(desktop: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed(guest: Guest, command: str) -> Ran:
        return Ran(code=0, out="0x00400022  0 desk \n0x0060000c  0 desk Two  words\n", err="")

    monkeypatch.setattr(Guest, "run", listed)
    assert await windows.titles(Guest(desktop)) == ["", "Two  words"]


async def test_a_failing_step_is_named(desktop: Sandbox) -> None:
    for wrong, said in (
        (step("launch", command=["no-such-program"]), r"step 2 \(launch\).*no such program.*no-such-program"),
        (
            step("execute", command=["gsettings-not-here", "x"]),
            r"step 2 \(execute\) failed: the sandbox cannot run it",
        ),
        (step("write", path="/proc/nothing", content="x"), r"step 2 \(write\).*cannot be written"),
        (
            step("execute", command=["python", "-c", "import pyautogui; pyautogui.click(960, 540)"]),
            r"does not fit the screen: .*640 x 420",
        ),
    ):
        with pytest.raises(InfrastructureError, match=said):
            await set_up(desktop, desk(step("execute", command="true"), wrong))


async def test_commands_that_fail_are_no_failure_but_are_waited_for(desktop: Sandbox) -> None:
    await set_up(desktop, desk(step("execute", command="exit 3", shell=True)))
    context = SetupContext(sandbox=desktop, screen_px=(640, 420))
    steps = check_steps(
        [
            step("launch", command="sleep 0.3; echo here > late", shell=True),
            step("execute", command="cat late", shell=True, until={"stdout": "here"}, stdout="seen.txt"),
        ],
        "steps",
    )
    await run_steps(steps, context)
    assert context.kept == {"seen.txt": b"here\n"}


async def test_a_task_with_steps_is_not_half_set_up(desktop: Sandbox) -> None:
    with pytest.raises(InvalidTask, match="setup"):
        await desktop.reset(desk(step("execute", command="true")))
    with pytest.raises(InvalidTask, match=r"task set/up: setup\[0\].*'exekute'.*did you mean execute"):
        await set_up(desktop, desk(step("exekute", command="true")))


async def test_kinds_without_a_shell_are_told_so() -> None:
    task = make_task("fake/press-button", 0)
    settings = {**task.environment.settings, SETUP: [step("execute", command="true")]}
    spec = EnvironmentSpec(kind="fake", settings=settings)
    async with await create_backend("fake").create() as sandbox:
        plain = await set_up(sandbox, task)
        assert plain.instruction == task.instruction
        with pytest.raises(InvalidTask, match="desktop or vm"):
            await set_up(
                sandbox,
                Task(id=task.id, environment=spec, verifier=task.verifier, instruction="x"),
            )


async def test_large_files_and_long_commands(desktop: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "LOOK_S", 0.2)  # it is looked at more than once
    await set_up(desktop, desk())
    guest, data = Guest(desktop), bytes(range(256)) * 600
    await guest.put("big", data)
    assert await guest.get("big") == data
    assert await guest.get("nothing") is None
    assert (await guest.run("sleep 0.6; echo late")).out == "late\n"
    with pytest.raises(InfrastructureError, match=r"did not end in 0\.2 s"):
        await guest.run("sleep 30", timeout_s=0.2)
    async with asyncio.timeout(120):
        while (await guest.run("pgrep -f 'slee[p] 30'; true")).out:
            pass


# ---- downloads


class Files(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = self.path == "/there"
        if led := self.path.removeprefix("/to/") if self.path.startswith("/to/") else "":
            self.send_response(302)
            self.send_header("Location", led)
        else:
            self.send_response(200 if found else 404)
        self.send_header("Content-Length", "5" if found else "0")
        self.end_headers()
        if found:
            self.wfile.write(b"bytes")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def site(serve: Callable[..., AbstractContextManager[str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Near by, and listed."""
    Files.asked.clear()
    with serve(Files) as place:
        monkeypatch.setenv(HOSTS_VARIABLE, f"mirror.invalid, {place}")
        yield f"http://{place}"


async def test_a_place_near_by_is_asked_only_where_it_is_listed(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads, port = Downloads(tmp_path), site.rpartition(":")[2]
    assert await downloads.get(f"{site}/to/{site}/there") == b"bytes"
    assert Files.asked == [f"/to/{site}/there", "/there"]
    # by another name it is not listed
    for url in (f"http://localhost:{port}/there", f"{site}/to/http://localhost:{port}/there"):
        with pytest.raises(InvalidTask, match=f"localhost is .* on this machine .*{HOSTS_VARIABLE} lists"):
            await downloads.get(url)
    with pytest.raises(InvalidTask, match="more than 5 times"):
        await downloads.get(f"{site}/to/" * 9)
    monkeypatch.delenv(HOSTS_VARIABLE)
    asked = len(Files.asked)
    with pytest.raises(InvalidTask, match="on this machine or in a network of its own"):
        await downloads.get(f"{site}/elsewhere")
    assert len(Files.asked) == asked


async def test_where_a_proxy_asks_it_decides(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", site)
    with pytest.raises(InvalidTask, match="404"):
        await Downloads(tmp_path).get("http://files.invalid/there")
    assert Files.asked == ["http://files.invalid/there"]
    # what no proxy is asked for this machine asks itself, and no place near by
    monkeypatch.setenv("no_proxy", "localhost:8000")
    with pytest.raises(InvalidTask, match="on this machine or in a network of its own"):
        await Downloads(tmp_path).get("http://localhost:8000/there")


async def test_downloads_are_kept(site: str, tmp_path: Path) -> None:
    downloads = Downloads(tmp_path / "kept")
    for _ in range(2):
        assert await downloads.get(f"{site}/there") == b"bytes"
    assert Files.asked == ["/there"]
    assert [*(tmp_path / "kept" / "fetched").iterdir()] == [downloads.fetched(f"{site}/there")]
    with pytest.raises(InvalidTask, match="404") as missing:
        await downloads.get(f"{site}/missing")
    assert str(downloads.place(f"{site}/missing")) in str(missing.value)
    with pytest.raises(InvalidTask, match="only http"):
        await downloads.get("file:///etc/passwd")


async def test_a_file_that_takes_too_long_is_there_for_the_next_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, asked = asyncio.Event(), list[str]()

    async def slow(self: Downloads, url: str) -> bytes:
        asked.append(url)
        await goes_on.wait()
        return b"bytes"

    monkeypatch.setattr(Downloads, "_asked", slow)
    url = "http://files.invalid/slow"
    given_up = asyncio.create_task(Downloads(tmp_path).get(url))
    while not asked:
        await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    with monkeypatch.context() as patch:
        patch.setattr("deskhand_sandbox.tasks.setup.downloads.TOTAL_S", 0.01)
        with pytest.raises(InvalidTask, match=r"longer than 0\.01 s, and is fetched on"):
            await Downloads(tmp_path).get(url)
    goes_on.set()
    assert await Downloads(tmp_path).get(url) == b"bytes"
    assert Downloads(tmp_path).fetched(url).read_bytes() == b"bytes"
    assert asked == [url]


async def test_each_download_is_written_to_a_draft_of_its_own(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts: set[Path] = set()
    write = Path.write_bytes

    def noted(draft: Path, data: bytes) -> int:
        drafts.add(draft)
        return write(draft, data)

    monkeypatch.setattr(Path, "write_bytes", noted)
    downloads = Downloads(tmp_path)
    for _ in range(2):
        await downloads.get(f"{site}/there")
        downloads.fetched(f"{site}/there").unlink()
    assert len(drafts) == 2 and not list((tmp_path / "fetched").iterdir())


async def test_what_was_fetched_and_not_used_for_long_goes_and_is_fetched_again(
    site: str, tmp_path: Path
) -> None:
    downloads = Downloads(tmp_path)
    used, unused, put = f"{site}/there", f"{site}/to/{site}/there", f"{site}/put"
    for url in (used, unused):
        await downloads.get(url)
    downloads.place(put).write_bytes(b"mine")
    draft = tmp_path / "fetched" / "draft.part"  # of a process that was killed
    draft.touch()
    for each in (downloads.fetched(used), downloads.fetched(unused), downloads.place(put), draft):
        os.utime(each, (1.0, 1.0))
    await downloads.get(used)
    assert downloads.drop(1000.0) == 2
    assert [*(tmp_path / "fetched").iterdir()] == [downloads.fetched(used)]
    assert await downloads.get(put) == b"mine"
    assert await downloads.get(unused) == b"bytes"
    assert Downloads(tmp_path / "none").drop(1000.0) == 0


async def test_a_file_put_by_hand_is_found(
    desktop: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    url = "https://files.invalid/picture.bin"
    download = desk(step("download", files=[{"url": url, "path": "Desktop/picture.bin"}]))
    with pytest.raises(InvalidTask, match="put the file at"):
        await set_up(desktop, download)
    Downloads().place(url).write_bytes(b"\x00\xffpicture")
    await set_up(desktop, download)
    assert await Guest(desktop).get("/home/agent/Desktop/picture.bin") == b"\x00\xffpicture"


async def test_uploads_come_from_one_folder_only(
    desktop: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "mine.txt").write_text("mine")
    await set_up(desktop, desk(step("upload_file", files=[{"local_path": "mine.txt", "path": "up.txt"}])))
    assert await Guest(desktop).get("up.txt") == b"mine"
    with pytest.raises(InvalidTask, match="outside"):
        await set_up(desktop, desk(step("upload_file", files=[{"local_path": "/etc/passwd", "path": "x"}])))
