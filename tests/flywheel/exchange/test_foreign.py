"""Episodes that others recorded, in the form their own runners leave them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from flywheel_episodes import make_end, make_step, make_trajectory, picture, write

from deskhand_agent.types import StopReason, Trajectory
from deskhand_flywheel.errors import DamagedInput
from deskhand_flywheel.exchange import Guidance, Imported, export_trajectories, import_trajectories
from deskhand_flywheel.exchange.pictures import data_of
from deskhand_flywheel.store import Store
from deskhand_sandbox.types import AskUser, Click, Finish, Press, Scroll, TypeText, Wait


def osworld_run(folder: Path, rows: list[dict[str, Any]], *, result: str | None, first: bool = True) -> Path:
    """What OSWorld's runner leaves of one example; screen n is picture n."""
    folder.mkdir(parents=True)
    if first:
        (folder / "step_0.png").write_bytes(data_of(picture(0)))
    lines: list[str] = []
    for number, row in enumerate(rows, start=1):
        stamp = f"20261123@12000{number}"
        name = f"step_{row.get('step_num', number)}_{stamp}.png"
        (folder / name).write_bytes(data_of(picture(number)))
        whole = {
            "step_num": number,
            "action_timestamp": stamp,
            "response": "",
            "reward": 0,
            "done": False,
            "info": {},
            "screenshot_file": name,
            **row,
        }
        lines.append(json.dumps(whole) + "\n")
    (folder / "traj.jsonl").write_text("".join(lines))
    if result is not None:
        (folder / "result.txt").write_text(result)
    return folder


RUN: list[dict[str, Any]] = [
    {
        "action": "import pyautogui\npyautogui.click(10, 20)\npyautogui.write('ada')",
        "response": "First.\n```…```",
    },
    {"action": "WAIT", "response": "Let it load."},
    {"action": {"action_type": "SCROLL", "parameters": {"dy": -3}}, "response": None},
    {
        "action": {"action_type": "tool_use", "command": "pyautogui.hotkey('ctrl', 's')"},
        "response": ["saved"],
    },
    {"action": "import os; os.system('rm -rf /')", "response": "Quicker so."},
    {"action": "DONE", "response": "Done.", "done": True},
]


async def imported(store: Store, path: Path, **guidance: Any) -> tuple[Imported, list[Trajectory]]:
    report = await import_trajectories(store, path, guidance=Guidance(**guidance))
    return report, [await store.trajectory(each, images=True) for each in report.added]


async def test_an_osworld_run(store: Store, tmp_path: Path) -> None:
    osworld_run(tmp_path / "run" / "os" / "94d95f96", RUN, result="1.0\n")
    examples = tmp_path / "examples" / "os"
    examples.mkdir(parents=True)
    (examples / "94d95f96.json").write_text(json.dumps({"id": "94d95f96", "instruction": "Save it."}))
    report, (episode,) = await imported(
        store, tmp_path / "run", policy_id="claude", examples=tmp_path / "examples"
    )
    assert (report.format, report.unread, report.without_first) == ("osworld", 1, 0)
    assert [step.decision.actions for step in episode.steps] == [
        (Click(x=10, y=20), TypeText(text="ada")),
        (Wait(seconds=2.0),),
        (Scroll(x=10, y=20, dy_px=300),),
        (Press(keys=("Control", "s")),),
        (),
        (Finish(),),
    ]
    assert episode.steps[4].decision.error is not None
    assert episode.steps[4].decision.text == "Quicker so."
    # what a step saw is the picture that came of the one before
    assert [step.observation.screenshot for step in episode.steps] == [picture(n) for n in range(6)]
    assert episode.end is not None and episode.end.final_observation is not None
    assert episode.end.final_observation.screenshot == picture(6)
    assert episode.end.outcome is not None and episode.end.outcome.success
    assert episode.end.stop_reason is StopReason.FINISHED
    assert (episode.start.task.id, episode.start.instruction) == ("osworld/94d95f96", "Save it.")
    assert (episode.start.policy_id, episode.start.labels["domain"]) == ("claude", "os")
    again, _ = await imported(store, tmp_path / "run", policy_id="claude", examples=tmp_path / "examples")
    assert again.added == () and again.present == (episode.id,)


async def test_a_result_that_is_no_share_of_success_is_refused(store: Store, tmp_path: Path) -> None:
    osworld_run(tmp_path / "run" / "os" / "a", RUN, result="70")
    with pytest.raises(DamagedInput, match="the result is '70', not a number from 0 to 1"):
        await import_trajectories(store, tmp_path / "run")


