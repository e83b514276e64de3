"""Pages on disk come back as they were, and damage is told."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import read_changes, read_shard, write_changes, write_shard
from deskhand_trainer.errors import ShardDamaged

pytestmark = pytest.mark.browser


def test_what_is_written_is_read(seen_pages: list[SeenPage], tmp_path: Path) -> None:
    one_size = [page for page in seen_pages if page.task_id == seen_pages[0].task_id]
    one_size[0] = replace(one_size[0], content_top_px=50.5)
    write_shard(tmp_path / "pages.tar", one_size)
    assert read_shard(tmp_path / "pages.tar") == one_size
    assert [each.name for each in tmp_path.iterdir()] == ["pages.tar"]
    again = (tmp_path / "pages.tar").read_bytes()
    write_shard(tmp_path / "pages.tar", one_size)
    assert (tmp_path / "pages.tar").read_bytes() == again
    with tarfile.open(tmp_path / "pages.tar") as archive:
        assert archive.getnames()[:2] == [f"{one_size[0].seed}.png", f"{one_size[0].seed}.json"]


@pytest.mark.parametrize("harm", ["cut", "shortened", "altered", "empty", "other"])
def test_damage_is_told(seen_pages: list[SeenPage], tmp_path: Path, harm: str) -> None:
    path = tmp_path / "pages.tar"
    write_shard(path, seen_pages[:2])
    data = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(data[: len(data) // 3])
    elif harm == "shortened":  # after a whole page
        path.write_bytes(data[: data.index(f"{seen_pages[1].seed}.png".encode())])
    elif harm == "altered":
        data[700] ^= 1  # inside the first picture
        path.write_bytes(data)
    elif harm == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(data.replace(b'"version": 2', b'"version": 9'))
    with pytest.raises(ShardDamaged, match=r"pages\.tar is damaged .* drawn again"):
        read_shard(path)


def test_changes_come_back_as_they_were(seen_changes: list[SeenChange], tmp_path: Path) -> None:
    path = tmp_path / "changes.tar"
    write_changes(path, seen_changes)
    assert read_changes(path) == seen_changes
    first = seen_changes[0].before
    key = f"0-{first.task_id.removeprefix('generated/')}-{first.seed}-0"
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert names[:3] == [f"{key}.before.png", f"{key}.after.png", f"{key}.json"]
    assert len(set(names)) == len(names)
    with pytest.raises(ShardDamaged, match="drawn again"):
        read_shard(path)


@pytest.mark.parametrize("harm", ["cut", "shortened", "altered", "unreadable", "other"])
def test_damage_to_changes_is_told(seen_changes: list[SeenChange], tmp_path: Path, harm: str) -> None:
    path = tmp_path / "changes.tar"
    write_changes(path, seen_changes[:2])
    data = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(data[: len(data) // 3])
    elif harm == "shortened":  # after a whole change
        path.write_bytes(data[: data.index(f"{seen_changes[1].before.seed}-1.before.png".encode()) - 20])
    elif harm == "altered":
        data[data.index(b"-0.after.png") + 700] ^= 1  # inside the second picture
        path.write_bytes(data)
    elif harm == "unreadable":
        path.write_bytes(data.replace(b'"action": "', b'"action": "?', 1))
    else:
        path.write_bytes(data.replace(b'"version": 2', b'"version": 9'))
    with pytest.raises(ShardDamaged, match=r"changes\.tar is damaged .* drawn again"):
        read_changes(path)


def test_a_file_half_written_never_appears(
    seen_pages: list[SeenPage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_shard(tmp_path / "pages.tar", seen_pages[:2])
    assert list(tmp_path.iterdir()) == []
