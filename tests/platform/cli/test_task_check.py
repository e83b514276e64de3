"""`deskhand tasks check` on real tasks, and on tasks that are broken in every way there is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.jobs.proofs import Candidate, Verdict, prove
from deskhand_platform.jobs.task_checks import Leases, candidates
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import NoVerifier, UnknownName
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, Finish, Outcome, Task, VerifierSpec

TASKS = """\
family: mine
environment: {kind: desktop, settings: {size_px: [400, 300]}}
limits: {turns: 4, seconds: 60}
tasks:
  - name: fine
    description: Make a file.
    instruction: Make the file {name}.
    parameters: {name: [a, b]}
    verifier: {name: checks, checks: {it is there: "test -f {name}"}}
    oracle: [{Run: "touch {name}"}]
  - name: passes-at-once
    description: Nothing to do.
    instruction: Do nothing.
    verifier: {name: expression, expression: "true"}
    oracle: [{Wait: 0.01}]
  - name: never-passes
    description: Cannot be done.
    instruction: Do it.
    verifier: {name: checks, checks: {a file is there: test -f nowhere}}
    oracle: [{Run: "true"}]
  - name: another-each-time
    description: Scored by chance.
    instruction: Make the file a.
    verifier:
      name: checks
      checks: {it is there: "test -f a && { test -f b && rm b || touch b; test -f b; }"}
    oracle: [{Run: touch a}]
  - name: refused
    description: Its oracle clicks off the screen.
    instruction: Click.
    verifier: {name: checks, checks: {a: test -f a}}
    oracle: [{Click: {x: 4000, y: 1}}]
  - name: unknown
    description: Nobody knows how.
    instruction: Do it.
    verifier: {name: expression, expression: "test -f nowhere"}
  - name: cannot-start
    description: Its program is not there.
    instruction: Do it.
    environment: {settings: {prepare: exit 5}}
    verifier: {name: expression, expression: "true"}
    oracle: [{Wait: 0.01}]
"""


@pytest.fixture
def check(deskhand: Any) -> Any:
    return partial(deskhand, "tasks", "check")


def test_broken_tasks_are_named(tmp_path: Path, check: Any) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(TASKS)
    shown = check(str(file), "--workers", "3", "--json", COLUMNS="240")
    assert shown.status == 1
    assert shown.out, shown.err
    found: dict[str, Any] = json.loads(shown.out)
    reasons = {
        each["task_id"]: (verdict, each["reason"]) for verdict in Verdict for each in found[verdict.value]
    }
    assert reasons["mine/fine"] == ("proven", "")
    assert reasons["mine/unknown"] == ("unproven", "")
    for name, verdict, said in (
        ("passes-at-once", "broken", "passes when nothing is done"),
        ("never-passes", "broken", "its oracle does not pass: not so: a file is there"),
        ("another-each-time", "broken", "when asked again"),
        ("refused", "broken", "an action of its oracle is refused: (4000, 1)"),
        ("cannot-start", "failed", "task_refused"),
    ):
        assert reasons[f"mine/{name}"][0] == verdict, reasons
        assert said in reasons[f"mine/{name}"][1]
    assert "✗ mine/never-passes broken" in shown.err


def test_tasks_that_hold_are_counted(check: Any) -> None:
    shown = check("fake", "--seeds", "3")
    assert shown.status == 0
    assert "6 proven, 3 unproven" in shown.out and "Without an oracle: fake/never-done" in shown.out
    assert "✓ fake/press-button (seed 2) proven" in shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fake/press-buton"], "did you mean fake/press-button"),
        (["--workers", "0", "fake"], "--workers"),
        (["--seeds", "none", "fake"], "--seeds"),
    ],
)
def test_what_is_asked_wrongly(check: Any, arguments: list[str], said: str) -> None:
    shown = check(*arguments)
    assert shown.status == 2
    assert said in shown.err


def test_a_file_that_holds_no_tasks(tmp_path: Path, check: Any) -> None:
    (tmp_path / "bad.yaml").write_text("family: x\ntasks: 3\n")
    shown = check(str(tmp_path / "bad.yaml"))
    assert shown.status == 1
    assert "bad.yaml line 2: tasks: must be a list" in shown.err


def test_names_mean_ids_families_and_patterns() -> None:
    def ids(*names: str, seeds: Sequence[int] = (0,)) -> list[tuple[str, int]]:
        return [(each.task.id, each.task.seed) for each in candidates(names, seeds)]

    assert ids("fake/press-button", seeds=(0, 1)) == [("fake/press-button", 0), ("fake/press-button", 1)]
    assert ids("fake") == ids("fake/") == ids("fake/*", "fake/press-button")
    assert {task_id for task_id, _ in ids("miniwob/click-test*")} == {
        "miniwob/click-test",
        "miniwob/click-test-2",
        "miniwob/click-test-transfer",
    }
    assert len(ids()) == len(set(ids())) > 150
    with pytest.raises(UnknownName):
        ids("fak")


class OneTask:
    """A family of one task, whose oracle, where it has one, says that it is done."""

    def __init__(self, *, proven: bool = True) -> None:
        self._proven = proven

    def task_ids(self) -> tuple[str, ...]:
        return ("some/task",)

    def make(self, task_id: str, seed: int) -> Task:
        task = make_task("fake/press-button", seed)
        return Task(
            id="some/task",
            environment=task.environment,
            verifier=VerifierSpec(name="fake"),
            instruction=task.instruction,
            seed=seed,
        )

    def proven(self, task_id: str) -> bool:
        return self._proven

    def fixed(self, task_id: str) -> bool:
        return False

    async def next_actions(self, task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
        return (Finish(),)


async def test_an_oracle_that_scores_otherwise_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    family = OneTask()
    scores = iter([0.0, 0.0, 1.0, 1.0, 0.5, 0.5])

    class Verdicts:
        async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
            score = next(scores)
            return Outcome(score=score, success=score == 1)

    monkeypatch.setattr("deskhand_platform.jobs.proofs.create_verifier", lambda spec: Verdicts())
    pools = {"fake": PoolSettings(max_sandboxes=1)}
    async with SandboxManager(pools) as source, Leases(source) as desk:
        proof = await prove(Candidate(task=family.make("some/task", 0), family=family), desk)
    assert (proof.verdict, proof.reason) == (
        Verdict.BROKEN,
        "it scores 1 in one run of its oracle and 0.5 in the next",
    )


@pytest.mark.parametrize("proven", [True, False])
@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([1.0, 1.0], "it passes when nothing is done ()"),
        ([0.0, 0.5], "it scores 0, and 0.5 when asked again"),
        ([0.0] * 6, ""),
        ([None], ""),
    ],
)
async def test_a_task_without_an_oracle_has_to_fail_when_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, proven: bool, scores: list[float | None], said: str
) -> None:
    family, left = OneTask(proven=proven), iter(scores)

    class Verdicts:
        async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
            score = next(left)
            if score is None:
                raise NoVerifier("none")
            return Outcome(score=score, success=score == 1)

    monkeypatch.setattr("deskhand_platform.jobs.proofs.create_verifier", lambda spec: Verdicts())
    pools = {"fake": PoolSettings(max_sandboxes=1)}
    async with SandboxManager(pools) as source, Leases(source) as desk:
        proof = await prove(Candidate(task=family.make("some/task", 0), family=family), desk)
    if scores[0] is None or not (said or proven):
        assert (proof.verdict, proof.reason) == (Verdict.UNPROVEN, "")
    else:
        assert (proof.verdict, proof.reason) == (Verdict.BROKEN, said or "its oracle does not pass: ")
