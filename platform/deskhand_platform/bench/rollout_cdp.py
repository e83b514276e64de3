"""Rollout steps per second through our sandboxes, beside a bare protocol loop on the same pages; and what
waiting costs, over simulated environments (`deskhand_trainer.bench.streaming`) and in training on real pages
(`deskhand_trainer.bench.browsers`).

    deskhand bench rollouts [--part pages] [--pages 1,4,8,16] [--seconds 4] [--turns 240] [--repeats 5]

A step is reset + screenshot + click + screenshot + reward of miniwob/click-test-2, with the same settle rule
in every way. The ways take turns within a repeat, in an order that rotates, so that a busy machine hits all
alike: read the ratios, not the rates.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from deskhand_agent.errors import AgentError
from deskhand_sandbox.backends.browser.bare import BarePage, bare_pages
from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click
from deskhand_sandbox.verifiers.miniwob import READ
from deskhand_trainer.bench.browsers import PageLoad, bench_browsers
from deskhand_trainer.bench.streaming import Load, bench_streaming
from deskhand_trainer.errors import TrainerError
from deskhand_trainer.results import Figure, write_figures, write_results_page

TASK_ID = "miniwob/click-test-2"
CLICK_AT = (50, 120)
SEED_BASE = 1_000_000
BARE, SANDBOX, REMOTE = "bare", "sandbox", "remote"
COMMAND = "deskhand bench rollouts"
PARTS = PAGES, SIMULATED, BROWSERS = "pages", "simulated", "browsers"
"""Steps on real pages beside raw CDP; what waiting costs over simulated environments; and in training on real
pages."""

StepOnce = Callable[[int], Awaitable[float]]
"""Takes a seed, does one step; the milliseconds of it that were waiting for a still screen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One way, measured for a while."""

    rate: float
    """Steps per second of all pages together."""
    settled_ms: float
    """Of a step, on average: its two waits for a still screen."""


async def bench_rollouts(
    pages: Sequence[int] = (1, 4, 8, 16),
    *,
    seconds: float = 4.0,
    repeats: int = 5,
    say: Callable[[str], None] = lambda _: None,
) -> list[Figure]:
    """Measure and return the figures: steps/s of each way and the ratio to bare, for each number of pages.

    Args:
        seconds: how long each way is measured in each repeat.
        say: told every interim result.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    figures: list[Figure] = []
    for count in pages:
        turns = await take_turns(count, (BARE, SANDBOX, REMOTE), seconds=seconds, repeats=repeats, say=say)
        rates = {name: [turn.rate for turn in each] for name, each in turns.items()}
        figures += _figures(count, rates, seconds, repeats)
    return figures


