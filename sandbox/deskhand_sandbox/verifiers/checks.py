"""A verdict from several expressions evaluated behind the screen, each named by what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import CommandHung, InvalidTask
from deskhand_sandbox.tasks.guest import KINDS
from deskhand_sandbox.terminal.verdict import COMMAND_S
from deskhand_sandbox.types import Outcome

_SHELL = "(\n%s\n) >/dev/null 2>&1\ncode=$?; [ $code -ne 127 ] || exit 127; [ $code -eq 0 ]"
"""A check in a shell fails by any exit status but 0; only a program that is not there is an error."""


class ChecksVerifier:
    """Success when every check holds; the detail names those that do not."""

    def __init__(self, checks: Mapping[str, str]) -> None:
        self._checks = checks

    @property
    def asked_s(self) -> float:
        """See `PatientVerifier`: the agent may have left what slows every check, and none to its limit."""
        return COMMAND_S * (len(self._checks) - 1)

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict now; one check that fails is enough to fail, and one that hangs ends it."""
        shell = sandbox.kind in KINDS
        wrong: list[str] = []
        for name, expression in self._checks.items():
            try:
                if not await sandbox.evaluate(_SHELL % expression if shell else expression):
                    wrong.append(name)
            except CommandHung as error:
                wrong.append(f"{name} ({error})")
                break
        if wrong:
            return Outcome(score=0.0, success=False, detail=f"not so: {'; '.join(wrong)}")
        return Outcome(score=1.0, success=True, detail=f"all {len(self._checks)} checks hold")


def create(*, checks: Mapping[str, object]) -> Verifier:
    """The verifier `checks`.

    Args:
        checks: what each looks at, in words -> an expression in the sandbox's own language (JavaScript in a
            browser, a shell command on a desktop).

    Raises:
        InvalidTask: there are none, or one is no text.
    """
    given = cast("object", checks)
    if not isinstance(given, Mapping) or not given:
        raise InvalidTask("checks must be a mapping of what is looked at to an expression")
    if wrong := [name for name, expression in checks.items() if not isinstance(expression, str)]:
        raise InvalidTask(f"the check {wrong[0]!r} must be an expression as text")
    return ChecksVerifier({str(name): str(expression) for name, expression in checks.items()})
