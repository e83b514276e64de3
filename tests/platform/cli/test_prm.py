"""`deskhand prm`: from recorded episodes to labels, a model of them, its scores and their worth."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image as PilImage
from sqlalchemy import func

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.types import Context, Decision
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel import tables
from deskhand_flywheel.prm.continuation import Continuing
from deskhand_flywheel.prm.labelling import LabelSettings, label_store
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_platform.jobs import scoring
from deskhand_platform.jobs.scoring import score_config
from deskhand_platform.settings import load_settings
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Press, Split
from deskhand_trainer.prm.config import ScoreConfig

torch.set_num_threads(1)
TASK = "worlds/chain"


class Walker:
    """Walks right more often than not."""

    id = "walker"

    def __init__(self) -> None:
        self._chance = random.Random(0)

    async def act(self, context: Context) -> Decision:
        key = "ArrowRight" if self._chance.random() < 0.65 else "ArrowLeft"
        return Decision(actions=(Press(keys=(key,)),), text=f"press(key='{key}')")


async def play(home: Path) -> str:
    """Twelve walks and the id of a small model that can read them."""
    settings = load_settings(home=home)
    async with (
        await Store.open(settings.db_url, settings.blobs_url) as store,
        SandboxManager({"world": PoolSettings(max_sandboxes=2)}) as source,
    ):
        jobs = [Job(task=make_task(TASK, seed)) for seed in seeds(TASK, Split.TRAIN, 12)]
        await run_episodes(jobs, source=source, policy=Walker(), sink=store)
        tiny = TinyConfig(
            vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2
        )
        save_bundle(build_tiny(tiny), home / "policy")
        return (await store.keep_policy(home / "policy", parent_id=None, metadata={})).id


async def label(home: Path) -> None:
    """Labels by the walker itself, and marks by a person who knows the way."""
    settings = load_settings(home=home)
    async with (
        await Store.open(settings.db_url, settings.blobs_url) as store,
        SandboxManager({"world": PoolSettings(max_sandboxes=2)}) as source,
    ):
        told = LabelSettings(continuing=Continuing(continuations=4))
        await label_store(store, policy=Walker(), source=source, labeller="mc1:walker:4", settings=told)
        marks = [
            StepScore(
                trajectory_id=walk.id,
                step_index=step.index,
                score=float("Right" in step.decision.text),
                scorer="human:ann",
                rationale="towards the flag" if "Right" in step.decision.text else "away from it",
            )
            async for walk in store.each_trajectory(await store.trajectory_ids())
            for step in walk.steps
        ]
        await store.add_scores(marks)


def test_from_episodes_to_a_calibrated_model(
    tmp_path: Path, deskhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    policy = asyncio.run(play(home))
    # an oracle loses nothing it could still win, and wins nothing that is lost: one kind of label
    status, printed, _ = deskhand("prm", "label", "--policy", "scripted", "--continuations", "1", "--json")
    made = json.loads(printed)
    assert status == 0 and made["trajectories"] == 12 and made["inexact"] == 0 and made["left_out"] == {}
    again = json.loads(deskhand("prm", "label", "--policy", "scripted", "--continuations", "1", "--json")[1])
    assert again["trajectories"] == 0
    status, _, complaint = deskhand("prm", "train", "--policy", policy)
    assert status == 1 and "on one side of a half" in complaint

    asyncio.run(label(home))
    status, printed, complaint = deskhand(
        "prm", "train", "--policy", policy, "--json", "--set", "epochs=30", "--set", "lr=0.01",
        "--set", "labeller=mc1:walker:4",
    )  # fmt: skip
    assert status == 0, complaint
    trained = json.loads(printed)
    # whether it says something of unseen starts after so few walks is chance
    assert trained["unit"] == "start" and 0 < trained["loss"] < 2 * trained["base_loss"]

    assert (trained["rationales"], trained["rationales_left_out"], trained["left_out"]) == (0, 0, {})
    by_people = ("--labels", "human", "--set", "epochs=1", "--json")
    status, printed, told = deskhand("prm", "train", "--policy", policy, *by_people)
    counted = json.loads(printed)
    assert status == 0 and counted["rationales"] == 0
    assert counted["rationales_left_out"] == counted["train_steps"] > 0
    why = "rationales: rationale_weight, with a trunk_lr, learns them"
    assert counted["left_out"] == {why: counted["train_steps"]}
    assert f"left out {counted['train_steps']}: {why}" in told

    status, printed, _ = deskhand("prm", "score", trained["model"], "--json")
    scored = json.loads(printed)
    assert status == 0 and scored["scored"] == 12
    assert json.loads(deskhand("prm", "score", trained["model"], "--json")[1])["scored"] == 0

    status, printed, complaint = deskhand("prm", "calibrate", trained["model"], "--json")
    assert status == 0, complaint
    done = json.loads(printed)
    assert done["scorer"] != scored["scorer"] and done["measured_on"] == "unseen starts, cross-fitted"
    assert 0 < done["marked"] == done["after"]["steps"] and done["kappa"] is not None
    assert Path(done["plot"]).read_bytes().startswith(b"\x89PNG")
    rescored = json.loads(deskhand("prm", "score", done["model"], "--json")[1])
    assert rescored == {"scorer": done["scorer"], "scored": 12, "left_out": {}}
    plot = tmp_path / "plot.png"
    status, printed, _ = deskhand("prm", "calibrate", trained["model"], "--no-keep", "--plot", str(plot))
    assert status == 0 and "nothing was kept" in printed and plot.exists()

    # two of the twelve starts were not trained on: they alone are counted against what is read
    def one(settings: dict[str, Any]) -> ScoreConfig:
        return replace(score_config(settings), max_trajectories=1)

    monkeypatch.setattr(scoring, "score_config", one)
    of_people = ("prm", "calibrate", trained["model"], "--labels", "human", "--no-keep", "--json")
    status, printed, told = deskhand(*of_people)
    assert status == 0 and json.loads(printed)["left_out"] == {"beyond the newest 1 labelled": 1}
    assert "left out 1: beyond the newest 1 labelled" in told


async def spoil(home: Path) -> dict[str, str]:
    """Flip a bit of a picture that one episode alone has, and break the record of another; ids, by why."""
    settings = load_settings(home=home)
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        walks = [walk async for walk in store.each_trajectory(await store.trajectory_ids())]
        flipped, broken = walks[0].id, walks[1].id
        steps, heads = tables.steps, tables.trajectories
        own = encoded(PilImage.new("RGB", (64, 64), "red"))
        assert own.data is not None
        await store.blobs.put(own.data)
        shown = walks[0].steps[0].observation.screenshot.digest
        async with store.database.write() as connection:
            of_it = steps.update().where(steps.c.trajectory_id == flipped, steps.c.step_index == 0)
            await connection.execute(of_it.values(step=func.replace(steps.c.step, shown, own.digest)))
            await connection.execute(heads.update().where(heads.c.id == broken).values(start="no JSON"))
    path = home / "blobs" / own.digest[:2] / own.digest
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    return {"CorruptBlob": flipped, "MalformedRecord": broken}


def test_what_cannot_be_read_is_left_out_named_and_counted(
    tmp_path: Path, deskhand: Any, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    policy = asyncio.run(play(home))
    asyncio.run(label(home))
    damaged = asyncio.run(spoil(home))
    counted = {f"cannot be read: {why}": 1 for why in damaged}

    def done(*arguments: str) -> dict[str, Any]:
        caplog.clear()
        status, printed, told = deskhand(*arguments, "--json")
        assert status == 0, told
        for why, name in damaged.items():
            assert caplog.text.count(f"left out {name}: ") == 1
            assert f"left out 1: cannot be read: {why}" in told
        return json.loads(printed)

    trained = done("prm", "train", "--policy", policy, "--set", "epochs=2", "--set", "lr=0.01")
    assert trained["left_out"] == counted
    scored = done("prm", "score", trained["model"])
    assert (scored["scored"], scored["left_out"]) == (10, counted)
    again = done("prm", "score", trained["model"])
    assert (again["scored"], again["left_out"]) == (0, counted)
    assert done("prm", "calibrate", trained["model"])["left_out"] == counted


def test_where_no_labelled_episode_can_be_read_that_is_said(tmp_path: Path, deskhand: Any) -> None:
    home = tmp_path / "home"
    policy = asyncio.run(play(home))
    asyncio.run(label(home))

    async def spoil_all() -> None:
        settings = load_settings(home=home)
        async with (
            await Store.open(settings.db_url, settings.blobs_url) as store,
            store.database.write() as connection,
        ):
            await connection.execute(tables.steps.update().values(step="{}"))

    asyncio.run(spoil_all())
    status, _, complaint = deskhand("prm", "train", "--policy", policy)
    assert status == 1 and "none of the 12 labelled episodes can be read" in complaint


def test_what_cannot_be_done_is_said(tmp_path: Path, deskhand: Any) -> None:
    policy = asyncio.run(play(tmp_path / "home"))
    for command, told in (
        (("prm", "train", "--policy", policy), "deskhand prm label"),
        (("prm", "train", "--policy", policy, "--labels", "judge"), "no labels of these sources"),
        (("prm", "train", "--policy", "nobody"), "nobody"),
        (("prm", "train", "--labels", "hearsay"), "monte-carlo"),
        (("prm", "train", "--set", "rationale_weight=1"), "trunk_lr"),
        (("prm", "train", "--set", "vision=true"), "trunk_lr"),
        (("prm", "train", "--set", "judge=judge:m@1"), "labels names no judge"),
        (("prm", "calibrate", policy, "--judge", "judge:m@1"), "no judge is among"),
        (("prm", "calibrate", policy, "--labels", "judge", "--judge", "m"), "--judge"),
        (("prm", "score", "nobody"), "nobody"),
        (("prm", "score", policy), "holds no process reward model"),
        (("prm", "calibrate", policy), f"{policy} holds no process reward model"),
        (("prm", "label", "--policy", "nobody"), "nobody"),
    ):
        status, _, complaint = deskhand(*command)
        assert status in (1, 2) and told in complaint, (command, complaint)


@pytest.mark.parametrize("command", ["label", "train", "score", "calibrate"])
def test_every_command_has_help_with_examples(deskhand: Any, command: str) -> None:
    status, printed, _ = deskhand("prm", command, "--help")
    assert status == 0 and f"deskhand prm {command}" in printed
