"""Episodes and policies out of a platform into a folder, and episodes from a folder into a platform."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from deskhand_flywheel import archives
from deskhand_flywheel.archives import UnpackingLimits
from deskhand_platform.api.exchange_models import ImportedModel
from deskhand_platform.api.models import PolicyModel
from deskhand_platform.client.calls import labelled, part, reading
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.errors import BrokenOff, Unreachable
from deskhand_platform.client.flows import Call

LONGEST_S = 3600.0
"""An archive is put together, or read, for so long at most before anything comes."""
EXAMPLES = "evaluation_examples"
ANY_SIZE = UnpackingLimits(bytes=1 << 60, files=1 << 60)
"""One's own platform is trusted with one's disk."""


class Exchanging(Connection):
    """Episodes as files, for programs that block."""

    def export_trajectories(
        self,
        folder: Path,
        format: str = "parquet",
        *,
        ids: Sequence[str] = (),
        dataset: str | None = None,
        labels: Mapping[str, str] | None = None,
        **filters: Any,
    ) -> None:
        """Write trajectories, with pictures and what was said of them, as files that others read.

        Args:
            folder: to be made, whole or not at all; must not be there, or be empty.
            format: "parquet", "osworld", "ui-tars", "webdataset" or "experience".
            ids: these; or `dataset`: those of NAME or NAME@VERSION; or else the filters choose among whole
                episodes, as for `trajectories`.

        Raises:
            FileExistsError: the folder holds something, or is the one that this process works in.
            BrokenOff: something of an episode is lost or damaged; says what.
        """
        with _staging(folder) as (archive, files):
            try:
                self._do(_export(archive, format, ids, dataset, labels, filters))
            except Unreachable as error:
                raise _why(archive, error) from error
            archives.unpack(archive, files, ANY_SIZE)
            _into_place(files, folder)

    def import_trajectories(
        self, path: Path, format: str | None = None, *, examples: Path | None = None, **guidance: Any
    ) -> ImportedModel:
        """Bring in what was exported, or others' own files; sent twice it comes in once.

        Args:
            path: a folder, or a file of conversations.
            format: seen from the files without.
            examples: OSWorld's `evaluation_examples`, where the instructions are.
            guidance: what files of others leave open: policy, dialect, succeeded.
        """
        return self._do(_import(path, format, examples, guidance))

    def download_policy(self, id: str, folder: Path) -> None:
        """Write the files of a policy, which transformers load.

        Args:
            id: of a policy, or deskhand-tiny.
            folder: to be made, whole or not at all; must not be there, or be empty.

        Raises:
            FileExistsError: the folder holds something, or is the one that this process works in.
            BrokenOff: a file is lost or damaged; says which.
        """
        with _staging(folder) as (archive, files):
            try:
                self._do(_download(id, archive))
            except Unreachable as error:
                raise _why(archive, error) from error
            archives.unpack(archive, files, ANY_SIZE)
            _into_place(files, folder)

    def upload_policy(self, folder: Path, *, name: str | None = None) -> PolicyModel:
        """Keep the model of a folder on the platform; sent twice it is kept once.

        Args:
            folder: of a Qwen3-VL or Qwen2.5-VL, as transformers save one: weights as safetensors.
            name: what it is called in its metadata; None: as the folder is.
        """
        return self._do(_upload(folder, name))


class AsyncExchanging(AsyncConnection):
    """Episodes as files, for programs that await."""

    async def export_trajectories(
        self,
        folder: Path,
        format: str = "parquet",
        *,
        ids: Sequence[str] = (),
        dataset: str | None = None,
        labels: Mapping[str, str] | None = None,
        **filters: Any,
    ) -> None:
        """Write trajectories, with pictures and what was said of them, as files that others read.

        Args and Raises: as `Deskhand.export_trajectories`.
        """
        with _staging(folder) as (archive, files):
            try:
                await self._do(_export(archive, format, ids, dataset, labels, filters))
            except Unreachable as error:
                raise _why(archive, error) from error
            await asyncio.to_thread(archives.unpack, archive, files, ANY_SIZE)
            _into_place(files, folder)

    async def import_trajectories(
        self, path: Path, format: str | None = None, *, examples: Path | None = None, **guidance: Any
    ) -> ImportedModel:
        """Bring in what was exported, or others' own files; sent twice it comes in once.

        Args: as `Deskhand.import_trajectories`.
        """
        return await self._do(_import(path, format, examples, guidance))

    async def download_policy(self, id: str, folder: Path) -> None:
        """Write the files of a policy, which transformers load.

        Args and Raises: as `Deskhand.download_policy`.
        """
        with _staging(folder) as (archive, files):
            try:
                await self._do(_download(id, archive))
            except Unreachable as error:
                raise _why(archive, error) from error
            await asyncio.to_thread(archives.unpack, archive, files, ANY_SIZE)
            _into_place(files, folder)

    async def upload_policy(self, folder: Path, *, name: str | None = None) -> PolicyModel:
        """Keep the model of a folder on the platform; sent twice it is kept once.

        Args: as `Deskhand.upload_policy`.
        """
        return await self._do(_upload(folder, name))


def _export(
    archive: Path,
    format: str,
    ids: Sequence[str],
    dataset: str | None,
    labels: Mapping[str, str] | None,
    filters: Mapping[str, Any],
) -> Call[None]:
    params = {**filters, "format": format, "id": [*ids], "dataset": dataset, "label": labelled(labels)}
    return _archived("/v1/export", archive, params)


def _download(id: str, archive: Path) -> Call[None]:
    return _archived(f"/v1/policies/{part(id)}/files", archive, {})


def _upload(folder: Path, name: str | None) -> Call[PolicyModel]:
    return Call(
        method="POST",
        path="/v1/policies",
        read=reading(PolicyModel),
        params={"name": name or folder.resolve().name},
        content=lambda: _packed(folder),
        timeout_s=LONGEST_S,
    )


def _archived(path: str, archive: Path, params: Mapping[str, Any]) -> Call[None]:
    return Call(
        method="GET",
        path=path,
        read=lambda response: None,
        params={name: value for name, value in params.items() if value is not None},
        into=archive,
        timeout_s=LONGEST_S,
        # what broke off says why, and would break off again
        safe=False,
    )


def _import(
    path: Path, format: str | None, examples: Path | None, guidance: Mapping[str, Any]
) -> Call[ImportedModel]:
    given = {"format": format, **guidance}
    whole = path.resolve()
    # OSWorld's folders say by their names which example of which domain an episode is of
    under = "" if whole.is_file() else f"{whole.parent.name}/{whole.name}"
    return Call(
        method="POST",
        path="/v1/import",
        read=reading(ImportedModel),
        params={name: value for name, value in given.items() if value is not None},
        content=lambda: _packed(whole, under, examples),
        timeout_s=LONGEST_S,
    )


def _packed(path: Path, under: str = "", examples: Path | None = None) -> Iterator[bytes]:
    yield from archives.packed_folder(path, under)
    if examples is not None:
        yield from archives.packed_folder(examples, EXAMPLES)
    yield archives.ENDING


@contextmanager
def _staging(folder: Path) -> Generator[tuple[Path, Path]]:
    """Where the archive comes, and an empty folder for its files; both are gone at the block's end."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already: name a new folder")
    if folder.resolve() == Path.cwd():
        raise FileExistsError(
            f"{folder} is the folder you are in, which would be replaced: name a new folder"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (staging / "files").mkdir()
        yield staging / "archive.tar", staging / "files"
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _into_place(files: Path, folder: Path) -> None:
    # replaces an empty folder, and fails on a full one
    files.rename(folder)


def _why(archive: Path, error: Unreachable) -> Exception:
    said = archives.failure_in(archive)
    return error if said is None else BrokenOff(said)
