"""`deskhand serve` with the fake sandbox, a page of it that is signed in, and episodes for its store."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from PIL import Image as Picture
from playwright.sync_api import ConsoleMessage, Page, expect

from deskhand_agent.ids import new_id
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind, StepScore
from deskhand_sandbox.types import (
    Click,
    Drag,
    EnvironmentSpec,
    Image,
    Observation,
    Outcome,
    Press,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)

T = TypeVar("T")
PROGRAMS = Path(__file__).parents[1] / "platform/programs"
MARKUP = '<img src="x" onerror="window.harmed=1"><script>window.harmed=1</script><b id="bold">x</b>'
PATIENCE_MS = 100_000
"""For what is to come: a page is slow where all tests share two cores."""
SCREENS = pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1366, "light"),
        (390, "dark"),
        pytest.param(1366, "dark", marks=pytest.mark.slow),
        pytest.param(390, "light", marks=pytest.mark.slow),
    ],
)
"""A laptop's and a phone's, in the light and in the dark."""
expect.set_options(timeout=PATIENCE_MS)

RUN = """
import json, os, sys
from pathlib import Path

import counting_run

folder = Path(sys.argv[1])
phase = json.loads((folder / "spec.json").read_text())["labels"].get("phase")
if phase is None:  # asked for by itself, and not by a round
    from deskhand_trainer.run import main

    sys.exit(main([str(folder)]))
os.environ["COUNTING_STEPS"] = "90000" if phase == "ppo" else "2"
os.environ["COUNTING_STEP_S"] = "0.05" if phase == "ppo" else "0.01"
sys.exit(counting_run.main(folder))
"""
"""Every phase of a round is over at once but PPO, which goes on until it is stopped."""


class Platform:
    """`deskhand serve` as a user starts it, and its store."""

    def __init__(
        self,
        home: Path,
        *,
        kinds: Sequence[str] = ("browser", "fake"),
        endpoints: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        self.home = home
        (home / "page_run.py").write_text(RUN)
        environment = {
            **os.environ,
            "DESKHAND_HOME": str(home),
            "DESKHAND_ROUNDS__RUN_MODULE": "page_run",
            "DESKHAND_SANDBOX__KINDS": json.dumps(kinds),
            "DESKHAND_JOBS__ENDPOINTS": json.dumps(endpoints),
            "PYTHONPATH": os.pathsep.join([str(home), str(PROGRAMS), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-m", "deskhand_platform.cli.app", "serve", "--port", str(port)]
        with (home / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.url = self._address()
        self.token = (home / "token").read_text().strip()

    def _address(self) -> str:
        deadline = time.monotonic() + 150
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                said = json.loads((self.home / "serve.lock").read_text())
                if said["pid"] == self.process.pid and said["url"]:
                    return str(said["url"])
            except (FileNotFoundError, ValueError):
                pass
            time.sleep(0.05)
        self.process.kill()  # nobody else knows of it
        self.process.wait()
        raise AssertionError((self.home / "serve.log").read_text())

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_MS / 1000)

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self.send("POST", path, body)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """By the token of the first start, what a route answers."""
        headers = {"Authorization": f"Bearer {self.token}"}
        response = httpx.request(
            method, f"{self.url}{path}", json=body, headers=headers, trust_env=False, timeout=60
        )
        response.raise_for_status()
        return response.json() if response.content else None

    def store(self) -> Any:
        return Store.open(f"sqlite+aiosqlite:///{self.home / 'deskhand.db'}", f"file://{self.home / 'blobs'}")

    def tell(self, subject: str, kind: EventKind, name: str, data: dict[str, Any]) -> None:
        """Append an event, as a run does from its own process."""

        async def append() -> None:
            async with await self.store() as store:
                event = Event(id=0, at_s=time.time(), subject=subject, kind=kind, name=name, data=data)
                await store.append_event(event)

        in_a_thread(append)


class Signed:
    """A page that is signed in, and everything its console complained of since."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.url}{path}")
        return self.page


@contextmanager
def unhurried(page: Page) -> Generator[None]:
    """No timer of a page runs out meanwhile, however slow what is done there.

    Its clock was installed before it was opened."""
    page.clock.pause_at(page.evaluate("() => Date.now() + 60_000"))
    yield
    page.clock.resume()


