"""Results reach a webhook whatever dies or fails meanwhile."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served_platform import PROGRAMS, Platform

from deskhand_platform.client.signature import verify


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    port, file = free_port(), tmp_path / "received"
    process = subprocess.Popen([sys.executable, str(PROGRAMS / "receiver.py"), str(port), str(file)])
    yield f"http://127.0.0.1:{port}/", file
    process.kill()
    process.wait()


def deskhand(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "deskhand_platform.cli.app", *arguments],
        env={**os.environ, "DESKHAND_HOME": str(home), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def received(file: Path, count: int, *, broken: bool) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        lines = file.read_text().splitlines() if file.exists() else []
        found = [one for one in map(json.loads, lines) if one["broken"] is broken]
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{file.name}: fewer than {count} came")


@pytest.mark.slow
def test_results_arrive_after_kill_9_and_after_the_receiver_failed(
    tmp_path: Path, receiver: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = receiver
    broken = Path(f"{file}.broken")
    broken.touch()
    monkeypatch.setenv("DESKHAND_WEBHOOKS__NETWORKS", '["127.0.0.0/8"]')
    monkeypatch.setenv("DESKHAND_WEBHOOKS__FIRST_PAUSE_S", "0.3")
    monkeypatch.setenv("DESKHAND_WEBHOOKS__LONGEST_PAUSE_S", "1")
    monkeypatch.setenv("DESKHAND_WEBHOOKS__ATTEMPTS", "100")
    home = tmp_path / "home"
    home.mkdir()
    first = Platform(home)
    hook, secret = deskhand(home, "webhooks", "add", url, "--label", "batch=a").split()
    wanted = [
        deskhand(home, "submit", "fake/press-button", "--seed", str(seed), "--label", "batch=a").strip()
        for seed in range(3)
    ]
    deskhand(home, "submit", "fake/press-button", "--wait")
    failed = received(file, 2, broken=True)
    first.process.kill()
    first.process.wait()
    broken.unlink()
    second = Platform(home)
    try:
        done: dict[str, list[str]] = {}
        while set(done) != set(wanted):
            for one in received(file, len(done) + 1, broken=False):
                body = one["body"].encode()
                told = json.loads(body)["data"]
                id = verify(secret, one["headers"], body)
                done.setdefault(told["id"], [])
                done[told["id"]] += [id]
                assert (told["state"], told["labels"], told["outcome"]["success"]) == (
                    "done", {"batch": "a"}, True,
                )  # fmt: skip
        known = {id for ids in done.values() for id in ids}
        assert {len(set(ids)) for ids in done.values()} == {1}
        assert {one["headers"]["webhook-id"] for one in failed} <= known
        listed = deskhand(home, "webhooks", "deliveries", hook)
        assert [listed.count(id) for id in wanted] == [1, 1, 1]
    finally:
        second.stop()
