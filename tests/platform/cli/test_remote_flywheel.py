"""The flywheel's commands and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
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
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.settings import JobSettings
from deskhand_sandbox.host import HostProcess, HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks.families import FolderFamily

Record = Callable[..., Awaitable[str]]


class Host:
    def __init__(self, process: HostProcess) -> None:
        self._process = process

    async def address(self) -> tuple[str, str]:
        return self._process.url, self._process.token


class NoHost:
    async def address(self) -> tuple[str, str]:
        raise AssertionError("these jobs need no sandboxes")


async def deskhand(home: Path, token: str, *arguments: str) -> tuple[int | None, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DESKHAND_URL"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deskhand_platform.cli.app", *arguments,
        env={**environment, "DESKHAND_HOME": str(home), "DESKHAND_TOKEN": token, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, told = await process.communicate()
    return process.returncode, said.decode(), told.decode()


@pytest.mark.slow
async def test_episodes_of_a_platform_elsewhere(
    services: Services, token: str, record_episode: Record, tmp_path: Path
) -> None:
    won, _ = await record_episode(services.store), await record_episode(services.store, success=False)
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        there, away = ("--url", address_of(listener)), tmp_path / "away"
        out = await deskhand(
            away, token, "flywheel", "export", str(tmp_path / "out"), "--outcome", "success",
            "--format", "osworld", *there,
        )  # fmt: skip
        assert out == (0, "", f"written to {tmp_path / 'out'}\n")
        assert [one.parent.name for one in (tmp_path / "out").rglob("traj.jsonl")] == [won]
        taken, unknown, back, lost = await asyncio.gather(
            deskhand(away, token, "flywheel", "export", str(tmp_path / "out"), *there),
            deskhand(away, token, "flywheel", "export", str(tmp_path / "csv"), "--format", "csv", *there),
            deskhand(away, token, "flywheel", "import", str(tmp_path / "out"), *there),
            deskhand(away, token, "flywheel", "import", str(tmp_path / "nothing"), *there),
        )
        assert taken[0] == 1 and "there already" in taken[2]
        assert unknown[0] == 2 and "parquet" in unknown[2]
        assert back == (0, "osworld: 0 new, 1 here already\n", "")
        assert lost[0] == 2 and "nothing" in lost[2]
        (tmp_path / "empty").mkdir()
        empty = await deskhand(away, token, "flywheel", "import", str(tmp_path / "empty"), *there)
        assert empty[0] == 2 and "nothing that can be imported" in empty[2]
        assert not (away / "deskhand.db").exists()


@pytest.mark.slow
async def test_upkeep_of_a_platform_elsewhere(
    services: Services, token: str, record_episode: Record, tmp_path: Path
) -> None:
    episode = await record_episode(services.store)
    listener, away = listen("127.0.0.1", 0), tmp_path / "away"
    rule = tmp_path / "rule.yaml"
    rule.write_text("drop:\n  - older_than_days: 0\norphans_after_hours: 0\n")
    async with serve_api(services, listener), JobRunner(services.settings, NoHost()).running():

        def there(*arguments: str) -> Coroutine[None, None, tuple[int | None, str, str]]:
            return deskhand(away, token, *arguments, "--url", address_of(listener))

        sound, plan = await asyncio.gather(
            there("flywheel", "fsck"), there("flywheel", "gc", "--rule", str(rule))
        )
        assert sound[0] == 0 and sound[1].endswith("found: nothing\n"), sound
        assert plan[0] == 0 and "would drop: 1 trajectories of 2 steps, 3 blobs" in plan[1], plan
        assert "--apply does it" in plan[2] and "deskhand jobs show" in plan[2]
        digest = (await services.store.trajectory(episode)).steps[0].observation.screenshot.digest
        (services.settings.home / "blobs" / digest[:2] / digest).unlink()
        lost, spare, listed = await asyncio.gather(
            there("flywheel", "fsck", "--json"),
            there("flywheel", "fsck", "--spare", "file:///etc"),
            there("jobs", "list", "--kind", "gc"),
        )
        assert lost[0] == 1 and json.loads(lost[1])["counts"] == {"missing_blob": 1}
        assert spare[0] == 2 and "jobs.spares" in spare[2]
        assert listed[0] == 0 and "done" in listed[1] and "fsck" not in listed[1]
        id = next(word for word in listed[1].split() if word.startswith("gc-"))
        shown, log, over = await asyncio.gather(
            there("jobs", "show", id), there("jobs", "log", id), there("jobs", "cancel", id)
        )
        assert json.loads(shown[1])["result"]["trajectories"] == [episode]
        assert log[1].endswith("done\n")
        assert over[0] == 1 and "done already" in over[2]
        dropped = json.loads((await there("flywheel", "gc", "--rule", str(rule), "--apply", "--json"))[1])
        assert dropped["trajectories"] == [episode]
        assert await services.store.trajectory_ids() == ()
        assert not (away / "deskhand.db").exists()


@pytest.mark.slow
async def test_scoring_by_a_platform_elsewhere(
    services: Services, token: str, record_episode: Record, tmp_path: Path, endpoint: Any
) -> None:
    episode = await record_episode(services.store)
    answer = {"choices": [{"message": {"content": '{"rationale": "Fine.", "score": "90%"}'}}]}
    endpoint.reply = lambda: JSONResponse(answer)
    object.__setattr__(services.settings, "jobs", JobSettings(endpoints=(endpoint.url,)))
    listener, away = listen("127.0.0.1", 0), tmp_path / "away"
    (tmp_path / "rubric.txt").write_text("How kind was it?")
    async with serve_api(services, listener), JobRunner(services.settings, NoHost()).running():

        def there(*arguments: str) -> Coroutine[None, None, tuple[int | None, str, str]]:
            return deskhand(away, token, *arguments, "--url", address_of(listener))

        asked = ("flywheel", "judge", "steps", "--model", "m", "--rubric", str(tmp_path / "rubric.txt"))
        judged, other, train, score, label = await asyncio.gather(
            there(*asked, "--endpoint", endpoint.url, "--set", "asks=1"),
            there(*asked, "--endpoint", "http://127.0.0.1:1/v1"),
            there("prm", "train", "--policy", "nobody"),
            there("prm", "score", "nobody"),
            there("prm", "calibrate", "nobody", "--labels", "hearsay"),
        )
        assert judged[0] == 0 and "2 steps judged" in judged[1], judged
        assert other[0] == 2 and "jobs.endpoints" in other[2]
        assert train[0] == score[0] == 2 and "nobody" in train[2] and "nobody" in score[2]
        assert label[0] == 2 and "--labels" in label[2]
        untrained = await there("prm", "train", "--policy", "deskhand-tiny")
        assert untrained[0] == 1 and "prm-train-" in untrained[2] and "NoLabels" in untrained[2]
        assert len(await services.store.scores(episode)) == 2
        assert not (away / "deskhand.db").exists()


@pytest.mark.slow
async def test_policies_of_a_platform_elsewhere(services: Services, token: str, tmp_path: Path) -> None:
    listener, away = listen("127.0.0.1", 0), tmp_path / "away"
    save_bundle(build_tiny(TinyConfig(seed=1)), tmp_path / "one")
    save_bundle(build_tiny(TinyConfig(seed=2)), tmp_path / "two")
    one, two = [
        (await services.store.keep_policy(tmp_path / name, parent_id=None, metadata={})).id
        for name in ("one", "two")
    ]
    async with serve_api(services, listener), JobRunner(services.settings, NoHost()).running():

        def there(*arguments: str) -> Coroutine[None, None, tuple[int | None, str, str]]:
            return deskhand(away, token, "policies", *arguments, "--url", address_of(listener))

        merged, alone, unknown = await asyncio.gather(
            there("merge", one, two, "--weight", "3", "--weight", "1"),
            there("merge", one, two, "--weight", "3"),
            there("merge", one, "nobody"),
        )
        assert merged[0] == 0, merged
        assert alone[0] == 2 and "a positive one for each of the 2" in alone[2]
        assert unknown[0] == 2 and "nobody" in unknown[2]
        out = await there("export", merged[1].split()[-1], str(tmp_path / "out"))
        assert out[0] == 0, out
    check_files(tmp_path / "out")
    means, ones, twos = [load_file(tmp_path / name / "model.safetensors") for name in ("out", "one", "two")]
    for name, mean in means.items():
        assert torch.allclose(mean, (3 * ones[name] + twos[name]) / 4, atol=1e-6), name
    assert not (away / "deskhand.db").exists()


@pytest.mark.browser
@pytest.mark.slow
async def test_tasks_grown_by_a_platform_elsewhere(services: Services, token: str, tmp_path: Path) -> None:
    pools = {"browser": PoolSettings(max_sandboxes=1)}
    listener = listen("127.0.0.1", 0)
    async with (
        start_host(HostSettings(kinds=pools, state_folder=tmp_path / "host")) as process,
        serve_api(services, listener),
        JobRunner(services.settings, Host(process)).running(),
    ):
        there = ("tasks", "grow", "--url", address_of(listener))
        few = ("generated/fill-3-large", "--pages", "1", "--each", "1", "--json")
        grown, measured, nobody, here = await asyncio.gather(
            deskhand(tmp_path / "away", token, *there, *few),
            deskhand(tmp_path / "away", token, *there, "miniwob/click-menu"),
            deskhand(tmp_path / "away", token, *there, "--by", "model", "--model", "m"),
            deskhand(tmp_path / "away", token, *there, "--into", "x"),
        )
    assert grown[0] == 0, grown
    found = json.loads(grown[1])
    assert Path(found["folder"]) == services.settings.home / "tasks" / "grown"
    assert set(FolderFamily(Path(found["folder"])).task_ids()) == set(found["admitted"]) != set()
    assert measured[0] == 2 and "held out" in measured[2], measured
    assert nobody[0] == 2 and "jobs.endpoints" in nobody[2]
    assert here[0] == 2 and "--into" in here[2]


async def test_tasks_proved_by_a_platform_elsewhere(services: Services, token: str, tmp_path: Path) -> None:
    pools = {"fake": PoolSettings(max_sandboxes=2)}
    listener = listen("127.0.0.1", 0)
    (tmp_path / "mine.yaml").write_text("family: mine\ntasks: []\n")
    async with (
        start_host(HostSettings(kinds=pools, state_folder=tmp_path / "host")) as process,
        serve_api(services, listener),
        JobRunner(services.settings, Host(process)).running(),
    ):
        there = ("tasks", "check", "--url", address_of(listener))
        proved, unknown, here = await asyncio.gather(
            deskhand(tmp_path / "away", token, *there, "fake", "--seeds", "3"),
            deskhand(tmp_path / "away", token, *there, "fake/press-buton"),
            deskhand(tmp_path / "away", token, *there, str(tmp_path / "mine.yaml")),
        )
        assert proved[0] == 0, proved
        assert "6 proven, 3 unproven" in proved[1] and "Without an oracle: fake/never-done" in proved[1]
        assert unknown[0] == 2 and "did you mean fake/press-button" in unknown[2]
        assert here[0] == 2 and "is a file here" in here[2]
