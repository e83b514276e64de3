"""Pictures and weights by content: BLAKE3 of the bytes is the name, so nothing is stored twice.

A folder, S3, Google or Azure storage, by URL, through obstore; keys and endpoints come from the environment,
as their own tools read them. In a folder a blob is written to a staging file and renamed into place,
elsewhere a request puts it: it is there whole or not at all.

obstore's own coroutines end on threads that Python does not know of, and one that ends while the interpreter
shuts down aborts the process: so its plain functions are called, on threads that Python waits for.
"""

from __future__ import annotations

import asyncio
import errno
import re
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import obstore
from blake3 import blake3
from obstore.exceptions import BaseError, GenericError
from obstore.store import LocalStore, ObjectStore, from_url

from deskhand_flywheel.blob_damage import TAIL_BYTES, Damage, damage_of
from deskhand_flywheel.errors import CorruptBlob, MissingBlob, StorageFull, StoreUnavailable

CACHE_BYTES = 64 << 20
"""Hot blobs kept in memory, in all."""
RETRY_S = 30.0
"""How long a request to a storage that does not answer is tried again before `StoreUnavailable`."""
_KNOWN_DIGESTS = 200_000
_BLOB_PATH = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})")
_STAGED = re.compile(r"[0-9a-f]{64}#[0-9]+")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def digest_of(data: bytes) -> str:
    """BLAKE3 of the bytes, lower-case hex, 64 characters."""
    return blake3(data).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBlob:
    """A blob as a listing shows it."""

    digest: str
    """The name it is stored under; whether its bytes have it is another question."""
    size: int
    """Bytes."""
    stored_at_s: float
    """Unix time, by the storage's clock."""


