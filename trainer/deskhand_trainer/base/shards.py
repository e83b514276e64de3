"""Seen pages and changes on disk, a few hundred to a file: tar archives as WebDataset has them.

A page is SEED.png and SEED.json, a change NUMBER-TASK-SEED-TURN.before.png, .after.png and .json; a picture
of another format ends otherwise. The last member, END, says how many there are: without it a file was cut
short.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from blake3 import blake3

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_sandbox.tasks.generated import Thing, read_thing
from deskhand_sandbox.tasks.layout import CharacterBox
from deskhand_sandbox.types import Image
from deskhand_trainer.base.changes import SeenChange, read_box
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.errors import ShardDamaged

VERSION = 2
END = "__end__.json"

Kept = TypeVar("Kept")


def write_shard(path: Path, pages: Sequence[SeenPage]) -> None:
    """Write pages, all or none: the file appears whole.

    Raises:
        OSError: no room, or no such folder.
    """
    members: list[tuple[str, bytes]] = []
    for page in pages:
        members += [(_named(page, f"{page.seed}"), _data(page)), (f"{page.seed}.json", _json(_told(page)))]
    _write(path, members, {"pages": len(pages)})


def read_shard(path: Path) -> list[SeenPage]:
    """The pages of a file, as they were written.

    Raises:
        ShardDamaged: it is cut short or altered, or of another version.
        OSError: it cannot be read.
    """

    def page(key: str, told: dict[str, Any], read: Mapping[str, bytes]) -> SeenPage:
        return _page(told, key, read)

    return _read(path, "pages", page)


def write_changes(path: Path, changes: Sequence[SeenChange]) -> None:
    """Write changes, all or none: the file appears whole.

    Raises:
        OSError: no room, or no such folder.
    """
    members: list[tuple[str, bytes]] = []
    for number, change in enumerate(changes):
        # numbered: several episodes may begin from one task and seed
        key = f"{number}-{change.before.task_id.rpartition('/')[2]}-{change.before.seed}-{change.turn}"
        told = {
            "turn": change.turn,
            "before": _told(change.before),
            "action": format_reply(None, (change.action,)),
            "target": change.target,
            "after": _told(change.after),
        }
        members += [
            (_named(change.before, f"{key}.before"), _data(change.before)),
            (_named(change.after, f"{key}.after"), _data(change.after)),
            (f"{key}.json", _json(told)),
        ]
    _write(path, members, {"changes": len(changes)})


def read_changes(path: Path) -> list[SeenChange]:
    """The changes of a file, as they were written.

    Raises:
        ShardDamaged: it is cut short or altered, or of another version.
        OSError: it cannot be read.
    """

    def change(key: str, told: dict[str, Any], read: Mapping[str, bytes]) -> SeenChange:
        (action,) = parse_reply(told["action"]).actions
        return SeenChange(
            turn=told["turn"],
            before=_page(told["before"], f"{key}.before", read),
            action=action,
            target=None if told["target"] is None else read_box(told["target"]),
            after=_page(told["after"], f"{key}.after", read),
        )

    return _read(path, "changes", change)


def _write(path: Path, members: Sequence[tuple[str, bytes]], count: Mapping[str, int]) -> None:
    begun = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with tarfile.open(begun, "w") as archive:
            for name, data in (*members, (END, _json({"version": VERSION, **count}))):
                _add(archive, name, data)
        begun.replace(path)
    finally:
        begun.unlink(missing_ok=True)


def _read(
    path: Path, what: str, make: Callable[[str, dict[str, Any], Mapping[str, bytes]], Kept]
) -> list[Kept]:
    """What `make` makes of every key, what is told of it, and all members; `what` END counts."""
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
        keys = [name.removesuffix(".json") for name in read if name.endswith(".json")]
        found = [make(key, json.loads(read[f"{key}.json"]), read) for key in keys]
        if len(found) != end[what]:
            raise ValueError(f"{len(found)} of {end[what]} {what}")
        return found
    except (tarfile.TarError, ValueError, KeyError, TypeError, AssertionError, ActionSyntaxError) as error:
        raise ShardDamaged(f"{path} is damaged ({error}): delete it, and it is drawn again") from error


def _json(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode()


def _data(page: SeenPage) -> bytes:
    assert page.image.data is not None
    return page.image.data


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _told(page: SeenPage) -> dict[str, Any]:
    return {
        "task": page.task_id,
        "seed": page.seed,
        "size_px": [page.image.width_px, page.image.height_px],
        "format": page.image.format,
        "digest": page.image.digest,
        "things": [_plain(thing) for thing in page.things],
        "characters": [
            [each.character, *each.box, -1 if each.element is None else each.element, each.word]
            for each in page.characters
        ],
        "content_top_px": page.content_top_px,
    }


def _plain(thing: Thing) -> dict[str, Any]:
    return asdict(thing) | {"descriptions": [[each.kind, each.words] for each in thing.descriptions]}


def _named(page: SeenPage, name: str) -> str:
    return f"{name}.{page.image.format}"


def _page(told: dict[str, Any], name: str, read: Mapping[str, bytes]) -> SeenPage:
    data = read[f"{name}.{told['format']}"]
    if blake3(data).hexdigest() != told["digest"]:
        raise ValueError(f"the picture of seed {told['seed']} is not the one that was written")
    width, height = told["size_px"]
    return SeenPage(
        task_id=told["task"],
        seed=told["seed"],
        image=Image(
            digest=told["digest"], format=told["format"], width_px=width, height_px=height, data=data
        ),
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
        # shards of before it was written are of generated pages, which have no instruction on top
        content_top_px=told.get("content_top_px", 0.0),
    )
