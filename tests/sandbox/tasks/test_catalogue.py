import json
import subprocess
import sys
from pathlib import Path

import miniwob
import pytest

from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.registry import BACKENDS, VERIFIERS
from deskhand_sandbox.tasks import list_tasks, make_task
from deskhand_sandbox.tasks.miniwob_names import DESCRIPTIONS, EXCLUDED, RELOADED, TURNS

PAGES = {file.stem for file in (Path(miniwob.__file__).parent / "html" / "miniwob").glob("*.html")}


def test_every_page_of_the_package_is_a_task_or_excluded() -> None:
    assert set(DESCRIPTIONS) == PAGES
    assert not set(EXCLUDED) & PAGES
    assert set(TURNS) <= PAGES
    assert set(RELOADED) <= PAGES


def test_the_catalogue_is_sorted_and_can_be_made() -> None:
    found = list_tasks()
    assert [each.id for each in found] == sorted({each.id for each in found})
    assert sum(each.id.startswith("miniwob/") for each in found) == 130
    for each in found:
        task = make_task(each.id, 5)
        assert (task.id, task.seed, task.limits.turns) == (each.id, 5, each.turns)
        assert task.environment.kind == each.kind
        assert task.environment.kind in BACKENDS
        assert task.verifier.name in VERIFIERS
        long = each.id.startswith(("games/", "worlds/corridor"))
        assert 1 <= task.limits.turns <= (120 if long else 40)
        assert task.limits.seconds >= task.limits.turns
        assert each.description.endswith(".")
        json.dumps(dict(task.environment.settings))


def test_listing_imports_nothing_that_draws_browses_or_learns() -> None:
    code = (
        "import sys; from deskhand_sandbox.tasks import list_tasks; list_tasks();"
        "print(sorted({'PIL', 'playwright', 'torch'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_an_unknown_task_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"did you mean miniwob/click-button"):
        make_task("miniwob/click-buton", 0)
    with pytest.raises(UnknownName, match="unknown task 'xyzzy'"):
        make_task("xyzzy", 0)


def test_fake_tasks_differ_by_seed_and_repeat() -> None:
    assert make_task("fake/press-button", 1) == make_task("fake/press-button", 1)
    assert len({make_task("fake/press-button", seed).instruction for seed in range(30)}) > 2
