"""Episodes and policies on their way out and in: archives, in folders that nothing outlives, and replays."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.model_files import check_model_folder
from deskhand_flywheel import archives
from deskhand_flywheel.archives import UnpackingLimits
from deskhand_flywheel.errors import DamagedInput, FlywheelError, StorageFull, UnknownFormat
from deskhand_platform.errors import NoRoom, TooLarge
from deskhand_platform.settings import Settings

if TYPE_CHECKING:
    from deskhand_agent.types import Trajectory
    from deskhand_flywheel.exchange import Guidance, Imported
    from deskhand_flywheel.exchange.types import Format
    from deskhand_flywheel.store import Store
    from deskhand_flywheel.types import PolicyRecord
    from deskhand_sandbox.types import Observation

log = logging.getLogger(__name__)
WAIT_S = 10.0
"""After which another try makes sense when others are under way."""
STALLED_S = 60.0
"""So long who sends or reads an archive may leave a piece of it: their place is another's then."""
EXAMPLES = "evaluation_examples"
"""Folder of a sent archive that holds OSWorld's examples, where it has one."""


class Transfers:
    """Exports and imports of one platform."""

    def __init__(self, settings: Settings) -> None:
        self._limits = settings.transfers
        self._folder = settings.home / "transfers"
        self._under_way = 0
        self._replays = asyncio.Semaphore(self._limits.at_once)

    def clear(self) -> None:
        """Remove what a platform that was killed left; only who serves the home may."""
        shutil.rmtree(self._folder, ignore_errors=True)

    async def check(self, store: Store, ids: Sequence[str]) -> None:
        """
        Raises:
            TooLarge: these episodes are more than one archive holds.
        """
        steps = await store.count_steps(ids)
        if steps > self._limits.export_steps:
            raise TooLarge(
                f"the {len(ids):,} trajectories chosen have {steps:,} steps, and one export holds "
                f"{self._limits.export_steps:,} (setting transfers.export_steps): narrow the choice, e.g. "
                "by task_id or by since_s and until_s, and export the rest after it"
            )

    def export(self, store: Store, ids: Sequence[str], format: Format) -> AsyncGenerator[bytes]:
        """The episodes as an archive of the format's files, each as soon as it is whole.

        An error after the first piece is a member of its own, the last: `archives.FAILED`.

        Raises:
            NoRoom: others are under way.
            UnknownTrajectory, MissingBlob, CorruptBlob: something of an episode is not there.
            ExchangeExtraMissing: a package that the format needs is not installed.
            StorageFull: no space is left to put files together.
        """
        return self._archive(partial(_written, store, ids, format))

    def policy(self, store: Store, record: PolicyRecord) -> AsyncGenerator[bytes]:
        """A policy's files as an archive, as `export`.

        Raises:
            NoRoom: others are under way.
            MissingBlob, CorruptBlob: a file is not there.
            StorageFull: no space is left.
        """
        return self._archive(partial(_kept, store, record))

    async def replay(self, store: Store, trajectory_id: str) -> str:
        """An episode as one page with its pictures in it; waits while others are made.

        Raises:
            UnknownTrajectory, MissingBlob, CorruptBlob: something of the episode is not there.
            TooLarge: its pictures are more than one page holds.
        """
        from deskhand_flywheel.replay import render_replay

        async with self._replays:
            episode = await self._with_screens(store, await store.trajectory(trajectory_id))
            return await run_in_threadpool(render_replay, episode, await store.scores(trajectory_id))

    async def _with_screens(self, store: Store, episode: Trajectory) -> Trajectory:
        """With the bytes of what was seen, and not of what each prompt showed again."""
        read, size = dict[str, bytes](), 0

        async def seen(observation: Observation) -> Observation:
            nonlocal size
            digest = observation.screenshot.digest
            if digest not in read:
                read[digest] = await store.image(digest)
                size += len(read[digest])
                if size > self._limits.replay_bytes:
                    raise TooLarge(
                        f"the pictures of trajectory {episode.id} have more than the "
                        f"{self._limits.replay_bytes:,} bytes that one page holds (setting "
                        "transfers.replay_bytes): look at it in the web UI, or export it"
                    )
            return replace(observation, screenshot=replace(observation.screenshot, data=read[digest]))

        steps = [replace(step, observation=await seen(step.observation)) for step in episode.steps]
        end = episode.end
        if end is not None and end.final_observation is not None:
            end = replace(end, final_observation=await seen(end.final_observation))
        return replace(episode, steps=tuple(steps), end=end)

    async def _archive(self, pieces: Callable[[Path], AsyncGenerator[bytes]]) -> AsyncGenerator[bytes]:
        begun = False
        async with self._place() as folder:
            try:
                async with aclosing(pieces(folder)) as some:
                    async for piece in some:
                        begun = True
                        yield piece
                yield archives.ENDING
            except (FlywheelError, OSError) as error:
                if not begun:
                    raise _told(error) from error
                log.warning("an export broke off: %s", error)
                yield archives.failure(error)
                raise

    async def take(
        self,
        store: Store,
        sent: AsyncIterator[bytes],
        *,
        size: int | None,
        format: str | None,
        guidance: Guidance,
    ) -> Imported:
        """Bring in what an archive holds.

        Args:
            sent: the archive.
            size: of it, where it was told; None: it is counted.

        Raises:
            NoRoom: others are under way, or nothing more of it comes.
            TooLarge: it has more bytes than are taken.
            DamagedInput, UnknownFormat, ConflictingRecord: it holds no episodes, or others; nothing came in.
            StorageFull: no space is left for it.
        """
        from deskhand_flywheel.exchange import import_trajectories

        async with self._unpacked(sent, size) as files:
            root, guidance = _found(files, guidance)
            done = await import_trajectories(store, root, format=format, guidance=guidance)
            if not done.added and not done.present:
                raise UnknownFormat(f"the archive holds no episode of the format {done.format}")
            return done

    async def take_policy(
        self, store: Store, sent: AsyncIterator[bytes], *, size: int | None, name: str
    ) -> PolicyRecord:
        """Keep the model folder that an archive holds; the same folder and name again is the same policy.

        Args:
            sent, size: as of `take`.
            name: what it is called in its metadata.

        Raises:
            NoRoom, TooLarge, DamagedInput, StorageFull: as `take`; nothing was kept.
            UnknownFormat: it holds no model that can act and be trained here; says why.
        """
        async with self._unpacked(sent, size) as files:
            inside = [*files.iterdir()]
            folder = inside[0] if len(inside) == 1 and inside[0].is_dir() else files
            try:
                await run_in_threadpool(_check_policy, folder)
            except ModelFilesError as error:
                raise UnknownFormat(str(error).replace(str(folder), str(files))) from error
            return await store.keep_policy(folder, parent_id=None, metadata={"name": name})

    @asynccontextmanager
    async def _unpacked(self, sent: AsyncIterator[bytes], size: int | None) -> AsyncGenerator[Path]:
        """The folder of an archive's files; what is wrong with them is told of the archive, not of where it
        was unpacked."""
        async with self._place() as folder:
            if size is not None:
                self._refuse_large(size)
                self._refuse_full(folder, size)
            archive, files = folder / "archive", folder / "files"
            files.mkdir()
            try:
                await self._receive(sent, archive)
                limits = UnpackingLimits(bytes=self._limits.unpacked_bytes, files=self._limits.unpacked_files)
                await run_in_threadpool(archives.unpack, archive, files, limits)
                archive.unlink()
                yield files
            except DamagedInput as error:
                place = error.place.removeprefix(f"{files}/")
                raise DamagedInput(place, str(error.what).replace(f"{files}/", "")) from error
            except UnknownFormat as error:
                raise UnknownFormat(str(error).replace(str(files), "the archive")) from error
            except OSError as error:
                raise _told(error) from error

    async def _receive(self, sent: AsyncIterator[bytes], archive: Path) -> None:
        size = 0
        with archive.open("wb") as file:
            while (piece := await _next_of(sent)) is not None:
                size += len(piece)
                self._refuse_large(size)
                await run_in_threadpool(file.write, piece)

    def _refuse_large(self, size: int) -> None:
        limit = self._limits.import_bytes
        if size > limit:
            raise TooLarge(
                f"the archive has {size:,} bytes or more, and {limit:,} are taken (setting "
                "transfers.import_bytes): send episodes in several archives, and raise it for large models"
            )

    def _refuse_full(self, folder: Path, size: int) -> None:
        free = shutil.disk_usage(folder).free
        if size > free:
            raise StorageFull(f"the archive has {size:,} bytes, and {free:,} are free where it would lie")

    @asynccontextmanager
    async def _place(self) -> AsyncGenerator[Path]:
        """A folder for the length of the block, one of few."""
        if self._under_way >= self._limits.at_once:
            raise NoRoom(
                f"{self._under_way} exports and imports are under way, as many as there may be "
                "(setting transfers.at_once)",
                retry_after_s=WAIT_S,
            )
        self._under_way += 1
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            folder = Path(mkdtemp(dir=self._folder))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            self._under_way -= 1


