"""An evaluation that thinks longer: samples are judged, ends are checked, and all of it is counted."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.errors import InferenceError
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.test_time.settings import Deliberation
from deskhand_agent.types import Context, Decision, Step, Trajectory
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, save_reward_model
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.tasks.splits import split_by_hash
from deskhand_sandbox.types import Split
from deskhand_trainer import evaluation
from deskhand_trainer.config import EvaluateConfig, parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import FINISHED, REFUSED
from deskhand_trainer.wilson import clustered_wilson

TASK = "fake/press-button"


def urls(home: Path) -> dict[str, str]:
    return {"store_url": f"sqlite+aiosqlite:///{home}/store.db", "blobs_url": f"file://{home}/blobs"}


def run(home: Path, name: str, **config: Any) -> tuple[int, RunFolder]:
    folder = home / name
    folder.mkdir(parents=True)
    told = {"tasks": [TASK], "episodes": 3, "max_tokens": 6, "void_limit": 9, **config}
    (folder / "spec.json").write_text(
        json.dumps({"id": name, "kind": "evaluate", "config": told, **urls(home)})
    )
    return _guarded(RunFolder(folder)), RunFolder(folder)


def again(folder: RunFolder, **config: Any) -> dict[str, Any]:
    """What a run comes to that died before it left its result."""
    (folder.path / "result.json").unlink()
    spec = json.loads((folder.path / "spec.json").read_text())
    spec["config"] |= config
    (folder.path / "spec.json").write_text(json.dumps(spec))
    assert _guarded(folder) == FINISHED
    return json.loads((folder.path / "result.json").read_text())["metrics"]


def kept_judge(home: Path) -> str:
    """A process reward model of the store that has learned nothing; its id."""

    async def keep() -> str:
        bundle = build_tiny(TinyConfig(seed=0))
        save_reward_model(bundle, ScoreHead(hidden_width(bundle)), home / "prm")
        async with await Store.open(*urls(home).values()) as store:
            return (await store.keep_policy(home / "prm", parent_id=None, metadata={"reward_model": True})).id

    home.mkdir(parents=True, exist_ok=True)
    return asyncio.run(keep())


def steps(home: Path, mode: str) -> list[list[Step]]:
    async def read() -> list[list[Step]]:
        async with await Store.open(*urls(home).values()) as store:
            ids = await store.trajectory_ids(TrajectoryFilter(labels={"mode": mode}))
            return [[*t.steps] async for t in store.each_trajectory(ids)]

    return asyncio.run(read())


def test_samples_are_judged_and_their_tokens_are_counted(tmp_path: Path) -> None:
    judge = kept_judge(tmp_path)
    told = {"samples": 3, "choose": "judge", "judge": judge, "turns": 2}
    status, folder = run(tmp_path, "judged", test_time=told)
    assert status == FINISHED
    metrics = json.loads((folder.path / "result.json").read_text())["metrics"]
    sampled, greedy = steps(tmp_path, "sampled"), steps(tmp_path, "greedy")
    assert {len(turns) for turns in (*sampled, *greedy)} == {2}
    drawn = [step.decision for turns in sampled for step in turns]
    # blank, it scores all alike
    assert {(each.rating, len(each.others)) for each in drawn} == {(0.5, 2)}
    assert all(not step.decision.others for turns in greedy for step in turns)
    assert metrics["turns_sampled"] == len(drawn) == 6
    assert metrics["completion_tokens_sampled"] == sum(each.cost["completion_tokens"] for each in drawn)
    greedy_ids = [step.decision.completion for turns in greedy for step in turns]
    assert metrics["completion_tokens_greedy"] == sum(len(each.ids) for each in greedy_ids if each)


def test_attempts_are_judged_by_what_the_agent_can_know(tmp_path: Path) -> None:
    judge = kept_judge(tmp_path)
    told = {"attempts": 2, "check": "judge", "judge": judge, "least_score": 0.9, "turns": 2}
    status, _ = run(tmp_path, "tried", modes=["greedy"], test_time=told)
    assert status == FINISHED
    (again, *_) = answers = [[step.answer for step in turns] for turns in steps(tmp_path, "greedy")]
    assert again[1] == "That was not right. Try again." and [len(each) for each in answers] == [4, 4, 4]


def test_what_broke_is_counted_beside_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, failing = LocalPolicy.act, iter([InferenceError("as it was told")])

    async def fails_once(self: LocalPolicy, context: Context) -> Decision:
        for failed in failing:
            raise failed
        return await act(self, context)

    monkeypatch.setattr(LocalPolicy, "act", fails_once)
    status, folder = run(tmp_path, "broken", modes=["greedy"])
    assert status == FINISHED
    (found,) = json.loads((folder.path / "evaluation.json").read_text())
    assert (found["rate"]["count"], found["dropped"]) == (3, {"model_error": 1})


def test_start_states_may_be_tried_several_times_each(tmp_path: Path) -> None:
    """pass@3: of as many start states as there are episodes, those with a success among three."""
    status, folder = run(tmp_path, "tried", episodes=4, tries=3, targets=False)
    assert status == FINISHED
    metrics = json.loads((folder.path / "result.json").read_text())["metrics"]
    assert (len(steps(tmp_path, "sampled")), len(steps(tmp_path, "greedy"))) == (12, 4)
    assert (metrics["episodes_sampled"], metrics["episodes_greedy"]) == (12, 4)
    found = json.loads((folder.path / "evaluation.json").read_text())
    assert [(each["mode"], each["passed"] and each["passed"]["count"]) for each in found] == [
        ("sampled", 4),
        ("greedy", None),
    ]
    assert metrics["success_sampled"] <= metrics["passed_sampled"] <= min(1, 3 * metrics["success_sampled"])
    assert "passed_greedy" not in metrics
    # the interval is over start states, not over tries that have one in common
    starts = [(won, tried) for won, tried in found[0]["starts"]]
    assert [tried for _, tried in starts] == [3] * 4 and sum(won for won, _ in starts) == 12 * metrics[
        "success_sampled"
    ]
    rate = clustered_wilson(starts)
    assert (metrics["success_sampled_low"], metrics["success_sampled_high"]) == (rate.low, rate.high)
    assert again(folder) == metrics and len(steps(tmp_path, "sampled")) == 12


def test_what_a_run_played_before_it_died_is_not_played_again(tmp_path: Path) -> None:
    def played() -> dict[str, set[tuple[str, int]]]:
        async def read() -> dict[str, set[tuple[str, int]]]:
            async with await Store.open(*urls(tmp_path).values()) as store:
                found: dict[str, set[tuple[str, int]]] = {}
                for mode in ("sampled", "greedy"):
                    ids = await store.trajectory_ids(TrajectoryFilter(labels={"mode": mode}))
                    found[mode] = {(t.id, t.start.task.seed) async for t in store.each_trajectory(ids)}
                return found

        return asyncio.run(read())

    status, folder = run(tmp_path, "stopped", modes=["greedy"], episodes=2, targets=False)
    assert status == FINISHED
    before = played()
    metrics = again(folder, modes=["sampled", "greedy"], episodes=3)
    after = played()
    assert before["greedy"] < after["greedy"] and not before["sampled"]
    assert len(after["sampled"]) == len(after["greedy"]) == 3
    assert {seed for _, seed in after["sampled"]} == {seed for _, seed in after["greedy"]}
    assert metrics["episodes_greedy"] == metrics["episodes_sampled"] == 3 and metrics["episodes"] == 6
    assert again(folder) == metrics and played() == after
    # another run under the same name is another one
    (folder.path / "stamp.json").unlink()
    again(folder)
    assert {mode: len(each) for mode, each in played().items()} == {"sampled": 6, "greedy": 6}


def test_no_screen_and_no_reply_is_held_or_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Trajectory] = []
    summary = getattr(evaluation, "_summary")  # noqa: B009

    def summed(*told: Any) -> Any:
        held.extend(told[3])
        return summary(*told)

    monkeypatch.setattr(evaluation, "_summary", summed)
    status, folder = run(tmp_path, "lean", modes=["greedy"], targets=False)
    metrics = json.loads((folder.path / "result.json").read_text())["metrics"]
    assert status == FINISHED and len(held) == 3 and metrics["completion_tokens_greedy"] > 0
    shutil.rmtree(tmp_path / "blobs")
    assert again(folder) == metrics and len(held) == 6
    for trajectory in held:
        assert trajectory.end is not None and trajectory.end.final_observation is None
        for step in trajectory.steps:
            said = step.decision
            assert not step.observation.screenshot.data and not said.text and said.completion is None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"test_time": {"samples": 2, "choose": "judge", "judge": "policy-none"}}, "policy-none"),
        ({"policy": "scripted", "test_time": {"samples": 2}}, "nothing to think over"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, config: dict[str, Any], says: str) -> None:
    status, folder = run(tmp_path, "refused", **config)
    assert status == REFUSED and says in (folder.path / "error.json").read_text()


def test_settings_are_read_with_their_place_named() -> None:
    told = parse_config(EvaluateConfig, {"test_time": {"samples": 4, "radius_px": 6}})
    assert told.test_time == Deliberation(samples=4, radius_px=6)
    for wrong, says in (
        ({"sample": 4}, "test_time.sample"),
        ({"samples": 0}, "samples is 0"),
        ({"choose": "judge", "samples": 2}, "name the process reward model"),
    ):
        with pytest.raises(ConfigError, match=says):
            parse_config(EvaluateConfig, {"test_time": wrong})


def test_seeds_that_a_task_does_not_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started again it would come no further."""
    monkeypatch.setattr("deskhand_sandbox.tasks.splits._fixed", lambda task: task == TASK)
    split = next(each for each in (Split.VALIDATION, Split.TEST) if split_by_hash(TASK) is not each)
    status, folder = run(tmp_path, "fixed", split=split.value)
    assert status == REFUSED
    message = json.loads((folder.path / "error.json").read_text())["message"]
    assert f"{TASK} has one start state" in message and f"it has no {split.value} seeds" in message
