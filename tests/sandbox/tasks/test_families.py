"""Where tasks come from, and the tasks the package ships."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.registry import BACKENDS, create_verifier
from deskhand_sandbox.tasks import list_tasks, make_task
from deskhand_sandbox.tasks.families import families, family_of
from deskhand_sandbox.tasks.oracles import next_actions, oracle_tasks
from deskhand_sandbox.types import Limits

MINE = """\
family: mine
environment: {kind: desktop}
tasks:
  - name: one
    description: Do it.
    instruction: Do it.
    verifier: {name: expression, expression: "true"}
"""


def test_ids_are_of_one_family_each() -> None:
    every = [task_id for family in families() for task_id in family.task_ids()]
    assert len(every) == len(set(every))
    for family in families():
        assert list(family.task_ids()) == sorted(family.task_ids())


def test_what_the_package_ships_can_be_made() -> None:
    shipped = [each for each in list_tasks() if each.id.startswith(("desk/", "vm/", "games/"))]
    assert sum(each.id.startswith("desk/") for each in shipped) >= 12
    assert sum(each.id.startswith("vm/") for each in shipped) >= 12
    assert all(each.oracle for each in shipped)
    for each in shipped:
        for seed in range(12):
            task = make_task(each.id, seed)
            assert (task.environment.kind in BACKENDS and task.instruction) or each.kind == "browser"
            create_verifier(task.verifier)
            json.dumps([dict(task.environment.settings), dict(task.verifier.settings)])


def test_files_of_ones_own_are_named_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine.yaml").write_text(MINE)
    (tmp_path / "b.yaml").write_text(MINE.replace("mine", "yours").replace("Do it.", "Do it well."))
    monkeypatch.setenv("DESKHAND_TASKS", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b.yaml")]))
    assert make_task("mine/one", 3).limits == Limits()
    assert make_task("yours/one", 3).instruction == "Do it well."
    found = {each.id: each for each in list_tasks()}
    assert not found["mine/one"].oracle and found["mine/one"].kind == "desktop"
    monkeypatch.delenv("DESKHAND_TASKS")
    with pytest.raises(UnknownName):
        make_task("mine/one", 3)


def test_a_wrong_file_of_ones_own_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.yaml").write_text(MINE.replace("verifier", "verifyer"))
    monkeypatch.setenv("DESKHAND_TASKS", str(tmp_path))
    assert make_task("fake/press-button", 0).id == "fake/press-button"
    with pytest.raises(InvalidTask, match=r"bad\.yaml line 4"):
        list_tasks()


async def test_oracles_belong_to_tasks() -> None:
    assert "desk/write-word" in oracle_tasks() and "fake/never-done" not in oracle_tasks()
    assert family_of("no/such") is None
    with pytest.raises(InvalidTask, match="no oracle"):
        await next_actions(make_task("fake/never-done", 0), None, 0)  # type: ignore[arg-type]