class BlobStore:
    """Content-addressed bytes behind an obstore URL."""

    def __init__(self, url: str, *, cache_bytes: int = CACHE_BYTES) -> None:
        """Open, making the folder of a `file://` URL where there is none.

        Raises:
            StoreUnavailable: the URL is not one of a blob store, or the folder cannot be made.
        """
        self._store = _open(url)
        self._folder = Path(unquote(urlsplit(url).path)) if urlsplit(url).scheme == "file" else None
        self._cache = _Cache(cache_bytes)
        self._known: OrderedDict[str, None] = OrderedDict()

    async def put(self, data: bytes, *, digest: str | None = None) -> str:
        """Store the bytes if they are not there yet; returns their digest once they are in place.

        Args:
            digest: as the caller has it, which saves working it out where the blob is known to be there.

        Raises:
            CorruptBlob: the bytes have another digest than the caller says; nothing was stored.
            StorageFull: no space is left; nothing was stored.
            StoreUnavailable: the storage refused.
        """
        if digest in self._known:
            return digest
        digest = await self._keep(data, digest)
        self._cache.put(digest, data)
        return digest

    async def has(self, digest: str) -> bool:
        """Whether the blob is there."""
        if digest in self._known:
            return True
        with _blob_errors():
            if await asyncio.to_thread(self._size, digest) is None:
                return False
        self._remember(digest)
        return True

    async def size(self, digest: str) -> int | None:
        """How many bytes a blob has; None: there is none of that digest."""
        return await asyncio.to_thread(self._size, digest)

    async def get(self, digest: str) -> bytes:
        """The bytes, checked against their digest.

        Raises:
            MissingBlob: there is no such blob.
            CorruptBlob: the stored bytes were changed or cut.
        """
        cached = self._cache.get(digest)
        if cached is not None:
            return cached
        try:
            with _blob_errors():
                data = await asyncio.to_thread(self._read, digest)
        except FileNotFoundError as error:
            raise MissingBlob(f"no blob {digest} in the blob store") from error
        if digest_of(data) != digest:
            raise _corrupt(digest)
        self._cache.put(digest, data)
        return data

    async def put_file(self, path: Path) -> str:
        """Store a file of any size without reading it whole into memory; returns its digest.

        Raises:
            FileNotFoundError: there is no such file.
            StorageFull: no space is left; nothing was stored.
        """
        return await self._keep(path, None)

    async def get_file(self, digest: str, path: Path) -> None:
        """Write a blob of any size to a new file, checked against its digest.

        Raises:
            MissingBlob: there is no such blob.
            CorruptBlob: the stored bytes were changed or cut; no file is left.
            StorageFull: no space is left; no file is left.
        """
        try:
            with _blob_errors():
                await asyncio.to_thread(self._copy_out, digest, path)
        except FileNotFoundError as error:
            raise MissingBlob(f"no blob {digest} in the blob store") from error

    # ---- for upkeep ----

    async def stored(self) -> AsyncGenerator[tuple[StoredBlob, ...]]:
        """Everything that is stored, some hundreds at a time, in no order; other files are passed over.

        Raises:
            StoreUnavailable: the storage refused.
        """
        with _blob_errors():
            batches = iter(obstore.list(self._store))
            while batch := await asyncio.to_thread(next, batches, None):
                yield tuple(
                    StoredBlob(
                        digest=found.group(2),
                        size=each["size"],
                        stored_at_s=each["last_modified"].timestamp(),
                    )
                    for each in batch
                    if (found := _BLOB_PATH.fullmatch(each["path"]))
                )

    async def staged(self, settle_s: float) -> list[StoredBlob]:
        """Staging files that writers left in a folder, killed or without room, by their files' names.

        Args:
            settle_s: a younger one may still be written.

        Raises:
            StoreUnavailable: the storage refused.
        """
        with _blob_errors():
            return await asyncio.to_thread(self._staged, time.time() - settle_s)

    async def drop_staged(self, left: Iterable[StoredBlob]) -> None:
        """Delete staging files; those that are gone already are no error.

        Raises:
            StoreUnavailable: the storage refused; some may be deleted.
        """
        with _blob_errors():
            for each in left:
                if self._folder is not None:
                    await asyncio.to_thread((self._folder / _path(each.digest)).unlink, missing_ok=True)

    async def damage(self, digest: str) -> Damage | None:
        """What happened to a blob's bytes; None when it is whole.

        Reads all of it, past the cache, a part at a time.

        Raises:
            MissingBlob: there is no such blob.
            StoreUnavailable: the storage refused.
        """
        try:
            with _blob_errors():
                return await asyncio.to_thread(self._damage, digest)
        except FileNotFoundError as error:
            raise MissingBlob(f"no blob {digest} in the blob store") from error

    async def set_aside(self, digest: str) -> None:
        """Move a damaged blob to `damaged/DIGEST`, so that its name is free for whole bytes again.

        Raises:
            MissingBlob: there is no such blob.
            StoreUnavailable: the storage refused.
        """
        try:
            with _blob_errors():
                await asyncio.to_thread(obstore.rename, self._store, _path(digest), f"damaged/{digest}")
        except FileNotFoundError as error:
            raise MissingBlob(f"no blob {digest} in the blob store") from error
        self.forget([digest])

    async def delete(self, digests: Iterable[str]) -> None:
        """Delete blobs; those that are gone already are no error.

        Raises:
            StoreUnavailable: the storage refused; some may be deleted.
        """
        doomed = list(digests)
        with _blob_errors():
            await asyncio.to_thread(self._delete, [_path(digest) for digest in doomed])
        self.forget(doomed)

    def forget(self, digests: Iterable[str]) -> None:
        """Take none of these for stored before the storage was asked again."""
        for digest in digests:
            self._known.pop(digest, None)
            self._cache.drop(digest)

    async def _keep(self, content: bytes | Path, digest: str | None) -> str:
        with _blob_errors():
            found = await asyncio.to_thread(self._put, content, digest)
        self._remember(found)
        return found

    def _put(self, content: bytes | Path, digest: str | None) -> str:
        found, size = _digest_and_size(content)
        if digest is not None and found != digest:
            raise CorruptBlob(f"the bytes have the digest {found} and not {digest}; nothing was stored")
        # a file cut short by a power failure has another size
        if self._size(found) != size:
            try:
                obstore.put(self._store, _path(found), content)
            except FileNotFoundError as error:
                said = str(error).splitlines()[0]
                raise StoreUnavailable(f"the blob store's folder or bucket is not there: {said}") from error
        return found

    def _size(self, digest: str) -> int | None:
        try:
            return obstore.head(self._store, _path(digest))["size"]
        except FileNotFoundError:
            return None

    def _delete(self, paths: list[str]) -> None:
        try:
            obstore.delete(self._store, paths)
        except FileNotFoundError:
            # which of them is not said, nor which were deleted
            for path in paths:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, path)

    def _staged(self, before_s: float) -> list[StoredBlob]:
        found: list[StoredBlob] = []
        # obstore neither lists such names nor takes them
        for path in self._folder.glob("??/*#*") if self._folder is not None else ():
            with suppress(FileNotFoundError):  # in place since
                stat = path.stat()
                if _STAGED.fullmatch(path.name) and stat.st_mtime <= before_s:
                    found.append(StoredBlob(digest=path.name, size=stat.st_size, stored_at_s=stat.st_mtime))
        return found

    def _damage(self, digest: str) -> Damage | None:
        hasher, size, head, tail = blake3(), 0, b"", b""
        for chunk in obstore.get(self._store, _path(digest)).stream(min_chunk_size=4 << 20):
            part = bytes(chunk)
            head = head or part
            tail = (tail + part)[-TAIL_BYTES:]
            size += len(part)
            hasher.update(part)
        return None if hasher.hexdigest() == digest else damage_of(head, tail, size)

    def _read(self, digest: str) -> bytes:
        return bytes(obstore.get(self._store, _path(digest)).bytes())

    def _copy_out(self, digest: str, path: Path) -> None:
        source = obstore.get(self._store, _path(digest))
        hasher = blake3()
        try:
            with path.open("xb") as file:
                for chunk in source.stream(min_chunk_size=4 << 20):
                    hasher.update(chunk)
                    file.write(chunk)
            if hasher.hexdigest() != digest:
                raise _corrupt(digest)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _remember(self, digest: str) -> None:
        self._known[digest] = None
        if len(self._known) > _KNOWN_DIGESTS:
            self._known.popitem(last=False)


