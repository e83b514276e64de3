"""What goes out comes in again, equal to the last bit; what is damaged does not come in at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from flywheel_episodes import Urls, make_end, make_start, make_step, make_trajectory, picture, write

from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import (
    ConflictingRecord,
    CorruptBlob,
    DamagedInput,
    FolderTaken,
    UnknownFormat,
    UnknownTrajectory,
)
from deskhand_flywheel.exchange import export_trajectories, format_names, import_trajectories
from deskhand_flywheel.exchange.pictures import data_of, other_pictures, screens_of
from deskhand_flywheel.exchange.records import assembled
from deskhand_flywheel.store import Store
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import (
    AnswerDialog,
    AskUser,
    Click,
    Drag,
    Finish,
    Navigate,
    Split,
    Swipe,
    Touch,
    TypeText,
    Zoom,
)

IMPORTABLE = ("parquet", "osworld", "ui-tars")
every_format = pytest.mark.parametrize("format", IMPORTABLE)


def pictures(trajectory: Trajectory) -> dict[str, bytes]:
    return {image.digest: data_of(image) for image in (*screens_of(trajectory), *other_pictures(trajectory))}


async def said(store: Store, trajectory_id: str) -> list[dict[str, object]]:
    """Everything that was said of an episode, with when."""
    records = (
        *await store.scores(trajectory_id),
        *await store.outcome_scores(trajectory_id),
        *await store.step_values(trajectory_ids=[trajectory_id]),
        *await store.notes(trajectory_id),
    )
    return [asdict(record) for record in records]


async def assert_equal(left: Store, right: Store, trajectory_id: str) -> None:
    ours = await left.trajectory(trajectory_id, images=True)
    theirs = await right.trajectory(trajectory_id, images=True)
    assert theirs == ours
    assert pictures(theirs) == pictures(ours)
    assert await said(right, trajectory_id) == await said(left, trajectory_id)
    assert await right.summary(trajectory_id) == await left.summary(trajectory_id)


@every_format
async def test_played_episodes_come_back_equal(
    played: Store, store: Store, tmp_path: Path, format: str
) -> None:
    ids = await played.trajectory_ids()
    assert len(ids) == 6
    trained = [await played.trajectory(each) for each in ids]
    completions = [step.decision.completion for each in trained for step in each.steps]
    assert any(completion is not None and completion.ids for completion in completions)
    exported = await export_trajectories(played, ids, tmp_path / "out", format)
    assert exported.trajectories == 6

    told: list[tuple[int, int | None]] = []
    imported = await import_trajectories(
        store, tmp_path / "out", progress=lambda done, total: told.append((done, total))
    )
    assert (imported.format, set(imported.added), imported.present) == (format, set(ids), ())
    assert told[-1] == (6, 6)
    for each in ids:
        await assert_equal(played, store, each)
        assert len(await said(store, each)) == 8

    again = await import_trajectories(store, tmp_path / "out")
    assert again.added == () and set(again.present) == set(ids)


@every_format
async def test_odd_episodes_come_back_equal(store: Store, played: Store, tmp_path: Path, format: str) -> None:
    """Void turns, marked pictures, actions the format has no words for, episodes without an end or a step."""
    marked = picture(7, size=(80, 60))
    step = make_step(0)
    request = step.decision.request
    assert request is not None
    shown = replace(step.decision, request=replace(request, images=(marked, *request.images)))
    odd = (
        replace(step, decision=shown),
        make_step(1, actions=()),
        make_step(
            2,
            actions=(
                Navigate(url="https://example.org/?a='b'"),
                Click(x=3, y=4),
                TypeText(text="<image>\n\ud83d"),
                AnswerDialog(),
                Drag(path=((1, 2), (3, 4), (5, 6))),
                AskUser(question="which?"),
                Zoom(start=(1, 2), end=(9, 8)),
            ),
            answer="<image>\nThe left one.",
        ),
        make_step(3, actions=(Touch(x=1, y=1), Swipe(path=((1, 2), (3, 4))), Finish(text="done"))),
    )
    made = (
        make_trajectory(
            "odd", steps=odd, end=make_end(), policy_id="\ud83d\0", task_id="../up", split=Split.TEST
        ),
        make_trajectory("broken", end=make_end(success=None, final_observation=None)),
        make_trajectory("running"),
        make_trajectory("empty", steps=(), end=make_end(success=False)),
        make_trajectory("nothing", steps=()),
    )
    for each in made:
        await write(store, each)
    ids = [each.id for each in made]
    await export_trajectories(store, ids, tmp_path / "out", format)
    imported = await import_trajectories(played, tmp_path / "out")
    assert set(imported.added) == set(ids)
    for each in ids:
        await assert_equal(store, played, each)


@every_format
async def test_what_is_here_with_other_content_is_refused(
    played: Store, store: Store, tmp_path: Path, format: str
) -> None:
    ids = await played.trajectory_ids()
    await export_trajectories(played, ids, tmp_path / "out", format)
    await write(store, make_trajectory(ids[-1], end=make_end()))
    with pytest.raises(ConflictingRecord, match=ids[-1]):
        await import_trajectories(store, tmp_path / "out")
    assert await store.trajectory_ids() == (ids[-1],)


async def test_a_running_episode_is_completed_by_the_export_of_the_whole(
    played: Store, store: Store, tmp_path: Path
) -> None:
    whole = make_trajectory("whole", end=make_end())
    await write(played, whole)
    await export_trajectories(played, ["whole"], tmp_path / "out", "parquet")
    await write(store, make_trajectory("whole", steps=whole.steps[:1]))
    await import_trajectories(store, tmp_path / "out")
    assert await store.trajectory("whole") == whole


@pytest.mark.parametrize("ended", ["here", "there"])
async def test_more_steps_of_an_episode_that_has_ended_are_refused(
    played: Store, store: Store, tmp_path: Path, ended: str
) -> None:
    await write(played, make_trajectory("first", end=make_end()))
    whole = make_trajectory("more", end=make_end())
    longer, shorter = replace(whole, end=None), replace(whole, steps=whole.steps[:2])
    there, here = (longer, shorter) if ended == "here" else (shorter, longer)
    await write(played, there)
    await export_trajectories(played, ["first", "more"], tmp_path / "out", "parquet")
    await write(store, here)
    with pytest.raises(ConflictingRecord, match="more"):
        await import_trajectories(store, tmp_path / "out")
    assert await store.trajectory_ids() == ("more",) and await store.trajectory("more") == here


# ---- damage -----------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-60])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def edit(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def add_a_line(path: Path) -> None:
    path.write_text(path.read_text() + '{"step_num": 9}\n')


def stand_on_the_head(path: Path) -> None:
    path.write_text(path.read_text().replace('"height_px": ', '"height_px": -'))


def drop_last_line(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize(
    ("format", "file", "damage", "place", "said"),
    [
        ("parquet", "steps/train-*.parquet", cut, "train-00000.parquet, after row 0", "cannot be read"),
        ("parquet", "steps/train-*.parquet", Path.unlink, "steps/train-00000.parquet", "is missing"),
        ("osworld", "*/*/traj.jsonl", cut, "traj.jsonl, line ", "no JSON"),
        ("osworld", "*/*/traj.jsonl", drop_last_line, "/", "steps were exported"),
        ("osworld", "*/*/traj.jsonl", edit('"response": "', '"response": "x'), "line 1", "response is 'x"),
        ("osworld", "*/*/traj.jsonl", edit("schema_version", "version"), "line 1", "not readable"),
        ("osworld", "*/*/traj.jsonl", edit('_version": 1', '_version": 7'), "line 1", "schema version 7"),
        (
            "osworld",
            "*/*/traj.jsonl",
            edit('"screenshot_file": "', '"screenshot_file": "../'),
            "line 1",
            "screenshot_file is '../",
        ),
        ("osworld", "*/*/traj.jsonl", edit('"action": "', '"action": "x'), "line 1", "action is 'x"),
        ("osworld", "*/*/traj.jsonl", edit('"reward": ', '"reward": 7'), "line 1", "reward is 7"),
        ("osworld", "*/*/traj.jsonl", add_a_line, "traj.jsonl", "the number of rows is"),
        (
            "osworld",
            "*/*/traj.jsonl",
            edit('hed_at_s": ', 'hed_at_s": 99999999'),
            "/",
            "none that can",
        ),
        ("osworld", "*/*/result.txt", edit(".0", ".5"), "result.txt", "the result is '"),
        ("osworld", "*/*/result.txt", Path.unlink, "result.txt", "the result is None"),
        ("osworld", "*/*/task.json", edit("instruction", "told"), "task.json", "instruction is None"),
        ("osworld", "*/*/deskhand.json", cut, "deskhand.json", "no JSON"),
        ("osworld", "*/*/step_1_*.png", flip, "step_1_", "damaged"),
        ("osworld", "*/*/step_0.png", Path.unlink, "step_0.png", "No such file"),
        ("ui-tars", "conversations.jsonl", cut, "conversations.jsonl, line 6", "no JSON"),
        ("ui-tars", "conversations.jsonl", edit('"rewards": [', '"rewards": [9, '), "line 1", "rewards is"),
        (
            "ui-tars",
            "conversations.jsonl",
            edit("User Instruction", "Instruction"),
            "line 1, message 1",
            "the message is",
        ),
        (
            "ui-tars",
            "conversations.jsonl",
            edit("Action: ", "Act: "),
            "line 1, message 2",
            "the message is",
        ),
        (
            "ui-tars",
            "conversations.jsonl",
            stand_on_the_head,
            "line 1",
            "none that can",
        ),
        ("ui-tars", "conversations.jsonl", edit('"outcome": ', '"outcome": 7'), "line 1", "outcome is 7"),
        ("ui-tars", "conversations.jsonl", edit('"images": [', '"images": ["x", '), "line 1", "images is"),
        ("ui-tars", "conversations.jsonl", edit('"steps": ', '"steps": 1'), "line 1", "steps were exported"),
        ("ui-tars", "conversations.jsonl", edit('"scorer"', '"said_by"'), "scores", "missing"),
        ("ui-tars", "images/*.png", flip, ".png", "damaged"),
        ("ui-tars", "images/*.png", Path.unlink, ".png", "No such file"),
    ],
)
async def test_damage_is_refused_with_its_place_and_nothing_comes_in(
    played: Store,
    store: Store,
    tmp_path: Path,
    format: str,
    file: str,
    damage: Callable[[Path], None],
    place: str,
    said: str,
) -> None:
    await export_trajectories(played, await played.trajectory_ids(), tmp_path / "out", format)
    damage(sorted((tmp_path / "out").glob(file))[-1])
    with pytest.raises(DamagedInput, match="nothing was imported") as refused:
        await import_trajectories(store, tmp_path / "out", format=format)
    assert place in refused.value.place and said in refused.value.what
    assert await store.count_trajectories() == 0


@every_format
async def test_what_is_no_picture_does_not_come_in(
    played: Store, store: Store, tmp_path: Path, format: str
) -> None:
    """Its digest is right, and it could be stored; a model that is shown it could not go on."""
    whole = make_trajectory("blind", end=make_end())
    seen = replace(whole.steps[0].observation, screenshot=as_image(b"no picture", (160, 210)))
    await write(played, replace(whole, steps=(replace(whole.steps[0], observation=seen), *whole.steps[1:])))
    await export_trajectories(played, ["blind"], tmp_path / "out", format)
    with pytest.raises(DamagedInput, match="not a picture that can be read"):
        await import_trajectories(store, tmp_path / "out")
    assert await store.count_trajectories() == 0


@every_format
async def test_an_id_that_no_file_should_be_called_by_does_not_come_in(
    played: Store, store: Store, tmp_path: Path, format: str
) -> None:
    await write(played, make_trajectory("two words", end=make_end()))
    await export_trajectories(played, ["two words"], tmp_path / "out", format)
    with pytest.raises(DamagedInput, match="the id 'two words' is not of"):
        await import_trajectories(store, tmp_path / "out")
    assert await store.count_trajectories() == 0


@pytest.mark.parametrize("id", ["", "..", "../up", "a/b", "/a", "a\\b", "a\0", "a\n", "-a", "ä", "a" * 65])
def test_ids_that_could_lead_out_of_an_export_are_refused(id: str) -> None:
    with pytest.raises(DamagedInput, match="letters, digits"):
        assembled(make_start(id), (), None, "here")
    assert assembled(make_start("a-B_9" + "0" * 59), (), None, "here").id.startswith("a-B_9")


async def test_a_changed_cell_is_refused_with_its_row(played: Store, store: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    await export_trajectories(played, await played.trajectory_ids(), tmp_path / "out", "parquet")
    (path,) = (tmp_path / "out" / "steps").glob("train-*.parquet")
    table = pq.read_table(path)

    async def refused(name: str, row: int, value: object, folder: str = "steps") -> DamagedInput:
        (path,) = (tmp_path / "out" / folder).glob("train-*.parquet")
        table = pq.read_table(path)
        values = table.column(name).to_pylist()
        values[row] = value
        index = table.schema.get_field_index(name)
        column = pa.array(values, type=table.schema.field(name).type)
        pq.write_table(table.set_column(index, table.schema.field(name), column), path)
        with pytest.raises(DamagedInput) as error:
            await import_trajectories(store, tmp_path / "out")
        assert await store.count_trajectories() == 0
        pq.write_table(table, path)
        return error.value

    assert "row 2" in (error := await refused("reward", 1, 5.0)).place and "reward is 5.0" in error.what
    assert "row 1" in (error := await refused("record", 0, "{")).place and "not readable" in error.what
    assert "row 1" in (await refused("completion_ids", 0, [1])).place
    for column, value in (("instruction", "x"), ("thought", "x"), ("actions", []), ("success", None)):
        assert "row 1" in (error := await refused(column, 0, value)).place and column in error.what
    for column, value in (("instruction", "x"), ("score", 0.25), ("reward", 7.0), ("labels", "{}")):
        assert "row 1" in (error := await refused(column, 0, value, "trajectories")).place
        assert f"trajectories/{path.name}" in error.place and column in error.what
    lost = await refused("screenshot", 2, None)
    assert "picture" in lost.what
    wrong = {"bytes": picture(5).data, "path": table.column("screenshot").to_pylist()[0]["path"]}
    assert "damaged" in (await refused("screenshot", 0, wrong)).what
    pq.write_table(table.drop_columns(["record"]), path)
    with pytest.raises(DamagedInput, match="no column record"):
        await import_trajectories(store, tmp_path / "out")
    pq.write_table(table.slice(0, table.num_rows - 1), path)
    with pytest.raises(DamagedInput, match=r"step \d+ of trajectory .* is missing"):
        await import_trajectories(store, tmp_path / "out")


# ---- folders and names ------------------------------------------------------------------------------


async def test_an_export_is_there_whole_or_not_at_all(store: Store, tmp_path: Path) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    with pytest.raises(UnknownFormat, match="did you mean parquet"):
        await export_trajectories(store, ["one"], tmp_path / "out", "parket")
    with pytest.raises(UnknownTrajectory):
        await export_trajectories(store, ["one", "two"], tmp_path / "out", "osworld")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(FolderTaken, match="taken"):
        await export_trajectories(store, ["one"], tmp_path / "taken", "parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "taken"]


@pytest.mark.parametrize("format", format_names())
async def test_an_id_that_is_given_twice_is_exported_once(store: Store, tmp_path: Path, format: str) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    exported = await export_trajectories(store, ["one", "one"], tmp_path / "twice", format)
    assert (exported.trajectories, exported.steps) == (1, 3)
    await export_trajectories(store, ["one"], tmp_path / "once", format)
    twice, once = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "twice", tmp_path / "once")
    )
    assert twice == once


async def test_a_damaged_picture_in_the_store_ends_the_export(
    store: Store, urls: Urls, tmp_path: Path
) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    (blob,) = (urls.folder / "blobs").glob(f"*/{picture(1).digest}")
    blob.write_bytes(b"cut")
    async with await Store.open(urls.database, urls.blobs) as opened:
        with pytest.raises(CorruptBlob):
            await export_trajectories(opened, ["one"], tmp_path / "out", "parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


async def test_what_cannot_be_imported_says_what_can(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="holds nothing that can be imported"):
        await import_trajectories(store, tmp_path)
    for format in IMPORTABLE:
        with pytest.raises(UnknownFormat, match=f"holds nothing of the format {format}"):
            await import_trajectories(store, tmp_path, format=format)
    with pytest.raises(UnknownFormat, match="only goes out"):
        await import_trajectories(store, tmp_path, format="webdataset")
    with pytest.raises(UnknownFormat, match="is not there"):
        await import_trajectories(store, tmp_path / "nowhere")
