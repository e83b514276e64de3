"""The set-up script in a folder of its own, with stand-ins for the programs that change the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "infra/setup.sh"
PYTHON = """
VERSION=3.11 FOLDER=
case "$*" in
  *version_info[[]:2]*) echo "$VERSION" ;;
  *find_spec*) echo "$FOLDER/platform/deskhand_platform/__init__.py" ;;
  *ensurepip*) grep -q python3.11-venv "$LOG" ;;
  *Python.h*) grep -q python3.11-dev "$LOG" ;;
  *realpath*) echo "$BINARY" ;;
  "-m venv .venv")
    grep -q python3.11-venv "$LOG" || exit 1
    mkdir -p .venv/bin
    echo "#!$PWD/.venv/bin/python" >.venv/bin/pip
    sed "s|FOLDER=$|FOLDER=$PWD|" "$0" >.venv/bin/python
    chmod +x .venv/bin/python
    ;;
esac
"""
STAND_INS = {
    "python3": PYTHON,
    "python3.12": PYTHON.replace("3.11 ", "3.12 "),
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
    "node": 'echo "${NODE:-v20.19.0}"',
    "npm": "",
}
PARTS = ["python3.11-venv", "python3.11-dev"]


def checkout(folder: Path, *, there: str = "") -> Path:
    """A folder to set up.

    Args:
        there: Debian's packages of Python that are installed.
    """
    for name in ("infra", "web_ui", "platform/deskhand_platform/static", "bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "infra")
    for name in ("pyproject.toml", "infra/constraints.txt"):
        (folder / name).touch()
    for name, body in STAND_INS.items():
        (folder / "bin" / name).write_text(f"#!/usr/bin/env bash\n{body}")
        (folder / "bin" / name).chmod(0o755)
    (folder / "asked").write_text(f"{there}\n")
    return folder


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    own = {"PATH": path, "LOG": str(folder / "asked"), "BINARY": "/usr/bin/python3.11", **environment}
    command = [folder / "infra/setup.sh"]
    return subprocess.run(command, env=own, capture_output=True, text=True, timeout=60, check=False)


def made(folder: Path, **environment: str) -> str:
    """Which Python an environment was made anew with; nothing where the one that is there is kept."""
    done = run(folder, **environment)
    assert done.returncode == 0, done.stderr
    python = (folder / ".venv/bin/python").read_text()
    assert f"FOLDER={folder}\n" in python
    anew = "creating .venv" in done.stdout
    assert anew == ("installing deskhand" in done.stdout)
    return python.partition("VERSION=")[2][:4] if anew else ""


def set_up(
    folder: Path, *, there: str = "", binary: str = "/usr/bin/python3.11"
) -> tuple[int, str, list[str]]:
    """Exit status, what was said as it failed, and what was asked of apt.

    Args:
        there: see `checkout`.
        binary: where the interpreter lies.
    """
    done = run(checkout(folder, there=there), BINARY=binary)
    asked = (folder / "asked").read_text().splitlines()[1:]
    return done.returncode, done.stderr, [line.split()[-1] for line in asked if line.startswith("install")]


def test_the_parts_that_debian_keeps_apart_are_installed_where_they_are_missing(tmp_path: Path) -> None:
    assert set_up(tmp_path / "bare") == (0, "", PARTS)
    assert set_up(tmp_path / "half", there=PARTS[0]) == (0, "", PARTS[1:])
    assert set_up(tmp_path / "whole", there=" ".join(PARTS)) == (0, "", [])


def test_an_interpreter_of_another_make_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    status, said, asked = set_up(tmp_path, binary="/opt/bin/python3.11")
    assert (status, asked) == (1, [])
    assert "/opt/bin/python3.11" in said and "ensurepip" in said and "DESKHAND_PYTHON" in said


def test_an_environment_is_made_once_and_anew_where_its_folder_was_copied(tmp_path: Path) -> None:
    first, second = checkout(tmp_path / "first", there=" ".join(PARTS)), tmp_path / "second"
    assert made(first) == "3.11"
    assert made(first) == ""
    shutil.copytree(first, second)
    assert made(second) == "3.11"
    assert made(second) == made(first) == ""
    shutil.rmtree(second / ".venv")
    (second / ".venv").symlink_to(first / ".venv")
    assert made(second) == "3.11"
    assert made(first) == ""


def test_an_environment_is_of_the_python_that_is_asked_for(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "one", there=" ".join(PARTS))
    assert made(folder) == "3.11"
    assert made(folder, DESKHAND_PYTHON="python3.12") == "3.12"
    assert made(folder, DESKHAND_PYTHON="python3.12") == made(folder) == ""
    refused = run(folder, DESKHAND_PYTHON="python2.7")
    assert refused.returncode == 1
    assert "3.11 or newer is needed and python2.7 is none" in refused.stderr


def test_packages_come_again_where_those_there_are_not_of_this_folder(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "one", there=" ".join(PARTS))
    made(folder)
    python = folder / ".venv/bin/python"
    python.write_text(python.read_text().replace(f"FOLDER={folder}", "FOLDER=/elsewhere"))
    assert "installing deskhand" in run(folder).stdout


@pytest.mark.parametrize("version", ["v18.20.4", "v20.18.3", "v21.7.3", "v22.11.0"])
def test_a_node_that_cannot_build_the_page_is_named_before_anything_is_installed(
    tmp_path: Path, version: str
) -> None:
    folder = checkout(tmp_path)
    done = run(folder, NODE=version)
    assert (done.returncode, done.stdout) == (1, "")
    assert "20.19 or newer" in done.stderr and f"this is {version}" in done.stderr
    assert (folder / "asked").read_text().split() == [] and not (folder / ".venv").exists()


@pytest.mark.parametrize("version", ["v20.19.0", "v22.12.0", "v23.0.0", "v24.1.0"])
def test_a_node_that_can_is_taken(tmp_path: Path, version: str) -> None:
    assert run(checkout(tmp_path, there=" ".join(PARTS)), NODE=version).returncode == 0


def test_a_machine_without_node_or_npm_is_told_what_it_lacks(tmp_path: Path) -> None:
    for missing, said in (("node", "node 20.19 or newer"), ("npm", "no npm beside node v20.19.0")):
        folder = checkout(tmp_path / missing)
        (folder / "bin" / missing).unlink()
        for program in ("bash", "git", "dirname", "mkdir", "flock", "cat", "sort", "xargs", "sha256sum"):
            if not (folder / "bin" / program).exists():
                (folder / "bin" / program).symlink_to(shutil.which(program) or program)
        refused = run(folder, PATH=str(folder / "bin"))
        assert refused.returncode == 1 and said in refused.stderr
        assert (folder / "asked").read_text().split() == []


def test_a_page_that_is_built_needs_no_node(tmp_path: Path) -> None:
    folder = checkout(tmp_path, there=" ".join(PARTS))
    (folder / "web_ui/node_modules").mkdir()
    assert run(folder).returncode == 0
    assert run(folder, NODE="v18.20.4").returncode == 0


@pytest.mark.parametrize("step", ["ci", "build"])
def test_why_the_page_could_not_be_built_is_said(tmp_path: Path, step: str) -> None:
    folder = checkout(tmp_path, there=" ".join(PARTS))
    body = f'case "$*" in *{step}*) echo "src/main.tsx(1,1): error TS2304"; exit 2 ;; esac'
    (folder / "bin/npm").write_text(f"#!/usr/bin/env bash\n{body}")
    done = run(folder)
    assert done.returncode == 1
    *above, last = done.stderr.splitlines()
    assert above == ["src/main.tsx(1,1): error TS2304"]
    assert last == "setup: the web page could not be built, see above"
    assert not (folder / "platform/deskhand_platform/static/.built-from").exists()
