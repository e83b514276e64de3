from __future__ import annotations

import pytest

from deskhand_sandbox.errors import CommandHung, SandboxTimeout, VerifierError
from deskhand_sandbox.terminal.verdict import ended, verdict
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
