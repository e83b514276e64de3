"""Tasks of files that ship with the package, their verdicts asked of a shell without a screen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.families import family_of
from deskhand_sandbox.tasks.written.actions import AnswerOf
from deskhand_sandbox.terminal.verdict import verdict
from deskhand_sandbox.types import JsonValue, Run, Task

SEEDS = (0, 3, 5, 8)


class Shell:
    """A folder in which the scripts of a task run."""

    kind = "desktop"

    def __init__(self, home: Path, task: Task) -> None:
        self._home = home
        home.mkdir()
        self.run(str(task.environment.settings.get("prepare", "")), SEED=str(task.seed))

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """Run a script of the task or of its agent."""
        known = {**os.environ, "HOME": str(self._home), **variables}
        return subprocess.run(
            ["bash", "-c", script], cwd=self._home, env=known, capture_output=True, check=False
        )

    async def evaluate(self, expression: str) -> JsonValue:
        """As a desktop does."""
        done = self.run(expression)
        return verdict(done.returncode, done.stdout, done.stderr)


async def score(shell: Any, task: Task, answer: str | None) -> float:
    return (await create_verifier(task.verifier).score(shell, answer=answer)).score


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "task_id",
    [
        "desk/count-lines",
        "desk/largest-file",
        "desk/pack-folder",
        "desk/sort-names",
        "desk/sum-column",
        "vm/between-programs",
    ],
)
async def test_what_the_oracle_does_is_right(tmp_path: Path, task_id: str, seed: int) -> None:
    task = make_task(task_id, seed)
    shell, answer = Shell(tmp_path / "home", task), None
    assert await score(shell, task, answer) == 0
    family: Any = family_of(task_id)
    for step in family.oracle(task_id, seed):
        match step:
            case AnswerOf(expression=expression):
                answer = str(await shell.evaluate(expression))
            case Run(command=command):
                shell.run(command)
            case _:
                shell.run(str(getattr(step, "text", "")))
    assert await score(shell, task, answer) == 1


@pytest.mark.parametrize(
    ("task_id", "done", "answer"),
    [
        ("desk/count-lines", "for word in ERROR WARNING NOTICE; do echo $word; done >server.log", "1"),
        ("desk/count-lines", "rm server.log", "0"),
        ("desk/largest-file", "true", "alder.dat birch.dat cedar.dat elm.dat maple.dat"),
        ("desk/largest-file", "for each in downloads music backup; do rm $each/*; touch $each/a; done", "a"),
        (
            "desk/pack-folder",
            "for d in notes invoices sketches; do rm -r $d/old; tar -czf $d.tar.gz $d; done",
            None,
        ),
        ("desk/sort-names", "true >names.txt; true >sorted.txt; true >clean.txt", None),
        ("desk/sum-column", "true >prices.csv; true >total.txt; true >sum.txt", None),
        ("vm/between-programs", "rm -r inbox/* archive/* pictures/*; echo 0 >count.txt", None),
        ("vm/editor-save-as", "for f in draft final report sent; do echo x >$f.txt; done", None),
    ],
)
async def test_what_is_right_does_not_hang_on_files_that_the_agent_can_change(
    tmp_path: Path, task_id: str, done: str, answer: str | None
) -> None:
    for seed in SEEDS:
        task = make_task(task_id, seed)
        shell = Shell(tmp_path / str(seed), task)
        shell.run(done)
        assert await score(shell, task, answer) == 0, task.instruction
