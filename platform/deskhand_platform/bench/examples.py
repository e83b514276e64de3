"""Examples per second that a base model can be taught by: pages drawn in Chromium, and questions about them.

    deskhand bench examples [--tabs 8] [--seconds 20] [--repeats 5] [--questions 12] [--results docs/results]

An example is a question with its answer. In every tab pages are drawn one after another and asked about, as
pretraining does; sizes are as its defaults mix them, and so are pages on which actions are taken to ask what
they changed.
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
from typing import TypeAlias

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import Split, Task
from deskhand_trainer.base.change_questions import ask_about
from deskhand_trainer.base.changes import change_tasks, watch
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.pages import look, page_tasks
from deskhand_trainer.base.questions import ask_many
from deskhand_trainer.results import Figure, write_figures, write_results_page

COMMAND = "deskhand bench examples"
GOAL = ">= 200"
PAGES_AHEAD = 2_000
"""Of each size: they are drawn in turns until the time is over."""

Work: TypeAlias = tuple[str, bool]
"""End of a task's name, and whether actions are taken on its pages."""


async def bench_examples(*, tabs: int, seconds: float, repeats: int, questions: int) -> Figure:
    """Measure.

    Args:
        seconds: how long each repeat draws.
        questions: about each page.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    config = PretrainConfig()
    shares = {
        ("", False): config.pages,
        ("-wide", False): config.wide_pages,
        ("-large", False): config.large_pages,
        ("", True): config.change_pages,
        ("-wide", True): config.wide_change_pages,
        ("-large", True): config.large_change_pages,
    }
    backend = create_backend("browser")
    rates: list[float] = []
    try:
        sandboxes = [await backend.create() for _ in range(tabs)]
        works = _spread(shares, tabs)
        streams = {work: itertools.cycle(_tasks(*work)) for work in set(works)}
        for sandbox, work in zip(sandboxes, works, strict=True):
            await look(sandbox, next(streams[work]))
        for _ in range(repeats):
            began = time.perf_counter()
            counts = (
                _work(sandbox, streams[work], questions, began + seconds, worked=work[1])
                for sandbox, work in zip(sandboxes, works, strict=True)
            )
            made = sum(await asyncio.gather(*counts))
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
        note=f"{questions} questions a page or change; median of {repeats} repeats; low, high: least, most",
        command=COMMAND,
        config={
            "tabs": tabs,
            "seconds": seconds,
            "questions": questions,
            "sizes": [size for size, _ in works],
            "worked": [worked for _, worked in works],
        },
        seeds="train",
    )


def _tasks(size: str, worked: bool) -> list[Task]:
    if not worked:
        return page_tasks(size, Split.TRAIN, PAGES_AHEAD)
    # one task after another, as pretraining does: another's page takes longer to open
    return sorted(change_tasks(size, Split.TRAIN, PAGES_AHEAD), key=lambda task: task.id)


async def _work(
    sandbox: Sandbox, tasks: Iterator[Task], questions: int, until: float, *, worked: bool
) -> int:
    made = 0
    while time.perf_counter() < until:
        task = next(tasks)
        draw = random.Random(task.seed)
        if worked:
            changes = await watch(sandbox, task)
            made += sum(len(ask_about(change, questions, draw, told=False)) for change in changes)
        else:
            made += len(ask_many(await look(sandbox, task), questions, draw))
    return made


def _spread(shares: dict[Work, int], tabs: int) -> list[Work]:
    """Work for every tab, as near to the shares as whole tabs come; each once where there is room."""
    total = sum(shares.values())
    found = [work for work, share in shares.items() if share][:tabs]
    while len(found) < tabs:
        found.append(max(shares, key=lambda work: tabs * shares[work] / total - found.count(work)))
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