async def take_turns(
    count: int,
    names: Sequence[str],
    *,
    seconds: float,
    repeats: int,
    say: Callable[[str], None] = lambda _: None,
) -> Mapping[str, Sequence[Turn]]:
    """Measure ways on `count` pages each, one after the other in every repeat, in an order that rotates.

    Args:
        names: of the ways: BARE, SANDBOX, REMOTE.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    taken: dict[str, list[Turn]] = {name: [] for name in names}
    async with AsyncExitStack() as stack:
        ways = {name: await stack.enter_async_context(WAYS[name](count)) for name in names}
        for steps in ways.values():
            await _turn(steps, min(1.0, seconds))
        for repeat in range(repeats):
            turn = repeat % len(names)
            for name in (*names[turn:], *names[:turn]):
                taken[name].append(await _turn(ways[name], seconds))
            now = ", ".join(f"{name} {each[-1].rate:.1f}" for name, each in taken.items())
            say(f"{count} pages, repeat {repeat + 1} of {repeats}: {now} steps/s")
    return taken


def _figures(count: int, rates: Mapping[str, Sequence[float]], seconds: float, repeats: int) -> list[Figure]:
    def figure(name: str, values: Sequence[float], unit: str, note: str, goal: str | None = None) -> Figure:
        return Figure(
            name=name,
            value=round(statistics.median(values), 4),
            unit=unit,
            low=round(min(values), 4),
            high=round(max(values), 4),
            goal=goal,
            note=note,
            command=COMMAND,
            config={"task": TASK_ID, "pages": count, "seconds": seconds, "repeats": repeats},
            seeds=f"from {SEED_BASE}",
        )

    spread = f"median of {repeats} repeats; low and high are the least and the most of them"
    names = {
        BARE: f"rollout_bare_cdp_{count}",
        SANDBOX: f"rollout_steps_{count}",
        REMOTE: f"rollout_host_steps_{count}",
    }
    found = [figure(names[way], values, "steps/s", spread) for way, values in rates.items()]
    for way, name in ((SANDBOX, f"rollout_vs_cdp_{count}"), (REMOTE, f"rollout_host_vs_cdp_{count}")):
        ratios = [ours / bare for ours, bare in zip(rates[way], rates[BARE], strict=True)]
        note = f"ours / bare protocol loop, paired within each repeat; {spread}"
        found.append(figure(name, ratios, "ratio", note))
    return found


async def _turn(steps: Sequence[StepOnce], seconds: float) -> Turn:
    began = time.perf_counter()
    settled: list[float] = []

    async def work(index: int, step: StepOnce) -> None:
        seed = SEED_BASE + index
        while time.perf_counter() - began < seconds:
            settled.append(await step(seed))
            seed += len(steps)

    await asyncio.gather(*(work(index, step) for index, step in enumerate(steps)))
    return Turn(rate=len(settled) / (time.perf_counter() - began), settled_ms=statistics.fmean(settled))


@asynccontextmanager
async def _bare(count: int) -> AsyncGenerator[list[StepOnce], None]:
    task = make_task(TASK_ID, SEED_BASE)
    async with bare_pages(task, count, reward=READ) as found:

        def stepper(page: BarePage) -> StepOnce:
            async def step(seed: int) -> float:
                _, settled_ms = await page.step(seed, CLICK_AT)
                return settled_ms

            return step

        yield [stepper(page) for page in found]


@asynccontextmanager
async def _in_process(count: int) -> AsyncGenerator[list[StepOnce], None]:
    backend = create_backend("browser")
    try:
        sandboxes = [await backend.create() for _ in range(count)]
        yield [_through(sandbox) for sandbox in sandboxes]
    finally:
        await backend.close()


@asynccontextmanager
async def _remote(count: int) -> AsyncGenerator[list[StepOnce], None]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deskhand-bench-")))
        settings = HostSettings(kinds={"browser": PoolSettings(max_sandboxes=count)}, state_folder=folder)
        host = await stack.enter_async_context(start_host(settings))
        client = await stack.enter_async_context(SandboxClient(host.url, host.token))
        sandboxes = [
            await stack.enter_async_context(client.lease("browser", owner=f"bench {index}"))
            for index in range(count)
        ]
        yield [_through(sandbox) for sandbox in sandboxes]


def _through(sandbox: Sandbox) -> StepOnce:
    """One step through the sandbox's contract."""
    verifier = create_verifier(make_task(TASK_ID, SEED_BASE).verifier)
    if not isinstance(verifier, RewardingVerifier):
        raise TypeError(f"{TASK_ID} has no rewards of its own")
    x, y = CLICK_AT

    async def step(seed: int) -> float:
        start = await sandbox.reset(make_task(TASK_ID, seed))
        seen = await sandbox.act(Click(x=x, y=y))
        await verifier.step_reward(sandbox)
        return start.observation.settled_ms + seen.settled_ms

    return step


WAYS: Mapping[str, Callable[[int], AbstractAsyncContextManager[list[StepOnce]]]] = {
    BARE: _bare,
    SANDBOX: _in_process,
    REMOTE: _remote,
}
"""By name: what takes steps on so many pages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write rollouts.json; the ratio at 8 pages also goes into loop.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Steps per second on real pages, and what waiting costs: simulated, and in training.",
        epilog="Example:  deskhand bench rollouts --part browsers --repeats 3",
    )
    parser.add_argument("--part", choices=("all", *PARTS), default="all", help="%(default)s")
    parser.add_argument("--pages", default="1,4,8,16", help="numbers of pages, with commas between")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each way on pages, in each repeat")
    parser.add_argument(
        "--turns", type=int, default=PageLoad().turns, help="for each way of training (%(default)s)"
    )
    parser.add_argument(
        "--environments",
        type=int,
        default=PageLoad().environments,
        help="of every way of training (%(default)s)",
    )
    parser.add_argument(
        "--threads", type=int, default=PageLoad().threads, help="of the learner (%(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    try:
        pages = [int(each) for each in options.pages.split(",")]
    except ValueError:
        parser.error(f"--pages takes whole numbers with commas between, not {options.pages!r}")
    if (
        min(*pages, options.turns, options.environments, options.threads, options.repeats) < 1
        or options.seconds <= 0
    ):
        parser.error("pages, seconds, turns, environments, threads and repeats must be positive")
    figures: list[Figure] = []
    try:
        if options.part in ("all", PAGES):
            pages_figures = bench_rollouts(pages, seconds=options.seconds, repeats=options.repeats, say=_say)
            figures += asyncio.run(pages_figures)
        if options.part in ("all", SIMULATED):
            figures += bench_streaming(Load(), repeats=options.repeats, command=COMMAND, say=_say)
        if options.part in ("all", BROWSERS):
            load = PageLoad(turns=options.turns, environments=options.environments, threads=options.threads)
            training = bench_browsers(load, repeats=options.repeats, command=COMMAND, say=_say)
            figures += asyncio.run(training)
    except (SandboxError, AgentError, TrainerError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for figure in figures:
        print(f"{figure.name:32} {figure.value:9.3f}  {figure.low:9.3f} to {figure.high:9.3f}  {figure.unit}")
    write_figures(options.results / "rollouts.json", figures)
    loop = [each for each in figures if each.name == "rollout_vs_cdp_8"]
    if loop:
        write_figures(options.results / "loop.json", loop)
    write_results_page(options.results)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
