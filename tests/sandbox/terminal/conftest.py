from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """What a shell finds in its environment."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
