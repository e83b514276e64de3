from __future__ import annotations

from typing import Any

import pytest

from deskhand_sandbox.base import verdict_s
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.terminal.verdict import COMMAND_S
from deskhand_sandbox.types import EnvironmentSpec, Outcome, Run, Task, VerifierSpec
from deskhand_sandbox.verifiers.checks import create


async def test_checks_on_a_desktop() -> None:
    task = Task(
        id="x/y",
        environment=EnvironmentSpec(kind="desktop", settings={"size_px": [320, 240]}),
        verifier=VerifierSpec(name="checks"),
        instruction="x",
    )
    verifier = create(
        checks={"a is there": "test -f a", "a holds 0": "grep -q 0 missing", "it counts": "cat a; exit 0"}
    )
    async with await create_backend("desktop").create() as sandbox:
        await sandbox.reset(task)
        before = await verifier.score(sandbox, answer=None)
        assert before == Outcome(score=0.0, success=False, detail="not so: a is there; a holds 0")
        await sandbox.act(Run(command="echo 0 > a"))
        assert (await verifier.score(sandbox, answer=None)).detail == "not so: a holds 0"
        await sandbox.act(Run(command="echo 0 > missing"))
        assert (await verifier.score(sandbox, answer=None)).success
        with pytest.raises(VerifierError, match="127"):
            await create(checks={"x": "no-such-program"}).score(sandbox, answer=None)


def test_a_verdict_has_the_time_of_all_its_commands() -> None:
    assert verdict_s(create(checks={"one": "true"})) == 0
    assert verdict_s(create(checks={"one": "true", "two": "true", "three": "true"})) == 2 * COMMAND_S
    device = create_verifier(
        VerifierSpec(name="android", settings={"settings": {"global/a": "1", "global/b": "2"}})
    )
    assert verdict_s(device) == COMMAND_S


@pytest.mark.parametrize("checks", [{}, [], {"a": 3}, "true"])
def test_checks_that_are_none(checks: Any) -> None:
    with pytest.raises(InvalidTask):
        create(checks=checks)
