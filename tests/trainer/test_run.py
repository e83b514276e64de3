"""Runs as processes: refused, stopped, killed, resumed."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle
from deskhand_agent.reviewing import REVIEWED, PersonsAnswer, ReviewedPolicy
from deskhand_agent.test_time.sampling import ManySamples, by_judge
from deskhand_agent.types import Context, Decision
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeFilter, SelectionRule, TrajectoryFilter
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Click, Finish, Split, Wait
from deskhand_trainer.presets import method
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder, hold
from deskhand_trainer.run_process import CRASHED, FINISHED, REFUSED, STOPPED, guarded

pytestmark = pytest.mark.timeout(600)
TASK = "fake/press-button"
PPO: dict[str, Any] = {
    "tasks": [TASK],
    "iterations": 4,
    "episodes_per_iteration": 8,
    "minibatch": 16,
    "validation_episodes": 4,
    "evaluate_every": 4,
    "max_tokens": 4,
    "value_pretraining": {"episodes": 8, "max_epochs": 2},
}


def make_run(home: Path, kind: str, config: dict[str, Any], **more: Any) -> Path:
    folder = home / f"run-{kind}"
    folder.mkdir()
    spec = {
        "id": f"t-{kind}",
        "kind": kind,
        "config": config,
        "store_url": f"sqlite+aiosqlite:///{home}/store.db",
        "blobs_url": f"file://{home}/blobs",
        **more,
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return folder


async def learned_from(home: Path, result: dict[str, Any]) -> list[object]:
    """What the policy that came of a run says."""
    async with await Store.open(f"sqlite+aiosqlite:///{home}/store.db", f"file://{home}/blobs") as store:
        named = (await store.policy(result["policy_out"])).metadata["material"]
        assert isinstance(named, list)
        return [*named]


@pytest.mark.parametrize(
    ("kind", "config", "more", "message"),
    [
        ("ppo", {"iteratons": 3}, {}, "unknown field 'iteratons'; did you mean iterations"),
        ("ppo", {"tasks": ["fake/pres-button"]}, {}, "did you mean fake/press-button"),
        ("evaluate", {"tasks": [TASK]}, {"policy_in": "policy-none"}, "no policy 'policy-none' in the store"),
        ("collect", {"tasks": ["fake/never-done"]}, {}, "no oracle for fake/never-done"),
        (
            "collect",
            {"tasks": []},
            {"sandbox": "x"},
            "unknown field 'spec.sandbox'; did you mean sandbox_url",
        ),
        ("evaluate", {"tasks": []}, {}, "name at least one task"),
        ("evaluate", {"tasks": ["fake/never-done"]}, {}, "fake/never-done: nothing is known to solve it"),
        ("ppo", {"tasks": ["fake/never-done"]}, {}, "fake/never-done: nothing is known to solve it"),
        ("ppo", {"tasks": [TASK], "probe": True}, {}, f"{TASK}: a probe is of held-out tasks alone"),
        (
            "pretrain",
            {"demonstration_tasks": ["miniwob/bisect-angle"]},
            {},
            "miniwob/bisect-angle",
        ),
        ("pretrain", {"device": "cuda"}, {}, "field 'device': PyTorch finds no CUDA device here"),
        ("sft", {"device": "cuda"}, {}, "field 'device': PyTorch finds no CUDA device here"),
        ("prefer", {"device": "cuda"}, {}, "field 'device': PyTorch finds no CUDA device here"),
        (
            "sft",
            {"tasks": [TASK], "perception_tasks": []},
            {"dataset": "round-1/stf@1"},
            "the dataset round-1/stf@1 cannot be used: no version 1",
        ),
        (
            "sft",
            {"tasks": [TASK], "hard_tasks": ["fake/press-in-order"]},
            {},
            "field 'hard_tasks': fake/press-in-order must stand in 'tasks' too",
        ),
        ("ppo", {**PPO, "stop_below": 0.2}, {}, "field 'stop_below': it needs a process reward model"),
        (
            "ppo",
            {**PPO, **method("g-ra").config},
            {},
            "field 'process_weight': it pays by a process",
        ),
        (
            "ppo",
            {**PPO, "tasks": ["worlds/tic-tac-toe"], "summary_after": 4, "rollouts": "self_play"},
            {},
            "self_play ones ask for no summary, and the policy's memory has them: set summary_after=0",
        ),
        (
            "ppo",
            {**PPO, "memory": "operations"},
            {},
            "the policy's memory: strategy is operations: say in summary_after after how many turns",
        ),
        (
            "ppo",
            {**PPO, "notebook": True},
            {},
            "field 'notebook': a window writes nothing that could be",
        ),
        ("prefer", {"tasks": [TASK]}, {}, f"the store holds no pairs of {TASK}: tdpo needs several episodes"),
        ("prefer", {"tasks": [TASK], "pairs": "corrections"}, {}, "nobody has replaced an action in them"),
        (
            "prefer",
            {"tasks": [TASK], "pairs": "others"},
            {},
            "was drawn several times with ratings 0.1 apart",
        ),
        ("dance", {}, {}, "kind must be one of collect, label, score, pretrain, sft, prefer, ppo, evaluate"),
    ],
)
def test_a_bad_spec_is_refused_with_a_sentence(
    tmp_path: Path, kind: str, config: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    folder = make_run(tmp_path, kind, config, **more)
    assert _guarded(RunFolder(folder)) == REFUSED
    error = json.loads((folder / "error.json").read_text())
    assert message in error["message"]
    assert not (folder / "result.json").exists()


def test_a_full_disk_is_no_bug(tmp_path: Path) -> None:
    async def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "best/model.safetensors")

    assert guarded(RunFolder(tmp_path), full) == CRASHED
    error = json.loads((tmp_path / "error.json").read_text())
    assert error["type"] == "DiskFull"
    assert "best/model.safetensors" in error["message"] and "start the run again" in error["message"]


def test_a_run_learns_from_what_was_routed_to_it_alone(tmp_path: Path) -> None:
    async def routed() -> str:
        async with await Store.open(*urls) as store:
            made = await store.select_dataset("some/sft", SelectionRule.SUCCESS)
            return f"{made.name}@{made.version}"

    async def cited(policy: str) -> object:
        async with await Store.open(*urls) as store:
            return (await store.policy(policy)).metadata["dataset"]

    def collect(name: str, offset: int) -> None:
        told = {"tasks": [TASK], "episodes_per_task": 3, "seed_offset": offset}
        made = make_run(tmp_path, "collect", told)
        assert _guarded(RunFolder(made)) == FINISHED
        made.rename(tmp_path / name)

    urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    collect("before", 0)
    dataset = asyncio.run(routed())
    collect("after", 10)
    told = {"tasks": [TASK], "perception_tasks": [], "cloning_epochs": 1}
    folder = make_run(tmp_path, "sft", told, dataset=dataset)
    assert _guarded(RunFolder(folder)) == FINISHED
    found = json.loads((folder / "result.json").read_text())
    assert found["metrics"]["demonstrations"] == 3
    assert [each["step"] for each in found["metrics"]["curve"]] == [found["metrics"]["steps/cloning"]]
    assert asyncio.run(cited(found["policy_out"])) == dataset == "some/sft@1"


def test_more_demonstrations_are_taken_of_hard_tasks(tmp_path: Path) -> None:
    tasks = [TASK, "fake/press-in-order"]
    made = make_run(tmp_path, "collect", {"tasks": tasks, "episodes_per_task": 4})
    assert _guarded(RunFolder(made)) == FINISHED
    made.rename(tmp_path / "collected")
    taken = {"demonstrations_per_task": 1, "hard_tasks": tasks[1:], "hard_demonstrations": 3}
    folder = make_run(tmp_path, "sft", {"tasks": tasks, "perception_tasks": [], "cloning_epochs": 1, **taken})
    assert _guarded(RunFolder(folder)) == FINISHED
    found = json.loads((folder / "result.json").read_text())
    assert found["metrics"]["demonstrations"] == len(asyncio.run(learned_from(tmp_path, found))) == 4


def test_early_experience_is_learned_beside_demonstrations(tmp_path: Path) -> None:
    """Of the store's episodes of the tasks, failures too; that there is none is said by name."""

    async def idle() -> list[str]:
        class Idle:
            id = "idle"

            async def act(self, context: Context) -> Decision:
                action = Finish(text="") if context.steps else Wait(seconds=0.01)
                return Decision(actions=(action,), text=format_reply(None, [action]))

        urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
        async with (
            await Store.open(*urls) as store,
            SandboxManager({"fake": PoolSettings(max_sandboxes=1)}) as source,
        ):
            jobs = [
                Job(task=make_task(TASK, seed), split=split)
                for split in (Split.TRAIN, Split.TEST)
                for seed in seeds(TASK, split, 3)
            ]
            await run_episodes(jobs, source=source, policy=Idle(), sink=store)
            return [*await store.trajectory_ids(TrajectoryFilter(split=Split.TEST))]

    def learned(**more: Any) -> Path:
        told = {"tasks": [TASK], "perception_tasks": [], "cloning_epochs": 1, **more}
        folder = make_run(tmp_path, "sft", told)
        _guarded(RunFolder(folder))
        return folder.rename(tmp_path / f"sft-{len(list(tmp_path.iterdir()))}")

    made = make_run(tmp_path, "collect", {"tasks": [TASK], "episodes_per_task": 3})
    assert _guarded(RunFolder(made)) == FINISHED
    made.rename(tmp_path / "collected")
    refused = json.loads((learned(reflections=9) / "error.json").read_text())
    assert "field 'reflections': the store holds no early experience of fake/press-button" in str(refused)
    tests = asyncio.run(idle())
    found = json.loads((learned(next_states=9, reflections=9) / "result.json").read_text())
    metrics, named = found["metrics"], asyncio.run(learned_from(tmp_path, found))
    assert (metrics["reflections"], metrics["experience_left_out"]) == (6, 0)
    assert metrics["next_states"] >= 3 and metrics["reflections/loss"] > 0
    assert len(named) == 6 and len(tests) == 3 and not {*named} & {*tests}
    off = json.loads((learned() / "result.json").read_text())["metrics"]
    assert "next_states" not in off and "experience_left_out" not in off


