"""The integrity check: every kind of damage is found, named and counted, and a repair loses nothing whole."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from flywheel_episodes import Urls, make_end, make_start, make_step, make_trajectory, picture, write
from PIL import Image as PilImage
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from deskhand_agent.types import StopReason
from deskhand_flywheel import tables
from deskhand_flywheel.blob_damage import Damage
from deskhand_flywheel.blobs import BlobStore, digest_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, StepValue
from deskhand_flywheel.upkeep import FindingKind, Report, fsck
from deskhand_flywheel.upkeep.citations import digests_in
from deskhand_sandbox.pictures import Format, encoded

DATABASES = ("sqlite", "postgresql")


def _blob(urls: Urls, digest: str) -> Path:
    return urls.folder / "blobs" / digest[:2] / digest


async def _rows(store: Store, statement: str, **values: object) -> None:
    async with store.database.write() as connection:
        await connection.execute(text(statement), values)


_FOURTH = "INSERT INTO steps (trajectory_id, step_index, reward, step) VALUES (:name, 3, 0.0, :step)"


def _found(report: Report) -> set[tuple[FindingKind, str]]:
    return {(finding.kind, finding.subject) for finding in report.findings}


@pytest.fixture
async def filled(store: Store) -> Store:
    await write(store, make_trajectory("a", end=make_end()))
    await write(store, make_trajectory("b", end=make_end(success=False)))
    return store


async def test_a_sound_store_has_nothing_to_report(filled: Store) -> None:
    seen: list[tuple[str, int, int]] = []
    report = await fsck(filled, progress=lambda *now: seen.append(now))
    assert report.findings == () and report.ok
    assert (report.trajectories, report.steps, report.policies, report.blobs) == (2, 6, 0, 4)
    assert report.bytes == sum(len(picture(n).data or b"") for n in (0, 1, 2, 99))
    assert {what for what, _, _ in seen} == {"trajectories", "blobs"}
    assert seen[-1] == ("blobs", 4, 4)


async def test_lost_and_damaged_blobs_are_told_apart_and_say_what_cites_them(
    filled: Store, urls: Urls
) -> None:
    gone, cut, changed = (picture(n).digest for n in (0, 1, 2))
    _blob(urls, gone).unlink()
    os.truncate(_blob(urls, cut), 40)
    data = _blob(urls, changed).read_bytes()
    _blob(urls, changed).write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    report = await fsck(filled)
    assert _found(report) == {
        (FindingKind.MISSING_BLOB, gone),
        (FindingKind.TRUNCATED_BLOB, cut),
        (FindingKind.CHANGED_BLOB, changed),
    }
    assert not report.ok
    (missing,) = (f for f in report.findings if f.kind is FindingKind.MISSING_BLOB)
    assert "cited by step 0 of trajectory a and 1 more" in missing.detail


async def test_however_many_blobs_are_lost_each_row_is_searched_once_for_all_of_them(
    filled: Store, urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(text: str) -> set[str]:
        read.append(text)
        return digests_in(text)

    for number in (0, 1, 2, 99):
        _blob(urls, picture(number).digest).unlink()
    monkeypatch.setattr(sys.modules[fsck.__module__], "digests_in", counted)
    report = await fsck(filled)
    assert len(report.findings) == 4 and all("and 1 more" in each.detail for each in report.findings)
    assert len(read) == 6 + 2  # steps and ends


async def test_a_repair_takes_lost_blobs_from_a_spare_store_and_else_makes_room_for_them(
    filled: Store, urls: Urls, tmp_path: Path
) -> None:
    kept, cut = picture(0), picture(1)
    spare = BlobStore((tmp_path / "backup").as_uri())
    await spare.put(kept.data or b"")
    _blob(urls, kept.digest).unlink()
    os.truncate(_blob(urls, cut.digest), 40)
    report = await fsck(filled, repair=True, spare=spare)
    mended = {finding.subject: finding.mended for finding in report.findings}
    assert mended == {kept.digest: True, cut.digest: False}
    assert not report.ok
    assert (urls.folder / "blobs" / "damaged" / cut.digest).stat().st_size == 40
    again = await fsck(filled)
    assert _found(again) == {(FindingKind.MISSING_BLOB, cut.digest)}
    # the next time the same screen is seen, it is whole again
    await write(filled, make_trajectory("c", steps=(make_step(0, image=cut),), end=make_end()))
    assert (await fsck(filled)).findings == ()


async def test_a_repair_looks_again_at_what_was_found_for_writers_and_collections_go_on(
    filled: Store, urls: Urls
) -> None:
    healed, collected, cut = picture(0), picture(1), picture(2)
    for each in (healed, collected, cut):
        os.truncate(_blob(urls, each.digest), 40)

    def meanwhile(what: str, done: int, total: int) -> None:
        if what == "blobs" and done == total:
            _blob(urls, healed.digest).write_bytes(healed.data or b"")
            _blob(urls, collected.digest).unlink()

    report = await fsck(filled, repair=True, progress=meanwhile)
    done = {finding.subject: (finding.done, finding.mended) for finding in report.findings}
    assert done == {
        healed.digest: ("stored whole again meanwhile", True),
        collected.digest: ("gone already", False),
        cut.digest: (f"moved to damaged/{cut.digest}", False),
    }
    assert await filled.blobs.get(healed.digest) == healed.data
    assert [each.name for each in (urls.folder / "blobs" / "damaged").iterdir()] == [cut.digest]


async def test_orphans_are_found_when_they_are_old_and_never_dropped(filled: Store) -> None:
    orphan = await filled.blobs.put(b"nobody's")
    assert (await fsck(filled, repair=True)).findings == ()
    report = await fsck(filled, repair=True, settle_s=0.0)
    assert _found(report) == {(FindingKind.ORPHANED_BLOB, orphan)}
    assert report.ok
    assert await filled.blobs.get(orphan) == b"nobody's"


async def test_a_part_that_a_killed_writer_left_is_found_when_it_is_old(filled: Store, urls: Urls) -> None:
    left = Path(f"{_blob(urls, picture(0).digest)}#1")
    left.write_bytes(b"half")
    assert (await fsck(filled)).findings == ()
    os.utime(left, (0, 0))
    before, report = await fsck(filled, settle_s=float("inf")), await fsck(filled, repair=True)
    assert before.findings == ()
    assert _found(report) == {(FindingKind.ORPHANED_BLOB, left.name)} and report.ok
    assert "left its 4 bytes" in report.findings[0].detail
    assert (report.blobs, report.bytes) == (before.blobs, before.bytes + 4)
    assert left.exists()


async def test_a_trajectory_whose_process_died_is_closed_as_cancelled(store: Store) -> None:
    steps = (make_step(0), make_step(1))
    await write(store, make_trajectory("dead", steps=steps))
    running = make_start("running", started_at_s=time.time())
    await store.begin(running)
    report = await fsck(store, repair=True)
    (only,) = report.findings
    assert (only.kind, only.subject, only.mended) == (FindingKind.UNCLOSED_TRAJECTORY, "dead", True)
    closed = await store.trajectory("dead")
    assert closed.steps == steps
    assert closed.end is not None
    assert (closed.end.stop_reason, closed.end.outcome) == (StopReason.CANCELLED, None)
    assert closed.end.ended_at_s == steps[-1].finished_at_s
    assert (await store.trajectory("running")).end is None
    assert (await fsck(store)).findings == ()


async def test_gaps_copies_and_misplaced_steps(store: Store) -> None:
    for name in ("gap", "copy", "moved", "clash"):
        await write(store, make_trajectory(name, end=make_end()))
    await _rows(store, "DELETE FROM steps WHERE trajectory_id = 'gap' AND step_index = 1")
    for name, reward in (("copy", "0.0"), ("clash", "9.0")):
        step = (await _text_of(store, name, 2)).replace('"reward":0.0', f'"reward":{reward}')
        await _rows(store, _FOURTH, name=name, step=step)
    await _rows(store, "UPDATE steps SET step_index = 7 WHERE trajectory_id = 'moved' AND step_index = 1")
    expected = {
        (FindingKind.MISSING_STEP, "gap"),
        (FindingKind.DUPLICATE_STEP, "copy"),
        (FindingKind.DUPLICATE_STEP, "clash"),
        (FindingKind.MISPLACED_STEP, "moved"),
    }
    found = await fsck(store)
    assert expected <= _found(found)
    report = await fsck(store, repair=True)
    mended = {finding.subject for finding in report.findings if finding.mended}
    assert mended == {"copy", "moved"}
    for name in ("copy", "moved"):
        assert [step.index for step in (await store.trajectory(name)).steps] == [0, 1, 2]
    # both of the clashing steps are whole: neither is dropped
    assert len((await store.trajectory("clash")).steps) == 4
    assert {(f.kind, f.subject) for f in (await fsck(store)).findings} == {
        (FindingKind.MISSING_STEP, "gap"),
        (FindingKind.DUPLICATE_STEP, "clash"),
    }


async def test_an_episode_has_the_steps_it_counts(store: Store) -> None:
    for name in ("late", "lost", "empty"):
        await write(store, make_trajectory(name, end=make_end()))
    await store.begin(make_start("running", started_at_s=time.time()))
    step = (await _text_of(store, "late", 2)).replace('"index":2', '"index":3')
    await _rows(store, _FOURTH, name="late", step=step)
    await _rows(store, "DELETE FROM steps WHERE trajectory_id = 'lost' AND step_index = 2")
    await _rows(store, "DELETE FROM steps WHERE trajectory_id = 'empty'")
    said = {finding.subject: finding.detail for finding in (await fsck(store)).findings}
    assert said == {
        "late": "it ended after 3 steps, and 4 are there",
        "lost": "it ended after 3 steps, and 2 are there",
        "empty": "it ended after 3 steps, and 0 are there",
    }
    report = await fsck(store, repair=True)
    assert {finding.kind for finding in report.findings} == {FindingKind.WRONG_LENGTH} and not report.ok
    assert [finding.subject for finding in report.findings if finding.mended] == ["late"]
    assert (await store.summary("late")).steps == 4
    assert {finding.subject for finding in (await fsck(store)).findings} == {"lost", "empty"}


async def _text_of(store: Store, trajectory_id: str, index: int) -> str:
    table = tables.steps
    of_it = (table.c.trajectory_id == trajectory_id, table.c.step_index == index)
    async with store.database.read() as connection:
        return str(await connection.scalar(select(table.c.step).where(*of_it)))


async def _score(store: Store) -> None:
    await store.add_scores([StepScore(trajectory_id="a", step_index=3, score=0.5, scorer="human:x")])


async def _note(store: Store) -> None:
    await store.write_note("a", 3, "x", "Why twice?")


async def _value(store: Store) -> None:
    sure = {"before": 0.5, "before_error": 0.0, "after": 0.5, "after_error": 0.0}
    value = StepValue(trajectory_id="a", step_index=3, labeller="mc:x", continuations=2, exact=True, **sure)
    await store.add_step_values([value])


@pytest.mark.parametrize("misplaced", [False, True], ids=["doubled", "misplaced"])
@pytest.mark.parametrize("remark", [_score, _note, _value])
async def test_a_step_is_not_taken_from_under_what_is_said_of_it(
    store: Store, remark: Callable[[Store], Awaitable[None]], misplaced: bool
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    step = await _text_of(store, "a", 2)
    if misplaced:
        await _rows(store, "DELETE FROM steps WHERE trajectory_id = 'a' AND step_index = 2")
    await _rows(store, _FOURTH, name="a", step=step)
    await remark(store)
    before = await fsck(store)
    assert before.findings
    report = await fsck(store, repair=True)
    assert report.findings == before.findings
    assert [finding.mended for finding in report.findings] == [False]


async def test_records_of_another_version_and_records_that_are_none(filled: Store) -> None:
    newer = (await _text_of(filled, "a", 1)).replace('"schema_version":1', '"schema_version":99')
    await _rows(
        filled, "UPDATE steps SET step = :step WHERE trajectory_id = 'a' AND step_index = 1", step=newer
    )
    await _rows(filled, "UPDATE trajectories SET start = 'no JSON' WHERE id = 'b'")
    policy = "INSERT INTO policies (id, manifest, metadata, created_at_s) VALUES ('p', '7', '{}', 0)"
    await _rows(filled, policy)
    report = await fsck(filled, repair=True, settle_s=0.0)
    assert _found(report) == {
        (FindingKind.UNKNOWN_SCHEMA, "a"),
        (FindingKind.UNREADABLE_RECORD, "b"),
        (FindingKind.UNREADABLE_RECORD, "p"),
    }
    # the picture that only the newer record cites is nobody's orphan
    assert report.counts == {FindingKind.UNKNOWN_SCHEMA: 1, FindingKind.UNREADABLE_RECORD: 2}
    assert await _text_of(filled, "a", 1) == newer


async def test_dangling_rows_are_the_databases_damage(filled: Store, urls: Urls) -> None:
    dangling = "INSERT INTO steps (trajectory_id, step_index, reward, step) VALUES ('x', 0, 0.0, '{}')"
    if urls.postgresql is not None:  # which lets none in
        with pytest.raises(IntegrityError):
            await _rows(filled, dangling)
        return
    connection = sqlite3.connect(urls.folder / "deskhand.db")
    with connection:
        connection.execute(dangling)
    connection.close()
    (only,) = (await fsck(filled)).findings
    assert only.kind is FindingKind.DAMAGED_DATABASE
    assert "steps" in only.detail and "trajectories" in only.detail


async def test_a_policys_files_are_checked_too(store: Store, urls: Urls, tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "weights").write_bytes(b"w" * 1000)
    kept = await store.keep_policy(tmp_path / "policy", parent_id=None, metadata={})
    digest = kept.manifest["weights"]
    _blob(urls, digest).unlink()
    (only,) = (await fsck(store)).findings
    assert (only.kind, only.subject) == (FindingKind.MISSING_BLOB, digest)
    assert only.detail.endswith(f"cited by policy {kept.id}")


@pytest.mark.parametrize("format", ["png", "jpeg", "webp"])
async def test_a_picture_cut_anywhere_is_known_to_be_cut(tmp_path: Path, format: Format) -> None:
    image = encoded(PilImage.effect_noise((40, 30), 80).convert("RGB"), format)
    data = image.data or b""
    blobs = BlobStore((tmp_path / "blobs").as_uri())
    await blobs.put(data)
    file = tmp_path / "blobs" / image.digest[:2] / image.digest
    assert await blobs.damage(image.digest) is None
    for size in {0, 13, len(data) // 2, len(data) - 1}:
        file.write_bytes(data[:size])
        assert await blobs.damage(image.digest) is Damage.CUT_SHORT
    file.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    assert await blobs.damage(image.digest) is Damage.CHANGED


async def test_weights_cut_short_are_known_by_their_header(tmp_path: Path) -> None:
    header = b'{"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}}'
    data = len(header).to_bytes(8, "little") + header + bytes(100)
    blobs = BlobStore((tmp_path / "blobs").as_uri())
    digest = await blobs.put(data)
    file = tmp_path / "blobs" / digest[:2] / digest
    file.write_bytes(data[:-1])
    assert await blobs.damage(digest) is Damage.CUT_SHORT
    file.write_bytes(data[:-1] + b"x")
    assert await blobs.damage(digest) is Damage.CHANGED
    assert digest_of(data) == digest
