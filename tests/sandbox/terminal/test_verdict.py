from __future__ import annotations

import pytest

from deskhand_sandbox.errors import (
    CommandHung,
    InfrastructureError,
    InvalidTask,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.terminal.verdict import COMMAND_BYTES, check_command, check_prepared, ended, verdict
from deskhand_sandbox.types import JsonValue


@pytest.mark.parametrize(
    ("code", "out", "meant"),
    [
        (1, b"[1]", False),
        (0, b"", True),
        (0, b"[1, 2]\n", [1, 2]),
        (0, b"two words\n", "two words"),
        (0, b"[" * 100_000, "[" * 100_000),
        (0, b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_command_s_output_is_its_verdict(code: int, out: bytes, meant: JsonValue) -> None:
    assert verdict(code, out, b"") == meant


def test_a_command_that_fails_has_none() -> None:
    with pytest.raises(VerifierError, match="exit status 2: no such file"):
        verdict(2, b"", b"no such file\n")


async def test_a_command_that_hangs_is_told_from_a_computer_that_does() -> None:
    async def done() -> int:
        return 3

    async def late() -> int:
        raise SandboxTimeout("cat did not end in 1 s")

    assert await ended(done(), late) == 3
    with pytest.raises(CommandHung, match="cat did not end in 1 s, while another command did"):
        await ended(late(), done)
    with pytest.raises(SandboxTimeout):
        await ended(late(), late)


def test_what_no_shell_can_be_given_is_the_task_s_fault() -> None:
    check_command("ü" * (COMMAND_BYTES // 2))
    with pytest.raises(InvalidTask, match=f"has {COMMAND_BYTES + 1} bytes, and may have {COMMAND_BYTES}"):
        check_command("x" * (COMMAND_BYTES + 1))
    with pytest.raises(InvalidTask, match="may have 10:"):
        check_command("echo a word", longest=10)
    with pytest.raises(InvalidTask, match="a NUL"):
        check_command("echo \0")
    with pytest.raises(InvalidTask, match="no proper Unicode"):
        check_command("echo \ud800")


def test_a_script_that_was_killed_is_not_the_task_s_fault() -> None:
    check_prepared("the desktop", 0, b"", b"a warning")
    for code in (-9, 137):
        with pytest.raises(InfrastructureError, match="prepares the desktop was killed"):
            check_prepared("the desktop", code, b"", b"")
    with pytest.raises(InvalidTask, match="preparing the desktop failed with exit status 4: no luck"):
        check_prepared("the desktop", 4, b"said on\n", b"no luck\n")
    with pytest.raises(InvalidTask, match="exit status 4: said on"):
        check_prepared("the desktop", 4, b"said on\n", b"")
