"""The house's rules that a type checker does not see."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    name: ROOT / name / f"deskhand_{name}" for name in ("sandbox", "agent", "flywheel", "trainer", "platform")
}
TORCH_HOMES = ("agent/deskhand_agent/models/", "flywheel/deskhand_flywheel/prm/", "trainer/deskhand_trainer/")
"""Folders whose modules may import torch while they are being imported."""


def sources() -> list[Path]:
    return [path for package in PACKAGES.values() for path in sorted(package.rglob("*.py"))]


def imported_at_load(tree: ast.Module) -> set[str]:
    """Packages a module imports while it is itself imported: not inside functions, not for typing."""
    names: set[str] = set()
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.If):
            if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
                waiting += node.body + node.orelse
        elif isinstance(node, ast.Try):
            waiting += node.body + node.orelse + node.finalbody
        elif isinstance(node, ast.ClassDef):
            waiting += node.body
    return names


def test_no_package_file_shadows_the_standard_library_or_breaks_pytest() -> None:
    forbidden = [ROOT / "platform/__init__.py", *(ROOT / "tests").rglob("__init__.py")]
    assert [str(path) for path in forbidden if path.exists()] == []


def test_no_drawers_for_leftovers() -> None:
    names = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [str(path) for path in sources() if path.stem in names or path.parent.name in names] == []


def test_torch_is_imported_only_where_it_is_at_home() -> None:
    strays = [
        str(path.relative_to(ROOT))
        for path in sources()
        if imported_at_load(ast.parse(path.read_text())) & {"torch", "transformers", "torchvision"}
        and not str(path.relative_to(ROOT)).startswith(TORCH_HOMES)
    ]
    assert strays == []


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("deskhand_sandbox", ("playwright", "torch", "sqlalchemy", "fastapi", "miniwob")),
        ("deskhand_sandbox.registry", ("playwright", "torch", "miniwob")),
        ("deskhand_agent.types", ("torch", "PIL")),
        ("deskhand_agent.policies.anthropic_computer", ("torch", "openai", "PIL")),
        ("deskhand_agent.episode", ("torch", "playwright")),
        ("deskhand_flywheel.store", ("torch", "playwright")),
        ("deskhand_trainer.studies.loop", ("torch", "playwright")),
        ("deskhand_trainer.studies.base", ("torch", "playwright")),
        ("deskhand_trainer.studies.ladder", ("torch", "playwright")),
        ("deskhand_trainer.studies.test_time", ("torch", "playwright")),
        ("deskhand_platform.client", ("torch", "sqlalchemy", "fastapi", "starlette", "uvicorn", "PIL")),
        ("deskhand_platform.cli.app", ("torch", "playwright", "dbos", "fastapi", "sqlalchemy", "alembic")),
    ],
)
def test_importing_stays_light(module: str, forbidden: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(sorted(set({forbidden!r}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


def test_the_episode_loop_stays_short() -> None:
    """Under 150 lines, and so is what stands around it."""
    files = [PACKAGES["agent"] / name for name in ("loop.py", "episode.py")]
    assert {path.name: n for path in files if (n := len(path.read_text().splitlines())) >= 150} == {}


def test_no_file_outgrows_a_reader() -> None:
    """Files aim at 150 lines and are questioned at 400."""
    long = {
        str(path.relative_to(ROOT)): n
        for path in sources()
        if (n := len(path.read_text().splitlines())) > 400
    }
    assert long == {}
