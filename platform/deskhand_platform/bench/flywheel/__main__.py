"""The flywheel measured: how fast it keeps steps and finds them again, in how little, and that it loses none.

deskhand bench flywheel [--only durable size replay lists crash] [--results docs/results]
                        [--steps 1600] [--repeats 7] [--trajectories 100000] [--deaths 50] …
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.bench.flywheel.crash import bench_crash
from deskhand_platform.bench.flywheel.durable import COMMAND, bench_durable
from deskhand_platform.bench.flywheel.lists import bench_lists
from deskhand_platform.bench.flywheel.replay import bench_replay
from deskhand_platform.bench.flywheel.size import bench_size
from deskhand_sandbox.errors import SandboxError
from deskhand_trainer.results import Figure, write_figures, write_results_page

PARTS = ("durable", "size", "replay", "lists", "crash")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write flywheel.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="How fast the flywheel keeps steps and finds them again, and that it loses none.",
        epilog=f"Example:  {COMMAND} --only lists --trajectories 10000",
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    parser.add_argument("--steps", type=int, default=1600, help="written by each side (%(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="pairs of the two sides (%(default)s)")
    parser.add_argument("--episodes", type=int, default=4, help="of each task, for their size (%(default)s)")
    parser.add_argument("--length", type=int, default=1000, help="steps of what is replayed (%(default)s)")
    parser.add_argument("--openings", type=int, default=40, help="times it is opened (%(default)s)")
    parser.add_argument("--trajectories", type=int, default=100_000, help="to list (%(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="rows of each of them (%(default)s)")
    parser.add_argument("--queries", type=int, default=20, help="of each filter (%(default)s)")
    parser.add_argument("--deaths", type=int, default=50, help="of a writing process (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the places it dies at (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    counts = (
        "steps",
        "repeats",
        "episodes",
        "length",
        "openings",
        "trajectories",
        "turns",
        "queries",
        "deaths",
    )
    if min(getattr(options, name) for name in counts) < 1:
        parser.error(f"{', '.join(counts)} must be positive")
    try:
        figures = _measure(options)
    except (FlywheelError, SandboxError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for figure in figures:
        print(f"{figure}\n    {figure.note}")
    write_figures(options.results / "flywheel.json", figures)
    write_results_page(options.results)
    return 0


def _measure(options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    if "durable" in options.only:
        figures += bench_durable(steps=options.steps, repeats=options.repeats)
    if "size" in options.only:
        figures += asyncio.run(bench_size(episodes=options.episodes))
    if "replay" in options.only:
        figures += asyncio.run(bench_replay(steps=options.length, repeats=options.openings))
    if "lists" in options.only:
        figures += asyncio.run(
            bench_lists(
                trajectories=options.trajectories, steps=options.turns, repeats=options.queries, say=_say
            )
        )
    if "crash" in options.only:
        figures += asyncio.run(bench_crash(deaths=options.deaths, seed=options.seed, say=_say))
    return figures


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
