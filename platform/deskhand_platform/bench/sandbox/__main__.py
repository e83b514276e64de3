"""Sandboxes measured: each kind by itself, beside its peers, and under random deaths.

    deskhand bench sandbox [--only kinds changes leases many cdp browsergym vm soak]
                           [--kinds browser desktop …] [--samples 100] [--repeats 10] [--most 2048]
                           [--leases 2000] [--vms] [--results docs/results]

BrowserGym and a bare protocol loop are measured in the same run as we are, in turns. Without --only
everything is done, VMs and their images included: it takes more than an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from deskhand_platform.bench.sandbox.cdp import bench_cdp
from deskhand_platform.bench.sandbox.changes import bench_changes
from deskhand_platform.bench.sandbox.kinds import bench_kind, bench_leases
from deskhand_platform.bench.sandbox.many import bench_many
from deskhand_platform.bench.sandbox.peers import bench_browsergym
from deskhand_platform.bench.sandbox.samples import COMMAND
from deskhand_platform.bench.sandbox.soak import soak
from deskhand_platform.bench.sandbox.starts import kinds_here
from deskhand_platform.bench.sandbox.vm import bench_vm
from deskhand_sandbox.errors import SandboxError
from deskhand_trainer.results import Figure, write_figures, write_results_page

PARTS = ("kinds", "changes", "leases", "many", "cdp", "browsergym", "vm", "soak")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write sandbox.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Sandboxes measured: each kind by itself, beside its peers, and under random deaths.",
        epilog=f"Example:  {COMMAND} --only browsergym --repeats 20",
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    here = kinds_here()
    parser.add_argument(
        "--kinds", nargs="+", choices=here, default=here, metavar="KIND", help=", ".join(here)
    )
    parser.add_argument("--samples", type=int, default=100, help="of each duration (%(default)s)")
    parser.add_argument("--repeats", type=int, default=10, help="beside a peer (%(default)s)")
    parser.add_argument("--builds", type=int, default=3, help="of the VM's image (%(default)s)")
    parser.add_argument("--most", type=int, default=2048, help="worlds held at once (%(default)s)")
    parser.add_argument("--leases", type=int, default=2000, help="of the soak (%(default)s)")
    parser.add_argument(
        "--deaths",
        type=float,
        default=0.05,
        help="share of leases with one; 0: figures of their own, calm_… (%(default)s)",
    )
    parser.add_argument("--workers", type=int, default=4, help="leases at a time in the soak (%(default)s)")
    parser.add_argument("--vms", action="store_true", help="virtual machines in the soak too: slower by far")
    parser.add_argument("--seed", type=int, default=0, help="of the soak (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    if (
        min(options.samples, options.repeats, options.most, options.leases, options.workers) < 1
        or not 0 <= options.deaths <= 1
    ):
        parser.error("samples, repeats, most, leases and workers must be positive, deaths a share")
    if "soak" in options.only and not _soaked(options):
        parser.error("a soak of virtual machines alone wants --vms")
    try:
        figures = asyncio.run(_measure(options))
    except SandboxError as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for figure in figures:
        verdict = {None: "", True: "met", False: "MISSED"}[figure.met]
        print(f"{figure.name:40} {figure.value:10.3f} {figure.unit:8} {figure.goal or '':8} {verdict}")
    write_figures(options.results / "sandbox.json", figures)
    write_results_page(options.results)
    return 0


async def _measure(options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    if "kinds" in options.only:
        for kind in options.kinds:
            figures += await bench_kind(kind, options.samples, _say)
    if "changes" in options.only:
        figures += await bench_changes(options.repeats, _say)
    if "leases" in options.only:
        figures += await bench_leases("browser", options.samples)
    if "many" in options.only:
        figures += await bench_many(options.most, _say)
    if "cdp" in options.only:
        figures += await bench_cdp(options.repeats, _say)
    if "browsergym" in options.only:
        figures += await bench_browsergym(options.repeats, _say)
    if "vm" in options.only and "vm" in options.kinds:
        figures += await bench_vm(options.repeats, options.builds, _say)
    if "soak" in options.only:
        figures += await soak(
            _soaked(options),
            leases=options.leases,
            deaths=options.deaths,
            workers=options.workers,
            seed=options.seed,
            say=_say,
        )
    return figures


def _soaked(options: argparse.Namespace) -> list[str]:
    return [kind for kind in options.kinds if kind != "vm" or options.vms]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
