"""Figures on disk: docs/results/NAME.json, and the page generated from all of them.

    {"figures": {name: {"value", "unit", "low", "high", "goal", "note", "command", "config", "seeds",
                        "date", "commit", "machine"}}}

A figure written again replaces the one of that name; the others stay. A goal is a comparison and a
number, ">= 0.9"; a goal missed is shown as missed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import operator
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

from deskhand_sandbox.types import JsonValue
from deskhand_trainer.errors import ResultsError

PUBLISHED = Path("docs/results")
"""Where a command line's figures go unless it names another folder."""
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One measured number with all it takes to measure it again."""

    name: str
    value: float
    unit: str
    """"share", "minutes", "steps/s", …"""
    low: float | None = None
    """Lower end of the 95 % interval; None where there is none."""
    high: float | None = None
    goal: str | None = None
    """">= 0.9"; None where the figure only informs."""
    note: str = ""
    """What a reader must know to read the number right."""
    command: str = ""
    """The exact command that measures it."""
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    seeds: JsonValue = None
    """Seeds or seed ranges."""
    date: str = field(default_factory=lambda: datetime.datetime.now(tz=datetime.UTC).date().isoformat())
    commit: str = field(default_factory=lambda: current_commit())
    machine: str = field(default_factory=lambda: this_machine())

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        compare, number = parse_goal(self.goal)
        return compare(self.value, number)

    def __str__(self) -> str:
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        return f"{self.name:52} {self.value:10.3f} {self.unit:10} {self.goal or '':8} {verdict}".rstrip()


def parse_goal(goal: str) -> tuple[Callable[[float, float], bool], float]:
    """Read ">= 0.9".

    Raises:
        ResultsError: it is not a comparison and a number.
    """
    sign, _, number = goal.strip().partition(" ")
    try:
        return COMPARISONS[sign], float(number)
    except (KeyError, ValueError) as error:
        raise ResultsError(f"a goal is a comparison and a number like '>= 0.9', not {goal!r}") from error


def write_figures(path: Path, figures: Sequence[Figure], *, gone: Sequence[str] = ()) -> None:
    """Merge figures by name into `path`, replacing the file in one move.

    Args:
        gone: names of figures that do not stay.

    Raises:
        ResultsError: the file that is there is not in this form, or a goal cannot be read.
    """
    merged = {f.name: f for f in read_figures(path)} if path.exists() else {}
    for name in gone:
        merged.pop(name, None)
    for figure in figures:
        if figure.goal is not None:
            parse_goal(figure.goal)
        merged[figure.name] = figure
    table = {name: _as_json(merged[name]) for name in sorted(merged)}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps({"figures": table}, indent=2, ensure_ascii=False) + "\n")
    draft.replace(path)


def results_file(given: str) -> Path:
    """Where a command line wants its figures: a file of them, there or to be.

    Raises:
        argparse.ArgumentTypeError: a folder, or a file in another form: known before the work, not after it.
    """
    path = Path(given)
    if path.is_dir():
        raise argparse.ArgumentTypeError(
            f"{given} is a folder: name a file in it, such as {path / 'NAME.json'}"
        )
    if path.exists():
        try:
            read_figures(path)
        except ResultsError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return path


def published_or(named: Path | None, published: Path, *, of: str, other: bool) -> Path:
    """Where a command line's figures go: to the place it names, or to the published one.

    Args:
        of: what the published ones are of.
        other: something else is measured: it has the same names, so it needs another place.

    Raises:
        ResultsError: something else is measured, and no place is named.
    """
    if named is None and other:
        raise ResultsError(
            f"the figures in {published} are of {of}: name another place for others, such as "
            f"--results {Path('my-results', *published.parts[2:])}"
        )
    return published if named is None else named


def read_figures(path: Path) -> list[Figure]:
    """The figures of one file, by name.

    Raises:
        ResultsError: the file is not in this form.
    """
    try:
        table = cast("dict[str, dict[str, Any]]", json.loads(path.read_text())["figures"])
        return [Figure(name=name, **entry) for name, entry in sorted(table.items())]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path} is not a results file ({error}); mend or remove it") from error


def write_results_page(folder: Path) -> Path:
    """Generate README.md from every results file of `folder`; goals missed stand there as missed.

    Raises:
        ResultsError: one of the files is not in this form.
    """
    parts = ["# Results", "", "Generated from the JSON files beside it; do not edit.", ""]
    for path in sorted(folder.glob("*.json")):
        parts += _table(path)
    page = folder / "README.md"
    page.write_text("\n".join(parts).rstrip() + "\n")
    return page


@cache
def current_commit() -> str:
    """Short hash of the checkout this code runs from, "+" when it has changes; "unknown" outside one.

    As it was when first asked, which is the code that runs: figures written meanwhile change nothing.
    """
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@cache
def this_machine() -> str:
    """Cores, memory and processor in a few words."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {memory_gib:.0f} GiB, {_processor()}, Linux {platform.release()}"


def _processor() -> str:
    """Architecture, and the widest multiplication it has: it decides how fast a model is."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return platform.machine()
    units = {"amx_bf16": "AMX", "avx512f": "AVX-512", "avx2": "AVX2"}
    widest = next((name for flag, name in units.items() if flag in flags), None)
    return platform.machine() if widest is None else f"{platform.machine()} with {widest}"


def _as_json(figure: Figure) -> dict[str, Any]:
    # config and seeds are JSON as they are
    return {each.name: getattr(figure, each.name) for each in fields(figure) if each.name != "name"}


def _table(path: Path) -> list[str]:
    lines = [
        f"## {path.stem}",
        "",
        "| figure | value | 95 % interval | goal | | note | measured |",
        "|---|---|---|---|---|---|---|",
    ]
    commands: dict[str, None] = {}
    for figure in read_figures(path):
        interval = (
            "" if figure.low is None or figure.high is None else f"{figure.low:.3g} to {figure.high:.3g}"
        )
        verdict = {True: "met", False: "**missed**", None: ""}[figure.met]
        measured = f"{figure.date}, {figure.commit}, {figure.machine}"
        cells = (
            figure.name,
            f"{figure.value:.4g} {figure.unit}",
            interval,
            figure.goal or "",
            verdict,
            figure.note,
            measured,
        )
        lines.append("| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
        if figure.command:
            commands[figure.command] = None
    return [*lines, "", *(f"    {command}" for command in commands), *([""] if commands else [])]
