"""Blobs: once, whole, and checked."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from blake3 import blake3

from deskhand_flywheel.blobs import BlobStore, digest_of
from deskhand_flywheel.errors import CorruptBlob, MissingBlob, StoreUnavailable


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some folder" / "blobs"


@pytest.fixture
def blobs(folder: Path) -> BlobStore:
    return BlobStore(folder.as_uri())


async def test_bytes_come_back_under_their_digest(blobs: BlobStore) -> None:
    digest = await blobs.put(b"picture")
    assert digest == blake3(b"picture").hexdigest() == digest_of(b"picture")
    assert await blobs.get(digest) == b"picture"


async def test_the_same_bytes_are_stored_once(blobs: BlobStore, folder: Path) -> None:
    await asyncio.gather(*(blobs.put(b"same") for _ in range(20)))
    (only,) = _files(folder)
    before = only.stat().st_mtime_ns
    await BlobStore(folder.as_uri()).put(b"same")
    assert only.stat().st_mtime_ns == before
    assert _files(folder) == [only]


async def test_a_changed_blob_is_found_out(blobs: BlobStore, folder: Path) -> None:
    digest = await blobs.put(b"x" * 1000)
    (file,) = _files(folder)
    file.write_bytes(b"x" * 500 + b"y" + b"x" * 499)
    with pytest.raises(CorruptBlob, match=digest):
        await BlobStore(folder.as_uri()).get(digest)


async def test_a_blob_cut_short_is_written_again(blobs: BlobStore, folder: Path) -> None:
    digest = await blobs.put(b"x" * 1000)
    (file,) = _files(folder)
    os.truncate(file, 10)
    fresh = BlobStore(folder.as_uri())
    with pytest.raises(CorruptBlob):
        await fresh.get(digest)
    again = BlobStore(folder.as_uri())
    await again.put(b"x" * 1000)
    assert file.read_bytes() == b"x" * 1000


async def test_bytes_under_another_s_digest_are_not_stored(blobs: BlobStore) -> None:
    digest = digest_of(b"right")
    with pytest.raises(CorruptBlob, match="nothing was stored"):
        await blobs.put(b"wrong", digest=digest)
    assert not await blobs.has(digest) and not await blobs.has(digest_of(b"wrong"))
    assert await blobs.put(b"right", digest=digest) == digest
    # it is there, and nothing is read of what comes again
    assert await blobs.put(b"wrong", digest=digest) == digest
    assert await blobs.get(digest) == b"right"


async def test_a_digest_nobody_stored_is_missing(blobs: BlobStore) -> None:
    with pytest.raises(MissingBlob, match="f" * 64):
        await blobs.get("f" * 64)
    assert not await blobs.has("f" * 64)


async def test_hot_blobs_are_read_from_memory_up_to_a_size(folder: Path) -> None:
    blobs = BlobStore(folder.as_uri(), cache_bytes=1000)
    first = await blobs.put(b"a" * 600)
    second = await blobs.put(b"b" * 600)
    for file in _files(folder):
        file.unlink()
    assert await blobs.get(second) == b"b" * 600
    with pytest.raises(MissingBlob):
        await blobs.get(first)


async def test_files_go_in_and_out_by_content(blobs: BlobStore, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_bytes(os.urandom(9 << 20))
    digest = await blobs.put_file(weights)
    assert digest == digest_of(weights.read_bytes())
    await blobs.get_file(digest, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == weights.read_bytes()


async def test_a_damaged_file_leaves_nothing_behind(blobs: BlobStore, folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_bytes(b"w" * 5000)
    digest = await blobs.put_file(weights)
    (file,) = _files(folder)
    file.write_bytes(b"v" * 5000)
    with pytest.raises(CorruptBlob):
        await blobs.get_file(digest, tmp_path / "copy")
    with pytest.raises(MissingBlob):
        await blobs.get_file("0" * 64, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://host/path", "foo://host", "", "file:///proc/nowhere/blobs"]
)
def test_a_url_of_no_blob_store_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="file:///folder/blobs") as refused:
        BlobStore(url)
    assert "\n" not in str(refused.value)


_FULL = """
import asyncio, os, resource, sys
from pathlib import Path
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import StorageFull

async def main(folder):
    blobs = BlobStore(folder.as_uri())
    small = await blobs.put(b"small")
    big = folder.parent / "big"
    big.write_bytes(bytes(2 << 20))
    # from here on the kernel refuses to let any file grow beyond 1 MiB
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for put in (lambda: blobs.put(bytes(3 << 20)), lambda: blobs.put_file(big)):
        try:
            await put()
        except StorageFull as error:
            print("full:", error)
    assert await blobs.get(small) == b"small"
    print(sum(1 for path in folder.rglob("*") if path.is_file() and "#" not in path.name))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_no_room_is_a_typed_error_and_leaves_no_blob(folder: Path) -> None:
    folder.mkdir(parents=True)
    ran = subprocess.run([sys.executable, "-c", _FULL, folder], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("full: the disk is full") == 2
    assert ran.stdout.splitlines()[-1] == "1"


def test_a_short_process_ends_cleanly_after_using_blobs(folder: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from deskhand_flywheel.blobs import BlobStore\n"
        "async def main():\n"
        "    blobs = BlobStore(sys.argv[1])\n"
        "    await asyncio.gather(*(blobs.put(bytes([n])) for n in range(20)))\n"
        "    await blobs.has('0' * 64)\n"
        "asyncio.run(main())\n"
    )
    for _ in range(5):
        ran = subprocess.run([sys.executable, "-c", code, folder.as_uri()], capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