async def _next_of(sent: AsyncIterator[bytes]) -> bytes | None:
    try:
        async with asyncio.timeout(STALLED_S):
            return await anext(sent, None)
    except TimeoutError as error:
        raise NoRoom(f"nothing of the archive came for {STALLED_S:g} s", retry_after_s=WAIT_S) from error


async def _written(store: Store, ids: Sequence[str], format: Format, folder: Path) -> AsyncGenerator[bytes]:
    from deskhand_flywheel.exchange import read_whole

    sent = set[int]()
    with format.write(folder) as add:
        for trajectory_id in ids:
            # not a thread that goes on alone when whoever asked is gone: the folder is removed then
            await run_in_threadpool(add, await read_whole(store, trajectory_id))
            async for piece in _sent(folder, frozenset(format.growing(folder)), sent):
                yield piece
    async for piece in _sent(folder, frozenset(), sent):
        yield piece


async def _kept(store: Store, record: PolicyRecord, folder: Path) -> AsyncGenerator[bytes]:
    for name, digest in sorted(record.manifest.items()):
        path = folder / "file"
        await store.blobs.get_file(digest, path)
        pieces = archives.packed(path, name)
        while (piece := await run_in_threadpool(next, pieces, None)) is not None:
            yield piece
        path.unlink()