async def test_several_actions_of_one_reply_are_one_turn(store: Store, tmp_path: Path) -> None:
    rows = [
        {"step_num": 1, "action": "pyautogui.click(1, 2)", "response": "Both.", "reward": 0.5},
        {"step_num": 1, "action": "pyautogui.press('enter')", "response": "Both.", "reward": 0.25},
        {"step_num": 2, "action": "FAIL", "response": "No."},
    ]
    osworld_run(tmp_path / "run" / "vlc" / "x", rows, result="0")
    _, (episode,) = await imported(store, tmp_path / "run")
    assert [step.decision.actions for step in episode.steps[:1]] == [
        (Click(x=1, y=2), Press(keys=("Enter",)))
    ]
    assert [step.reward for step in episode.steps] == [0.75, 0.0]
    assert [step.observation.screenshot for step in episode.steps] == [picture(0), picture(2)]
    assert episode.end is not None and episode.end.stop_reason is StopReason.GAVE_UP
    assert episode.end.outcome is not None and not episode.end.outcome.success


async def test_without_the_first_screen_the_first_turn_is_left_out(store: Store, tmp_path: Path) -> None:
    osworld_run(tmp_path / "run" / "os" / "x", RUN, result=None, first=False)
    report, (episode,) = await imported(store, tmp_path / "run")
    assert report.without_first == 1
    assert len(episode.steps) == 5 and episode.steps[0].observation.screenshot == picture(1)
    assert episode.end is not None and episode.end.outcome is None


@pytest.mark.parametrize(
    ("row", "place", "said"),
    [
        ({"screenshot_file": "step_9.png"}, "step_9.png", "No such file"),
        ({"screenshot_file": "../../../secret.png"}, "secret.png", "outside"),
        ({"screenshot_file": "\0.png"}, "\\x00.png", "half a surrogate pair"),
        ({"screenshot_file": 3}, "line 6", "not a name"),
        ({"screenshot_file": "traj.jsonl"}, "traj.jsonl", "not a picture"),
        ({"reward": "much"}, "line 6", "reward is 'much'"),
        ({"reward": float("nan")}, "line 6", "not a number"),
    ],
)
async def test_a_damaged_osworld_run(
    store: Store, tmp_path: Path, row: dict[str, Any], place: str, said: str
) -> None:
    osworld_run(tmp_path / "run" / "os" / "a", RUN, result="1")
    osworld_run(tmp_path / "run" / "os" / "b", [*RUN[:5], {**RUN[5], **row}], result="1")
    with pytest.raises(DamagedInput) as refused:
        await import_trajectories(store, tmp_path / "run")
    assert place in refused.value.place and said in refused.value.what
    assert await store.count_trajectories() == 0


async def test_our_own_results_are_read_like_anybody_s_without_their_records(
    store: Store, tmp_path: Path
) -> None:
    ours = make_trajectory("one", steps=tuple(make_step(n, reward=n / 4) for n in range(3)), end=make_end())
    await write(store, ours)
    for format in ("osworld", "ui-tars"):
        out = tmp_path / format
        await export_trajectories(store, ["one"], out, format)
        if format == "osworld":
            next(out.rglob("deskhand.json")).unlink()
        else:
            (line,) = (out / "conversations.jsonl").read_text().splitlines()
            bare = {name: value for name, value in json.loads(line).items() if name != "deskhand"}
            (out / "conversations.jsonl").write_text(json.dumps(bare))
        _, (read,) = await imported(store, out)
        assert read.id != "one" and read.start.instruction == ours.start.instruction
        assert [step.decision.actions for step in read.steps] == [
            step.decision.actions for step in ours.steps
        ]
        assert [step.reward for step in read.steps] == [0.0, 0.25, 0.5]
        screens = [step.observation.screenshot for step in read.steps]
        assert screens == [picture(0), picture(1), picture(2)]
        assert read.end is not None and read.end.outcome is not None and read.end.outcome.success
        if format == "ui-tars":
            assert {step.decision.thought for step in read.steps} == {"The button says so."}


# ---- conversations ----------------------------------------------------------------------------------


