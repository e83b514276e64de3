"""Evaluators against a real desktop: getters, conjunctions, steps before, and what goes wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from deskhand_sandbox.base import PatientVerifier, Sandbox
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import guest
from deskhand_sandbox.tasks.guest import Guest
from deskhand_sandbox.tasks.setup import set_up, tabs, windows
from deskhand_sandbox.tasks.setup.downloads import FOLDER_VARIABLE, TOTAL_S, Downloads
from deskhand_sandbox.tasks.setup.programs import TIMEOUT_S
from deskhand_sandbox.types import EnvironmentSpec, Outcome, Run, Task, VerifierSpec
from deskhand_sandbox.verifiers.osworld import create
from deskhand_sandbox.verifiers.osworld.metrics import METRICS, records
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options
from deskhand_sandbox.verifiers.osworld.values import Value

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[Sandbox]:
    task = Task(
        id="x/y",
        environment=EnvironmentSpec(kind="desktop", settings={"size_px": [400, 300]}),
        verifier=VerifierSpec(name="osworld"),
        instruction="Work.",
    )
    async with await create_backend("desktop").create() as sandbox:
        await set_up(sandbox, task)
        await sandbox.act(
            Run(command="mkdir -p box/in; echo one > box/a.txt; echo '{\"n\": 3}' > box/in/b.json")
        )
        yield sandbox


async def score(desktop: Sandbox, **evaluator: Any) -> Outcome:
    return await create(evaluator=evaluator).score(desktop, answer=None)


def rule(**rules: Any) -> dict[str, Any]:
    return {"type": "rule", "rules": rules}


COMMAND = {"type": "vm_command_line", "command": ["cat", "/home/agent/box/a.txt"]}
RIGHT = {"func": "exact_match", "result": COMMAND, "expected": rule(expected="one\n")}


async def test_it_says_how_long_its_own_steps_may_take() -> None:
    steps = [{"type": "sleep", "parameters": {"seconds": 3}}]
    cloud = {"type": "cloud_file", "path": "http://files.invalid/a", "dest": "a"}
    file = {"type": "vm_file", "path": "/a", "dest": "a"}
    verifier = create(
        evaluator={"func": "compare_text_file", "result": file, "expected": cloud, "postconfig": steps}
    )
    assert isinstance(verifier, PatientVerifier)
    assert verifier.asked_s == 3 + TOTAL_S
    assert create(evaluator={"func": "infeasible"}).asked_s == 0
    assert create(evaluator=RIGHT).asked_s == TIMEOUT_S


async def test_getters(desktop: Sandbox) -> None:
    for func, result, expected in (
        ("exact_match", COMMAND, rule(expected="one\n")),
        ("exact_match", {**COMMAND, "command": "cat ~/box/a.txt", "shell": True}, rule(expected="one\n")),
        ("exact_match", {"type": "vm_command_line", "command": "echo a b"}, rule(expected="a b\n")),
        (
            "check_include_exclude",
            {"type": "vm_command_error", "command": "ls nowhere", "shell": True},
            rule(include=["No such file"]),
        ),
        (
            "check_include_exclude",
            {"type": "vm_command_error", "command": ["python", "-c", "import nothing_there"]},
            rule(include=["ModuleNotFoundError"]),
        ),
        (
            "check_json",
            {"type": "vm_file", "path": "box/in/b.json", "dest": "b"},
            rule(expect=[{"key": ["n"], "ref": 3}]),
        ),
        ("file_contains", {"type": "vm_file", "path": "~/box/a.txt", "dest": "a"}, rule(expected=["one"])),
        (
            "check_moved_jpgs",
            {"type": "list_directory", "path": "/home/agent/box"},
            rule(expected=["a.txt", "in"]),
        ),
        ("check_include_exclude", {"type": "vm_terminal_output"}, rule(include=["mkdir"])),
        ("exact_match", {"type": "vm_screen_size"}, rule(expected={"width": 400, "height": 300})),
    ):
        outcome = await score(desktop, func=func, result=result, expected=expected)
        assert outcome.success, (func, result, outcome)


async def test_what_is_not_there_scores_nothing(desktop: Sandbox) -> None:
    for func, result, expected in (
        ("file_contains", {"type": "vm_file", "path": "nowhere", "dest": "x"}, rule(expected=["one"])),
        ("exact_match", {"type": "vm_command_line", "command": ["no-such-program"]}, rule(expected="x")),
        ("check_moved_jpgs", {"type": "list_directory", "path": "nowhere"}, rule(expected=["a"])),
        ("exact_match", {"type": "cache_file", "path": "never"}, rule(expected="x")),
    ):
        outcome = await score(desktop, func=func, result=result, expected=expected)
        assert outcome.score == 0 and not outcome.success, outcome


async def test_what_the_agent_made_of_a_file_scores_nothing(
    desktop: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "FILE_BYTES", 1000)
    await desktop.act(Run(command="echo one > box/locked; chmod 0 box/locked; truncate -s 2000 box/long"))
    for name, said in (("locked", "may not be read"), ("long", "longer than 1000 bytes")):
        path = {"path": f"box/{name}"}
        for result in (
            {"type": "vm_file", **path, "dest": "x"},
            {"type": "content_from_vm_file", **path, "file_type": "xlsx", "file_content": "last_row"},
        ):
            outcome = await score(desktop, func="exact_match", result=result, expected=rule(expected="one\n"))
            assert outcome.score == 0 and said in outcome.detail
    await desktop.act(Run(command="rm -f box/locked box/long"))


async def test_a_part_of_an_address(desktop: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed(inside: Guest, wait_s: float) -> tuple[tabs.OpenTab, ...]:
        return (tabs.OpenTab(id="1", url="https://x.org/a/b?id=3", title="B"),)

    monkeypatch.setattr(tabs, "listed", listed)
    for index, right in ((-1, True), ("4", True), (3, False), (5, False), (-6, False)):
        part = {"type": "url_dashPart", "partIndex": index, "needDeleteId": True}
        outcome = await score(desktop, func="exact_match", result=part, expected=rule(expected="b"))
        assert outcome.success is right, (index, outcome)


async def test_all_or_any(desktop: Sandbox) -> None:
    half = {"type": "vm_command_line", "command": "printf 'ab'", "shell": True}
    wrong = {"func": "exact_match", "result": COMMAND, "expected": rule(expected="two")}
    near = {"func": "fuzzy_match", "result": half, "expected": rule(expected="ac")}

    async def both(conj: str, *parts: dict[str, Any]) -> float:
        spread = {name: [part[name] for part in parts] for name in ("func", "result", "expected")}
        return (await score(desktop, conj=conj, **spread)).score

    assert await both("and", RIGHT, RIGHT) == 1
    assert await both("and", RIGHT, wrong) == 0
    assert await both("and", RIGHT, near) == pytest.approx(0.75)
    assert await both("or", wrong, RIGHT) == 1
    assert await both("or", wrong, near) == pytest.approx(0.5)


async def test_steps_before_and_what_they_leave(desktop: Sandbox) -> None:
    outcome = await score(
        desktop,
        postconfig=[
            {"type": "activate_window", "parameters": {"window_name": "closed long ago"}},
            {"type": "execute", "parameters": {"command": "no-such-program", "shell": True}},
            {"type": "execute", "parameters": {"command": "echo made", "shell": True, "stdout": "out.txt"}},
        ],
        func="exact_match",
        result={"type": "cache_file", "path": "out.txt"},
        expected=rule(expected="made\n"),
    )
    assert outcome.success, outcome


async def test_files_that_the_task_brings(
    desktop: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    url = "https://files.invalid/gold.txt"
    evaluator: dict[str, Any] = {
        "func": "compare_text_file",
        "result": {
            "type": "vm_file",
            "path": ["box/a.txt", "box/in/b.json"],
            "dest": ["a", "b"],
            "multi": True,
        },
        "expected": {"type": "cloud_file", "path": url, "dest": "gold.txt"},
    }
    with pytest.raises(VerifierError, match="put the file at"):
        await score(desktop, **evaluator)
    Downloads().place(url).write_text("one\n")
    assert (await score(desktop, **evaluator)).success
    evaluator["result"]["gives"] = [1]
    assert not (await score(desktop, **evaluator)).success
    Downloads().place(url).write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(VerifierError, match="what the task expects cannot be used"):
        await score(desktop, **evaluator)


async def test_what_is_on_the_screen(desktop: Sandbox) -> None:
    await Guest(desktop).launch(["mousepad", "/home/agent/box/a.txt"])
    await windows.activate(Guest(desktop), "mousepad", strict=False, by_class=False)
    tree = {"type": "accessibility_tree"}
    for rules, right in (
        ([{"selectors": ["frame text"], "text": "one\n"}], True),
        ([{"selectors": ["frame text"], "text": "two"}], False),
        ([{"xpath": "//menu-bar"}], True),
    ):
        expected = {"type": "rule", "rules": rules}
        outcome = await score(desktop, func="check_accessibility_tree", result=tree, expected=expected)
        assert outcome.success is right, ((await desktop.observe(text_tree=True)).text_tree, rules)


async def test_evaluators_that_are_none() -> None:
    with pytest.raises(InvalidTask, match="did you mean exact_match"):
        create(evaluator={**RIGHT, "func": "exact_mach"})
    with pytest.raises(InvalidTask, match=r"missing"):
        create(evaluator={"func": "exact_match", "result": COMMAND})


async def test_a_metric_that_breaks_ends_no_run(desktop: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(result: Value, expected: Value, options: Options) -> float:
        raise TypeError("unhashable")

    monkeypatch.setitem(METRICS, "exact_match", Metric(breaks))
    with pytest.raises(VerifierError, match="exact_match failed: TypeError: unhashable"):
        await score(desktop, func="exact_match", result=COMMAND, expected=rule(expected="one"))


async def test_a_long_comparison_holds_nothing_else_up(
    desktop: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    compares, goes_on = threading.Event(), threading.Event()

    def compare(result: Value, expected: Value, options: Options) -> float:
        compares.set()
        return float(goes_on.wait(120))

    monkeypatch.setitem(METRICS, "exact_match", Metric(compare))
    scoring = asyncio.create_task(score(desktop, **RIGHT))
    async with asyncio.timeout(120):
        while not compares.is_set():
            await asyncio.sleep(0.01)
    assert not scoring.done()
    goes_on.set()
    assert (await scoring).success


async def test_a_comparison_without_end_is_ended(desktop: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "QUERY_S", 0.2)
    left = "import sqlite3; sqlite3.connect('box/a.sqlite').execute('create table t (n)')"
    await desktop.act(Run(command=f'python3 -c "{left}"'))
    endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"
    with pytest.raises(VerifierError, match=r"no end within 0\.2 s"):
        await score(
            desktop,
            func="run_sqlite3",
            result={"type": "vm_file", "path": "box/a.sqlite", "dest": "a"},
            expected=rule(sql=endless),
        )
