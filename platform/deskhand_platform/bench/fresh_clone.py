"""How long the two commands take in a fresh clone, set-up included.

    deskhand bench fresh-clone [--only run|test] [--results docs/results]

What is committed is cloned into a temporary folder and `make run` (until its round is over) and `make test`
are run there, without this environment. The package managers' own caches are as they are on the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from deskhand_trainer.results import Figure, write_figures, write_results_page

COMMAND = "deskhand bench fresh-clone"
COMMANDS = {"run": ["make", "run", "RUN_ARGS=--exit --port 0"], "test": ["make", "test"]}
GOALS = {"run": "<= 30", "test": "<= 20"}
ROOT = Path(__file__).parents[3]
TAIL_LINES = 20
STOPPED = (signal.SIGINT, signal.SIGTERM)
STOPPING_S = 60.0
"""How long what was started may take to put things away."""


def measure(name: str, source: Path, folder: Path) -> float:
    """Minutes one of the two commands takes in a clone of its own.

    Args:
        name: "run" or "test".
        source: a checkout; what is committed there counts.
        folder: where to clone to; the log stays beside the clone.

    Raises:
        RuntimeError: it cannot be cloned, or the command failed; says where the log is, and its last lines.
    """
    clone = folder / name
    cloned = subprocess.run(
        ["git", "clone", "--quiet", str(source), str(clone)], capture_output=True, text=True, check=False
    )
    if cloned.returncode:
        raise RuntimeError(f"{source} cannot be cloned: {cloned.stderr.strip()}")
    log = folder / f"{name}.log"
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            COMMANDS[name], cwd=clone, env=outside(), stdout=out, stderr=out, start_new_session=True
        )
        try:
            status = process.wait()
        except BaseException:
            _stop(process)
            raise
    if status:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
        raise RuntimeError(
            f"`{' '.join(COMMANDS[name])}` ended with status {status}, see {log}; its last lines:\n{tail}"
        )
    return (time.monotonic() - began) / 60


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End what was started and all it started: a platform puts its sandboxes away first."""
    ends = time.monotonic() + STOPPING_S
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        while time.monotonic() < ends:
            os.killpg(process.pid, 0)
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)


def outside() -> dict[str, str]:
    """The environment without this virtual environment and without Deskhand's own settings."""
    own = str(Path(sys.prefix) / "bin")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_ENV", "DESKHAND_"))}
    kept["PATH"] = os.pathsep.join(p for p in kept.get("PATH", "").split(os.pathsep) if p != own)
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into loop.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Minutes of the two commands in a fresh clone."
    )
    parser.add_argument("--only", choices=list(COMMANDS), help="one of them")
    parser.add_argument("--results", type=Path, default=Path("docs/results"), help="folder for the figures")
    options = parser.parse_args(arguments)
    # a shell has what it starts in the background ignore Ctrl-C, and what that starts too
    before = {each: signal.signal(each, signal.default_int_handler) for each in STOPPED}
    folder, failed = Path(tempfile.mkdtemp(prefix="deskhand-fresh-")), False
    try:
        for name in [options.only] if options.only else COMMANDS:
            print(f"make {name} in a fresh clone under {folder} …", flush=True)
            minutes = measure(name, ROOT, folder)
            print(f"make {name}: {minutes:.1f} minutes", flush=True)
            figure = Figure(
                name=f"make_{name}_minutes",
                value=round(minutes, 2),
                unit="minutes",
                goal=GOALS[name],
                note="in a fresh clone, set-up included, packages from the package managers' caches",
                command=COMMAND,
            )
            write_figures(options.results / "loop.json", [figure])
            write_results_page(options.results)
    except (RuntimeError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        failed = True
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    finally:
        # the log of what failed stays
        for gone in [folder / name for name in COMMANDS] if failed else [folder]:
            shutil.rmtree(gone, ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0


if __name__ == "__main__":
    sys.exit(main())
