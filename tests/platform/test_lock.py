from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deskhand_platform.errors import HomeInUse
from deskhand_platform.lock import hold, serving

HOLDER = """
import sys, time
from pathlib import Path
from deskhand_platform.lock import hold
with hold(Path(sys.argv[1])) as lock:
    lock.announce("http://127.0.0.1:1")
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    assert serving(tmp_path) is None
    with hold(tmp_path) as lock:
        lock.announce("http://127.0.0.1:9")
        with pytest.raises(HomeInUse, match=rf"process {os.getpid()}, http://127.0.0.1:9"), hold(tmp_path):
            pass
        found = serving(tmp_path)
        assert found is not None and (found.pid, found.url) == (os.getpid(), "http://127.0.0.1:9")
    assert serving(tmp_path) is None
    with hold(tmp_path):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        found = serving(tmp_path)
        assert found is not None and found.pid == process.pid
        process.send_signal(signal.SIGKILL)
    assert serving(tmp_path) is None
    with hold(tmp_path):
        pass
