"""What a run reads of the store when some of it is damaged, and what is kept with the policy it makes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from PIL import Image as Picture

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.reviewing import REVIEWED, PersonsAnswer, reviewed
from deskhand_agent.types import (
    Candidate,
    Decision,
    Step,
    StepTimings,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel import tables
from deskhand_flywheel.lineage import trace_policy
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, save_reward_model
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule, TrajectoryFilter
from deskhand_flywheel.upkeep import Drop, RetentionRule, collect
from deskhand_sandbox.host import HostSettings
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.pictures import as_image, encoded
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_sandbox.types import Click, JsonValue, Observation, Outcome, Press, Split
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.config import PpoConfig, ScoreConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.loop_state import PpoOutcome, PpoSetting
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.pairs import Pair, Played
from deskhand_trainer.ranks import Ranks
from deskhand_trainer.run_folder import RunFolder, read_spec
from deskhand_trainer.run_kinds import ppo, prefer, pretrain, score
from deskhand_trainer.run_kinds.context import RunContext, open_context
from deskhand_trainer.run_kinds.demonstrations import demonstrations
from deskhand_trainer.run_kinds.label import _unlabelled  # pyright: ignore[reportPrivateUsage]
from deskhand_trainer.run_kinds.score import _to_score  # pyright: ignore[reportPrivateUsage]
from deskhand_trainer.runs import RunKind, RunSpec
from deskhand_trainer.types import TrainingSample

NAMES = ("a", "b", "c")
CLICKED = Decision(actions=(Click(x=1, y=1),), text="click")
DRAWN = {
    "corrections": reviewed(
        CLICKED, PersonsAnswer(by="ada", actions=(Press(keys=("Enter",)),)), waited_s=1.0
    ),
    "others": replace(
        CLICKED,
        rating=0.9,
        others=(Candidate(actions=(Click(x=2, y=2),), text="click", rating=0.1),),
    ),
}
"""A turn that a person replaced, and one of which another reply was rated lower."""


def episode(name: str) -> Trajectory:
    """One turn on a screen of its own."""
    task = make_task("fake/press-button", 0)
    seen = Observation(
        screenshot=as_image(f"screen {name}".encode(), (8, 8)), captured_at_s=1.0, settled_ms=0.0
    )
    step = Step(
        index=0,
        observation=seen,
        decision=Decision(actions=(Click(x=1, y=1),), text="click"),
        reward=0.0,
        timings=StepTimings(model_ms=1.0, act_ms=1.0, settle_ms=0.0),
        finished_at_s=2.0,
    )
    return Trajectory(
        start=TrajectoryStart(
            id=name, task=task, instruction="Press it.", policy_id="p", policy_update=0, group_id=None,
            split=Split.TRAIN, started_at_s=0.0,
        ),
        steps=(step,),
        end=TrajectoryEnd(
            final_observation=seen, outcome=Outcome(score=1.0, success=True), failure=None,
            stop_reason=StopReason.TERMINATED, ended_at_s=3.0,
        ),
    )  # fmt: skip


@pytest.fixture
async def context(store: Store, tmp_path: Path) -> AsyncGenerator[RunContext]:
    """Of a run that begins after the episodes were stored, and nothing of them is remembered."""
    for name in NAMES:
        await store.add_trajectory(episode(name))
    (tmp_path / "run").mkdir()
    spec = RunSpec(
        id="run", kind=RunKind.SFT, config={},
        store_url=f"sqlite+aiosqlite:///{tmp_path}/store.db", blobs_url=f"file://{tmp_path}/blobs",
    )  # fmt: skip
    async with open_context(RunFolder(tmp_path / "run"), spec) as opened:
        yield opened


def spoil(tmp_path: Path, name: str) -> None:
    digest = episode(name).steps[0].observation.screenshot.digest
    (tmp_path / "blobs" / digest[:2] / digest).write_bytes(b"broken")


async def test_a_round_s_run_looks_at_what_its_folders_hold(context: RunContext) -> None:
    """Not at what only bears the round's name."""
    mine = replace(episode("d").start, labels={"round": "1", "folder": "stamp"})
    named = replace(episode("e").start, labels={"round": "1", "folder": "another"})
    for start in (mine, named):
        await context.store.add_trajectory(replace(episode(start.id), start=start))
    assert set(await context.episodes(TrajectoryFilter())) == {*NAMES, "d", "e"}
    for folders, found in ((("stamp",), ["d"]), ((), [])):
        spec = replace(context.spec, labels={"round": "1"}, folders=folders)
        assert await replace(context, spec=spec).episodes(TrajectoryFilter()) == found
        [scored] = _to_score(folders, ScoreConfig())
        assert [*await context.store.trajectory_ids(scored)] == found
    [named_run] = _to_score((), ScoreConfig(runs=("run",)))
    assert (named_run.folders, named_run.labels) == (None, {"run": "run"})


