"""A folder as one tar archive: packed piece by piece, and unpacked from hands that nobody vouches for.

Importing this loads the standard library alone: the platform's client packs and unpacks, too.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Self

from deskhand_flywheel.errors import DamagedInput

PIECE_BYTES = 1 << 20
"""Most of one piece."""
ENDING = bytes(2 * tarfile.BLOCKSIZE)
"""What an archive ends with."""
FAILED = "FAILED.json"
"""The last member of an archive that broke off, which says why: {"type", "message"}."""
_LONGEST_NAME = 1000
_LONGEST_HEAD = 64 << 10
"""Bytes of what stands before a member about it: names, times. It is read whole into memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnpackingLimits:
    """How large what an archive unpacks to may be; what is packed well is small before."""

    bytes: int
    files: int
    """Folders are counted too."""


class _Member(tarfile.TarInfo):
    """Refuses, before it is read, what `tarfile` would gather in memory without a bound."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """A member by its head, or the head of what is said about the next member."""
        member = super().frombuf(buf, encoding, errors)
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise _sparse(member.name)
        if member.type in _HEADS and member.size > _LONGEST_HEAD:
            raise DamagedInput(f"{member.name!r:.200}", f"has a head of {member.size:,} bytes")
        return member

    # called by `tarfile` for the form whose list of holes stands in the data
    def _proc_gnusparse_10(self, next: tarfile.TarInfo, *_: object) -> None:
        raise _sparse(next.name)


_HEADS = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)


def _sparse(name: str) -> DamagedInput:
    return DamagedInput(f"{name!r:.200}", "is a sparse file; pack it whole")


def packed(path: Path, name: str) -> Iterator[bytes]:
    """A file as a member of an archive; the same bytes give the same pieces.

    Args:
        name: in the archive, with slashes.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        yield from _member(name, size, file)


def failure(error: Exception) -> bytes:
    """Why an archive breaks off, as its last member."""
    data = json.dumps({"type": type(error).__name__, "message": str(error)}).encode()
    return _head(FAILED, len(data)) + data + _padding(len(data))


def failure_in(archive: Path) -> str | None:
    """Why an archive broke off; None where it does not say."""
    try:
        with tarfile.open(archive, "r:") as opened:
            last: tarfile.TarInfo | None = None
            with suppress(tarfile.TarError):
                # only what the last member says is the packer's own
                while (member := opened.next()) is not None:
                    last = member
            said = opened.extractfile(last) if last is not None and last.name == FAILED else None
            return None if said is None else str(json.loads(said.read())["message"])
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError):
        return None


def packed_folder(folder: Path, under: str = "") -> Iterator[bytes]:
    """Every file below a folder, or a file alone, as members, without the archive's ending.

    Args:
        under: a folder of the archive to put them in.
    """
    files = [folder] if folder.is_file() else sorted(one for one in folder.rglob("*") if one.is_file())
    root = folder.parent if folder.is_file() else folder
    for file in files:
        yield from packed(file, (PurePosixPath(under) / file.relative_to(root).as_posix()).as_posix())


def unpack(archive: Path, folder: Path, limits: UnpackingLimits) -> None:
    """Unpack into an empty folder; compressed archives (gzip, bzip2, xz) are taken as well.

    Files and folders are all that is taken: no links, no devices, nothing that lies outside of the folder.

    Raises:
        DamagedInput: it is no archive, is cut short, or holds anything else or more than the limits allow;
            names the member. Something may lie in the folder by then.
    """
    try:
        # a stream has no way back: an archive cannot have a member read twice
        with tarfile.open(archive, "r|*", tarinfo=_Member) as opened:
            _unpack(opened, folder, limits)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedInput("archive", f"is no whole tar archive: {error}") from error
    except OSError as error:
        if isinstance(error, FileExistsError | IsADirectoryError | NotADirectoryError):
            raise DamagedInput("archive", f"holds two files of one name: {error.filename}") from error
        if error.errno is None:
            # the decompressors' own
            raise DamagedInput("archive", f"cannot be decompressed: {error}") from error
        raise


def _unpack(opened: tarfile.TarFile, folder: Path, limits: UnpackingLimits) -> None:
    files = unpacked = 0
    while (member := opened.next()) is not None:
        # it would remember all of them
        opened.members.clear()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        place = folder / safe_name(member.name)
        if not (member.isreg() or member.isdir()):
            raise DamagedInput(f"{member.name!r:.200}", "is neither a file nor a folder")
        files += 1
        unpacked += member.size if member.isreg() else 0
        if files > limits.files or unpacked > limits.bytes:
            raise DamagedInput(
                f"{member.name!r:.200}",
                f"with it the archive unpacks to {files:,} files of {unpacked / 1e9:,.3f} GB, and "
                f"{limits.files:,} files of {limits.bytes / 1e9:,.3f} GB are taken",
            )
        if member.isdir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        source = opened.extractfile(member)
        assert source is not None
        place.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, place, member)


def _copy(source: IO[bytes], place: Path, member: tarfile.TarInfo) -> None:
    with place.open("xb") as file:
        while data := source.read(PIECE_BYTES):
            file.write(data)
        if file.tell() != member.size:
            raise DamagedInput(f"{member.name!r:.200}", "is cut short")


def safe_name(name: str) -> PurePosixPath:
    """The way to a member, inside of the folder that it is unpacked into.

    Raises:
        DamagedInput: it leads elsewhere, or no file can be called so.
    """
    way = PurePosixPath(name)
    if way.is_absolute() or ".." in way.parts or "\\" in name or "\0" in name:
        raise DamagedInput(f"{name!r:.200}", "lies outside of the archive")
    if len(name) > _LONGEST_NAME or any(len(part.encode(errors="replace")) > 255 for part in way.parts):
        raise DamagedInput(f"{name!r:.60}…", "is too long a name")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DamagedInput(f"{name!r:.200}", "is not a name in UTF-8") from error
    return way


def _member(name: str, size: int, file: IO[bytes]) -> Iterator[bytes]:
    yield _head(name, size)
    left = size
    while left and (data := file.read(min(PIECE_BYTES, left))):
        left -= len(data)
        yield data
    if left:
        raise OSError(f"{name} became shorter while it was packed")
    yield _padding(size)


def _head(name: str, size: int) -> bytes:
    head = tarfile.TarInfo(name)
    head.size = size
    return head.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