async def _sent(folder: Path, growing: frozenset[Path], sent: set[int]) -> AsyncGenerator[bytes]:
    """Whole files, which are removed then; one that was written again is the same as before."""
    for path in await run_in_threadpool(_files, folder):
        name = path.relative_to(folder).as_posix()
        if path in growing:
            continue
        if hash(name) not in sent:
            pieces = archives.packed(path, name)
            while (piece := await run_in_threadpool(next, pieces, None)) is not None:
                yield piece
            sent.add(hash(name))
        path.unlink()
        # an episode's own folder; one for all of them is needed again
        if name.count("/") > 1 and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _found(files: Path, guidance: Guidance) -> tuple[Path, Guidance]:
    """Where the episodes lie: an archive of a folder, or of one file, holds that alone."""
    guidance = replace(guidance, unpacked_in=files)
    if (files / EXAMPLES).is_dir():
        guidance = replace(guidance, examples=files / EXAMPLES)
    root = files
    while root.is_dir():
        inside = [one for one in root.iterdir() if one != files / EXAMPLES]
        if len(inside) != 1:
            break
        root = inside[0]
    return root, guidance


def _check_policy(folder: Path) -> None:
    """Refuse a model that no run could load.

    Raises:
        ModelFilesError: says why.
    """
    from deskhand_agent.models.bundle import UNREAD, load_bundle

    check_model_folder(folder)
    load_bundle(folder, device=UNREAD)


def _told(error: Exception) -> Exception:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"no space is left where archives are put together: {error.strerror}")
    return error
