"""What was said of episodes goes out with them and comes in again."""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, write
from hypothesis import given, settings
from hypothesis import strategies as st

from deskhand_flywheel.errors import DamagedInput
from deskhand_flywheel.exchange import (
    Guidance,
    Recorded,
    export_trajectories,
    format_named,
    import_trajectories,
)
from deskhand_flywheel.exchange.types import Remarks
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Note, OutcomeScore, StepScore, StepValue
from deskhand_sandbox.types import AskUser

IMPORTABLE = ("parquet", "osworld", "ui-tars")
ADDED = ("outcome_scores", "step_values", "notes")
STEPS = 3

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
at_step = st.integers(0, STEPS - 1)
share = st.floats(0, 1)
moment = st.floats(0, 4e9)


def of_episode(kind: type, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.builds(kind, trajectory_id=st.just("e"), **fields), max_size=4).map(tuple)


remarks = st.builds(
    Remarks,
    scores=of_episode(
        StepScore,
        step_index=at_step,
        score=share,
        scorer=names,
        rationale=st.none() | words,
        scored_at_s=moment,
    ),
    outcome_scores=of_episode(
        OutcomeScore, score=share, scorer=names, rationale=st.none() | words, scored_at_s=moment
    ),
    step_values=of_episode(
        StepValue,
        step_index=at_step,
        labeller=names,
        before=share,
        before_error=share,
        after=share,
        after_error=share,
        continuations=st.integers(1, 512),
        exact=st.booleans(),
        labelled_at_s=moment,
    ),
    notes=of_episode(
        Note,
        id=names,
        step_index=at_step,
        author=names,
        text=words,
        created_at_s=moment,
        edited_at_s=st.none() | moment,
    ),
)


def listed(said: Remarks) -> list[str]:
    """Every record with its times, in an order of no account."""
    return sorted(
        json.dumps(asdict(each))
        for each in (*said.scores, *said.outcome_scores, *said.step_values, *said.notes)
    )


@pytest.mark.parametrize("name", IMPORTABLE)
@settings(max_examples=25)
@given(said=remarks)
def test_whatever_is_said_comes_back(name: str, said: Remarks) -> None:
    form = format_named(name)
    assert form.read is not None
    with TemporaryDirectory() as folder:
        with form.write(Path(folder)) as add:
            add(Recorded(trajectory=make_trajectory("e", end=make_end()), remarks=said))
        (found,) = form.read(Path(folder), Guidance())
    assert listed(found.remarks) == listed(said)


# ---- exports of earlier versions --------------------------------------------------------------------


def without_added(value: dict[str, Any]) -> dict[str, Any]:
    kept = {name: said for name, said in value.items() if name not in ADDED}
    scores = [{name: said for name, said in each.items() if name != "scored_at_s"} for each in kept["scores"]]
    return {**kept, "scores": scores}


def age_parquet(folder: Path) -> None:
    for path in folder.glob("*/*.parquet"):
        table = pq.read_table(path)
        table = table.drop_columns([name for name in ADDED if name in table.column_names])
        if "scores" in table.column_names:
            old = pa.struct([("scorer", pa.string()), ("score", pa.float64()), ("rationale", pa.string())])
            column = pa.array(table.column("scores").to_pylist(), type=pa.list_(old))
            table = table.set_column(table.column_names.index("scores"), "scores", column)
        pq.write_table(table, path)


def age_osworld(folder: Path) -> None:
    for path in folder.glob("*/*/deskhand.json"):
        path.write_text(json.dumps(without_added(json.loads(path.read_text()))))


def age_conversations(folder: Path) -> None:
    path = folder / "conversations.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    aged = [{**line, "deskhand": without_added(line["deskhand"])} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in aged))


@pytest.mark.parametrize(
    ("format", "age"), [("parquet", age_parquet), ("osworld", age_osworld), ("ui-tars", age_conversations)]
)
async def test_exports_that_carried_scores_alone_still_come_in(
    played: Store, store: Store, tmp_path: Path, format: str, age: Callable[[Path], None]
) -> None:
    ids = await played.trajectory_ids()
    await export_trajectories(played, ids, tmp_path / "out", format)
    age(tmp_path / "out")
    assert set((await import_trajectories(store, tmp_path / "out")).added) == set(ids)
    for each in ids:
        assert await store.trajectory(each) == await played.trajectory(each)
        assert await store.scores(each) == await played.scores(each)
        assert await store.outcome_scores(each) == await store.notes(each) == ()


async def test_conversations_without_the_users_answers_still_come_in(
    store: Store, played: Store, tmp_path: Path
) -> None:
    asking = make_step(0, actions=(AskUser(question="Which?"),), answer="The left one.")
    asked = make_trajectory("asked", steps=(asking, make_step(1)), end=make_end())
    await write(store, asked)
    await export_trajectories(store, ["asked"], tmp_path / "out", "ui-tars")
    path = tmp_path / "out" / "conversations.jsonl"
    line = json.loads(path.read_text())
    line["messages"][2]["content"] = "<image>"
    path.write_text(json.dumps(line) + "\n")
    assert (await import_trajectories(played, tmp_path / "out")).added == ("asked",)
    assert (await played.trajectory("asked")).steps[0].answer == "The left one."


