"""The process reward model as a judge: candidates are scored as the steps they would be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from flywheel_episodes import make_step, make_trajectory

from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import prompt_of
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.test_time.sampling import ManySamples, by_judge
from deskhand_agent.types import Context, Decision, Step, Trajectory
from deskhand_flywheel.prm.judging import PrmJudge
from deskhand_flywheel.prm.model import ScoreHead, hidden_width
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.records import dumps, loads
from deskhand_sandbox.types import Click

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> ProcessRewardModel:
    """Opinionated, whatever about."""
    bundle = build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )
    head = ScoreHead(hidden_width(bundle), inner_width=32)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in head.parameters():
            weight.normal_(std=0.1)
    return ProcessRewardModel(bundle, head.eval(), batch=3)


def context_of(trajectory: Trajectory) -> Context:
    return Context(
        task=trajectory.start.task,
        instruction=trajectory.start.instruction,
        steps=trajectory.steps[:-1],
        observation=trajectory.steps[-1].observation,
    )


async def test_candidates_are_scored_as_the_steps_they_would_be(model: ProcessRewardModel) -> None:
    steps = tuple(make_step(n, actions=(Click(x=10 * n, y=20),)) for n in range(3))
    others = [replace(steps[-1].decision, actions=(Click(x=x, y=90),)) for x in (8, 60, 120)]
    context = context_of(make_trajectory("t", steps=steps))
    scores = await PrmJudge(model).scores(context, others)
    wanted = [
        (await model.score(make_trajectory("t", steps=(*steps[:-1], replace(steps[-1], decision=each)))))[-1]
        for each in others
    ]
    assert scores == pytest.approx([each.score for each in wanted], abs=1e-5)
    assert len({round(score, 7) for score in scores}) == 3


async def test_best_of_several_replies_of_a_model_is_the_one_it_scores_highest(
    model: ProcessRewardModel,
) -> None:
    bundle: ModelBundle = model.bundle
    context = context_of(make_trajectory("t", steps=(make_step(0),)))
    async with LocalEngine(bundle) as engine:
        inside = LocalPolicy(bundle=bundle, engine=engine, sampling=Sampling(max_tokens=8))
        done = await ManySamples(inside, samples=5, choose=by_judge(PrmJudge(model))).act(context)
    assert done.rating is not None and len(done.others) == 4 and done.trainable
    ratings = [each.rating for each in done.others if each.rating is not None]
    assert len(ratings) == 4
    if not done.void:
        assert all(not each.actions or (each.rating or 0) <= done.rating for each in done.others)
    # as a step of the store: the others come back with it
    step = make_step(0, decision=done)
    kept = loads(Step, dumps(step))
    assert kept.decision.others == done.others and kept.decision.rating == done.rating
    # and its own score is the one it has among the candidates, for its ids are read as they are
    (scored,) = await model.score(make_trajectory("t", steps=(step,)))
    assert scored.score == pytest.approx(done.rating, abs=1e-5)


async def test_of_the_episode_only_the_turn_to_be_decided_is_written_out(
    model: ProcessRewardModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def counted(bundle: ModelBundle, context: Context, **how: Any) -> Any:
        written.append(len(context.steps))
        return prompt_of(bundle, context, **how)

    monkeypatch.setattr("deskhand_flywheel.prm.examples.prompt_of", counted)
    context = context_of(make_trajectory("t", steps=tuple(make_step(n) for n in range(9))))
    told = [Decision(actions=(Click(x=x, y=9),), text="…") for x in (5, 90)]
    assert len(await PrmJudge(model).scores(context, told)) == 2
    assert written == [8, 8]


async def test_a_reply_without_ids_is_written_out(model: ProcessRewardModel) -> None:
    context = context_of(make_trajectory("t", steps=(make_step(0),)))
    told = [Decision(actions=(Click(x=x, y=9),), text="…") for x in (5, 90)]
    low, high = await PrmJudge(model).scores(context, told)
    assert 0 <= low <= 1 and 0 <= high <= 1 and low != high
