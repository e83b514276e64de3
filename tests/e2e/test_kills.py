"""Real processes, killed in the middle: `deskhand serve`, its sandbox host, and the run of a round."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.exchange import export_trajectories
from deskhand_flywheel.store import Store
from deskhand_platform.client import Deskhand, Unreachable
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split

PROGRAMS = Path(__file__).parents[1] / "platform/programs"
ROUND = {"preset": "smoke", "overrides": {"evaluate": None, "explore": None}}


def wait(holds: Callable[[], Any], limit_s: float = 150.0) -> Any:
    """Wait for a condition to hold; what it gave."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass in time")


def alive(pid: int) -> bool:
    """The process runs: a dead one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


class Served:
    """`deskhand serve` as a user starts it."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        self._environment = {
            **os.environ,
            "DESKHAND_HOME": str(home),
            "DESKHAND_ROUNDS__RUN_MODULE": "counting_run",
            "DESKHAND_SANDBOX__KINDS": '["browser", "fake"]',
            "PYTHONPATH": f"{PROGRAMS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        command = [sys.executable, "-m", "deskhand_platform.cli.app", "serve", "--port", "0"]
        with (self.home / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        wait(lambda: self.url)
        return self.process.pid

    @property
    def url(self) -> str | None:
        try:
            said = json.loads((self.home / "serve.lock").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return said["url"] if self.process is not None and said["pid"] == self.process.pid else None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {(self.home / 'token').read_text().strip()}"}
        response = httpx.request(
            method, f"{self.url}{path}", json=body, headers=headers, trust_env=False, timeout=60
        )
        response.raise_for_status()
        return response.json()

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(150)

    def progress(self, run: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.home / "runs" / run / "state.json").read_text())
        except FileNotFoundError:
            return None


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, COUNTING_STEPS="60", COUNTING_STEP_S="0.02")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGTERM)


def until_round(served: Served, number: int, state: str) -> dict[str, Any]:
    return wait(lambda: (r := served.call("GET", f"/v1/rounds/{number}"))["state"] == state and r)


def until_step(served: Served, run: str, step: int) -> dict[str, Any]:
    return wait(lambda: (s := served.progress(run)) and s["done"] >= step and s)


@pytest.mark.slow
def test_a_killed_platform_takes_everything_with_it_and_the_round_goes_on(served: Served) -> None:
    platform = served.start()
    number = served.call("POST", "/v1/rounds", ROUND)["id"]
    state = until_step(served, f"round-{number}-sft", 10)
    family = [*children(platform), state["pid"]]
    assert len(family) >= 3  # host, worker, run
    served.end(signal.SIGKILL)
    wait(lambda: not any(map(alive, family)))

    served.start()
    done = until_round(served, number, "done")
    assert {phase["state"] for phase in done["phases"]} == {"done"}
    lives = (served.home / "runs" / f"round-{number}-sft/lives.txt").read_text().split()
    assert lives[0] == "0" and len(lives) == 2 and int(lives[1]) >= 10
    assert (served.home / "runs" / f"round-{number}-collect/lives.txt").read_text().split() == ["0"]


