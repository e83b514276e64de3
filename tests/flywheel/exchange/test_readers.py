"""What goes out is read by the libraries it is meant for."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, picture, write

from deskhand_flywheel.exchange import export_trajectories, parquet, webdataset
from deskhand_flywheel.store import Store
from deskhand_sandbox.dialects import read, usual_frame
from deskhand_sandbox.types import AskUser, Click, Split


@pytest.fixture
def load_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`datasets.load_dataset`, which asks nobody on the net and remembers nothing."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    return lambda *args, **more: datasets.load_dataset(*args, cache_dir=str(tmp_path / "cache"), **more)


async def test_datasets_loads_parquet(played: Store, tmp_path: Path, load_dataset: Any) -> None:
    ids = await played.trajectory_ids()
    await export_trajectories(played, ids, tmp_path / "out", "parquet")
    loaded = load_dataset(str(tmp_path / "out"))
    assert set(loaded) == {"train", "test"}
    rows = {(row["trajectory_id"], row["step"]): row for split in loaded.values() for row in split}
    for each in ids:
        trajectory = await played.trajectory(each, images=True)
        assert trajectory.start.split in (Split.TRAIN, Split.TEST)
        for step in trajectory.steps:
            row = rows.pop((each, step.index))
            assert row["screenshot"].size == step.observation.size_px
            assert (row["reward"], row["text"], row["thought"]) == (
                step.reward,
                step.decision.text,
                step.decision.thought,
            )
            assert len(row["actions"]) == len(step.decision.actions)
            completion = step.decision.completion
            assert row["completion_ids"] == (completion and list(completion.ids))
            assert row["logprobs"] == (completion and list(completion.logprobs))
            assert len(row["scores"]) == (2 if step.index == 0 else 0)
    assert rows == {}
    episodes = load_dataset(str(tmp_path / "out"), "trajectories", split="train")
    assert len(episodes) == 4
    assert episodes[0]["final_screenshot"].size == trajectory.steps[0].observation.size_px


async def test_shards_hold_the_same_episodes_in_both_tables(
    store: Store, tmp_path: Path, load_dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "SHARD_BYTES", 2_000)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1_000)
    for number in range(4):
        await write(store, make_trajectory(f"e{number}", end=make_end()))
    await export_trajectories(store, [f"e{n}" for n in range(4)], tmp_path / "out", "parquet")
    names = [
        sorted(p.name for p in (tmp_path / "out" / table).iterdir()) for table in ("steps", "trajectories")
    ]
    assert names[0] == names[1] and len(names[0]) > 1
    loaded = load_dataset(str(tmp_path / "out"), split="train")
    assert [(row["trajectory_id"], row["step"]) for row in loaded] == [
        (f"e{number}", step) for number in range(4) for step in range(3)
    ]


@pytest.mark.parametrize(
    ("limit", "most", "tokens", "groups", "files"),
    [("GROUP_ROWS", 5, 1, 3, 1), ("GROUP_BYTES", 45_000, 5000, 4, 1), ("SHARD_BYTES", 45_000, 5000, 1, 4)],
)
async def test_many_turns_of_small_pictures_are_not_held_in_memory(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    most: int,
    tokens: int,
    groups: int,
    files: int,
) -> None:
    """They are written by their number, or by how long their records are."""
    monkeypatch.setattr(parquet, limit, most)
    assert 16 * len(picture(0).data or b"") < 45_000
    for number in range(4):
        steps = tuple(make_step(index, image=picture(0), prompt_ids=(10,) * tokens) for index in range(3))
        await write(store, make_trajectory(f"e{number}", steps=steps, end=make_end()))
    await export_trajectories(store, [f"e{n}" for n in range(4)], tmp_path / "out", "parquet")
    made = sorted((tmp_path / "out" / "steps").iterdir())
    assert (pq.ParquetFile(made[0]).num_row_groups, len(made)) == (groups, files)


async def test_datasets_loads_webdataset_shards(
    played: Store, tmp_path: Path, load_dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webdataset, "SHARD_BYTES", 1)
    ids = await played.trajectory_ids()
    await export_trajectories(played, ids, tmp_path / "out", "webdataset")
    files = sorted(str(path) for path in (tmp_path / "out").glob("*.tar"))
    assert len(files) == len(ids)  # an episode is never split
    with tarfile.open(files[0]) as tar:
        assert [name.partition(".")[2] for name in tar.getnames()[:2]] == ["png", "json"]
    loaded = load_dataset("webdataset", data_files=files, split="train")
    samples = {(row["json"]["trajectory_id"], row["json"]["step"]): row for row in loaded}
    for each in ids:
        for step in (await played.trajectory(each)).steps:
            sample = samples.pop((each, step.index))
            assert sample["png"].size == step.observation.size_px
            assert sample["json"]["reward"] == step.reward
    assert samples == {}


async def test_the_same_episodes_give_the_same_shards(store: Store, tmp_path: Path) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    for name in ("a", "b"):
        await export_trajectories(store, ["one"], tmp_path / name, "webdataset")
    shard = "shard-000000.tar"
    assert (tmp_path / "a" / shard).read_bytes() == (tmp_path / "b" / shard).read_bytes()


async def test_osworld_s_own_layout(store: Store, tmp_path: Path) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    await export_trajectories(store, ["one"], tmp_path / "out", "osworld")
    folder = tmp_path / "out" / "miniwob" / "one"
    rows = [json.loads(line) for line in (folder / "traj.jsonl").read_text().splitlines()]
    assert [row["step_num"] for row in rows] == [1, 2, 3]
    assert [row["done"] for row in rows] == [False, False, True]
    assert float((folder / "result.txt").read_text()) == 1.0
    after = [(folder / row["screenshot_file"]).read_bytes() for row in rows]
    assert after == [picture(1).data, picture(2).data, picture(99).data]
    assert read("pyautogui", rows[0]["action"], usual_frame("pyautogui", (160, 210))) == (Click(x=70, y=92),)


async def test_conversations_alternate_and_list_a_picture_per_screen(store: Store, tmp_path: Path) -> None:
    asking = make_step(1, actions=(AskUser(question="Which?"),), answer="The left one.")
    steps = (make_step(0), asking, make_step(2))
    await write(store, make_trajectory("one", steps=steps, end=make_end()))
    await export_trajectories(store, ["one"], tmp_path / "out", "ui-tars")
    (line,) = (tmp_path / "out" / "conversations.jsonl").read_text().splitlines()
    found = json.loads(line)
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"] * 3
    said = "".join(message["content"] for message in found["messages"])
    assert said.count("<image>") == len(found["images"]) == 3
    assert "Click the button." in found["messages"][0]["content"]
    reply = found["messages"][1]["content"]
    assert reply.startswith("Thought: The button says so.\nAction: click(point='<point>")
    assert [message["content"] for message in found["messages"][2::2]] == ["<image>", "<image>The left one."]
    assert (tmp_path / "out" / found["images"][1]).read_bytes() == picture(1).data
