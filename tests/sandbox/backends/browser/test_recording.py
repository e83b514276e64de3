"""Recordings: what was asked for is in them, and nothing is recorded that was not."""

import asyncio
import base64
import io
import json
import threading
from pathlib import Path

import pytest
from PIL import Image as Picture

from deskhand_sandbox.backends.browser import BrowserSandbox, create
from deskhand_sandbox.backends.browser.recording import MOST_WAITING, Film
from deskhand_sandbox.errors import BackendMissing, InvalidTask
from deskhand_sandbox.types import Click, Navigate

pytestmark = pytest.mark.browser

MOVING = (
    "<body style='margin:0;height:160px;background:rgb(0,0,255)'"
    " onclick='this.style.background=`rgb(255,0,0)`'>"
)


def middle(frame) -> tuple[int, int, int]:
    """Red, green and blue of the pixel in the middle of a decoded frame."""
    data = [bytes(each) for each in frame.reformat(format="gbrp").planes]
    green, blue, red = (each[len(each) // 2] for each in data)
    return red, green, blue


def at_middle(jpeg: str) -> tuple[int, ...]:
    """Red, green and blue of the pixel in the middle of a picture as it is filmed."""
    picture = Picture.open(io.BytesIO(base64.b64decode(jpeg))).convert("RGB")
    return picture.getpixel((picture.width // 2, picture.height // 2))  # type: ignore[return-value]


async def test_requests_are_recorded(visit, site: str, tmp_path: Path) -> None:
    backend = create(recordings=str(tmp_path))
    try:
        async with await backend.create() as sandbox:
            assert isinstance(sandbox, BrowserSandbox)
            await sandbox.reset(visit(f"{site}/", har=True))
            await sandbox.act(Navigate(url=f"{site}/next"))
            assert sandbox.recordings == ()
            await sandbox.reset(visit(f"{site}/", har=True))
            await sandbox.reset(visit(f"{site}/"))
        first, second = sandbox.recordings
        assert (first.kind, first.task_id, first.seed) == ("har", "browser/test", 0)
        for recording, urls in ((first, [f"{site}/", f"{site}/next"]), (second, [f"{site}/"])):
            entries = json.loads(recording.path.read_text())["log"]["entries"]
            assert [
                each["request"]["url"] for each in entries if "favicon" not in each["request"]["url"]
            ] == urls
            assert entries[0]["response"]["status"] == 200
        assert len(list(tmp_path.iterdir())) == 2
    finally:
        await backend.close()


@pytest.mark.parametrize("kind", ["webm", "mp4"])
async def test_the_screen_is_filmed(page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    av = pytest.importorskip("av")
    drawn: list[str] = []
    add = Film.add

    def noted(film: Film, at_s: float, jpeg: str) -> None:
        drawn.append(jpeg)
        add(film, at_s, jpeg)

    async def filmed(*, red: bool) -> None:
        """Until the last picture is of that colour, else blue."""
        while not drawn or (at_middle(drawn[-1])[0] > 200) is not red:
            await asyncio.sleep(0.01)

    monkeypatch.setattr(Film, "add", noted)
    backend = create(recordings=str(tmp_path))
    try:
        sandbox = await backend.create()
        await sandbox.reset(page(MOVING, video=kind))
        await filmed(red=False)
        await asyncio.sleep(0.2)
        await sandbox.act(Click(x=50, y=50))
        await filmed(red=True)
        await sandbox.close()
        (recording,) = sandbox.recordings
        assert recording.path.suffix == f".{kind}"
        with av.open(str(recording.path)) as film:
            frames = list(film.decode(video=0))
        assert (frames[0].width, frames[0].height) == (200, 160)
        times = [each.time for each in frames]
        assert times == sorted(times) and times[-1] >= 0.15
        shown = [middle(each) for each in frames]
        assert any(blue > 200 > 60 > max(red, green) for red, green, blue in shown)
        red, green, blue = shown[-1]
        assert red > 200 > 60 > max(green, blue)
    finally:
        await backend.close()


@pytest.mark.parametrize("folder", [".", "missing"])
def test_a_film_that_breaks_off_is_no_file_and_gathers_no_pictures(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, folder: str
) -> None:
    pytest.importorskip("av")
    film = Film(tmp_path / folder / "film.webm", "webm", (64, 64))
    film.add(0.0, base64.b64encode(b"no picture").decode())
    film._thread.join()
    left = film._pictures.qsize()
    for at_s in range(1, 100):
        film.add(float(at_s), "")
    assert film._pictures.qsize() == left
    film.finish()
    assert list(tmp_path.iterdir()) == []
    assert "film.webm could not be written" in caplog.text


def test_a_film_leaves_out_what_comes_too_fast_and_ends_with_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("av")
    goes_on, encoded = threading.Event(), list[float]()

    def slowly(film: Film) -> None:
        goes_on.wait()
        while (picture := film._pictures.get()) is not None:
            encoded.append(picture[0])

    monkeypatch.setattr(Film, "_encode", slowly)
    film = Film(tmp_path / "film.webm", "webm", (64, 64))
    for at_s in range(1000):
        film.add(float(at_s), "")
    assert film._pictures.qsize() == MOST_WAITING
    goes_on.set()
    film.finish()
    assert encoded == [*range(MOST_WAITING), 999]


async def test_what_cannot_be_recorded_is_said_before_anything_begins(
    visit, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, said in ((None, "give the backend a folder"), (str(tmp_path / "no"), "does not exist")):
        backend = create(recordings=folder)
        async with await backend.create() as sandbox:
            with pytest.raises(InvalidTask, match=said):
                await sandbox.reset(visit(f"{site}/", har=True))
            with pytest.raises(InvalidTask, match="webm or mp4"):
                await sandbox.reset(visit(f"{site}/", video="gif"))
            await sandbox.reset(visit(f"{site}/"))
        await backend.close()

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    backend = create(recordings=str(tmp_path))
    async with await backend.create() as sandbox:
        monkeypatch.setattr("deskhand_sandbox.backends.browser.recording.importlib.import_module", missing)
        with pytest.raises(BackendMissing, match="pip install"):
            await sandbox.reset(visit(f"{site}/", video="webm"))
    await backend.close()
    assert list(tmp_path.iterdir()) == []
