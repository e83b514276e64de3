"""A program's day: it submits, follows, is told, reads what came and asks a policy, by its own account."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture
from served_platform import PROGRAMS, Platform

from deskhand_platform.accounts.access import Role
from deskhand_platform.client import Deskhand
from deskhand_platform.client.errors import Conflict, NotAllowed, TooMany
from deskhand_platform.client.signature import WrongSignature, verify
from deskhand_platform.states import WorkState

LABELS = {"batch": "day"}
HELD = {"name": "scripted", "review_s": 300}
"""Nobody answers what it proposes: the episode goes on for minutes."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DESKHAND_WEBHOOKS__NETWORKS", '["127.0.0.0/8"]')
        patch.delenv("DESKHAND_TOKEN", raising=False)
        made = Platform(tmp_path_factory.mktemp("home"))
    yield made
    made.stop()


@pytest.fixture
def program(platform: Platform) -> Iterator[Deskhand]:
    """Signed in with a token of an account that may submit and read, and administers nothing."""
    with Deskhand(platform.url, platform.token) as admin:
        admin.add_user("program", Role.RESEARCHER, token_only=True)
        admin.set_quota("program", tasks=6)
        token = admin.create_token("its day", owner="program").token
    # the first completion waits until its policy is loaded
    with Deskhand(platform.url, token, timeout_s=120) as client:
        yield client


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    file = tmp_path / "received"
    process = subprocess.Popen([sys.executable, str(PROGRAMS / "receiver.py"), str(port), str(file)])
    yield f"http://127.0.0.1:{port}/", file
    process.kill()
    process.wait()


def received(file: Path, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) >= count:
            return [json.loads(line) for line in lines]
        time.sleep(0.1)
    raise AssertionError(f"fewer than {count} deliveries")


def ordered(seed: int, **more: Any) -> dict[str, Any]:
    return {"task_id": "fake/press-button", "seed": seed, "labels": LABELS, **more}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_programs_day(program: Deskhand, receiver: tuple[str, Path]) -> None:
    url, file = receiver
    me = program.info()
    assert (me.user, me.role) == ("program", "researcher")
    with pytest.raises(NotAllowed):
        program.start_round("smoke")

    # a batch, told of by a webhook, followed by events; sent again it is the same batch
    hook = program.add_webhook(url, labels=LABELS)
    batch = [ordered(seed, key=f"day-{seed}") for seed in range(3)]
    ids = program.submit_batch(batch)
    assert program.submit_batch(batch) == ids
    with pytest.raises(Conflict):
        program.submit_batch([ordered(99, key="day-0")])
    seen: dict[str, list[WorkState]] = {id: [] for id in ids}
    last = 0
    for event in program.task_events(ids):
        assert event.event_id > last and event.owner == "program" and event.labels == LABELS
        last = event.event_id
        seen[event.id].append(event.state)
        if all(states[-1:] == [WorkState.DONE] for states in seen.values()):
            break
    # running is told of twice: as it is taken, and as its episode begins
    assert [list(dict.fromkeys(states)) for states in seen.values()] == [
        [WorkState.RUNNING, WorkState.DONE]
    ] * 3
    assert list(program.task_events(ids, after=last, follow=False)) == []

    told: dict[str, dict[str, Any]] = {}
    for one in received(file, 3):
        body = one["body"].encode()
        verify(hook.secret, one["headers"], body)
        with pytest.raises(WrongSignature):
            verify(hook.secret, one["headers"], body + b" ")
        told[json.loads(body)["data"]["id"]] = json.loads(body)["data"]
    assert set(told) == set(ids)

    # what came of one: the episode, its steps and its pictures
    task = program.task(ids[0])
    assert task.outcome is not None and task.outcome.success and task.trajectory_id is not None
    assert told[ids[0]]["trajectory_id"] == task.trajectory_id
    episode = program.trajectory(task.trajectory_id)
    steps = list(program.steps(episode.id))
    assert len(steps) == episode.turns > 0
    with Picture.open(io.BytesIO(program.image(steps[0].image.digest))) as picture:
        assert picture.size == (steps[0].image.width_px, steps[0].image.height_px)
    with Picture.open(io.BytesIO(program.image(steps[0].image.digest, width=80))) as small:
        assert small.width < picture.width

    # one is cancelled while it is worked, and tried again
    held = program.submit({"task_id": "fake/press-button", "policy": HELD})
    for event in program.task_events([held.id]):
        if event.state is WorkState.RUNNING:
            program.cancel(held.id)
        if event.state is WorkState.CANCELLED:
            break
    assert program.retry(held.id).state is WorkState.QUEUED

    # more than it may have at once is refused, with the time after which another try makes sense
    more = [{"task_id": "fake/press-button", "seed": seed, "policy": HELD} for seed in range(5)]
    others = program.submit_batch(more)
    with pytest.raises(TooMany, match="6") as refused:
        program.submit("fake/press-button")
    assert refused.value.status == 429 and (refused.value.retry_after_s or 0) > 0
    for id in (held.id, *others):
        program.cancel(id)
    for id in (held.id, *others):
        assert program.wait(id, timeout_s=60).state is WorkState.CANCELLED
    last_one = program.submit("fake/press-button", seed=7)
    assert program.wait(last_one.id, timeout_s=60).state is WorkState.DONE

    # and a policy answers, as any model behind a chat endpoint does
    said = program.post(
        "/v1/chat/completions",
        {
            "model": "deskhand-tiny",
            "messages": [{"role": "user", "content": "Press the button."}],
            "max_tokens": 4,
            "temperature": 0,
        },
    )
    assert said["choices"][0]["message"]["role"] == "assistant" and said["usage"]["completion_tokens"] > 0
