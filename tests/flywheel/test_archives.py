"""Archives from anybody: what is taken, and what is refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deskhand_flywheel.archives import ENDING, UnpackingLimits, failure, failure_in, packed_folder, unpack
from deskhand_flywheel.errors import DamagedInput

LIMITS = UnpackingLimits(bytes=1_000_000, files=20)


def made(*members: tuple[str, bytes | None], **more: str) -> bytes:
    """An archive of files, and, without bytes, of whatever `more` says of the last."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.linkname = more["type"].encode(), more.get("to", "")
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def unpacked(data: bytes, tmp_path: Path) -> dict[str, bytes]:
    (tmp_path / "archive").write_bytes(data)
    (tmp_path / "files").mkdir()
    unpack(tmp_path / "archive", tmp_path / "files", LIMITS)
    found = (one for one in sorted((tmp_path / "files").rglob("*")) if one.is_file())
    return {one.relative_to(tmp_path / "files").as_posix(): one.read_bytes() for one in found}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_folder_comes_back(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    folder = tmp_path / "in"
    (folder / "a" / "b").mkdir(parents=True)
    there = {
        "a/b/one": b"1" * 700,
        "a/two": b"",
        "long" * 50 + "/" + "ü" * 100: random.Random(0).randbytes(3000),
    }
    for name, data in there.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    data = b"".join(packed_folder(folder)) + ENDING
    assert data == b"".join(packed_folder(folder)) + ENDING
    assert unpacked(pack(data), tmp_path) == there
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:  # for anybody's tar, too
        assert sorted(archive.getnames()) == sorted(there)


def test_a_file_alone(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_bytes(b"{}")
    assert unpacked(b"".join(packed_folder(tmp_path / "data.jsonl")) + ENDING, tmp_path) == {
        "data.jsonl": b"{}"
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no whole tar archive"),
        (b"PK\x03\x04" + bytes(2000), "no whole tar archive"),
        (random.Random(1).randbytes(20_000), "no whole tar archive"),
        (made(("a", b"x" * 5000))[:3000], "archive|cut short"),
        (
            gzip.compress(made(("a", random.Random(2).randbytes(9000))))[:4000],
            "no whole|cut short|decompressed",
        ),
        (made(("../a", b"x")), r"'\.\./a': lies outside"),
        (made(("a/../../b", b"x")), "lies outside"),
        (made(("/etc/passwd", b"x")), "'/etc/passwd': lies outside"),
        (made(("a\\..\\b", b"x")), "lies outside"),
        (made(("a" * 300, b"x")), "too long"),
        (made(("a", None), type="2", to="/etc/passwd"), "'a': is neither a file nor a folder"),
        (made(("b", b"x"), ("a", None), type="1", to="b"), "neither"),
        (made(("a", None), type="3"), "neither"),
        (made(("a", None), type="6"), "neither"),
        (made(("a", b"x"), ("a", b"y")), "two files of one name"),
        (made(("a", b"x"), ("a/b", b"y")), "two files of one name"),
        (made(*((str(number), b"") for number in range(21))), "21 files .* 20 files"),
        (made(*((str(number), None) for number in range(21)), type="5"), "21 files .* 20 files"),
        (gzip.compress(made(("bomb", bytes(2_000_000)))), r"'bomb': .* 0\.002 GB, and 20 files of 0\.001 GB"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(DamagedInput, match=said):
        unpacked(data, tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"archive", "files"}


def test_a_head_that_lies_of_its_size(tmp_path: Path) -> None:
    head = tarfile.TarInfo("a")
    head.size = 1 << 60
    with pytest.raises(DamagedInput, match="unpacks to 1 files"):
        unpacked(head.tobuf(tarfile.PAX_FORMAT) + b"x", tmp_path)


def about_the_next(kind: bytes, size: int) -> bytes:
    head = tarfile.TarInfo("about")
    head.type, head.size = kind, size
    return head.tobuf(tarfile.USTAR_FORMAT)


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g", b"X"])
def test_what_stands_before_a_member_is_not_read_where_it_is_long(tmp_path: Path, kind: bytes) -> None:
    """There are no bytes behind it: whoever read them would find the archive cut short."""
    with pytest.raises(DamagedInput, match=r"'about': has a head of 70,000 bytes"):
        unpacked(about_the_next(kind, 70_000), tmp_path)


def test_one_head_after_another_ends(tmp_path: Path) -> None:
    with pytest.raises(DamagedInput, match="no whole tar archive"):
        unpacked(about_the_next(b"L", 0) * 5000, tmp_path)


@pytest.mark.parametrize("form", ["old", "pax"])
def test_sparse_files_are_refused_for_their_lists_of_holes_have_no_end(tmp_path: Path, form: str) -> None:
    head = tarfile.TarInfo("holes")
    if form == "old":
        head.type = tarfile.GNUTYPE_SPARSE
    else:
        head.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    with pytest.raises(DamagedInput, match=r"'.*': is a sparse file; pack it whole"):
        unpacked(head.tobuf(tarfile.PAX_FORMAT) + ENDING, tmp_path)


def test_members_are_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[int] = []
    taken_out = tarfile.TarFile.extractfile

    def counted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> object:
        known.append(len(archive.members))
        return taken_out(archive, member)

    monkeypatch.setattr(tarfile.TarFile, "extractfile", counted)
    unpacked(made(*((str(number), b"x") for number in range(9))), tmp_path)
    assert known == [0] * 9


def test_one_that_broke_off_says_why(tmp_path: Path) -> None:
    whole = made(("a", b"x" * 600))[: 512 + 1024]
    archive = tmp_path / "archive"
    archive.write_bytes(whole + failure(OSError("the disk is gone")))
    assert failure_in(archive) == "the disk is gone"
    for silent in (whole, whole[:700], b"", made(("FAILED.json", b"7")), made(("a", b"x"))):
        archive.write_bytes(silent)
        assert failure_in(archive) is None
