"""Notes from episode to episode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent import notebook as notebook_module
from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import run_episode
from deskhand_agent.memory import WindowMemory
from deskhand_agent.notebook import KEPT, Notebook, place_of
from deskhand_agent.prompt import build_prompt
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Decision, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, run_episodes
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.types import Click, Split, Task

MEMORY = WindowMemory(strategy="constant")
CLICK = (Click(x=10, y=10),)


async def worked(
    stub: SimpleNamespace, notebook: Notebook | None, thought: str = "the button is left", **how: Any
) -> tuple[Trajectory, Any]:
    policy = stub.Policy(Decision(actions=CLICK, text="t", thought=thought))
    done = await run_episode(
        how.pop("task", stub.task(1, turns=1)),
        sandbox=stub.Sandbox(**how.pop("troubles", {})),
        policy=policy,
        verifier=stub.Verifier(),
        sink=MemorySink(),
        split=how.pop("split", Split.TRAIN),
        notebook=notebook,
        **how,
    )
    return done, policy


async def test_what_was_written_is_told_to_the_next_episode_at_the_place(
    stub: SimpleNamespace, tmp_path: Path
) -> None:
    first, _ = await worked(stub, Notebook(tmp_path, MEMORY))
    failed = stub.task(3, turns=1)
    second, policy = await worked(stub, Notebook(tmp_path, MEMORY), "too\nfew clicks", task=failed)
    third, _ = await worked(stub, Notebook(tmp_path, MEMORY))
    assert first.start.notes == ""
    assert second.start.notes == "Click 1 times (done): the button is left"
    assert third.start.notes == f"{second.start.notes}\nClick 3 times (not done): too few clicks"
    (context,) = policy.contexts
    shown = build_prompt(context, memory=MEMORY, coordinates=CoordinateSystem())
    assert shown[0].text.startswith(
        f"Click 3 times\nYour notes from earlier tasks here:\n{second.start.notes}\n"
    )
    elsewhere, _ = await worked(stub, Notebook(tmp_path, MEMORY), task=replace(failed, id="other/click"))
    assert elsewhere.start.notes == ""


async def test_a_worker_hands_it_from_job_to_job(
    stub: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = stub.Verifier()
    monkeypatch.setattr("deskhand_agent.worker.create_verifier", lambda *_: verifier)  # pyright: ignore
    splits = (Split.TRAIN, Split.TRAIN, Split.TEST)
    done: list[Trajectory] = []
    await run_episodes(
        [Job(task=stub.task(1, turns=1), split=split) for split in splits],
        source=stub.Source(),
        policy=stub.Policy(Decision(actions=CLICK, text="t", thought="seen")),
        sink=MemorySink(),
        settings=WorkerSettings(concurrency=1, notebook=Notebook(tmp_path, MEMORY)),
        on_done=done.append,
    )
    assert [each.start.notes for each in done] == ["", "Click 1 times (done): seen", ""]


@pytest.mark.parametrize("split", [Split.VALIDATION, Split.TEST])
async def test_a_measured_episode_neither_sees_nor_leaves_any(
    stub: SimpleNamespace, tmp_path: Path, split: Split
) -> None:
    await worked(stub, Notebook(tmp_path, MEMORY))
    before = sorted(tmp_path.rglob("*.json"))
    measured, _ = await worked(stub, Notebook(tmp_path, MEMORY), split=split)
    assert measured.start.notes == "" and sorted(tmp_path.rglob("*.json")) == before


async def test_a_broken_or_silent_episode_leaves_none(stub: SimpleNamespace, tmp_path: Path) -> None:
    died = {"act": {0: SandboxDied("gone")}}
    await worked(stub, Notebook(tmp_path, MEMORY), troubles=died)
    await worked(stub, Notebook(tmp_path, MEMORY), thought="")
    await worked(stub, Notebook(tmp_path, MEMORY), troubles={"reset": SandboxDied("never came")})
    assert list(tmp_path.rglob("*.json")) == []


async def test_a_group_is_told_the_same(stub: SimpleNamespace, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, MEMORY)
    told = [(await worked(stub, notebook, group_id="g"))[0].start.notes for _ in range(3)]
    assert told == ["", "", ""]
    assert (await worked(stub, notebook, group_id="h"))[0].start.notes.count("\n") == 2


async def test_a_group_is_told_the_same_by_whoever_takes_it_up(
    stub: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook_module, "GROUPS", 2)
    await worked(stub, Notebook(tmp_path, MEMORY), "one\r\nand two")
    told = Notebook(tmp_path, MEMORY).read("stub", group_id="g")
    assert told == "Click 1 times (done): one and two"
    await worked(stub, Notebook(tmp_path, MEMORY))
    for group in ("g", "h", "g"):
        again = Notebook(tmp_path, MEMORY).read("stub", group_id=group)
        assert again.count("\n") == (group == "h")
    # as many as are remembered began since: it is told what is the newest now
    Notebook(tmp_path, MEMORY).read("stub", group_id="i")
    assert Notebook(tmp_path, MEMORY).read("stub", group_id="g").count("\n") == 1


def test_what_another_process_forgets_first_is_no_error(tmp_path: Path) -> None:
    told = tmp_path / notebook_module.TOLD
    told.mkdir()
    (told / "gone").symlink_to(told / "nowhere")
    assert Notebook(tmp_path, MEMORY).read("stub", group_id="g") == ""
    assert Notebook(tmp_path, MEMORY).read("stub", group_id="g") == ""


@pytest.mark.parametrize("left", [b"", b'{"place": "st', b"\xff\xfe", b"null", b"[1]", b'{"note": 3}'])
async def test_a_damaged_note_is_passed_over(stub: SimpleNamespace, tmp_path: Path, left: bytes) -> None:
    notebook = Notebook(tmp_path, MEMORY)
    for thought in ("one", "two", "three"):
        await worked(stub, notebook, thought)
    damaged = sorted(tmp_path.rglob("*.json"))[1]
    damaged.write_bytes(left)
    done, _ = await worked(stub, notebook, "four")
    assert done.start.notes == "Click 1 times (done): one\nClick 1 times (done): three"
    # what a group was told is told anew
    assert notebook.read("stub", group_id="g").count("\n") == 2
    (told,) = (tmp_path / notebook_module.TOLD).iterdir()
    told.write_bytes(left)
    assert Notebook(tmp_path, MEMORY).read("stub", group_id="g").count("\n") == 2
    assert Notebook(tmp_path, MEMORY).read("stub", group_id="g") == notebook.read("stub")


async def test_the_newest_are_told_and_kept(stub: SimpleNamespace, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, MEMORY, chars=60)
    for number in range(KEPT + 3):
        await worked(stub, notebook, f"number {number}")
    assert notebook.read("stub").splitlines() == [
        f"Click 1 times (done): number {number}" for number in (KEPT + 2,)
    ]
    assert len(list(tmp_path.rglob("*.json"))) == KEPT and not list(tmp_path.rglob("*.part"))


async def test_a_long_note_is_cut_and_silences_no_other(stub: SimpleNamespace, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, MEMORY, chars=300)
    await worked(stub, notebook, "so long " * 99)
    told = notebook.read("stub")
    assert len(told) < 300 and "shortened from" in told
    await worked(stub, notebook, "brief")
    assert notebook.read("stub") == "Click 1 times (done): brief"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://shop.example:8443/cart?x=1", "shop.example"),
        ("http://127.0.0.1:3999/task.html", "osworld/chrome"),
        ("http://localhost/", "osworld/chrome"),
        ("http://[::1]:9/", "osworld/chrome"),
        ("file:///x", "osworld/chrome"),
        (None, "osworld/chrome"),
    ],
)
def test_a_place_is_the_site_or_what_the_task_is_of(
    stub: SimpleNamespace, url: str | None, place: str
) -> None:
    task: Task = replace(stub.task(), id="osworld/chrome/0af3")
    assert place_of(task, stub.observation(url=url)) == place
    assert place_of(replace(task, id="alone"), stub.observation()) == "alone"


def test_a_memory_that_writes_nothing_keeps_no_notebook(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a window writes nothing that could be kept"):
        Notebook(tmp_path, WindowMemory())
    with pytest.raises(ValueError, match="a policy that plans keeps no notebook"):
        Notebook(tmp_path, WindowMemory(summary_after=2, plan_tokens=9))