def test_demonstrations_are_imitated_between_questions(tmp_path: Path) -> None:
    told = {
        "model": {"vision_width": 32, "vision_depth": 1, "text_width": 32, "text_depth": 1, "text_mlp": 32},
        "pages": 4, "wide_pages": 0, "large_pages": 0,
        "change_pages": 0, "wide_change_pages": 0, "large_change_pages": 0,
        "held_out_pages": 2, "concurrency": 2, "reading_steps": 0, "asking_steps": 4,
        "pages_per_step": 2, "questions_per_page": 2, "threads": 1, "workers": 1,
        "demonstration_tasks": [TASK], "demonstration_share": 0.5, "elsewhere": 0.5, "device": "cpu",
    }  # fmt: skip
    folder = make_run(tmp_path, "pretrain", told)
    assert _guarded(RunFolder(folder)) != FINISHED
    error = json.loads((folder / "error.json").read_text())
    assert "the store holds no demonstration of these tasks" in json.dumps(error)
    folder.rename(tmp_path / "refused")
    made = make_run(tmp_path, "collect", {"tasks": [TASK], "episodes_per_task": 4})
    assert _guarded(RunFolder(made)) == FINISHED
    folder = make_run(tmp_path, "pretrain", told)
    assert _guarded(RunFolder(folder)) == FINISHED, (folder / "error.json").read_text()
    found = json.loads((folder / "result.json").read_text())
    assert found["metrics"]["demonstrations"] == len(asyncio.run(learned_from(tmp_path, found))) == 4
    assert found["metrics"]["imitated_loss"] > 0


