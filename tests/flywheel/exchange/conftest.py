"""A store with episodes that were really played: by an oracle, and by a model whose ids are known."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from flywheel_episodes import Urls

from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore, StepScore, StepValue
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split


async def _play(urls: Urls) -> None:
    bundle = build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )
    async with (
        await Store.open(urls.database, urls.blobs) as store,
        SandboxManager({"fake": PoolSettings(max_sandboxes=2)}) as source,
        LocalEngine(bundle, policy_id="tiny") as engine,
    ):
        model = LocalPolicy(bundle=bundle, engine=engine, sampling=Sampling(max_tokens=12), policy_id="tiny")
        for policy, task, split in (
            (ScriptedPolicy(), "fake/press-in-order", Split.TRAIN),
            (ScriptedPolicy(), "fake/press-button", Split.TEST),
            (model, "fake/press-button", Split.TRAIN),
        ):
            jobs = [
                Job(task=make_task(task, seed), labels={"run": "tests", "odd": "a\0b ü"})
                for seed in seeds(task, split, 2)
            ]
            await run_episodes(jobs, source=source, policy=policy, sink=store)
        for trajectory_id in await store.trajectory_ids():
            said = [(0, "human:ada", 1.0, "It names the button."), (0, "prm:1", 0.25, None)]
            await store.add_scores(
                StepScore(trajectory_id=trajectory_id, step_index=at, scorer=who, score=score, rationale=why)
                for at, who, score, why in said
            )
            await store.mark(trajectory_id, None, "ada", 1.0, "As asked, at once. ü")
            judged = OutcomeScore(
                trajectory_id=trajectory_id, score=0.5, scorer="judge:m@1", rationale="Half."
            )
            await store.add_outcome_scores([judged])
            await store.add_step_values([value(trajectory_id, "mc:a@16"), value(trajectory_id, "mc:b@4")])
            note = await store.write_note(trajectory_id, 0, "bob", "Why not the other one?")
            await store.write_note(trajectory_id, 0, "ada", "It is the first that is named.")
            await store.edit_note(note.id, "bob", "Why not the other button?")


def value(trajectory_id: str, labeller: str) -> StepValue:
    return StepValue(
        trajectory_id=trajectory_id,
        step_index=0,
        labeller=labeller,
        before=1 / 3,
        before_error=0.1,
        after=2 / 3,
        after_error=0.0,
        continuations=16,
        exact=True,
    )


@pytest.fixture(scope="session")
def _played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    asyncio.run(_play(Urls(folder=folder)))
    return folder


@pytest.fixture
async def played(_played: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Store]:
    """Six episodes, two of them on test seeds, two by a model; each first step has two scores, two values and
    two notes, and each episode a judge's score and a person's mark."""
    urls = Urls(folder=tmp_path_factory.mktemp("copy") / "home")
    shutil.copytree(_played, urls.folder)
    async with await Store.open(urls.database, urls.blobs) as opened:
        yield opened
