"""`deskhand tasks check`: proves tasks, here or by a platform, and names the broken ones."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deskhand_platform.api.job_models import CheckTasksOrder
from deskhand_platform.cli import jobs
from deskhand_platform.cli.console import err, out, say, table
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.errors import InvalidField
from deskhand_platform.jobs.proofs import Candidate, Proof, Verdict
from deskhand_platform.jobs.task_checks import candidates, check, line, report
from deskhand_platform.settings import load_settings

PROOFS = TypeAdapter[list[Proof]](list[Proof])


def run(names: Sequence[str], *, seeds: int, workers: int, as_json: bool) -> int:
    """The whole command in this process; its exit status: 1 when a task is broken or could not be looked at.

    A signal puts the sandboxes away first.

    Raises:
        As `candidates`.
    """
    return run_until_signal(_proven(candidates(names, range(seeds), say), workers, as_json=as_json))


def ask(names: Sequence[str], url: str | None, *, seeds: int, workers: int, as_json: bool) -> int:
    """The same by a platform, in its sandboxes.

    Raises:
        InvalidField: one of the names is a file.
        As `jobs.done`.
    """
    if files := [name for name in names if Path(name).suffix and Path(name).exists()]:
        raise InvalidField("names", f"{files[0]} is a file here; a platform checks tasks that it has")
    order = jobs.made(CheckTasksOrder, tasks=list(names) or None, seeds=seeds, workers=workers)
    found = jobs.done(order, url)
    proofs = [each for verdict in Verdict for each in PROOFS.validate_python(found.get(verdict.value, []))]
    if as_json:
        out.print(jobs.as_text(found), soft_wrap=True)
    else:
        _print(proofs, found["seconds"])
    return _status(proofs)


def _status(proofs: Sequence[Proof]) -> int:
    return 1 if any(each.verdict in (Verdict.BROKEN, Verdict.FAILED) for each in proofs) else 0


async def _checked(
    found: Sequence[Candidate], workers: int, on_proof: Callable[[Proof], None]
) -> tuple[Proof, ...]:
    async with jobs.here(load_settings()).sandboxes(workers) as source:
        return await check(found, workers, on_proof, source)


async def _proven(found: Sequence[Candidate], workers: int, *, as_json: bool) -> int:
    began = time.monotonic()
    if err.is_terminal:
        proofs = await _with_bar(found, workers)
    else:
        proofs = await _checked(found, workers, lambda proof: say(line(proof)))
    if as_json:
        out.print_json(json.dumps({"seconds": time.monotonic() - began, **report(proofs)}))
    else:
        _print(proofs, time.monotonic() - began)
    return _status(proofs)


async def _with_bar(found: Sequence[Candidate], workers: int) -> tuple[Proof, ...]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("proving", total=len(found))

        def told(proof: Proof) -> None:
            progress.update(bar, advance=1, description=proof.task_id)
            if proof.verdict in (Verdict.BROKEN, Verdict.FAILED):
                progress.console.print(line(proof))

        return await _checked(found, workers, told)


def _print(proofs: Sequence[Proof], seconds: float) -> None:
    wrong = [each for each in proofs if each.verdict in (Verdict.BROKEN, Verdict.FAILED)]
    if wrong:
        lines = table("task", "seed", "", "why")
        for each in wrong:
            lines.add_row(each.task_id, str(each.seed), each.verdict.value, each.reason)
        out.print(lines)
    unproven = sorted({each.task_id for each in proofs if each.verdict is Verdict.UNPROVEN})
    if unproven:
        out.print(f"Without an oracle: {', '.join(unproven)}", soft_wrap=True)
    counts = Counter(each.verdict for each in proofs)
    told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    out.print(f"{told or 'nothing to prove'}; {seconds:.0f} s")