def test_the_same_demonstrations_make_the_same_policy_in_whichever_order_they_came(tmp_path: Path) -> None:
    def cloned(home: Path, offsets: tuple[int, ...]) -> bytes:
        home.mkdir()
        for offset in offsets:
            told = {"tasks": [TASK], "episodes_per_task": 2, "seed_offset": offset}
            made = make_run(home, "collect", told)
            assert _guarded(RunFolder(made)) == FINISHED
            made.rename(home / f"collected-{offset}")
        folder = make_run(home, "sft", {"tasks": [TASK], "perception_tasks": [], "cloning_epochs": 1})
        assert _guarded(RunFolder(folder)) == FINISHED
        return (folder / "trained/model.safetensors").read_bytes()

    assert cloned(tmp_path / "one", (0, 2)) == cloned(tmp_path / "other", (2, 0))


async def failures_disliked(tmp_path: Path) -> None:
    urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    async with await Store.open(*urls) as store:
        for id in await store.trajectory_ids(TrajectoryFilter(outcome=OutcomeFilter.FAILURE)):
            await store.mark(id, 0, "ada", 0.0)


def test_steps_are_labelled_and_a_reward_model_learns_from_the_labels(tmp_path: Path) -> None:
    def done(kind: str, config: dict[str, Any]) -> tuple[dict[str, Any], str]:
        folder = make_run(tmp_path, kind, config)
        assert _guarded(RunFolder(folder)) == FINISHED, (folder / "error.json").read_text()
        result = json.loads((folder / "result.json").read_text())
        run = json.loads((folder / "spec.json").read_text())["id"]
        folder.rename(tmp_path / f"done-{kind}-{len(list(tmp_path.iterdir()))}")
        return result, run

    _, played = done("collect", {"tasks": [TASK], "episodes_per_task": 4})
    done("collect", {"tasks": [TASK], "episodes_per_task": 4, "policy": "local", "max_tokens": 4})
    labels = {"tasks": [TASK], "runs": [played], "continuations": 2, "max_tokens": 4}
    found = done("label", labels)[0]["metrics"]
    assert found["trajectories"] == 8 and found["inexact"] == found["left_out"] == 0
    assert found["labeller"].startswith("mc1:untrained@t1,4,1:2")
    again = done("label", labels)[0]["metrics"]
    assert again["trajectories"] == 0 and again["labelled_steps"] == found["labelled_steps"] == found["steps"]
    told = {"labels": ["human", "monte-carlo"], "labeller": found["labeller"], "runs": [played], "epochs": 1}
    # to an untrained policy the steps of a failure are as good as any: a person says that they are not
    asyncio.run(failures_disliked(tmp_path))
    scored, _ = done("score", told)
    assert scored["policy_out"] and scored["metrics"]["scored"] == 8
    assert scored["metrics"]["train_steps"] + scored["metrics"]["held_out_steps"] == found["steps"]
    elsewhere, _ = done("label", {**labels, "runs": ["another"]})
    assert elsewhere["metrics"]["trajectories"] == 0

    # stopped in the middle it does not go on to its end
    folder = make_run(tmp_path, "score", {**told, "epochs": 1000, "trunk_lr": 1e-4, "minutes": 60.0})
    process, told_of = start(folder), folder / "state.json"
    wait_for(process, lambda: told_of.exists() and "training the reward model" in told_of.read_text())
    process.terminate()
    assert process.wait(300) == STOPPED


