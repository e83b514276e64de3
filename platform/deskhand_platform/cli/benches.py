"""`deskhand bench` and `deskhand study`: every measurement, written to docs/results/."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from deskhand_platform.cli.console import out
from deskhand_platform.errors import ChildFailed, NotFound

BENCHES = {
    "rollouts": "deskhand_platform.bench.rollout_cdp",
    "examples": "deskhand_platform.bench.examples",
    "base": "deskhand_platform.bench.base",
    "actions": "deskhand_platform.bench.actions",
    "trainer": "deskhand_trainer.bench",
    "learner": "deskhand_trainer.bench.learner",
    "decoding": "deskhand_trainer.bench.decoding",
    "memory": "deskhand_trainer.bench.memory",
    "sandbox": "deskhand_platform.bench.sandbox",
    "flywheel": "deskhand_platform.bench.flywheel",
    "api": "deskhand_platform.bench.api",
    "page": "deskhand_platform.bench.page",
    "fresh-clone": "deskhand_platform.bench.fresh_clone",
}
ALL = "all"
TOLD = ("base",)
"""Those that have to be told what to measure: `all` leaves them out."""
STUDIES = {
    name: f"deskhand_trainer.studies.{name}" for name in ("loop", "sizes", "base", "ladder", "prm")
} | {"rounds": "deskhand_platform.studies.rounds", "test-time": "deskhand_trainer.studies.test_time"}
PASS_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Every option goes to the measurement itself, --help too."""
HELP = ("", "-h", "--help")
Name = Annotated[str, typer.Argument(help="which one")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(context_settings=PASS_ON, epilog="Example:  deskhand bench rollouts")(bench)
    app.command(context_settings=PASS_ON, epilog="Example:  deskhand study loop")(study)


def bench(context: typer.Context, name: Name = "") -> None:
    """Measure; further options go to the bench itself.

    `all` does all that need not be told what to measure, and the studies too, which takes hours.
    """
    if name in HELP or (name == ALL and not {*HELP}.isdisjoint(context.args)):
        _list("bench", [*BENCHES])
        out.print(f"  {ALL:10} all of these but {', '.join(TOLD)}, then every study: hours")
        return
    if name == ALL:
        for module in (*(BENCHES[each] for each in BENCHES if each not in TOLD), *STUDIES.values()):
            command = [sys.executable, "-m", _found(module), *context.args]
            if status := subprocess.run(command, check=False).returncode:
                raise ChildFailed(f"{module} ended with exit status {status}")
        return
    _run(_known("bench", name, BENCHES), context.args)


def study(context: typer.Context, name: Name = "") -> None:
    """Train and compare, over seeds; further options go to the study itself."""
    if name in HELP:
        _list("study", [*STUDIES])
        return
    _run(_known("study", name, STUDIES), context.args)


def _list(command: str, names: Sequence[str]) -> None:
    """What there is, and how to learn more."""
    out.print(f"usage: deskhand {command} NAME [options of NAME]")
    for name in names:
        out.print(f"  {name:10} deskhand {command} {name} --help")


def _known(what: str, name: str, known: dict[str, str]) -> str:
    if name not in known:
        raise NotFound(what, name, known)
    return known[name]


def _run(module: str, arguments: list[str]) -> None:
    # in place of this process: signals reach it, and its exit status is that of the command
    os.execv(sys.executable, [sys.executable, "-m", _found(module), *arguments])


def _found(module: str) -> str:
    """The module's own name.

    Raises:
        ChildFailed: this installation does not have it.
    """
    try:
        if importlib.util.find_spec(module) is not None:
            return module
    except ModuleNotFoundError:
        pass
    raise ChildFailed(f"this installation has no {module}; install Deskhand from its repository")
