"""Examples per second that a base model can be taught by: pages drawn in Chromium, and questions about them.

    deskhand bench examples [--tabs 8] [--seconds 20] [--repeats 5] [--questions 12] [--results docs/results]

An example is a question with its answer. Pages are drawn one after another in every tab, looked at, and asked
about, as pretraining does; sizes are as its defaults mix them.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import Split, Task
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.pages import look, page_tasks
from deskhand_trainer.base.questions import ask_many
from deskhand_trainer.results import Figure, write_figures, write_results_page

COMMAND = "deskhand bench examples"
GOAL = ">= 200"
PAGES_AHEAD = 2_000
"""Of each size: they are drawn in turns until the time is over."""


async def bench_examples(*, tabs: int, seconds: float, repeats: int, questions: int) -> Figure:
    """Measure.

    Args:
        seconds: how long each repeat draws.
        questions: about each page.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    config = PretrainConfig()
    shares = {"": config.pages, "-wide": config.wide_pages, "-large": config.large_pages}
    backend = create_backend("browser")
    rates: list[float] = []
    try:
        sandboxes = [await backend.create() for _ in range(tabs)]
        sizes = _spread(shares, tabs)
        streams = {size: itertools.cycle(page_tasks(size, Split.TRAIN, PAGES_AHEAD)) for size in set(sizes)}
        for sandbox, size in zip(sandboxes, sizes, strict=True):
            await look(sandbox, next(streams[size]))
        for _ in range(repeats):
            began = time.perf_counter()
            works = (
                _work(sandbox, streams[size], questions, began + seconds)
                for sandbox, size in zip(sandboxes, sizes, strict=True)
            )
            made = sum(await asyncio.gather(*works))
            rates.append(made / (time.perf_counter() - began))
            print(f"{rates[-1]:.0f} examples/s", flush=True)
    finally:
        await backend.close()
    return Figure(
        name="examples_per_s",
        value=round(statistics.median(rates), 1),
        unit="examples/s",
        low=round(min(rates), 1),
        high=round(max(rates), 1),
        goal=GOAL,
        note=f"{questions} questions a page; median of {repeats} repeats; low and high: least and most",
        command=COMMAND,
        config={"tabs": tabs, "seconds": seconds, "questions": questions, "sizes": list(sizes)},
        seeds="train",
    )


async def _work(sandbox: Sandbox, tasks: Iterator[Task], questions: int, until: float) -> int:
    made = 0
    while time.perf_counter() < until:
        page = await look(sandbox, next(tasks))
        made += len(ask_many(page, questions, random.Random(page.seed)))
    return made


def _spread(shares: dict[str, int], tabs: int) -> list[str]:
    """A size for every tab, as near to the shares as whole tabs come; each size once where there is room."""
    total = sum(shares.values())
    found = [size for size, share in shares.items() if share][:tabs]
    while len(found) < tabs:
        found.append(max(shares, key=lambda size: tabs * shares[size] / total - found.count(size)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into base.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Examples per second, from pages drawn in Chromium."
    )
    parser.add_argument("--tabs", type=int, default=8, help="that draw side by side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each repeat (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--questions", type=int, default=12, help="about each page (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    if min(options.tabs, options.repeats, options.questions) < 1 or options.seconds <= 0:
        parser.error("tabs, seconds, repeats and questions must be positive")
    try:
        figure = asyncio.run(
            bench_examples(
                tabs=options.tabs,
                seconds=options.seconds,
                repeats=options.repeats,
                questions=options.questions,
            )
        )
    except SandboxError as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    print(f"{figure.name}: {figure.value:.0f} ({figure.low} to {figure.high}) {figure.unit}")
    write_figures(options.results / "base.json", [figure])
    write_results_page(options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
