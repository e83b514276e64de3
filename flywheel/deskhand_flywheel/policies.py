"""The store's policies: a checkpoint folder as a manifest {file: BLAKE3}, with its lineage.

The id is drawn from content, parent and metadata: keeping the same checkpoint again, after a crash between
keeping it and saying so, gives the same record.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from blake3 import blake3
from sqlalchemy import Row, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.checksums import SUMS_FILE
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_flywheel import tables
from deskhand_flywheel.blobs import digest_of_file
from deskhand_flywheel.citing import Citing, refuse_condemned
from deskhand_flywheel.errors import InvalidQuery, MalformedRecord, UnknownPolicy
from deskhand_flywheel.types import PolicyRecord
from deskhand_sandbox.types import JsonValue

SHIPPED: Mapping[str, JsonValue] = {"name": DESKHAND_TINY}
"""Metadata of the model that comes with Deskhand."""
DESCRIBING = ("README.md", SUMS_FILE)
"""Files of a model's folder that say what it is and change nothing of what it does."""


class Policies(Citing):
    """Kept checkpoints of policies and of process reward models."""

    async def keep_policy(
        self, folder: Path, *, parent_id: str | None, metadata: Mapping[str, JsonValue]
    ) -> PolicyRecord:
        """Keep every file of a folder; files the store has already are not stored again.

        The id is of what acts: a folder that differs in `DESCRIBING` alone is the policy kept before.

        Raises:
            InvalidQuery: the folder is missing or empty.
            UnknownPolicy: `parent_id` is not in the store.
            StorageFull: no space is left; no record was made.
        """
        paths = await asyncio.to_thread(_files_of, folder)
        manifest: dict[str, str] = {}

        async def keep() -> None:
            for name, path in paths.items():
                manifest[name] = await self.blobs.put_file(path)

        await keep()
        acting = {name: digest for name, digest in manifest.items() if name not in DESCRIBING}
        canonical = json.dumps([acting, parent_id, dict(metadata)], sort_keys=True)
        policy_id = f"policy-{blake3(canonical.encode()).hexdigest()[:16]}"
        row = {
            "id": policy_id,
            "parent_id": parent_id,
            "manifest": json.dumps(manifest),
            "metadata": json.dumps(dict(metadata)),
            "created_at_s": time.time(),
        }

        async def write(connection: AsyncConnection) -> None:
            await refuse_condemned(connection, set(manifest.values()))
            await connection.execute(self.insert_new(tables.policies).values(row))

        try:
            await self._write_citing(keep, partial(self._writer.submit, write))
        except IntegrityError as error:
            raise UnknownPolicy(str(parent_id), await self._policy_ids()) from error
        return await self.policy(policy_id)

    async def policy(self, policy_id: str) -> PolicyRecord:
        """A kept policy.

        Raises:
            UnknownPolicy: there is none of that id.
        """
        query = select(tables.policies).where(tables.policies.c.id == policy_id)
        try:
            async with self.database.read() as connection:
                row = (await connection.execute(query)).first()
        except UnicodeEncodeError:  # it holds half a surrogate pair, as no id does
            row = None
        if row is None:
            raise UnknownPolicy(policy_id, await self._policy_ids())
        return _policy(row)

    async def policy_named(self, name: str) -> PolicyRecord:
        """A kept policy; the model that comes with Deskhand is kept the first time it is named.

        Args:
            name: an id, or "deskhand-tiny".

        Raises:
            UnknownPolicy: there is none of that id; carries the nearest ones.
            ModelFilesError: the model that comes with Deskhand is missing or damaged.
            StorageFull: no space is left.
        """
        if name != DESKHAND_TINY:
            return await self.policy(name)
        folder = await asyncio.to_thread(shipped_model)
        return await self.keep_policy(folder, parent_id=None, metadata=SHIPPED)

    async def policies(self) -> tuple[PolicyRecord, ...]:
        """Every kept policy, newest first."""
        table = tables.policies
        async with self.database.read() as connection:
            rows = (await connection.execute(select(table).order_by(table.c.created_at_s.desc()))).all()
        return tuple(_policy(row) for row in rows)

    async def lineage(self, policy_id: str) -> tuple[PolicyRecord, ...]:
        """The policy, its parent, and so on to the first.

        Raises:
            UnknownPolicy: there is none of that id.
        """
        line = [await self.policy(policy_id)]
        while line[-1].parent_id is not None:
            line.append(await self.policy(line[-1].parent_id))
        return tuple(line)

    async def materialise_policy(self, policy_id: str, dest: Path) -> Path:
        """The policy's files as the folder `dest`, there whole or not at all; returns `dest`.

        A folder that holds exactly these files already is left as it is.

        Raises:
            UnknownPolicy: there is none of that id.
            InvalidQuery: `dest` holds something else.
            MissingBlob, CorruptBlob: a file is gone from the blob store, or damaged.
            StorageFull: no space is left.
        """
        record = await self.policy(policy_id)
        if await asyncio.to_thread(_holds_already, dest, record):
            return dest
        staging = _staging_folder(dest)
        try:
            for name, digest in record.manifest.items():
                path = staging / _safe(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                await self.blobs.get_file(digest, path)
            await asyncio.to_thread(_move_into_place, staging, dest, record)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        return dest

    async def _policy_ids(self) -> list[str]:
        async with self.database.read() as connection:
            return list((await connection.scalars(select(tables.policies.c.id))).all())


def manifest_of(folder: Path) -> dict[str, str]:
    """Every file of a folder with its BLAKE3, as a policy's record has them.

    Raises:
        InvalidQuery: the folder is missing or empty.
    """
    return {name: digest_of_file(path) for name, path in _files_of(folder).items()}


def _files_of(folder: Path) -> dict[str, Path]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not paths:
        raise InvalidQuery(f"{folder} holds no files to keep as a policy")
    return {path.relative_to(folder).as_posix(): path for path in paths}


def _holds_already(folder: Path, record: PolicyRecord) -> bool:
    if not folder.exists() or not any(folder.iterdir()):
        return False
    if manifest_of(folder) == record.manifest:
        return True
    raise InvalidQuery(f"{folder} holds something else than {record.id}: name a new folder")


def _staging_folder(dest: Path) -> Path:
    dest.parent.mkdir(parents=True, exist_ok=True)
    return Path(mkdtemp(prefix=f".{dest.name}-", dir=dest.parent))


def _move_into_place(staging: Path, dest: Path, record: PolicyRecord) -> None:
    # made for its owner alone; a policy is for whoever may read the store
    staging.chmod(0o755)
    try:
        # replaces an empty folder, and fails on a full one
        staging.rename(dest)
    except OSError:
        # somebody else was quicker: theirs serves as well, if it is the same
        if not _holds_already(dest, record):
            raise
        shutil.rmtree(staging)


def _safe(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise MalformedRecord(f"a policy's manifest names a file outside its folder: {name!r}")
    return path


def _policy(row: Row[tuple[object, ...]]) -> PolicyRecord:
    return PolicyRecord(
        id=row.id,
        parent_id=row.parent_id,
        manifest=json.loads(row.manifest),
        metadata=json.loads(row.metadata),
        created_at_s=row.created_at_s,
    )