def conversation(folder: Path, **changes: Any) -> dict[str, Any]:
    """As a UI-TARS data set has it, ShareGPT's way; its pictures beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(2):
        (folder / f"{number}.png").write_bytes(data_of(picture(number)))
    return {
        "conversations": [
            {"from": "system", "value": "You are a helpful assistant."},
            {"from": "human", "value": "You are a GUI agent. …\n## User Instruction\nBuy milk"},
            {"from": "human", "value": "<image>"},
            {"from": "gpt", "value": "Thought: The shop first.\nAction: click(start_box='(70,92)')"},
            {"from": "human", "value": "<image>"},
            {"from": "gpt", "value": "Thought: Bought.\nAction: finished(content='milk')"},
        ],
        "images": ["0.png", "1.png"],
        **changes,
    }


@pytest.mark.parametrize("name", ["conversations.json", "conversations.jsonl"])
async def test_a_foreign_conversation(store: Store, tmp_path: Path, name: str) -> None:
    found = conversation(tmp_path / "in")
    (tmp_path / "in" / name).write_text(json.dumps([found] if name.endswith("json") else found))
    report, (episode,) = await imported(
        store, tmp_path / "in", dialect="ui_tars_1_0", succeeded=True, policy_id="people"
    )
    assert (report.format, report.unread) == ("ui-tars", 0)
    # 0..1000 in both directions, on a screen of 160 by 210 pixels
    assert episode.steps[0].decision.actions == (Click(x=11, y=19),)
    assert episode.steps[1].decision.actions == (Finish(text="milk"),)
    assert [step.decision.thought for step in episode.steps] == ["The shop first.", "Bought."]
    assert episode.start.instruction == "Buy milk"
    assert episode.end is not None and episode.end.stop_reason is StopReason.FINISHED
    assert episode.end.outcome is not None and episode.end.outcome.success


async def test_conversations_without_a_name_are_of_one_task_where_they_ask_for_the_same(
    store: Store, tmp_path: Path
) -> None:
    def asking(what: str, **changes: Any) -> dict[str, Any]:
        found = conversation(tmp_path / "in", **changes)
        found["conversations"][1]["value"] = f"## User Instruction\n{what}"
        return found

    milk, bread, more = asking("Buy milk"), asking("Buy bread"), asking("Buy milk", outcome=0.0)
    lines = [milk, bread, more, asking("Buy eggs", id="eggs"), asking("Buy figs", id=7), asking("Buy", id="")]
    (tmp_path / "in" / "conversations.json").write_text(json.dumps(lines))
    _, episodes = await imported(store, tmp_path / "in", dialect="ui_tars_1_0")
    tasks = [(each.start.instruction, each.start.task.id) for each in episodes]
    names = {
        what: f"ui-tars/{blake3(what.encode()).hexdigest()[:12]}" for what in ("Buy milk", "Buy bread", "Buy")
    }
    named = {**names, "Buy eggs": "ui-tars/eggs", "Buy figs": "ui-tars/7"}
    assert len(tasks) == 6 and set(tasks) == set(named.items())
    # half a surrogate pair is no more trouble in the task's name than in the instruction
    (tmp_path / "in" / "conversations.json").write_text(json.dumps([asking("\ud800")]))
    assert len((await import_trajectories(store, tmp_path / "in")).added) == 1


async def test_what_the_user_said_to_a_question_of_a_foreign_conversation(
    store: Store, tmp_path: Path
) -> None:
    found = conversation(tmp_path / "in")
    told = found["conversations"]
    told[3:5] = [
        {"from": "gpt", "value": "Thought: Which one?\nAction: call_user()"},
        {"from": "human", "value": "<image>\nThe whole milk."},
    ]
    (tmp_path / "in" / "conversations.json").write_text(json.dumps([found]))
    _, (episode,) = await imported(store, tmp_path / "in", dialect="ui_tars_1_0")
    assert isinstance(episode.steps[0].decision.actions[0], AskUser)
    assert [step.answer for step in episode.steps] == ["The whole milk.", None]


@pytest.mark.parametrize("format", ["osworld", "ui-tars"])
async def test_an_id_that_no_database_holds_is_told_escaped(
    store: Store, tmp_path: Path, format: str
) -> None:
    if format == "osworld":
        run = osworld_run(tmp_path / "in" / "os" / "a", RUN, result="1")
        (run / "a.json").write_text(json.dumps({"id": "\ud800\0", "instruction": "Save it."}))
    else:
        lines = json.dumps([conversation(tmp_path / "in", id="\ud800\0")])
        (tmp_path / "in" / "conversations.json").write_text(lines)
    _, (episode,) = await imported(store, tmp_path / "in")
    assert episode.start.task.id == rf"{format}/\ud800\x00"


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"images": ["0.png"]}, "message 6", "2 pictures were shown"),
        ({"images": "0.png"}, "line 2", "images is missing"),
        ({"images": ["0.png", "7.png"]}, "7.png", "No such file"),
        ({"images": ["0.png", "\0.png"]}, "\\x00.png", "half a surrogate pair"),
        ({"images": ["0.png", "\ud800.png"]}, "\\ud800.png", "half a surrogate pair"),
        ({"images": ["0.png", 7]}, "line 2", "not the name of a file"),
        ({"conversations": []}, "line 2", "no reply"),
        ({"conversations": [{"from": "human", "value": 3}]}, "line 2, message 1", "expected from"),
        ({"conversations": [{"from": "gpt", "value": "Action: wait()"}]}, "line 2, message 1", "0 pictures"),
        ({"rewards": [0.5, float("nan")]}, "line 2, message 6", "its reward is nan, not a number"),
        ({"rewards": [10**400]}, "line 2, message 4", "its reward is 1000"),
        ({"outcome": float("nan")}, "line 2", "outcome is nan"),
        ({"outcome": 7}, "line 2", "outcome is 7, not a number from 0 to 1"),
        ({"outcome": 10**400}, "line 2", "outcome is 1000"),
    ],
)
async def test_a_damaged_conversation(
    store: Store, tmp_path: Path, changes: dict[str, Any], place: str, said: str
) -> None:
    lines = [conversation(tmp_path / "in"), conversation(tmp_path / "in", **changes)]
    (tmp_path / "in" / "conversations.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DamagedInput) as refused:
        await import_trajectories(store, tmp_path / "in")
    assert place in refused.value.place and said in refused.value.what
    assert await store.count_trajectories() == 0
