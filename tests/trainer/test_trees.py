"""A policy that reads accessibility trees, in a real browser: what it was shown is what is trained on."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from deskhand_agent.episode import run_episode
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply, longest_prompt
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.prm.examples import read_steps
from deskhand_flywheel.replay import render_replay
from deskhand_flywheel.store import Store
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import EnvironmentSpec, Limits, Outcome, Split, Task, VerifierSpec
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.sft.demonstrations import samples_from_trajectories

PAGE = "<!doctype html><style>*{font:16px sans-serif}</style><h1>Room</h1><button>Go on</button>" + "".join(
    f"<p>line {n} of the page" for n in range(90)
)

PATIENT = {"viewport_px": [300, 200], "settle_deadline_ms": 15_000, "text_tree_deadline_ms": 30_000}


class Done:
    """A verdict that is always good."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        return Outcome(score=1.0, success=True)


@pytest.mark.parametrize("screens", ["tree", "tree_and_picture"])
async def test_the_record_has_the_very_prompts_of_a_rollout(
    tiny: ModelBundle, store: Store, one_reply: Any, screens: str
) -> None:
    tiny.memory = WindowMemory(n_screenshots=2, text_bytes=4096).told(screens=screens)
    policy = LocalPolicy(bundle=tiny, engine=one_reply(tiny, "click(point='<point>16 96</point>')"))
    url = f"data:text/html;charset=utf-8,{quote(PAGE)}"
    task = Task(
        id="t",
        instruction="click it",
        environment=EnvironmentSpec(kind="browser", settings={"url": url, **PATIENT}),
        verifier=VerifierSpec(name="none"),
        limits=Limits(turns=3, seconds=60),
    )
    backend = create_backend("browser")
    try:
        async with await backend.create() as sandbox:
            played = await run_episode(
                task, sandbox=sandbox, policy=policy, verifier=Done(), sink=store, split=Split.TRAIN
            )
    finally:
        await backend.close()
    assert played.end is not None and played.end.failure is None and len(played.steps) == 3
    kept = await store.trajectory(played.id, images=True)
    seen = [step.observation.text_tree or "" for step in kept.steps]
    assert [step.observation.text_tree for step in played.steps] == seen
    assert all('button "Go on"' in tree and 'text "line 89' in tree for tree in seen)

    requests = [step.decision.request for step in kept.steps if step.decision.request is not None]
    shown = [request.prompt_ids for request in requests]
    said = decode_reply(tiny, shown[0])
    assert 'button "Go on"' in said and "lines left out]" in said and "line 89" not in said
    assert max(map(len, shown)) <= longest_prompt(tiny) and len(requests) == 3
    assert len(requests[-1].images) == (0 if screens == "tree" else 2)
    episode = episode_of(kept, policy.request)
    assert episode is not None
    for samples in (episode.samples, samples_from_trajectories([kept], tiny), read_steps(kept, tiny)):
        assert [sample.prompt_ids for sample in samples] == shown
        assert [sample.images for sample in samples] == [request.images for request in requests]
    assert 'button \\"Go on\\"' in render_replay(kept)


@pytest.mark.parametrize("trees", [True, False])
async def test_an_oracle_records_trees_for_whoever_is_to_read_them(
    tiny: ModelBundle, store: Store, trees: bool
) -> None:
    tiny.memory = WindowMemory(screens="tree")
    jobs = [Job(task=make_task("fake/press-button", 1), split=Split.TRAIN)]
    async with SandboxManager({"fake": PoolSettings(max_sandboxes=1)}) as source:
        await run_episodes(jobs, source=source, policy=ScriptedPolicy(reads_tree=trees), sink=store)
    [played] = await store.trajectory_ids()
    for sample in samples_from_trajectories([await store.trajectory(played, images=True)], tiny):
        assert (len(sample.images) == 0) is trees
        assert ("On the screen:" in decode_reply(tiny, sample.prompt_ids)) is trees
