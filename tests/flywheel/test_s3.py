"""The store with its blobs in S3: moto's server, over HTTP."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import httpx
import obstore
import pytest
from flywheel_episodes import Urls, make_end, make_trajectory, picture, write
from obstore.store import ObjectStore, from_url

from deskhand_flywheel import blobs as blobs_module
from deskhand_flywheel.blob_damage import Damage
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import CorruptBlob, MissingBlob, StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_flywheel.upkeep import Drop, FindingKind, RetentionRule, collect, fsck

URL = "s3://pictures/of/deskhand"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    """A server of its own, on a port that it takes by itself."""
    said = tmp_path_factory.mktemp("s3") / "log.txt"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with said.open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while (running := re.search(r"Running on (http://[\w.:]+)\n", said.read_text())) is None:
            assert server.poll() is None, said.read_text()
            time.sleep(0.02)
        with httpx.Client(base_url=running[1]) as client:
            yield client
    finally:
        server.kill()
        server.wait()


@pytest.fixture(autouse=True)
def bucket(s3: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Emptied for each test; for what happens behind the store's back."""
    s3.post("/moto-api/reset").raise_for_status()
    s3.put("/pictures").raise_for_status()
    for name, value in {
        "AWS_ENDPOINT_URL": str(s3.base_url),
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return from_url(URL)


@pytest.fixture
async def store(urls: Urls) -> AsyncGenerator[Store]:
    async with await Store.open(urls.database, URL) as opened:
        yield opened


async def test_an_episode_comes_back_with_its_pictures(store: Store, urls: Urls) -> None:
    written = make_trajectory("a", end=make_end())
    await write(store, written)
    async with await Store.open(urls.database, URL) as other:
        assert await other.trajectory("a") == written
        read = await other.trajectory("a", images=True)
    assert [step.observation.screenshot.data for step in read.steps] == [picture(n).data for n in range(3)]
    assert not (urls.folder / "blobs").exists()


async def test_the_same_picture_is_put_once(store: Store, bucket: ObjectStore) -> None:
    digest = await store.blobs.put(b"same")
    path = f"{digest[:2]}/{digest}"
    obstore.put(bucket, path, b"mark")
    await BlobStore(URL).put(b"same")
    # of the same size and under its name: taken for whole, as a folder's would be, until it is read
    assert bytes(obstore.get(bucket, path).bytes()) == b"mark"
    with pytest.raises(CorruptBlob):
        await BlobStore(URL).get(digest)


async def test_weights_of_many_parts_go_in_and_out(store: Store, tmp_path: Path) -> None:
    weights = tmp_path / "policy" / "weights"
    weights.parent.mkdir()
    weights.write_bytes(os.urandom(13 << 20))
    kept = await store.keep_policy(weights.parent, parent_id=None, metadata={})
    folder = await store.materialise_policy(kept.id, tmp_path / "again")
    assert (folder / "weights").read_bytes() == weights.read_bytes()


async def test_the_integrity_check_and_its_repair(store: Store, bucket: ObjectStore, tmp_path: Path) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    gone, cut = picture(0), picture(1)
    obstore.delete(bucket, f"{gone.digest[:2]}/{gone.digest}")
    obstore.put(bucket, f"{cut.digest[:2]}/{cut.digest}", (cut.data or b"")[:50])
    assert await BlobStore(URL).damage(cut.digest) is Damage.CUT_SHORT
    with pytest.raises(MissingBlob):
        await BlobStore(URL).get(gone.digest)
    spare = BlobStore((tmp_path / "spare").as_uri())
    for image in (gone, cut):
        await spare.put(image.data or b"")
    report = await fsck(store, repair=True, spare=spare)
    assert {(finding.kind, finding.mended) for finding in report.findings} == {
        (FindingKind.MISSING_BLOB, True),
        (FindingKind.TRUNCATED_BLOB, True),
    }
    assert obstore.head(bucket, f"damaged/{cut.digest}")["size"] == 50
    assert (await fsck(store, settle_s=0)).findings == ()


async def test_garbage_is_collected_by_the_hundred(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    for number in range(250):
        await store.blobs.put(b"nobody's %d" % number)
    # the server's clock has whole seconds
    rule = RetentionRule(drop=(Drop(older_than_days=0),), orphans_after_hours=-1 / 3600)
    assert (await collect(store, rule, apply=True)).blobs == 254
    assert [blob async for batch in store.blobs.stored() for blob in batch] == []


async def test_a_bucket_that_is_not_there_is_a_typed_error() -> None:
    blobs = BlobStore("s3://no-such-bucket/at/all")
    with pytest.raises(StoreUnavailable, match="not there"):
        await blobs.put(b"bytes")


async def test_a_server_that_does_not_answer_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setattr(blobs_module, "RETRY_S", 0.2)
        blobs = BlobStore(URL)
        with pytest.raises(StoreUnavailable, match="failed"):
            await blobs.put(b"bytes")
        with pytest.raises(StoreUnavailable, match="failed"):
            await blobs.get("0" * 64)
