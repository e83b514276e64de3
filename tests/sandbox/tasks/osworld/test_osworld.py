"""OSWorld's task files: read, refused, and worked on a real desktop."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.tasks.osworld import load_osworld, read_osworld
from deskhand_sandbox.tasks.setup import SETUP, check_steps, run_steps, set_up
from deskhand_sandbox.tasks.setup.downloads import FOLDER_VARIABLE, Downloads
from deskhand_sandbox.tasks.setup.steps import SetupContext
from deskhand_sandbox.tasks.written.folder import TaskFolder
from deskhand_sandbox.types import Fail, Outcome, Press, Tab, TypeText, VerifierSpec

RULE = {"func": "exact_match", "result": {"type": "active_tab_info"}}
EXAMPLES = Path(__file__).parent / "examples"
LIST = json.loads((EXAMPLES / "shopping-list.json").read_text())

TWO = "data:text/html,two?a=b%2Fc&d=e#f"
CHROME: dict[str, Any] = {
    "id": "tabs",
    "instruction": "Close the first of the two tabs.",
    "config": [
        {
            "type": "launch",
            "parameters": {"command": ["google-chrome", "--remote-debugging-port=1337", "about:blank"]},
        },
        {
            "type": "launch",
            "parameters": {"command": ["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"]},
        },
        {
            "type": "chrome_open_tabs",
            "parameters": {"urls_to_open": ["data:text/html,one", TWO]},
        },
        {"type": "activate_window", "parameters": {"window_name": "Google Chrome"}},
    ],
    "evaluator": {
        "func": ["is_expected_active_tab", "check_include_exclude"],
        "result": [{"type": "active_tab_info"}, {"type": "active_url_from_accessTree"}],
        "expected": [
            {"type": "rule", "rules": {"type": "url", "url": TWO}},
            {"type": "rule", "rules": {"include": [TWO]}},
        ],
    },
}


def changed(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    made = copy.deepcopy(LIST)
    change(made)
    return made


def test_a_file_is_read_into_a_task() -> None:
    read = load_osworld(EXAMPLES / "shopping-list.json")
    task = read.make(7)
    assert (task.id, task.seed, task.environment.kind) == ("osworld/shopping-list", 7, "desktop")
    assert task.instruction == LIST["instruction"]
    assert task.environment.settings["size_px"] == [1920, 1080]
    steps = task.environment.settings[SETUP]
    assert isinstance(steps, list) and steps[1:] == LIST["config"]
    assert task.labels["apps"] == "os"
    assert read.oracle(0) == (Press(keys=("Control", "End")), TypeText(text="coffee\n"))
    json.dumps([dict(task.environment.settings), dict(task.verifier.settings)])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda task: task.pop("id"), "id must be text"),
        (lambda task: task.update(instruction=" "), "instruction must be text"),
        (lambda task: task.pop("evaluator"), "evaluator is missing"),
        (lambda task: task.update(config={}), "config must be a list of steps"),
        (
            lambda task: task["config"].append({"type": "googledrive"}),
            r"config\[3\].*'googledrive'.*supported:.*download",
        ),
        (
            lambda task: task["config"].append({"type": "launch", "parameters": {}}),
            r"config\[3\] \(launch\): command is missing",
        ),
        (
            lambda task: task["config"].append({"type": "sleep", "parameters": {"seconds": "1"}}),
            "seconds must be a number",
        ),
        (
            lambda task: task["config"].append({"type": "open", "parameters": {"file": "x"}}),
            "unknown parameter 'file'",
        ),
        (
            lambda task: task["evaluator"].update(func="compare_pptx_files"),
            "'compare_pptx_files'.*supported:.*exact_match",
        ),
        (lambda task: task["evaluator"].update(func=["exact_match"]), "result must be a list of 1"),
        (lambda task: task["evaluator"].update(conj="xor"), "conj"),
        (
            lambda task: task["evaluator"]["result"][0].update(type="vlc_config"),
            "'vlc_config'.*supported:.*vm_file",
        ),
        (lambda task: task["evaluator"]["result"][1].pop("dest"), r"vm_file\): dest is missing"),
        (
            lambda task: task["evaluator"]["result"][0].update(type="url_dashPart", partIndex="x"),
            r"result \(url_dashPart\): partIndex must be a whole number, not 'x'",
        ),
        (
            lambda task: task["evaluator"]["result"][1].update(path=3),
            r"result \(vm_file\): path and dest must",
        ),
        (lambda task: task["evaluator"]["expected"][0].update(rules={}), "include or exclude"),
        (lambda task: task["evaluator"].update(postconfig=[{"type": "nap"}]), "postconfig.*'nap'"),
        (lambda task: task.update(oracle=["Klick"]), "oracle: unknown action 'Klick'; did you mean Click"),
    ],
)
def test_what_is_wrong_or_not_supported_is_refused_when_read(
    change: Callable[[dict[str, Any]], None], said: str
) -> None:
    with pytest.raises(InvalidTask, match=said) as refused:
        read_osworld(changed(change), "some.json")
    assert "some.json" in str(refused.value)


def opening(*urls: str) -> dict[str, Any]:
    step = {"type": "chrome_open_tabs", "parameters": {"urls_to_open": [*urls]}}
    return {"config": [*CHROME["config"], step]}


@pytest.mark.parametrize(
    ("fields", "kind", "network"),
    [
        ({}, "desktop", None),
        (opening("https://www.delta.com"), "desktop", "allow"),
        (opening("https://www.delta.com"), "vm", True),
        (opening("https://www.delta.com"), "browser", "allow"),
        (opening("http://localhost:8000/a", "http://127.0.0.1/", "http://[::1]:80/"), "desktop", None),
        ({**opening("https://www.delta.com"), "network": False}, "desktop", "deny"),
        ({**opening("https://www.delta.com"), "network": False}, "vm", False),
        ({"network": True}, "desktop", "allow"),
        ({"proxy": True}, "desktop", "allow"),
        (
            {"evaluator": {**RULE, "expected": {"type": "rule", "rules": {"expected": "https://x.org/a"}}}},
            "vm",
            True,
        ),
        (
            {
                "config": [
                    {"type": "download", "parameters": {"files": [{"url": "http://x.org", "path": "a"}]}}
                ]
            },
            "vm",
            None,
        ),
        ({"config": [{"type": "write", "parameters": {"path": "a", "content": "http://x.org"}}]}, "vm", None),
        (
            {
                "evaluator": {
                    **RULE,
                    "expected": {"type": "cloud_file", "path": "http://x.org/a", "dest": "a"},
                }
            },
            "vm",
            None,
        ),
    ],
)
def test_a_task_that_leads_outside_has_a_network(fields: dict[str, Any], kind: str, network: object) -> None:
    task = read_osworld({**CHROME, **fields}, "some.json", kind=kind).make(0)
    assert task.environment.settings.get("network") == network


def test_the_kind_is_the_file_s_or_a_variable_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKHAND_OSWORLD_KIND", "vm")
    for name, more in (("one", {}), ("two", {"kind": "browser"})):
        (tmp_path / f"{name}.json").write_text(json.dumps({**CHROME, "id": name, **more}))
    folder = TaskFolder(tmp_path)
    assert folder.make("osworld/one", 0).environment.kind == "vm"
    assert folder.make("osworld/two", 0).environment.kind == "browser"
    monkeypatch.delenv("DESKHAND_OSWORLD_KIND")
    assert read_osworld(CHROME, "one.json").kind == "desktop"
    for wrong, said in (
        ({"kind": "fake"}, "not in 'fake'"),
        ({"kind": 3}, "kind must be text"),
        ({"network": 1}, "true or"),
    ):
        with pytest.raises(InvalidTask, match=said):
            read_osworld({**CHROME, **wrong}, "one.json")


EXCEL = {"type": "content_from_vm_file", "path": "a.xlsx", "file_type": "xlsx", "file_content": "last_row"}


@pytest.mark.parametrize(
    "result",
    [
        {"type": "open_tabs_info"},
        {"type": "vm_file", "path": "a", "dest": "a"},
        {"type": "vm_command_line", "command": "ls"},
        {"type": "list_directory", "path": "a"},
        {"type": "default_video_player"},
        EXCEL,
    ],
)
def test_what_a_browser_alone_cannot_tell_is_refused_when_read(result: dict[str, Any]) -> None:
    evaluator = {
        "func": "exact_match",
        "result": result,
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    }
    read_osworld({**CHROME, "evaluator": evaluator}, "tabs.json")
    with pytest.raises(InvalidTask, match=f"evaluator.result: {result['type']} needs a desktop"):
        read_osworld({**CHROME, "evaluator": evaluator}, "tabs.json", kind="browser")


@pytest.mark.parametrize(
    ("step", "works"),
    [
        ({"type": "sleep", "parameters": {"seconds": 1}}, True),
        ({"type": "launch", "parameters": {"command": ["google-chrome"]}}, True),
        ({"type": "launch", "parameters": {"command": ["mousepad"]}}, False),
        ({"type": "execute", "parameters": {"command": ["python", "-c", "pyautogui.press('enter')"]}}, True),
        ({"type": "execute", "parameters": {"command": ["ls"]}}, False),
        ({"type": "chrome_close_tabs", "parameters": {"urls_to_close": ["about:blank"]}}, False),
        ({"type": "write", "parameters": {"path": "a", "content": "b"}}, False),
    ],
)
def test_steps_that_a_browser_alone_cannot_do_are_refused_when_read(
    step: dict[str, Any], works: bool
) -> None:
    evaluator = {**CHROME["evaluator"], "postconfig": [step]}
    for where, made in (
        (r"config\[0\]", {**CHROME, "config": [step]}),
        (r"evaluator.postconfig\[0\]", {**CHROME, "evaluator": evaluator}),
    ):
        read_osworld(made, "tabs.json")
        if works:
            read_osworld(made, "tabs.json", kind="browser")
            continue
        with pytest.raises(InvalidTask, match=rf"{where} \({step['type']}\): a browser alone"):
            read_osworld(made, "tabs.json", kind="browser")


def test_files_of_other_types_are_refused_when_read() -> None:
    result = {**EXCEL, "file_type": "docx"}
    evaluator = {
        "func": "exact_match",
        "result": result,
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    }
    with pytest.raises(InvalidTask, match="last_row of an xlsx"):
        read_osworld({**CHROME, "evaluator": evaluator}, "some.json")


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(InvalidTask, match="no JSON"):
        load_osworld(tmp_path / "broken.json")
    with pytest.raises(InvalidTask, match="cannot be read"):
        load_osworld(tmp_path / "missing.json")
    with pytest.raises(InvalidTask, match="not in 'fake'"):
        load_osworld(EXAMPLES / "shopping-list.json", kind="fake")


async def test_a_task_is_set_up_worked_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    read = load_osworld(EXAMPLES / "shopping-list.json")
    task = read.make(0)
    verifier = create_verifier(task.verifier)
    Downloads().place("http://files.invalid/list-gold.txt").write_text("milk\nbread\ncoffee\n")
    backend = create_backend("desktop")
    async with await backend.create() as sandbox:
        start = await set_up(sandbox, task)
        assert start.observation.size_px == (1920, 1080) and start.observation.terminal is None
        before = await verifier.score(sandbox, answer=None)
        assert not before.success and before.detail.startswith("check_include_exclude 0")
        for action in read.oracle(0) or ():
            await sandbox.act(action)  # type: ignore[arg-type]
        for _ in range(2):
            outcome = await verifier.score(sandbox, answer=None)
            assert outcome == Outcome(
                score=1.0, success=True, detail="check_include_exclude 1; compare_text_file 1"
            )
    await backend.close()


async def test_what_cannot_be_done_is_right_when_the_agent_says_so() -> None:
    read = load_osworld(EXAMPLES / "no-such-device.json")
    assert read.oracle(0) == (Fail(),)
    verifier: Any = create_verifier(read.make(0).verifier)
    backend = create_backend("fake")
    async with await backend.create() as sandbox:
        assert not (await verifier.score(sandbox, answer="done")).success
        assert (await verifier.score_given_up(sandbox)).success
    await backend.close()


@pytest.mark.browser
async def test_tabs_of_a_browser_on_a_desktop() -> None:
    task = read_osworld(CHROME, "tabs.json").make(0)
    info = {"type": "open_tabs_info"}
    wanted = {"type": "rule", "rules": {"type": "url", "urls": [TWO, "about:blank"]}}
    tabs = create_verifier(
        VerifierSpec(
            name="osworld",
            settings={"evaluator": {"func": "is_expected_tabs", "result": info, "expected": wanted}},
        )
    )
    backend = create_backend("desktop")
    async with await backend.create() as sandbox:
        await set_up(sandbox, task)
        outcome = await create_verifier(task.verifier).score(sandbox, answer=None)
        assert outcome.success, outcome
        assert not (await tabs.score(sandbox, answer=None)).success
        close = [{"type": "chrome_close_tabs", "parameters": {"urls_to_close": ["data:text/html,one"]}}]
        await run_steps(check_steps(close, "steps"), SetupContext(sandbox=sandbox, screen_px=(1920, 1080)))
        outcome = await tabs.score(sandbox, answer=None)
        assert outcome.success, outcome
    await backend.close()


@pytest.mark.browser
async def test_a_task_of_the_web_in_a_browser_alone() -> None:
    task = read_osworld(CHROME, "tabs.json", kind="browser").make(0)
    assert task.environment.settings["viewport_px"] == [1920, 1080]
    backend = create_backend("browser")
    async with await backend.create() as sandbox:
        await set_up(sandbox, task)
        assert (await create_verifier(task.verifier).score(sandbox, answer=None)).success
        await sandbox.act(Tab(do="focus", index=0))
        assert not (await create_verifier(task.verifier).score(sandbox, answer=None)).success
    await backend.close()
