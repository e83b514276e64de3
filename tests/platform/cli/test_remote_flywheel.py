"""The flywheel's commands and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from starlette.responses import JSONResponse

from deskhand_agent.checksums import check_files
from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_platform.jobs.desk import JobRunner
from deskhand_platform.services import Services
from deskhand_platform.settings import JobSettings
from deskhand_sandbox.host import HostProcess, HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks.families import FolderFamily

Record = Callable[..., Awaitable[str]]
Deskhand = Callable[..., Awaitable[tuple[int, str, str]]]


class Host:
    def __init__(self, process: HostProcess) -> None:
        self._process = process

    async def address(self) -> tuple[str, str]:
        return self._process.url, self._process.token


class NoHost:
    async def address(self) -> tuple[str, str]:
        raise AssertionError("these jobs need no sandboxes")


@pytest.mark.slow
async def test_episodes_of_a_platform_elsewhere(
    services: Services, there: Deskhand, record_episode: Record, tmp_path: Path
) -> None:
    won, _ = await record_episode(services.store), await record_episode(services.store, success=False)
    gone = str(tmp_path / "out")
    out = await there("flywheel", "export", gone, "--outcome", "success", "--format", "osworld")
    assert out == (0, "", f"written to {tmp_path / 'out'}\n")
    assert [one.parent.name for one in (tmp_path / "out").rglob("traj.jsonl")] == [won]
    taken = await there("flywheel", "export", gone)
    assert taken[0] == 1 and "there already" in taken[2]
    unknown = await there("flywheel", "export", str(tmp_path / "csv"), "--format", "csv")
    assert unknown[0] == 2 and "parquet" in unknown[2]
    assert await there("flywheel", "import", gone) == (0, "osworld: 0 new, 1 here already\n", "")
    lost = await there("flywheel", "import", str(tmp_path / "nothing"))
    assert lost[0] == 2 and "nothing" in lost[2]
    (tmp_path / "empty").mkdir()
    empty = await there("flywheel", "import", str(tmp_path / "empty"))
    assert empty[0] == 2 and "nothing that can be imported" in empty[2]


@pytest.mark.slow
async def test_upkeep_of_a_platform_elsewhere(
    services: Services, there: Deskhand, record_episode: Record, tmp_path: Path
) -> None:
    episode = await record_episode(services.store)
    rule = tmp_path / "rule.yaml"
    rule.write_text("drop:\n  - older_than_days: 0\norphans_after_hours: 0\n")
    async with JobRunner(services.settings, NoHost()).running():
        sound = await there("flywheel", "fsck")
        assert sound[0] == 0 and sound[1].endswith("found: nothing\n"), sound
        plan = await there("flywheel", "gc", "--rule", str(rule))
        assert plan[0] == 0 and "would drop: 1 trajectories of 2 steps, 3 blobs" in plan[1], plan
        assert "--apply does it" in plan[2] and "deskhand jobs show" in plan[2]
        digest = (await services.store.trajectory(episode)).steps[0].observation.screenshot.digest
        (services.settings.home / "blobs" / digest[:2] / digest).unlink()
        lost = await there("flywheel", "fsck", "--json")
        assert lost[0] == 1 and json.loads(lost[1])["counts"] == {"missing_blob": 1}
        spare = await there("flywheel", "fsck", "--spare", "file:///etc")
        assert spare[0] == 2 and "jobs.spares" in spare[2]
        listed = await there("jobs", "list", "--kind", "gc")
        assert listed[0] == 0 and "done" in listed[1] and "fsck" not in listed[1]
        id = next(word for word in listed[1].split() if word.startswith("gc-"))
        shown = await there("jobs", "show", id)
        assert json.loads(shown[1])["result"]["trajectories"] == [episode]
        assert (await there("jobs", "log", id))[1].endswith("done\n")
        over = await there("jobs", "cancel", id)
        assert over[0] == 1 and "done already" in over[2]
        dropped = json.loads((await there("flywheel", "gc", "--rule", str(rule), "--apply", "--json"))[1])
        assert dropped["trajectories"] == [episode]
        assert await services.store.trajectory_ids() == ()


@pytest.mark.slow
async def test_scoring_by_a_platform_elsewhere(
    services: Services, there: Deskhand, record_episode: Record, tmp_path: Path, endpoint: Any
) -> None:
    episode = await record_episode(services.store)
    answer = {"choices": [{"message": {"content": '{"rationale": "Fine.", "score": "90%"}'}}]}
    endpoint.reply = lambda: JSONResponse(answer)
    object.__setattr__(services.settings, "jobs", JobSettings(endpoints=(endpoint.url,)))
    (tmp_path / "rubric.txt").write_text("How kind was it?")
    asked = ("flywheel", "judge", "steps", "--model", "m", "--rubric", str(tmp_path / "rubric.txt"))
    async with JobRunner(services.settings, NoHost()).running():
        judged = await there(*asked, "--endpoint", endpoint.url, "--set", "asks=1")
        assert judged[0] == 0 and "2 steps judged" in judged[1], judged
        other = await there(*asked, "--endpoint", "http://127.0.0.1:1/v1")
        assert other[0] == 2 and "jobs.endpoints" in other[2]
        train = await there("prm", "train", "--policy", "nobody")
        score = await there("prm", "score", "nobody")
        assert train[0] == score[0] == 2 and "nobody" in train[2] and "nobody" in score[2]
        label = await there("prm", "calibrate", "nobody", "--labels", "hearsay")
        assert label[0] == 2 and "--labels" in label[2]
        untrained = await there("prm", "train", "--policy", "deskhand-tiny")
        assert untrained[0] == 1 and "prm-train-" in untrained[2] and "NoLabels" in untrained[2]
        assert len(await services.store.scores(episode)) == 2


@pytest.mark.slow
async def test_policies_of_a_platform_elsewhere(services: Services, there: Deskhand, tmp_path: Path) -> None:
    save_bundle(build_tiny(TinyConfig(seed=1)), tmp_path / "one")
    save_bundle(build_tiny(TinyConfig(seed=2)), tmp_path / "two")
    one, two = [
        (await services.store.keep_policy(tmp_path / name, parent_id=None, metadata={})).id
        for name in ("one", "two")
    ]
    async with JobRunner(services.settings, NoHost()).running():
        merged = await there("policies", "merge", one, two, "--weight", "3", "--weight", "1")
        assert merged[0] == 0, merged
        alone = await there("policies", "merge", one, two, "--weight", "3")
        assert alone[0] == 2 and "a positive one for each of the 2" in alone[2]
        unknown = await there("policies", "merge", one, "nobody")
        assert unknown[0] == 2 and "nobody" in unknown[2]
        out = await there("policies", "export", merged[1].split()[-1], str(tmp_path / "out"))
        assert out[0] == 0, out
    check_files(tmp_path / "out")
    means, ones, twos = [load_file(tmp_path / name / "model.safetensors") for name in ("out", "one", "two")]
    for name, mean in means.items():
        assert torch.allclose(mean, (3 * ones[name] + twos[name]) / 4, atol=1e-6), name


@pytest.mark.browser
@pytest.mark.slow
async def test_tasks_grown_by_a_platform_elsewhere(
    services: Services, there: Deskhand, tmp_path: Path
) -> None:
    pools = {"browser": PoolSettings(max_sandboxes=1)}
    few = ("generated/fill-3-large", "--pages", "3", "--each", "2", "--json")
    async with (
        start_host(HostSettings(kinds=pools, state_folder=tmp_path / "host")) as process,
        JobRunner(services.settings, Host(process)).running(),
    ):
        grown = await there("tasks", "grow", *few)
        measured = await there("tasks", "grow", "miniwob/click-menu")
        nobody = await there("tasks", "grow", "--by", "model", "--model", "m")
        here = await there("tasks", "grow", "--into", "x")
    assert grown[0] == 0, grown
    found = json.loads(grown[1])
    assert Path(found["folder"]) == services.settings.home / "tasks" / "grown"
    assert set(FolderFamily(Path(found["folder"])).task_ids()) == set(found["admitted"]) != set()
    assert measured[0] == 2 and "held out" in measured[2], measured
    assert nobody[0] == 2 and "jobs.endpoints" in nobody[2]
    assert here[0] == 2 and "--into" in here[2]


async def test_tasks_proved_by_a_platform_elsewhere(
    services: Services, there: Deskhand, tmp_path: Path
) -> None:
    pools = {"fake": PoolSettings(max_sandboxes=2)}
    (tmp_path / "mine.yaml").write_text("family: mine\ntasks: []\n")
    async with (
        start_host(HostSettings(kinds=pools, state_folder=tmp_path / "host")) as process,
        JobRunner(services.settings, Host(process)).running(),
    ):
        proved = await there("tasks", "check", "fake", "--seeds", "3")
        assert proved[0] == 0, proved
        assert "6 proven, 3 unproven" in proved[1] and "Without an oracle: fake/never-done" in proved[1]
        unknown = await there("tasks", "check", "fake/press-buton")
        assert unknown[0] == 2 and "did you mean fake/press-button" in unknown[2]
        here = await there("tasks", "check", str(tmp_path / "mine.yaml"))
        assert here[0] == 2 and "is a file here" in here[2]
