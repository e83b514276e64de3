"""Policies: kept by content, with their line of descent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from flywheel_episodes import Urls

from deskhand_flywheel.errors import CorruptBlob, InvalidQuery, UnknownPolicy
from deskhand_flywheel.store import Store

DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "checkpoint"
    (made / "deep").mkdir(parents=True)
    (made / "model.safetensors").write_bytes(b"w" * 3_000_000)
    (made / "deep" / "config.json").write_text("{}")
    return made


def _content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


async def test_a_policy_comes_back_as_the_same_folder(store: Store, folder: Path, tmp_path: Path) -> None:
    kept = await store.keep_policy(folder, parent_id=None, metadata={"seeds": [1, 2]})
    assert set(kept.manifest) == {"model.safetensors", "deep/config.json"}
    assert kept.metadata == {"seeds": [1, 2]}
    dest = tmp_path / "out" / "policy"
    assert await store.materialise_policy(kept.id, dest) == dest
    assert _content(dest) == _content(folder)
    assert [path.name for path in dest.parent.iterdir()] == ["policy"]
    assert await store.materialise_policy(kept.id, dest) == dest


async def test_keeping_the_same_again_gives_the_same_record(store: Store, folder: Path) -> None:
    first = await store.keep_policy(folder, parent_id=None, metadata={"a": 1})
    again = await store.keep_policy(folder, parent_id=None, metadata={"a": 1})
    other = await store.keep_policy(folder, parent_id=first.id, metadata={"a": 1})
    assert again == first
    assert other.id != first.id
    assert [record.id for record in await store.policies()] == [other.id, first.id]


async def test_another_card_makes_no_other_policy(store: Store, folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").write_text("It succeeds seven times in ten.")
    first = await store.keep_policy(folder, parent_id=None, metadata={})
    (folder / "README.md").write_text("It succeeds eight times in ten.")
    again = await store.keep_policy(folder, parent_id=None, metadata={})
    assert again == first and [record.id for record in await store.policies()] == [first.id]
    await store.materialise_policy(first.id, tmp_path / "out")
    assert (tmp_path / "out/README.md").read_text() == "It succeeds seven times in ten."
    (folder / "model.safetensors").write_bytes(b"v")
    assert (await store.keep_policy(folder, parent_id=None, metadata={})).id != first.id


async def test_two_who_materialise_the_same_at_once_both_have_it(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    kept = await store.keep_policy(folder, parent_id=None, metadata={})
    dest = tmp_path / "out" / "policy"
    await asyncio.gather(*(store.materialise_policy(kept.id, dest) for _ in range(4)))
    assert _content(dest) == _content(folder)
    assert [path.name for path in dest.parent.iterdir()] == ["policy"]


async def test_lineage_goes_back_to_the_first(store: Store, folder: Path) -> None:
    parent: str | None = None
    ids: list[str] = []
    for number in range(3):
        (folder / "model.safetensors").write_bytes(bytes([number]))
        parent = (await store.keep_policy(folder, parent_id=parent, metadata={})).id
        ids.append(parent)
    assert [record.id for record in await store.lineage(ids[-1])] == ids[::-1]
    assert [record.id for record in await store.policies()] == ids[::-1]


async def test_unknown_policies_and_parents_are_named_with_the_nearest(store: Store, folder: Path) -> None:
    kept = await store.keep_policy(folder, parent_id=None, metadata={})
    with pytest.raises(UnknownPolicy, match=f"did you mean {kept.id}"):
        await store.policy(kept.id[:-1])
    with pytest.raises(UnknownPolicy, match="nobody"):
        await store.keep_policy(folder, parent_id="nobody", metadata={})


async def test_nothing_half_is_left_when_a_file_is_damaged(
    store: Store, folder: Path, urls: Urls, tmp_path: Path
) -> None:
    kept = await store.keep_policy(folder, parent_id=None, metadata={})
    digest = kept.manifest["model.safetensors"]
    (urls.folder / "blobs" / digest[:2] / digest).write_bytes(b"other")
    with pytest.raises(CorruptBlob):
        await store.materialise_policy(kept.id, tmp_path / "out" / "policy")
    assert list((tmp_path / "out").iterdir()) == []


async def test_a_folder_that_holds_something_else_is_left_alone(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    kept = await store.keep_policy(folder, parent_id=None, metadata={})
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes").write_text("precious")
    with pytest.raises(InvalidQuery, match="something else"):
        await store.materialise_policy(kept.id, mine)
    assert _content(mine) == {"notes": b"precious"}
    empty = tmp_path / "empty"
    empty.mkdir()
    await store.materialise_policy(kept.id, empty)
    assert _content(empty) == _content(folder)
    with pytest.raises(InvalidQuery, match="no files"):
        await store.keep_policy(tmp_path / "absent", parent_id=None, metadata={})