def test_each_start_state_is_tried_as_often_as_asked(tmp_path: Path) -> None:
    async def starts() -> list[tuple[int, str | None]]:
        async with await Store.open(
            f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
        ) as store:
            read = store.each_trajectory(await store.trajectory_ids())
            return [(each.start.task.seed, each.start.group_id) async for each in read]

    folder = make_run(tmp_path, "collect", {"tasks": [TASK], "episodes_per_task": 2, "tries": 3})
    assert _guarded(RunFolder(folder)) == FINISHED
    assert json.loads((folder / "result.json").read_text())["metrics"]["episodes"] == 6
    found = Counter(asyncio.run(starts()))
    assert sorted(found.values()) == [3, 3] and len({group for _, group in found}) == 2


@pytest.mark.slow
def test_pairs_are_learned_from_groups_that_were_played(tmp_path: Path) -> None:
    """Demonstrations, a policy that clicks now here, now there, groups as GRPO plays them, their pairs."""

    def done(kind: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
        folder = make_run(tmp_path, kind, {"tasks": [TASK], **config}, **more)
        assert _guarded(RunFolder(folder)) == FINISHED, (folder / "error.json").read_text()
        result = json.loads((folder / "result.json").read_text())
        folder.rename(tmp_path / f"done-{len(list(tmp_path.iterdir()))}")
        return result

    done("collect", {"episodes_per_task": 24})
    cloning = {"perception_tasks": [], "cloning_epochs": 20, "cloning_lr_scale": 1.0, "lr": 0.002}
    start = done("sft", {**cloning, "demonstrations_per_task": 24})["policy_out"]
    groups = {**PPO, **method("grpo").config, "iterations": 1, "episodes_per_iteration": 48, "max_tokens": 12}
    played = done("ppo", groups, policy_in=start)["policy_out"]
    for how in ("tdpo", "refuel"):
        found = done("prefer", {"method": how, "minibatch": 4, "epochs": 4}, policy_in=played)["metrics"]
        assert found["pairs"] > 0
        assert found["steps"] == found["pairs"]  # as many epochs as pairs in a step
        assert found["margin"] > 0


def test_what_people_corrected_is_preferred_to_what_was_proposed(tmp_path: Path) -> None:
    """Episodes beside a person who has the policy wait no longer and press the button."""

    async def play() -> None:
        wrong = Decision(actions=(Wait(seconds=0.01),), text="wait(time=0.01)")

        class Waits:
            id = "waits"

            async def act(self, context: Context) -> Decision:
                return wrong

        class Person:
            async def review(self, context: Context, decision: Decision, *, within_s: float) -> PersonsAnswer:
                done = Finish(text="") if context.steps else Click(x=20, y=20)
                return PersonsAnswer(by="ada", actions=(done,))

        urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
        async with (
            await Store.open(*urls) as store,
            SandboxManager({"fake": PoolSettings(max_sandboxes=1)}) as source,
        ):
            chosen = seeds(TASK, Split.TRAIN, 2)
            jobs = [Job(task=make_task(TASK, seed), labels=REVIEWED) for seed in chosen]
            policy = ReviewedPolicy(Waits(), Person(), wait_s=5.0)
            await run_episodes(jobs, source=source, policy=policy, sink=store)

    asyncio.run(play())
    told = {"tasks": [TASK], "pairs": "corrections", "minibatch": 4, "epochs": 4}
    folder = make_run(tmp_path, "prefer", told)
    assert _guarded(RunFolder(folder)) == FINISHED, (folder / "error.json").read_text()
    result = json.loads((folder / "result.json").read_text())
    found = result["metrics"]
    assert found["pairs"] == 4 and found["preferred"] == 1.0 and found["margin"] > 0
    assert len(asyncio.run(learned_from(tmp_path, result))) == 2


def test_what_was_taken_of_several_replies_is_preferred_to_what_was_rated_lower(tmp_path: Path) -> None:
    """Episodes by the best of three, by scores that know which button is right."""

    async def play() -> None:
        class Draws:
            id = "draws"

            def __init__(self) -> None:
                self.drawn = 0

            async def act(self, context: Context) -> Decision:
                self.drawn += 1
                done = Finish(text="") if context.steps else Click(x=20, y=20)
                action = (Wait(seconds=0.01), done, Wait(seconds=0.02))[self.drawn % 3]
                return Decision(actions=(action,), text=format_reply(None, [action]))

        class Scores:
            async def scores(self, context: Context, candidates: Sequence[Decision]) -> Sequence[float]:
                worth = {Wait: 0.2, Click: 0.9, Finish: 0.7}
                return [worth[type(each.actions[0])] for each in candidates]  # type: ignore[index]

        urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
        async with (
            await Store.open(*urls) as store,
            SandboxManager({"fake": PoolSettings(max_sandboxes=1)}) as source,
        ):
            jobs = [Job(task=make_task(TASK, seed)) for seed in seeds(TASK, Split.TRAIN, 2)]
            policy = ManySamples(Draws(), samples=3, choose=by_judge(Scores()))
            await run_episodes(jobs, source=source, policy=policy, sink=store)

    asyncio.run(play())
    told = {"tasks": [TASK], "pairs": "others", "margin": 0.6, "minibatch": 2, "epochs": 4}
    folder = make_run(tmp_path, "prefer", told)
    assert _guarded(RunFolder(folder)) == FINISHED, (folder / "error.json").read_text()
    found = json.loads((folder / "result.json").read_text())["metrics"]
    # the first turn of each episode: the ratings of the second are nearer to each other
    assert found["pairs"] == 2 and found["preferred"] == 1.0 and found["margin"] > 0


UNVERIFIED = """
family: looks
environment: {kind: fake, settings: {buttons: [Open, Save, Print], goal: []}}
limits: {turns: 3, seconds: 60}
tasks:
  - name: press
    description: Nobody can tell by rule whether it was done.
    instruction: Press {word} as if it were {hour} o'clock.
    parameters: {word: [Open, Save, Print], hour: {from: 1, to: 900}}
    verifier: {name: none}
"""


@pytest.mark.slow
async def test_a_run_of_a_task_without_a_verifier_is_paid_by_a_judge(
    tmp_path: Path, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = itertools.cycle([1.0, 0.0, 0.5])
    verdict = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    endpoint.reply = lambda: JSONResponse(
        {
            **verdict,
            "choices": [{"message": {"content": json.dumps({"rationale": "So.", "score": next(said)})}}],
        }
    )
    (tmp_path / "looks.yaml").write_text(UNVERIFIED)
    monkeypatch.setenv("DESKHAND_TASKS", str(tmp_path / "looks.yaml"))
    judge = {"by": "verifier_then_judge", "judge": endpoint.url, "model": "m"}
    told = {**PPO, "tasks": ["looks/press"], "unproven": True, "iterations": 2, "outcome": judge}
    folder = make_run(tmp_path, "ppo", told)
    run = await asyncio.create_subprocess_exec(sys.executable, "-m", "deskhand_trainer.run", str(folder))
    assert await run.wait() == FINISHED, (folder / "error.json").read_text()
    async with await Store.open(
        f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    ) as store:
        found = json.loads((folder / "result.json").read_text())
        scorer = str((await store.policy(found["policy_out"])).metadata["outcome"])
        assert scorer.startswith("judge:m@")
        ids = await store.trajectory_ids()
        opinions = [score for each in ids for score in await store.outcome_scores(each)]
        assert len(opinions) == len(ids) == len(endpoint.sent)
        assert {score.scorer for score in opinions} == {scorer}
        events = [event.data for event in await store.events_after(0) if event.name == "ppo/iteration"]
        assert [event["judged"] for event in events] == [8.0, 8.0]
        assert all(0.0 < float(str(event["reward_outcome"])) < 1.0 for event in events)


def test_nothing_goes_on_from_what_came_out_of_a_probe(tmp_path: Path, tiny: ModelBundle) -> None:
    save_bundle(tiny, tmp_path / "tiny")

    async def kept() -> str:
        urls = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
        async with await Store.open(*urls) as store:
            return (await store.keep_policy(tmp_path / "tiny", parent_id=None, metadata={"probe": True})).id

    folder = make_run(tmp_path, "ppo", PPO, policy_in=asyncio.run(kept()))
    assert _guarded(RunFolder(folder)) == REFUSED
    assert "it is only measured" in json.loads((folder / "error.json").read_text())["message"]


def test_the_second_process_at_a_run_waits_for_the_first(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "collect", {"tasks": ["fake/press-button"], "episodes_per_task": 1})
    with hold(folder, busy=pytest.fail):
        second = subprocess.Popen(
            [sys.executable, "-m", "deskhand_trainer.run", str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert second.stdout is not None
        assert second.stdout.readline() == f"another process works at {folder}: waiting for it\n"
        assert not (tmp_path / "store.db").exists()
    said, _ = second.communicate(timeout=300)
    assert second.returncode == FINISHED, said


def test_no_spec_and_no_folder(tmp_path: Path) -> None:
    assert _guarded(RunFolder(tmp_path)) == REFUSED
    assert "holds no spec.json" in json.loads((tmp_path / "error.json").read_text())["message"]


def start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "deskhand_trainer.run", str(folder)], stdout=log, stderr=log
        )


def wait_for(process: subprocess.Popen[bytes], ready: Any, deadline_s: float = 300) -> None:
    ends = time.monotonic() + deadline_s
    while not ready():
        assert process.poll() is None, "the run ended early"
        if time.monotonic() > ends:
            process.kill()  # nobody else ends it
            process.wait()
            raise AssertionError(f"nothing of it within {deadline_s:g} s")
        time.sleep(0.05)


def checkpoints(folder: Path) -> list[int]:
    path = folder / "checkpoint"
    return [int(p.name) for p in path.iterdir() if p.name.isdigit()] if path.is_dir() else []


def test_a_folder_made_anew_under_the_same_name_takes_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first = RunFolder(tmp_path / "a").stamp()
    assert RunFolder(tmp_path / "a").stamp() == first  # a run taken up again finds its own episodes
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").mkdir()
    assert RunFolder(tmp_path / "a").stamp() != first


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_several_processes_do_a_run_together(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "ppo", {**PPO, "iterations": 1})
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    def done(folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "-m", "deskhand_trainer.run", str(folder)], capture_output=True, text=True, check=False
        )

    found = done(folder)
    assert found.returncode == 0, found.stdout + found.stderr
    result = json.loads((folder / "result.json").read_text())
    assert result["policy_out"] and result["metrics"]["iterations"] == 1
    assert load_bundle(folder / "best").text_width > 0

    other = make_run(tmp_path, "collect", {"tasks": ["fake/press-button"], "episodes_per_task": 1})
    assert done(other).returncode != 0
    assert "start it without torchrun" in json.loads((other / "error.json").read_text())["message"]


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_killed_and_stopped_the_run_goes_on_to_its_result(tmp_path: Path, tiny: ModelBundle) -> None:
    save_bundle(tiny, tmp_path / "tiny")
    async with await Store.open(f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs") as s:
        policy = (await s.keep_policy(tmp_path / "tiny", parent_id=None, metadata={})).id
    folder = make_run(tmp_path, "ppo", PPO, policy_in=policy)

    first = start(folder)
    wait_for(first, lambda: max(checkpoints(folder), default=-1) >= 2)  # in the middle of the loop
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert not (folder / "result.json").exists()

    second = start(folder)
    pid = second.pid
    wait_for(second, lambda: json.loads((folder / "state.json").read_text())["pid"] == pid)
    second.send_signal(signal.SIGTERM)
    assert second.wait(150) == STOPPED, (folder / "log.txt").read_text()

    third = start(folder)
    assert third.wait(180) == FINISHED, (folder / "log.txt").read_text()
    result = json.loads((folder / "result.json").read_text())
    assert result["metrics"]["iterations"] == PPO["iterations"]
    assert result["metrics"]["episodes"] == 8 + 4 * 8
    assert result["policy_out"].startswith("policy-")
    assert start(folder).wait(150) == FINISHED  # nothing left to do
