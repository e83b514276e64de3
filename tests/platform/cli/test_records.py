"""`deskhand trajectories` as a person or a program types it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable

from deskhand_flywheel.store import Store
from deskhand_platform.settings import Settings

Record = Callable[..., Awaitable[str]]


async def test_trajectories_are_listed_by_words_and_figures(
    settings: Settings, store: Store, record_episode: Record
) -> None:
    found = await record_episode(store)
    for asked, there in (
        (["--text", "door han*", "--min-steps", "2"], False),
        (["--text", "handle", "--min-steps", "2", "--min-score", "1", "--since", "2020-01-01"], True),
        (["--failure", "sandbox_died"], False),
        (["--outcome", "success", "--until", "2020-01-01"], False),
    ):
        listed = subprocess.run(
            [sys.executable, "-m", "deskhand_platform.cli.app", "trajectories", "list", *asked],
            env={**os.environ, "DESKHAND_HOME": str(settings.home), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (listed.returncode, found in listed.stdout) == (0, there), listed.stderr