async def test_what_a_label_run_found_without_labels_stands_in_its_folder(context: RunContext) -> None:
    """So that a later life labels what the first one began with, and not as many again."""
    everything, few = TrajectoryFilter(), TrajectoryFilter(max_steps=0)
    assert await _unlabelled(context, "mc", everything) == [*NAMES]
    await context.store.add_trajectory(episode("d"))
    assert await _unlabelled(context, "mc", everything) == [*NAMES]
    assert await _unlabelled(context, "mc", few) == []


@pytest.mark.parametrize(("kind", "kept"), [("collect", 1), ("evaluate", 1), ("ppo", 2)])
async def test_near_frames_are_kept_once_by_runs_that_learn_from_none_of_them(
    tmp_path: Path, kind: str, kept: int
) -> None:
    urls = {"store_url": f"sqlite+aiosqlite:///{tmp_path}/store.db", "blobs_url": f"file://{tmp_path}/blobs"}
    spec = read_spec({"id": "run", "kind": kind, **urls, "near_frames": 0.5})
    drawn, whole = Picture.new("RGB", (9, 9), "white"), episode("a")
    async with open_context(RunFolder(tmp_path), spec) as opened:
        await opened.store.begin(whole.start)
        for index in range(2):
            seen = replace(whole.steps[0].observation, screenshot=encoded(drawn))
            await opened.store.step("a", replace(whole.steps[0], index=index, observation=seen))
            drawn.putpixel((4, 4), (0, 0, 0))
        read = await opened.store.trajectory("a")
    assert len({step.observation.screenshot.digest for step in read.steps}) == kept


async def test_a_damaged_episode_is_left_out_and_counted(context: RunContext, tmp_path: Path) -> None:
    spoil(tmp_path, "b")
    assert [each.id async for each in context.read(NAMES)] == ["a", "c"]
    (alarm,) = await context.store.events_after(0)
    assert (alarm.kind, alarm.name, alarm.data["count"]) == ("alarm", "unreadable_episodes", 1)
    assert "is damaged" in str(alarm.data["why"])


@pytest.fixture
async def reward_model(store: Store, tmp_path: Path) -> str:
    """Id of a small one in the store."""
    bundle = build_tiny(
        TinyConfig(vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1, text_heads=2)
    )
    save_reward_model(bundle, ScoreHead(hidden_width(bundle)), tmp_path / "prm")
    return (await store.keep_policy(tmp_path / "prm", parent_id=None, metadata={})).id


