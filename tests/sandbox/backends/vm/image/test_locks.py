from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm.image.locks import locked
from deskhand_sandbox.errors import SandboxTimeout

HOLD = """
import sys, pathlib
from deskhand_sandbox.backends.vm.image.locks import locked
with locked(pathlib.Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_is_waited_for_and_dies_with_its_holder(tmp_path: Path) -> None:
    path, told = tmp_path / "lock", list[str]()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(SandboxTimeout, match="another process held"),
            locked(path, 0.05, lambda: told.append("waiting")),
        ):
            raise AssertionError("it is held")
        holder.kill()
    with locked(path, 5, lambda: told.append("waiting")):
        pass
    assert told == ["waiting"]
