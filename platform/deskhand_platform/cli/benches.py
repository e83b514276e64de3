"""`deskhand bench` and `deskhand study`: every measurement, written to docs/results/."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Annotated

import typer

from deskhand_platform.errors import ChildFailed, NotFound

BENCHES = {"rollouts": "deskhand_platform.bench.rollout_cdp"}
STUDIES = {"loop": "deskhand_trainer.studies.loop"}
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
Name = Annotated[str, typer.Argument(help="which one; `all` for every one")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(context_settings=PASS_ON, epilog="Example:  deskhand bench rollouts")(bench)
    app.command(context_settings=PASS_ON, epilog="Example:  deskhand study loop")(study)


def bench(context: typer.Context, name: Name) -> None:
    """Measure; further options go to the bench itself."""
    _run("bench", name, BENCHES, context.args)


def study(context: typer.Context, name: Name) -> None:
    """Train and compare, over seeds; further options go to the study itself."""
    _run("study", name, STUDIES, context.args)


def _run(what: str, name: str, known: dict[str, str], arguments: list[str]) -> None:
    if name != "all" and name not in known:
        raise NotFound(what, name, [*known, "all"])
    for one in known if name == "all" else [name]:
        module = known[one]
        if importlib.util.find_spec(module) is None:
            raise ChildFailed(f"this installation has no {what} {one}: {module} is missing")
        status = subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode
        if status:
            raise ChildFailed(f"{what} {one} ended with exit status {status}")
