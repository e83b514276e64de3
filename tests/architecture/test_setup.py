"""The set-up script in a folder of its own, with stand-ins for the programs that change the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "infra/setup.sh"
PYTHON = """
case "$*" in
  *ensurepip*) grep -q python3.11-venv "$LOG" ;;
  *Python.h*) grep -q python3.11-dev "$LOG" ;;
  *realpath*) echo "$BINARY" ;;
  "-m venv .venv") grep -q python3.11-venv "$LOG" && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
esac
"""
STAND_INS = {
    "python3": PYTHON,
    "dpkg-query": """
case "$1 ${*: -1}" in
  "-S /usr/bin/python3.11") ;;
  -S*|*" python3.11-"*) exit 1 ;;
  *) echo install ok installed ;;
esac
""",
    "apt-get": 'echo "$*" >>"$LOG"',
    "id": "echo 0",
    "git": "",
    "npm": "",
}


def set_up(
    folder: Path, *, there: str = "", binary: str = "/usr/bin/python3.11"
) -> tuple[int, str, list[str]]:
    """Exit status, what was said as it failed, and what was asked of apt.

    Args:
        there: Debian's packages of Python that are installed.
        binary: where the interpreter lies.
    """
    for name in ("infra", "web_ui", "platform/deskhand_platform/static", "bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "infra")
    for name in ("pyproject.toml", "infra/constraints.txt"):
        (folder / name).touch()
    for name, body in STAND_INS.items():
        (folder / "bin" / name).write_text(f"#!/usr/bin/env bash\n{body}")
        (folder / "bin" / name).chmod(0o755)
    log = folder / "asked"
    log.write_text(f"{there}\n")
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {"PATH": path, "LOG": str(log), "BINARY": binary}
    done = subprocess.run(
        [folder / "infra/setup.sh"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    asked = [line for line in log.read_text().splitlines()[1:] if line.startswith("install")]
    return done.returncode, done.stderr, [line.split()[-1] for line in asked]


def test_the_parts_that_debian_keeps_apart_are_installed_where_they_are_missing(tmp_path: Path) -> None:
    parts = ["python3.11-venv", "python3.11-dev"]
    assert set_up(tmp_path / "bare") == (0, "", parts)
    assert set_up(tmp_path / "half", there=parts[0]) == (0, "", parts[1:])
    assert set_up(tmp_path / "whole", there=" ".join(parts)) == (0, "", [])


def test_an_interpreter_of_another_make_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    status, said, asked = set_up(tmp_path, binary="/opt/bin/python3.11")
    assert (status, asked) == (1, [])
    assert "/opt/bin/python3.11" in said and "ensurepip" in said and "DESKHAND_PYTHON" in said