async def test_a_reward_model_goes_where_the_run_computes(
    context: RunContext, reward_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(choice: Literal["auto", "cpu", "cuda"]) -> torch.device:
        asked.append(choice)
        return torch.device("cpu")

    monkeypatch.setattr("deskhand_flywheel.prm.scoring.device_named", noted)
    assert await context.reward_model(reward_model) is not None
    assert await context.reward_model(reward_model, device="cpu") is not None
    assert asked == ["auto", "cpu"]


async def test_what_is_left_out_stands_by_name_in_the_log(
    context: RunContext, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(tmp_path, "b")
    _ = [each async for each in context.read(NAMES)]
    assert "left out b: " in capsys.readouterr().out


async def test_a_policy_names_what_it_learned_from_and_what_scored_it_and_that_is_not_collected(
    context: RunContext, reward_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was trained on no dataset, which would hold its episodes."""

    class Loop:
        def __init__(self, setting: PpoSetting) -> None:
            self.best = setting.folder / "best"

        async def train(self) -> PpoOutcome:
            self.best.mkdir()
            (self.best / "config.json").write_text("{}")
            return PpoOutcome(best=self.best, metrics={}, learned_from=("a", "c"))

    monkeypatch.setattr(ppo, "PpoLoop", Loop)
    spec = replace(context.spec, kind=RunKind.PPO, prm_in=reward_model)
    of_loop = replace(context, spec=spec)
    kept, _ = await ppo.run(of_loop, PpoConfig(tasks=("fake/press-button",)))
    traced = await trace_policy(context.store, kept)
    assert [(each.relation, each.name, each.details.get("ids")) for each in traced.sources] == [
        ("scored by", reward_model, None),
        ("learned from", "p", ["a", "c"]),
    ]
    everything = RetentionRule(drop=(Drop(older_than_days=0),))
    assert (await collect(context.store, everything, apply=False)).trajectories == ("b",)
    routed = replace(of_loop, spec=replace(spec, dataset="some/sft@1"))
    of_dataset = await routed.keep(tmp_path / "run/best", {}, learned_from=("a", "c"))
    assert "material" not in (await context.store.policy(of_dataset)).metadata


async def test_what_several_processes_cannot_do_is_refused_before_they_make_the_model(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There all of them would refuse it at once, and the first of the others fail it."""
    monkeypatch.setattr(ppo, "PpoLoop", None)
    spread = replace(context, ranks=Ranks(0, 2))
    with pytest.raises(RunRefused, match="field 'compile': it is for one process, and these are 2"):
        await ppo.run(spread, PpoConfig(tasks=("fake/press-button",), compile=True))


async def test_pretraining_goes_on_with_the_failures_it_began_with(context: RunContext) -> None:
    """Those of tasks that are held out are none of them."""

    async def add(name: str, task_id: str = "fake/press-button") -> None:
        found = episode(name)
        start = replace(
            found.start, task=replace(found.start.task, id=task_id), labels={"purpose": "rollout"}
        )
        assert found.end is not None
        end = replace(found.end, outcome=Outcome(score=0.0, success=False))
        await context.store.add_trajectory(replace(found, start=start, end=end))

    await add("lost")
    await add("measured", min(HELD_OUT_TASKS))
    assert await pretrain._failures(context) == ["lost"]  # pyright: ignore[reportPrivateUsage]
    await add("later")
    assert await pretrain._failures(context) == ["lost"]  # pyright: ignore[reportPrivateUsage]


async def test_training_goes_on_with_the_episodes_of_its_checkpoint(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one it begins anew, with what the store holds by then."""

    async def play(name: str, *, purpose: str, score: float = 1.0) -> None:
        found = episode(name)
        assert found.end is not None
        end = replace(found.end, outcome=Outcome(score=score, success=score == 1))
        start = replace(found.start, labels={"purpose": purpose})
        await context.store.add_trajectory(replace(found, start=start, end=end))

    def played(shown: Trajectory, _: object) -> Played:
        assert shown.end is not None and shown.end.outcome is not None
        turn = TrainingSample(
            trajectory_id=shown.id, turn_index=0, prompt_ids=(1,), reply_ids=(2,), images=(),
            behaviour_logprobs=(0.0,), reward=0.0,
        )  # fmt: skip
        task, outcome = shown.start.task, shown.end.outcome
        return Played(
            task_id=task.id,
            seed=task.seed,
            samples=(turn,),
            outcome=outcome.score,
            success=outcome.success,
        )

    async def learned_from() -> tuple[int, list[str]]:
        tasks, nowhere = ("fake/press-button",), build_tiny(TinyConfig())
        config = PreferenceConfig(tasks=tasks)
        paired, _ = await prefer._pairs(context, nowhere, config)  # pyright: ignore[reportPrivateUsage]
        shown = await demonstrations(context, dict.fromkeys(tasks, 128))
        return len(paired), [each.start.id for each in shown]

    monkeypatch.setattr(prefer, "played", played)
    for name in "123":
        await play(f"won {name}", purpose="rollout")
        await play(f"lost {name}", purpose="rollout", score=0.0)
        await play(f"shown {name}", purpose="demonstration")
        begun_with = min(int(name), 2)
        assert await learned_from() == (begun_with, [f"shown {i + 1}" for i in range(begun_with)])
        if name == "2":
            context.folder.checkpoints.mkdir()
    (context.folder.path / "episodes.json").unlink()
    assert (await learned_from())[0] == 3


async def test_no_more_episodes_are_read_than_make_pairs(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And another in the place of one that will not do."""
    for name in ("won 1", "won 2", "won 3", "lost 1", "lost 2", "lost 3"):
        found = episode(name)
        assert found.end is not None
        outcome = Outcome(score=float(name[0] == "w"), success=name[0] == "w")
        start = replace(found.start, labels={"purpose": "rollout"})
        await context.store.add_trajectory(
            replace(found, start=start, end=replace(found.end, outcome=outcome))
        )
    read: list[str] = []

    def played(shown: Trajectory, _: object) -> Played | None:
        read.append(shown.id)
        if len(read) == 1:
            return None
        turn = TrainingSample(
            trajectory_id=shown.id, turn_index=0, prompt_ids=(1,), reply_ids=(2,), images=(),
            behaviour_logprobs=(0.0,), reward=0.0,
        )  # fmt: skip
        won = shown.id.startswith("won")
        return Played(task_id="fake/press-button", seed=0, samples=(turn,), outcome=float(won), success=won)

    monkeypatch.setattr(prefer, "played", played)
    config = PreferenceConfig(tasks=("fake/press-button",), pairs_per_task=1)
    (pair,), left_out = await prefer._pairs(  # pyright: ignore[reportPrivateUsage]
        context, build_tiny(TinyConfig()), config
    )
    assert pair.returns == (1.0, 0.0)
    assert len(read) == 4 and left_out == read[:1]


async def test_what_is_imitated_is_shared_among_those_who_played_it(context: RunContext) -> None:
    """Oracles' first episodes and policies' newest; where one side has few, the other gives more."""
    for purpose, count in (("demonstration", 6), ("rollout", 4)):
        for number in range(count):
            start = replace(episode(f"{purpose[0]} {number}").start, labels={"purpose": purpose})
            await context.store.add_trajectory(replace(episode(start.id), start=start))

    async def shown(count: int, *purposes: str) -> list[str]:
        found = await demonstrations(context, {"fake/press-button": count}, purposes=purposes)
        return sorted(each.id for each in found)

    both = ("demonstration", "rollout")
    assert await shown(4, *both) == [f"{kind} {i}" for kind, i in zip("ddrr", (0, 1, 2, 3), strict=True)]
    assert await shown(9, *both) == [*(f"d {i}" for i in range(5)), *(f"r {i}" for i in range(4))]
    assert await shown(2, "rollout") == ["r 2", "r 3"]
    assert await shown(2, "demonstration") == ["d 0", "d 1"]
    assert await shown(0, "rollout") == []


async def test_a_run_killed_while_it_scores_goes_on_with_the_model_it_kept(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another training, with other episodes or another clock, would make another model and another scorer."""
    trained: list[str] = []

    async def train(*_: object) -> tuple[str, dict[str, JsonValue]]:
        bundle, folder = build_tiny(TinyConfig()), context.folder.path / "reward_model"
        save_reward_model(bundle, ScoreHead(hidden_width(bundle), seed=len(trained)), folder)
        trained.append(await context.keep(folder, {"reward_model": True}))
        return trained[-1], {"auc": 0.5}

    async def killed(*_: object, **__: object) -> int:
        raise ConnectionError

    async def scored(*_: object, **__: object) -> int:
        return 3

    monkeypatch.setattr(score, "_train", train)
    monkeypatch.setattr(score, "score_store", killed)
    with pytest.raises(ConnectionError):
        await score.run(context, ScoreConfig())
    monkeypatch.setattr(score, "score_store", scored)
    kept, figures = await score.run(context, ScoreConfig())
    assert trained == [kept]
    assert (figures["auc"], figures["scored"]) == (0.5, 3)
    other = RunFolder(context.folder.path / "other")
    other.path.mkdir()
    assert (await score.run(replace(context, folder=other), ScoreConfig()))[0] == trained[1]


async def test_a_reward_model_learns_from_what_was_routed_and_scores_all_that_the_round_played(
    context: RunContext,
) -> None:
    """A round whose pool is empty goes on without one."""
    for name, colour in (("d", "red"), ("e", "blue"), ("f", "green")):
        whole, seen = episode(name), encoded(Picture.new("RGB", (64, 64), colour))
        shown = replace(whole.steps[0].observation, screenshot=seen)
        start = replace(whole.start, labels={"folder": "stamp"})
        step = replace(whole.steps[0], observation=shown)
        await context.store.add_trajectory(replace(whole, start=start, steps=(step,)))
    await context.store.select_dataset("pool", SelectionRule.ALL, TrajectoryFilter(folders=("stamp",)))
    async with context.store.database.write() as connection:
        members = tables.dataset_members
        await connection.execute(members.delete().where(members.c.trajectory_id == "f"))
    spec = replace(context.spec, folders=("stamp",), dataset="pool@1")
    kept, figures = await score.run(replace(context, spec=spec), ScoreConfig(epochs=1))
    assert (figures["trajectories"], figures["scored"]) == (2, 3)
    metadata = (await context.store.policy(str(kept))).metadata
    assert (metadata["material"], metadata["dataset"]) == (["d", "e"], "pool@1")
    left = replace(context, spec=replace(context.spec, folders=()))
    assert await score.run(left, ScoreConfig()) == (None, {"trajectories": 0, "scored": 0})


async def test_without_labels_no_reward_model_is_trained_and_none_ever_will(context: RunContext) -> None:
    with pytest.raises(RunRefused, match="0 labelled episodes"):
        await score.run(context, ScoreConfig(labels=("human",)))


async def test_labels_of_one_kind_are_refused_and_told_of_in_a_round(context: RunContext) -> None:
    """All three episodes succeeded at once."""
    with pytest.raises(RunRefused, match=r"all 3 labels lie between 1.00 and 1.00, on one side of a half"):
        await score.run(context, ScoreConfig())
    for name, colour in (("d", "red"), ("e", "blue")):
        whole, seen = episode(name), encoded(Picture.new("RGB", (64, 64), colour))
        shown = replace(whole.steps[0].observation, screenshot=seen)
        start = replace(whole.start, labels={"folder": "stamp"})
        step = replace(whole.steps[0], observation=shown)
        await context.store.add_trajectory(replace(whole, start=start, steps=(step,)))
    of_round = replace(context, spec=replace(context.spec, folders=("stamp",)))
    kept, figures = await score.run(of_round, ScoreConfig(epochs=1))
    assert kept and figures["scored"] == 2
    (alarm,) = [each for each in await context.store.events_after(0) if each.kind == "alarm"]
    assert alarm.name == "reward_labels_of_one_kind" and "all 2 labels" in str(alarm.data["why"])


async def test_a_released_model_is_refused_before_pages_are_drawn(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def released(*_: object) -> ModelBundle:
        return replace(build_tiny(TinyConfig()), tiny=None)

    monkeypatch.setattr(pretrain, "_bundle", released)
    monkeypatch.setattr(pretrain, "_pages", None)
    with pytest.raises(RunRefused, match="already sees"):
        await pretrain.run(context, PretrainConfig())


@pytest.mark.parametrize("pairs", ["corrections", "others"])
async def test_pairs_are_made_of_the_episodes_that_can_be_read(
    context: RunContext, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Any
) -> None:
    def none(*_: object, **__: object) -> list[Pair]:
        return []

    for maker in ("correction_pairs", "other_pairs"):
        monkeypatch.setattr(prefer, maker, none)
    for name in ("damaged", "whole", "without"):
        whole = episode(name)
        if name != "without":
            whole = replace(whole, steps=(replace(whole.steps[0], decision=DRAWN[pairs]),))
        await store.add_trajectory(replace(whole, start=replace(whole.start, labels=REVIEWED)))
    spoil(tmp_path, "without")  # which has no turn of the kind, so that its pictures are not looked at
    spoil(tmp_path, "damaged")
    with pytest.raises(RunRefused, match="the store holds no pairs"):
        await prefer.run(context, PreferenceConfig(tasks=("fake/press-button",), pairs=pairs))
    (alarm,) = [each for each in await context.store.events_after(0) if each.kind == "alarm"]
    assert (alarm.name, alarm.data["count"]) == ("unreadable_episodes", 1)


async def test_where_none_can_be_read_the_run_is_refused(context: RunContext, tmp_path: Path) -> None:
    for name in NAMES:
        spoil(tmp_path, name)
    with pytest.raises(RunRefused, match="none of the 3 episodes can be read"):
        _ = [each async for each in context.read(NAMES)]
    assert [each async for each in context.read([])] == []


async def test_sandboxes_of_its_own_are_lent_as_its_spec_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = {"wide": {"kind": "fake", "max_sandboxes": 1, "settings": {"width_px": 300}}}
    url, blobs = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    told: dict[str, Any] = {"pools": pools, "terms": {"ttl_s": 60}, "deadlines": {"reset_s": 300}}
    given = {"id": "r", "kind": "collect", "store_url": url, "blobs_url": blobs, "sandboxes": told}
    started: list[HostSettings] = []

    class Asked(Exception):
        """For a host."""

    def start_host(settings: HostSettings) -> None:
        started.append(settings)
        raise Asked

    monkeypatch.setattr("deskhand_trainer.run_kinds.context.start_host", start_host)
    (tmp_path / "run").mkdir()
    async with open_context(RunFolder(tmp_path / "run"), read_spec(given)) as opened:
        with pytest.raises(Asked):
            async with opened.sandboxes(["fake/press-button"], concurrency=4):
                pass
    [host] = started
    assert host.kinds == {"wide": PoolSettings(kind="fake", max_sandboxes=1, settings={"width_px": 300})}
    assert (host.terms.ttl_s, host.deadlines.reset_s) == (60, 300)


@pytest.mark.parametrize(
    ("sandboxes", "said"),
    [
        ({"pool": {}}, "spec.json: sandboxes: .*did you mean pools"),
        ({"pools": {"fak": {}}}, "did you mean fake"),
        (3, "sandboxes: .*must be a mapping"),
    ],
)
def test_a_spec_that_says_wrong_things_of_sandboxes_is_refused(sandboxes: object, said: str) -> None:
    given = {"id": "r", "kind": "collect", "store_url": "x", "blobs_url": "y", "sandboxes": sandboxes}
    with pytest.raises(RunRefused, match=said):
        read_spec(given)
