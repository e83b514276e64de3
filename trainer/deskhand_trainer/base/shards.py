"""Seen pages on disk, a few hundred to a file: tar archives as WebDataset has them, SEED.png and SEED.json.

The last member, END, says how many there are: without it a file was cut short.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blake3 import blake3

from deskhand_sandbox.tasks.generated import Thing, read_thing
from deskhand_sandbox.tasks.layout import CharacterBox
from deskhand_sandbox.types import Image
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.errors import ShardDamaged

VERSION = 1
END = "__end__.json"


def write_shard(path: Path, pages: Sequence[SeenPage]) -> None:
    """Write pages, all or none: the file appears whole.

    Raises:
        OSError: no room, or no such folder.
    """
    begun = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with tarfile.open(begun, "w") as archive:
            for page in pages:
                assert page.image.data is not None
                _add(archive, f"{page.seed}.png", page.image.data)
                _add(archive, f"{page.seed}.json", json.dumps(_told(page), ensure_ascii=False).encode())
            _add(archive, END, json.dumps({"version": VERSION, "pages": len(pages)}).encode())
        begun.replace(path)
    finally:
        begun.unlink(missing_ok=True)


def read_shard(path: Path) -> list[SeenPage]:
    """The pages of a file, as they were written.

    Raises:
        ShardDamaged: it is cut short or altered, or of another version.
        OSError: it cannot be read.
    """
    read: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is not None
                read[member.name] = file.read()
        end = json.loads(read.pop(END))
        if end["version"] != VERSION:
            raise ValueError(f"version {end['version']}, not {VERSION}")
        told = [(name, json.loads(data)) for name, data in read.items() if name.endswith(".json")]
        pages = [_page(each, read[name.removesuffix("json") + "png"]) for name, each in told]
        if len(pages) != end["pages"]:
            raise ValueError(f"{len(pages)} of {end['pages']} pages")
        return pages
    except (tarfile.TarError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise ShardDamaged(f"{path} is damaged ({error}): delete it, and it is drawn again") from error


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _told(page: SeenPage) -> dict[str, Any]:
    return {
        "task": page.task_id,
        "seed": page.seed,
        "size_px": [page.image.width_px, page.image.height_px],
        "digest": page.image.digest,
        "things": [_plain(thing) for thing in page.things],
        "characters": [
            [each.character, *each.box, -1 if each.element is None else each.element, each.word]
            for each in page.characters
        ],
    }


def _plain(thing: Thing) -> dict[str, Any]:
    return asdict(thing) | {"descriptions": [[each.kind, each.words] for each in thing.descriptions]}


def _page(told: dict[str, Any], data: bytes) -> SeenPage:
    if blake3(data).hexdigest() != told["digest"]:
        raise ValueError(f"the picture of seed {told['seed']} is not the one that was written")
    width, height = told["size_px"]
    return SeenPage(
        task_id=told["task"],
        seed=told["seed"],
        image=Image(digest=told["digest"], format="png", width_px=width, height_px=height, data=data),
        things=tuple(read_thing(each) for each in told["things"]),
        characters=tuple(
            CharacterBox(
                character=character,
                box=(left, top, right, bottom),
                element=None if element < 0 else element,
                word=word,
            )
            for character, left, top, right, bottom, element, word in told["characters"]
        ),
    )
