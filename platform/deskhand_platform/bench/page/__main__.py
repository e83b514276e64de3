"""The page measured in Chromium, nothing of it cached: what a reader waits for.

deskhand bench page [--trajectories 100000] [--steps 10000] [--openings 9] [--results docs/results]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.bench.page.accessibility import AXE
from deskhand_platform.bench.page.browsing import PLACES, chromium, faults, first, script_bytes
from deskhand_platform.bench.page.served import LONG, served
from deskhand_platform.bench.page.smoothness import list_gaps, replay_gaps
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_platform.errors import PlatformError
from deskhand_sandbox.errors import SandboxError
from deskhand_trainer.results import Figure, write_figures, write_results_page

COMMAND = "deskhand bench page"
WAIT = "<= 500"
FRAME = "<= 50"


def bench_page(*, trajectories: int, steps: int, openings: int) -> list[Figure]:
    """Measure.

    Args:
        steps: of the trajectory whose replay is opened.
        openings: of each address, each in a browser profile of its own.

    Raises:
        PlatformError, SandboxError: the platform does not come up, or there is no Chromium.
    """
    with (
        tempfile.TemporaryDirectory(prefix="deskhand-bench-") as home,
        served(Path(home), trajectories=trajectories, steps=steps) as at,
        chromium() as browser,
    ):
        # the server's own first answer is not the page's
        first(browser, at, "/trajectories", "row")
        images = [first(browser, at, f"/trajectories/{LONG}", "image") for _ in range(openings)]
        lists = [first(browser, at, "/trajectories", "row") for _ in range(openings)]
        held, scrolled = replay_gaps(browser, at, steps=steps), list_gaps(browser, at)
        script = script_bytes(browser, at)
        found = faults(browser, at)
    for fault in found:
        print(fault, file=sys.stderr)
    shared: dict[str, Any] = {
        "command": COMMAND,
        "config": {"trajectories": trajectories, "steps": steps, "openings": openings},
    }
    note = f"median of {openings} openings; low and high: least and most"
    return [
        _wait("first_image_ms", images, f"replay of {steps} steps to its first picture; {note}", shared),
        _wait("list_100k_ms", lists, f"list of {trajectories} trajectories to its first row; {note}", shared),
        _frames("replay_frame_ms_p95", held, f"a key is held through a replay of {steps} steps", shared),
        _frames("list_frame_ms_p95", scrolled, f"a list of {trajectories} trajectories is scrolled", shared),
        Figure(
            name="script_gzip_kb",
            value=round(script / 1000, 1),
            unit="kB",
            goal="<= 400",
            note="scripts that the first load of the start page asks for, gzipped",
            **shared,
        ),
        Figure(
            name="axe_serious",
            value=len(found),
            unit="faults",
            goal="<= 0",
            note=f"serious and critical, by axe-core, on {len(PLACES)} pages, light and dark",
            **shared,
        ),
    ]


def _wait(name: str, samples: Sequence[float], note: str, shared: dict[str, Any]) -> Figure:
    return Figure(
        name=name,
        value=round(statistics.median(samples)),
        unit="ms",
        low=round(min(samples)),
        high=round(max(samples)),
        goal=WAIT,
        note=note,
        **shared,
    )


def _frames(name: str, gaps: Sequence[float], when: str, shared: dict[str, Any]) -> Figure:
    return Figure(
        name=name,
        value=round(quantile(gaps, 0.95), 1),
        unit="ms",
        high=round(max(gaps), 1),
        goal=FRAME,
        note=f"gaps between frames while {when}: 95th percentile of {len(gaps)}; high: the longest",
        **shared,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write page.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="What a reader of the page waits for, in Chromium.",
        epilog=f"Example:  {COMMAND} --trajectories 10000 --openings 3",
    )
    parser.add_argument("--trajectories", type=int, default=100_000, help="to list (%(default)s)")
    parser.add_argument("--steps", type=int, default=10_000, help="of what is replayed (%(default)s)")
    parser.add_argument("--openings", type=int, default=9, help="of each address (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    if min(options.trajectories, options.steps, options.openings) < 1:
        parser.error("trajectories, steps and openings must be positive")
    if not AXE.exists():
        print(f"cannot measure: {AXE} is missing; run `npm ci` in web_ui", file=sys.stderr)
        return 1
    try:
        figures = bench_page(
            trajectories=options.trajectories, steps=options.steps, openings=options.openings
        )
    except (FlywheelError, PlatformError, SandboxError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for figure in figures:
        print(f"{figure}\n    {figure.note}")
    write_figures(options.results / "page.json", figures)
    write_results_page(options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