class _Cache:
    """The bytes used last, up to a size."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._items: OrderedDict[str, bytes] = OrderedDict()

    def get(self, digest: str) -> bytes | None:
        data = self._items.get(digest)
        if data is not None:
            self._items.move_to_end(digest)
        return data

    def put(self, digest: str, data: bytes) -> None:
        if digest in self._items or len(data) > self._limit:
            return
        self._items[digest] = data
        self._size += len(data)
        while self._size > self._limit:
            _, dropped = self._items.popitem(last=False)
            self._size -= len(dropped)

    def drop(self, digest: str) -> None:
        self._size -= len(self._items.pop(digest, b""))


def _open(url: str) -> ObjectStore:
    try:
        if urlsplit(url).scheme == "file":
            return LocalStore(unquote(urlsplit(url).path), mkdir=True, automatic_cleanup=False)
        return from_url(url, retry_config={"retry_timeout": timedelta(seconds=RETRY_S)})
    except (BaseError, ValueError, OSError) as error:
        said = str(error).partition("\n")[0]  # what follows is for obstore's own authors
        raise StoreUnavailable(
            f"{url!r} is no usable blob store ({said}); for a folder it looks like file:///folder/blobs"
        ) from error


def _path(digest: str) -> str:
    # a folder with a million entries is slow to list: one of 256 by the first byte
    return f"{digest[:2]}/{digest}"


def digest_of_file(path: Path) -> str:
    """BLAKE3 of a file of any size."""
    return blake3().update_mmap(path).hexdigest()


def _digest_and_size(content: bytes | Path) -> tuple[str, int]:
    if isinstance(content, bytes):
        return digest_of(content), len(content)
    return digest_of_file(content), content.stat().st_size


def _corrupt(digest: str) -> CorruptBlob:
    return CorruptBlob(
        f"blob {digest} is damaged: its bytes no longer have that digest; "
        "restore it from a copy, or delete it"
    )


@contextmanager
def _blob_errors() -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (GenericError, OSError) as error:
        said = str(error)
        if _error_number(error, said) in _NO_ROOM:
            raise StorageFull(
                "the disk is full, or a quota or size limit is reached: a blob could not be stored; "
                "free some space and start again"
            ) from error
        raise StoreUnavailable(f"the blob store failed: {said.splitlines()[0]}") from error
    except BaseError as error:
        raise StoreUnavailable(f"the blob store refused: {str(error).splitlines()[0]}") from error


def _error_number(error: Exception, said: str) -> int | None:
    if isinstance(error, OSError):
        return error.errno
    # obstore hands the system's error on as text only
    found = re.search(r"os error (\d+)", said)
    return int(found.group(1)) if found else None
