"""The API measured: how fast tasks are taken, that none is lost, that it does what its description says.

deskhand bench api [--quick] [--only submitting draining contract] [--results docs/results]
                   [--submissions 4000] [--pairs 9] [--seconds 60] [--tasks 100000] [--streams 200] …
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.api.app import create_app
from deskhand_platform.bench.api.contract import contract_breaks, open_reads
from deskhand_platform.bench.api.draining import bench_draining
from deskhand_platform.bench.api.servers import serving
from deskhand_platform.bench.api.submitting import COMMAND, bench_submitting
from deskhand_platform.client import ClientError
from deskhand_platform.errors import PlatformError
from deskhand_trainer.results import Figure, write_figures, write_results_page

PARTS = ("submitting", "draining", "contract")
QUICK = {
    "submissions": 400,
    "pairs": 3,
    "seconds": 5,
    "tasks": 2_000,
    "streams": 50,
    "told": 20,
    "examples": 3,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write api.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="How fast the API takes tasks, that it loses none, and that it does what it says.",
        epilog=f"Example:  {COMMAND} --quick --only submitting",
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    parser.add_argument("--quick", action="store_true", help="few of everything; nothing is written")
    parser.add_argument("--submissions", type=int, default=4000, help="by each side (%(default)s)")
    parser.add_argument("--pairs", type=int, default=9, help="of the two sides (%(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="at 200 submissions a second (%(default)s)")
    parser.add_argument("--tasks", type=int, default=100_000, help="accepted and drained (%(default)s)")
    parser.add_argument("--streams", type=int, default=200, help="that follow at once (%(default)s)")
    parser.add_argument("--told", type=int, default=200, help="tasks they are about (%(default)s)")
    parser.add_argument("--examples", type=int, default=100, help="requests of an operation (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args(arguments)
    if min(getattr(options, name) for name in QUICK) < 1:
        parser.error(f"{', '.join(QUICK)} must be positive")
    for part in PARTS:
        if part not in options.only:
            continue
        try:
            figures = asyncio.run(_measure(part, options))
        except (PlatformError, ClientError, FlywheelError, OSError) as error:
            print(f"cannot measure {part}: {error}", file=sys.stderr)
            return 1
        for figure in figures:
            print(f"{figure}\n    {figure.note}", flush=True)
        if not options.quick:
            write_figures(options.results / "api.json", figures)
            write_results_page(options.results)
    return 0


async def _measure(part: str, options: argparse.Namespace) -> list[Figure]:
    if part == "submitting":
        return await bench_submitting(
            submissions=options.submissions, pairs=options.pairs, seconds=options.seconds
        )
    if part == "draining":
        return await bench_draining(tasks=options.tasks, streams=options.streams, told=options.told, say=_say)
    return await _contract(options.examples)


async def _contract(examples: int) -> list[Figure]:
    description = create_app().openapi()
    with (
        tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder,
        serving("ours", Path(folder)) as ours,
    ):
        errors, breaks, made = await asyncio.to_thread(
            contract_breaks, description, ours.url, ours.token, examples=examples
        )
        reads = await open_reads(description, ours.url)
    for line in (*errors, *breaks, *reads):
        _say(line)
    config = {"examples": examples}
    return [
        Figure(
            name="schemathesis_errors",
            value=len(errors) + len(breaks),
            unit="requests",
            goal="<= 0",
            note=f"of {made} requests drawn from the API's own description, fitting and unfitting: "
            f"{len(errors)} server errors, {len(breaks)} breaks of the contract",
            command=COMMAND,
            config=config,
        ),
        Figure(
            name="unauthenticated_reads",
            value=len(reads),
            unit="operations",
            goal="<= 0",
            note="that answered who sent no token with anything but 401; liveness, readiness and signing in "
            "are not counted",
            command=COMMAND,
            config=config,
        ),
    ]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