# ---- into a store that knows the episode --------------------------------------------------------------


async def test_what_is_said_here_already_stays(played: Store, store: Store, tmp_path: Path) -> None:
    (first, *_) = ids = await played.trajectory_ids()
    await export_trajectories(played, ids, tmp_path / "out", "parquet")
    await import_trajectories(store, tmp_path / "out")
    await store.mark(first, None, "ada", 0.0, "It was another page.")
    (note, _) = await store.notes(first)
    await store.edit_note(note.id, note.author, "Never mind.")
    await store.unmark(first, 0, "ada")
    assert (await import_trajectories(store, tmp_path / "out")).added == ()
    said = {score.scorer: (score.score, score.rationale) for score in await store.outcome_scores(first)}
    assert said == {"human:ada": (0.0, "It was another page."), "judge:m@1": (0.5, "Half.")}
    assert next(each.text for each in await store.notes(first)) == "Never mind."
    assert {score.scorer for score in await store.scores(first)} == {"human:ada", "prm:1"}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("outcome_scores", {"trajectory_id": "another"}),
        ("step_values", {"step_index": STEPS}),
        ("notes", {"step_index": -1}),
        ("notes", {"text": 3}),
        ("notes", {"id": "\ud800"}),
        ("notes", {"author": "ad\0a"}),
        ("outcome_scores", {"scorer": "human:\ud800"}),
        ("step_values", {"labeller": "\ud800"}),
        ("step_values", {"labeller": "l" * 161}),
        ("notes", {"author": "a" * 65}),
        ("outcome_scores", {"score": 7.5}),
        ("outcome_scores", {"score": math.nan}),
        ("outcome_scores", {"score": 10**400}),
        ("outcome_scores", {"scored_at_s": math.inf}),
        ("step_values", {"before": -0.5}),
        ("step_values", {"after_error": math.nan}),
        ("step_values", {"continuations": 2**70}),
        ("notes", {"created_at_s": math.nan}),
    ],
)
async def test_what_cannot_have_been_said_of_an_episode_is_refused(
    played: Store, store: Store, tmp_path: Path, name: str, change: dict[str, object]
) -> None:
    await write(played, make_trajectory("e", end=make_end()))
    await played.mark("e", None, "ada", 1.0)
    await played.write_note("e", 0, "ada", "Well.")
    value = StepValue(
        trajectory_id="e",
        step_index=0,
        labeller="mc",
        before=0.0,
        before_error=0.0,
        after=1.0,
        after_error=0.0,
        continuations=1,
        exact=False,
    )
    await played.add_step_values([value])
    await export_trajectories(played, ["e"], tmp_path / "out", "osworld")
    (path,) = (tmp_path / "out").glob("*/e/deskhand.json")
    head = json.loads(path.read_text())
    head[name][0].update(change)
    path.write_text(json.dumps(head))
    with pytest.raises(DamagedInput) as refused:
        await import_trajectories(store, tmp_path / "out")
    assert refused.value.place.endswith(name)
    assert await store.count_trajectories() == 0


# ---- out alone ----------------------------------------------------------------------------------------


async def test_a_sample_of_webdataset_holds_everything_of_its_turn_and_episode(
    played: Store, tmp_path: Path
) -> None:
    (first, *_) = await played.trajectory_ids()
    await export_trajectories(played, [first], tmp_path / "out", "webdataset")
    (shard,) = (tmp_path / "out").glob("*.tar")
    with tarfile.open(shard) as tar:
        read = {name: tar.extractfile(name) for name in tar.getnames() if name.endswith(".json")}
        samples = [json.loads(file.read()) for file in read.values() if file is not None]
    about = await played.summary(first)
    for sample in samples:
        assert json.loads(sample["labels"]) == about.labels
        outcomes = [OutcomeScore(**each) for each in json.loads(sample["outcome_scores"])]
        assert tuple(outcomes) == await played.outcome_scores(first)
        assert json.loads(sample["start"])["record"]["id"] == first
        assert json.loads(sample["end"])["record"]["stop_reason"] == about.stop_reason
    head, *others = samples
    assert tuple(StepScore(**each) for each in json.loads(head["scores"])) == await played.scores(first)
    assert tuple(Note(**each) for each in json.loads(head["notes"])) == await played.notes(first)
    assert tuple(StepValue(**each) for each in json.loads(head["step_values"])) == await played.step_values(
        trajectory_ids=[first]
    )
    assert all(sample[name] == "[]" for sample in others for name in ("scores", "notes", "step_values"))
