"""Our browser sandbox beside BrowserGym's MiniWoB loop: the same pages, the same Chromium, in one run.

BrowserGym is installed from PyPI into an environment of its own in the user's cache, and finds our Chromium
where it looks for the browsers of its Playwright. Its loop makes a browser and a chat window for every reset;
that is its design, and it is what its users wait for.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from deskhand_platform.bench.sandbox.samples import ratio
from deskhand_platform.bench.sandbox.starts import MINIWOB
from deskhand_sandbox.backends.browser.chromium import find_chromium
from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, JsonValue
from deskhand_trainer.results import Figure

VERSION = "0.14.3"
LOOP = Path(__file__).with_name("browsergym_loop.py")
IDLE_AT = (5, 200)
"""A click there does nothing: no episode ends."""
SEED_BASE = 2_000_000
ANSWER_S = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """Milliseconds of a reset and of three steps."""

    reset_ms: float
    steps_ms: tuple[float, ...]

    @property
    def whole_ms(self) -> float:
        return self.reset_ms + sum(self.steps_ms)


Runner = Callable[[int, bool], Awaitable[Episode]]
"""Runs an episode of a seed."""


async def bench_browsergym(repeats: int, say: Callable[[str], None]) -> list[Figure]:
    """Steps and episodes, theirs over ours.

    Raises:
        BackendMissing: BrowserGym cannot be installed, or there is no Chromium.
        InfrastructureError: its loop failed; says how.
    """
    ours: dict[bool, list[Episode]] = {True: [], False: []}
    theirs: dict[bool, list[Episode]] = {True: [], False: []}
    async with _peer() as peer, _own() as own:
        for tree in (True, False):
            await own(SEED_BASE, tree)
            await peer(SEED_BASE, tree)
        for repeat in range(repeats):
            seed = SEED_BASE + 1 + repeat
            for flag in (True, False) if repeat % 2 else (False, True):
                theirs[flag].append(await peer(seed, flag))
                ours[flag].append(await own(seed, flag))
            say(
                f"repeat {repeat + 1} of {repeats}, ms of an episode: {ours[False][-1].whole_ms:.0f}, "
                f"BrowserGym {theirs[False][-1].whole_ms:.0f}, as shipped {theirs[True][-1].whole_ms:.0f}"
            )
    config: dict[str, JsonValue] = {"task": MINIWOB, "browsergym": VERSION, "repeats": repeats}
    step = (
        "a click with its screenshot and accessibility tree; BrowserGym's fixed delays (0.5 s, slow_mo) off"
    )
    whole = "a reset and three clicks with screenshots"
    return [
        ratio(
            "browser_step_vs_browsergym",
            [statistics.median(each.steps_ms) for each in ours[True]],
            [statistics.median(each.steps_ms) for each in theirs[False]],
            config,
            goal=">= 2.5",
            note=step,
        ),
        ratio(
            "browser_episode_vs_browsergym",
            [each.whole_ms for each in ours[False]],
            [each.whole_ms for each in theirs[False]],
            config,
            goal=">= 8",
            note=f"{whole}; BrowserGym's fixed delays off",
        ),
        ratio(
            "browser_episode_vs_browsergym_shipped",
            [each.whole_ms for each in ours[False]],
            [each.whole_ms for each in theirs[True]],
            config,
            goal=">= 15",
            note=f"{whole}; BrowserGym as it ships",
        ),
    ]


@asynccontextmanager
async def _own() -> AsyncGenerator[Runner, None]:
    """One of our episodes; the flag asks for the accessibility tree at every step."""
    backend = create_backend("browser")
    x, y = IDLE_AT
    try:
        async with await backend.create() as sandbox:

            async def episode(seed: int, tree: bool) -> Episode:
                began = perf_counter()
                await sandbox.reset(make_task(MINIWOB, seed))
                reset_ms = (perf_counter() - began) * 1000
                steps_ms: list[float] = []
                for _ in range(3):
                    began = perf_counter()
                    await sandbox.act(Click(x=x, y=y))
                    if tree:
                        await sandbox.observe(text_tree=True)
                    steps_ms.append((perf_counter() - began) * 1000)
                return Episode(reset_ms=reset_ms, steps_ms=tuple(steps_ms))

            yield episode
    finally:
        await backend.close()


@asynccontextmanager
async def _peer() -> AsyncGenerator[Runner, None]:
    """One of BrowserGym's episodes; the flag asks for its fixed delays as it ships."""
    home = _home()
    python = await asyncio.to_thread(_installed, home)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-I", str(LOOP), MINIWOB.partition("/")[2], *map(str, IDLE_AT)),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(home / "browsers"), "MINIWOB_URL": _pages(python)},
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None and stdout is not None and stderr is not None

    async def answer() -> dict[str, object]:
        try:
            async with asyncio.timeout(ANSWER_S):
                return json.loads(await stdout.readline())
        except (ValueError, TimeoutError) as error:
            process.kill()
            said = (await stderr.read()).decode(errors="replace").strip()[-800:]
            raise InfrastructureError(f"BrowserGym's loop failed: {said or 'no answer'}") from error

    async def episode(seed: int, shipped: bool) -> Episode:
        stdin.write(f"{seed} {int(shipped)}\n".encode())
        told = await answer()
        return Episode(reset_ms=float(str(told["reset_ms"])), steps_ms=tuple(map(float, told["steps_ms"])))  # type: ignore[arg-type]

    try:
        await answer()
        yield episode
    finally:
        stdin.close()
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _home() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    return cache / "deskhand" / "peers" / f"browsergym-{VERSION}"


def _installed(home: Path) -> Path:
    """Its Python, after making an environment for it the first time.

    Raises:
        BackendMissing: that failed; says why.
    """
    python = home / "bin" / "python"
    if not (home / "whole").exists():
        shutil.rmtree(home, ignore_errors=True)
        _run("BrowserGym's environment", sys.executable, "-m", "venv", str(home))
        _run(
            "BrowserGym",
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            f"browsergym-miniwob=={VERSION}",
            "miniwob",
        )
        _lend_browser(home, python)
        (home / "whole").touch()
    return python


def _lend_browser(home: Path, python: Path) -> None:
    """Put our Chromium where its Playwright looks for its own."""
    where = "import playwright, pathlib; print(pathlib.Path(playwright.__file__).parent)"
    package = Path(_run("its Playwright", str(python), "-c", where).strip())
    listed = json.loads((package / "driver/package/browsers.json").read_text())["browsers"]
    revision = next(each["revision"] for each in listed if each["name"] == "chromium")
    chrome = home / "browsers" / f"chromium-{revision}" / "chrome-linux" / "chrome"
    chrome.parent.mkdir(parents=True)
    chrome.write_text(
        f'#!/bin/sh\nexec {shlex.quote(str(find_chromium()))} --no-sandbox --disable-gpu "$@"\n'
    )
    chrome.chmod(0o755)


def _pages(python: Path) -> str:
    """Address of the MiniWoB++ pages it brings."""
    where = "import miniwob, pathlib; print(pathlib.Path(miniwob.__file__).parent / 'html' / 'miniwob')"
    return f"file://{_run('its pages', str(python), '-c', where).strip()}/"


def _run(what: str, *command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BackendMissing(f"{what} cannot be had: {done.stderr.strip()[-500:]}")
    return done.stdout