def in_a_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The synchronous browser keeps an event loop running in this thread: another one needs its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def record(
    platform: Platform,
    steps: int = 0,
    *,
    other_at: int | None = None,
    marked: bool = True,
    decisions: Sequence[Decision] = (),
    instruction: str | None = None,
) -> str:
    """An episode written by another process than the server: every text markup, or so many plain steps.

    Args:
        other_at: the step that is not as plain as the others.
        marked: a person marked its first step.
        decisions: of its steps, in place of plain ones.
        instruction: None: markup.
    """

    async def write() -> str:
        async with await platform.store() as store:
            plain_ones = [plain(at) if at != other_at else OTHER for at in range(steps)]
            begun = await begin(store, MARKUP if instruction is None else instruction)
            await write_steps(store, tuple(decisions or plain_ones) or HOSTILE, begun)
            return await write_end(store, begun, marked=marked)

    return in_a_thread(write)


def grow(platform: Platform, trajectory: str | None, steps: range, *, ends: bool = False) -> str:
    """Some more plain steps of an episode that runs; a new one when there is none yet."""

    async def write() -> str:
        async with await platform.store() as store:
            grown = await write_steps(store, [plain(at) for at in steps], trajectory, steps.start)
            return await write_end(store, grown) if ends else grown

    return in_a_thread(write)


def plain(at: int) -> Decision:
    return Decision(actions=(Click(x=20, y=30),), text=f"reply {at}")


OTHER = Decision(actions=(Click(x=60, y=90),), text="another reply", thought="elsewhere")
HOSTILE = (
    Decision(actions=(Click(x=20, y=30),), text=MARKUP, thought=MARKUP),
    Decision(actions=(TypeText(text=MARKUP), Press(keys=("Control", "<b>"))), text=MARKUP),
    Decision(actions=(Drag(path=((5, 5), (90, 40), (150, 200))),), text=MARKUP),
)


async def write_steps(
    store: Store, decisions: Sequence[Decision], trajectory: str | None = None, first: int = 0
) -> str:
    if trajectory is None:
        trajectory = await begin(store)
    for index, decision in enumerate(decisions, first):
        step = Step(
            index=index,
            observation=screen(250 - index % 200),
            decision=decision,
            reward=0.0,
            action_error=f"hit {MARKUP}",
            timings=StepTimings(model_ms=1, act_ms=2, settle_ms=1),
            finished_at_s=time.time(),
        )
        await store.step(trajectory, step)
    return trajectory


async def begin(store: Store, instruction: str = MARKUP) -> str:
    spec = EnvironmentSpec(kind="fake")
    start = TrajectoryStart(
        id=new_id(),
        task=Task(id="fake/markup", environment=spec, verifier=VerifierSpec(name="fake"), seed=1),
        instruction=instruction,
        policy_id="someone",
        policy_update=0,
        group_id=None,
        split=Split.TRAIN,
        started_at_s=time.time(),
    )
    await store.begin(start)
    return start.id


async def write_end(store: Store, trajectory: str, *, marked: bool = True) -> str:
    end = TrajectoryEnd(
        final_observation=screen(200),
        outcome=Outcome(score=0.0, success=False, detail=f"verdict {MARKUP}"),
        stop_reason=StopReason.TERMINATED,
        failure=None,
        ended_at_s=time.time(),
    )
    await store.end(trajectory, end)
    if not marked:
        return trajectory
    scored = StepScore(
        trajectory_id=trajectory, step_index=0, score=0.2, scorer="human:ada", rationale=MARKUP
    )
    await store.add_scores([scored])
    return trajectory


def screen(shade: int) -> Observation:
    buffer = io.BytesIO()
    Picture.new("RGB", (160, 210), (shade, shade, shade)).save(buffer, "PNG")
    data = buffer.getvalue()
    image = Image(digest=digest_of(data), format="png", width_px=160, height_px=210, data=data)
    return Observation(
        screenshot=image,
        captured_at_s=time.time(),
        settled_ms=1.0,
        url=f"https://example.test/{MARKUP}",
        text_tree=MARKUP,
        terminal=MARKUP,
        dialog=MARKUP,
    )