@pytest.mark.slow
def test_a_killed_sandbox_host_comes_back(served: Served) -> None:
    served.start()
    address = served.home / "sandbox-host.json"
    before = json.loads(address.read_text())
    number = served.call("POST", "/v1/rounds", ROUND)["id"]
    until_step(served, f"round-{number}-collect", 5)
    assert served.process is not None
    hosts = [
        pid
        for pid in children(served.process.pid)
        if b"deskhand_sandbox.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert len(hosts) == 1
    os.kill(hosts[0], signal.SIGKILL)
    wait(lambda: address.exists() and json.loads(address.read_text()) != before)
    wait(lambda: served.call("GET", "/v1/info")["sandbox_host"] == "up")
    until_round(served, number, "done")


def leaves_nothing_behind(served: Served, platform: int, number: signal.Signals, status: int) -> None:
    """A platform that is stopped in the middle of a round."""
    round_id = served.call("POST", "/v1/rounds", ROUND)["id"]
    state = until_step(served, f"round-{round_id}-collect", 3)
    family = [*children(platform), state["pid"]]
    assert served.end(number) == status
    assert not any(map(alive, family))
    assert not (served.home / "sandbox-host.json").exists()
    assert "Traceback" not in (served.home / "serve.log").read_text()


def test_an_interrupted_platform_leaves_nothing_behind(served: Served) -> None:
    leaves_nothing_behind(served, served.start(), signal.SIGINT, 130)


def deskhand(served: Served, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deskhand_platform.cli.app", *arguments],
        env={**os.environ, "DESKHAND_HOME": str(served.home), **environment},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def test_a_second_platform_and_a_wrong_token_are_refused_and_a_stop_leaves_nothing_behind(
    served: Served,
) -> None:
    pid = served.start()
    second = deskhand(served, "serve", "--port", "0")
    assert second.returncode == 1
    assert f"process {pid}" in second.stderr and "Traceback" not in second.stderr
    wrong = deskhand(served, "rounds", "list", DESKHAND_TOKEN="wrong")
    assert wrong.returncode == 1 and "token" in wrong.stderr and "Traceback" not in wrong.stderr
    assert served.call("GET", "/v1/info")["sandbox_host"] == "up"
    leaves_nothing_behind(served, pid, signal.SIGTERM, 143)


@pytest.mark.slow
def test_a_paused_round_survives_kills_in_every_state(served: Served) -> None:
    """Running, pausing, paused, resumed: killed in each, it is there again and loses no step."""
    served.start()
    number = served.call("POST", "/v1/rounds", ROUND)["id"]
    sft = f"round-{number}-sft"
    reached = until_step(served, sft, 5)["done"]
    served.call("POST", f"/v1/rounds/{number}/pause")
    served.end(signal.SIGKILL)  # in the middle of stopping

    served.start()
    paused = until_round(served, number, "paused")
    assert paused["pausing"] is False and alive(served.progress(sft)["pid"]) is False  # type: ignore[index]
    served.end(signal.SIGKILL)  # paused

    served.start()
    assert served.call("GET", f"/v1/rounds/{number}")["state"] == "paused"
    refused = deskhand(served, "rounds", "pause", str(number))
    assert refused.returncode == 1 and f"round {number} is paused" in refused.stderr
    served.call("POST", f"/v1/rounds/{number}/resume")
    served.end(signal.SIGKILL)  # in line again

    served.start()
    until_round(served, number, "done")
    lives = [int(line) for line in (served.home / "runs" / sft / "lives.txt").read_text().split()]
    assert lives[0] == 0 and lives[1] >= reached and lives == sorted(lives)
    assert (served.home / "runs" / f"round-{number}-collect/lives.txt").read_text().split() == ["0"]


@pytest.mark.slow
def test_rounds_are_operated_from_the_command_line(served: Served) -> None:
    served.start()
    body = {"preset": "smoke", "overrides": {"explore": None, "score": None}}
    number = served.call("POST", "/v1/rounds", body)["id"]
    until_step(served, f"round-{number}-sft", 3)

    def said(*arguments: str, status: int = 0) -> str:
        done = deskhand(served, "rounds", *arguments, COLUMNS="200")
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
        return done.stdout + done.stderr

    assert "pausing" in said("pause", str(number)) or "paused" in said("show", str(number))
    until_round(served, number, "paused")
    assert "lets it go on" in said("show", str(number))
    assert "counting from 0 to 60" in said("log", str(number), "sft")
    assert f"Round {number + 1}" in said("clone", str(number), "--set", "ppo.iterations=1")
    assert "for example ppo.iterations=50" in said(
        "clone", str(number), "--set", "ppo.iterations=0", status=2
    )
    assert "queued" in said("resume", str(number))
    for one in (number, number + 1):
        until_round(served, one, "done")
    assert "queued" in said("retry", str(number), "--phase", "promote")
    until_round(served, number, "done")
    # which of the two came first is promoted; the other measured nothing beside that
    told = said("promotions")
    assert f"round {number}" in told or f"round {number + 1}" in told
    assert "no policy" in said("promote", "policy-0", "--reason", "x", status=2)
    assert "0 3 * * *" in said("schedules", "add", "smoke", "--cron", "0 3 * * *")
    assert "off" in said("schedules", "off", "1")
    assert "on" in said("schedules", "on", "1")
    assert "gone" in said("schedules", "remove", "1")
    assert "smoke" not in said("schedules", "list")


@pytest.mark.slow
def test_a_stopped_platform_parks_what_it_works_at_and_goes_on_later(tmp_path: Path) -> None:
    served = Served(tmp_path, DESKHAND_LOGS="json")
    served.start()
    try:
        # nobody answers what the policy proposes: the episode goes on for minutes
        policy = {"name": "scripted", "review_s": 600}
        order = {"task_id": "fake/press-button", "policy": policy}
        number = served.call("POST", "/v1/tasks", order)["id"]
        path = f"/v1/tasks/{number}"
        first = wait(lambda: served.call("GET", path)["trajectory_id"])
        assert served.end(signal.SIGTERM) == 143
        lines = [json.loads(line) for line in (tmp_path / "worker.log").read_text().splitlines()]
        [begun] = [line for line in lines if line["message"] == "an episode began"]
        assert (begun["task"], begun["trajectory"]) == (number, first)
        assert begun["sandbox"] and begun["process"] == "worker"

        served.start()
        again = wait(lambda: (t := served.call("GET", path))["trajectory_id"] not in (None, first) and t)
        assert (again["state"], again["attempts"]) == ("running", 2)
        assert served.call("GET", f"/v1/trajectories/{first}")["ended_at_s"] is not None
        served.call("DELETE", path)
        assert wait(lambda: (t := served.call("GET", path))["state"] == "cancelled" and t)
    finally:
        served.end(signal.SIGTERM)


@pytest.mark.slow
def test_an_evaluation_that_was_asked_for_goes_on_after_a_kill(tmp_path: Path) -> None:
    served = Served(tmp_path, DESKHAND_ROUNDS__RUN_MODULE="deskhand_trainer.run")
    served.start()
    order = {"tasks": ["fake/press-button"], "episodes": 2}
    first, second = (served.call("POST", "/v1/evaluations", order)["id"] for _ in range(2))
    served.call("POST", f"/v1/evaluations/{second}/cancel")
    served.end(signal.SIGKILL)
    served.start()
    wait(lambda: served.call("GET", f"/v1/evaluations/{first}")["state"] == "done", limit_s=300)
    wait(lambda: served.call("GET", f"/v1/evaluations/{second}")["state"] == "cancelled")
    [row] = served.call("GET", f"/v1/evaluations/{first}")["rows"]
    assert (row["task"], row["mode"], row["episodes"]) == ("fake/press-button", "sampled", 2)
    assert served.end(signal.SIGTERM) == 143


@pytest.mark.slow
def test_a_check_that_was_asked_for_is_done_by_the_next_platform(served: Served) -> None:
    served.start()
    (served.home / "transfers" / "left").mkdir(parents=True, exist_ok=True)
    job = served.call("POST", "/v1/jobs", {"kind": "fsck"})["id"]
    folder = served.home / "jobs" / job
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # its process waits, if it has not come before us
        served.end(signal.SIGKILL)
    served.start()
    done = wait(lambda: (j := served.call("GET", f"/v1/jobs/{job}"))["state"] == "done" and j)
    assert done["result"]["ok"] is True
    assert not (served.home / "transfers").exists()


async def exported(folder: Path, episodes: int) -> None:
    """Episodes of an oracle, played and exported far from the platform."""
    home = folder.with_name("elsewhere")
    home.mkdir()
    async with (
        await Store.open(f"sqlite+aiosqlite:///{home / 'deskhand.db'}", f"file://{home / 'blobs'}") as store,
        SandboxManager({"fake": PoolSettings(max_sandboxes=2)}) as source,
    ):
        chosen = seeds("fake/press-button", Split.TRAIN, episodes)
        jobs = [Job(task=make_task("fake/press-button", seed)) for seed in chosen]
        await run_episodes(jobs, source=source, policy=ScriptedPolicy(), sink=store)
        await export_trajectories(store, await store.trajectory_ids(), folder, "osworld")


@pytest.mark.slow
def test_an_import_killed_in_the_middle_is_whole_the_second_time(
    served: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("away") / "out"
    asyncio.run(exported(folder, 60))
    served.start()
    token = (served.home / "token").read_text().strip()
    database = served.home / "deskhand.db"

    def came() -> int:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM trajectories").fetchone()[0]

    with ThreadPoolExecutor(1) as pool, Deskhand(served.url, token, patience_s=0) as client:
        sending = pool.submit(client.import_trajectories, folder)
        wait(lambda: came() >= 5 or sending.done())
        served.end(signal.SIGKILL)
        assert isinstance(sending.exception(60), Unreachable) or came() == 60
    served.start()
    assert not (served.home / "transfers").exists()
    with Deskhand(served.url, token) as client:
        done = client.import_trajectories(folder)
        assert len(done.added) + len(done.present) == came() == 60
        checked = client.wait_job(client.start_job({"kind": "fsck", "settle_hours": 0}).id, 60)
    assert checked.result is not None and checked.result["ok"] and checked.result["counts"] == {}
