"""The reward model's weights: what they read, how they are named, kept and loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, picture

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.scoring import reply_logits, score_turns
from deskhand_agent.models.tiny import TinyConfig
from deskhand_flywheel.errors import RewardModelError
from deskhand_flywheel.prm import scoring
from deskhand_flywheel.prm.examples import PrmExample, examples_from, read_steps
from deskhand_flywheel.prm.model import (
    ScoreHead,
    hidden_width,
    load_reward_model,
    save_reward_model,
    step_hidden,
    weights_digest,
)
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.prm.targets import StepTarget, by_step, outcome_targets
from deskhand_flywheel.store import Store
from deskhand_sandbox.types import Click, TypeText

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    return build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )


def _head(bundle: ModelBundle, seed: int = 0) -> ScoreHead:
    head = ScoreHead(hidden_width(bundle), inner_width=16, seed=seed)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)))
    return head.eval()


def test_a_new_head_says_one_half_of_everything(bundle: ModelBundle) -> None:
    head = ScoreHead(hidden_width(bundle))
    assert head(torch.randn(5, hidden_width(bundle))).tolist() == [0.0] * 5


def test_hidden_states_do_not_depend_on_who_shares_the_batch(bundle: ModelBundle) -> None:
    long = make_step(1, actions=(Click(x=8, y=8), Click(x=16, y=16), Click(x=24, y=24)))
    steps = read_steps(make_trajectory("a", steps=(make_step(0), long)), bundle)
    assert len({len(step.prompt_ids) + len(step.reply_ids) for step in steps}) == 2
    with torch.no_grad():
        together = step_hidden(bundle, steps)
        alone = torch.cat([step_hidden(bundle, [step]) for step in steps])
    assert together.shape == (2, hidden_width(bundle))
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_action_and_screen_both_reach_the_states(bundle: ModelBundle) -> None:
    def states(**changes: object) -> torch.Tensor:
        step = make_step(0, **changes)  # pyright: ignore[reportArgumentType]
        with torch.no_grad():
            return step_hidden(bundle, read_steps(make_trajectory("a", steps=(step,)), bundle))[0]

    width = bundle.text_width
    plain, other_action = states(), states(actions=(TypeText(text="a"),))
    assert torch.equal(plain[:width], other_action[:width])
    assert not torch.allclose(plain[width:], other_action[width:])
    assert not torch.allclose(plain[:width], states(image=picture(7))[:width])


def test_the_first_state_is_read_before_any_token_of_the_reply(bundle: ModelBundle) -> None:
    (step,) = read_steps(make_trajectory("a", steps=(make_step(0),)), bundle)
    assert step.reply_ids[0] != step.reply_ids[-1]
    backwards = replace(step, reply_ids=step.reply_ids[::-1])
    with torch.no_grad():
        first, second = step_hidden(bundle, [step, backwards])[:, : bundle.text_width]
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-6)


def test_how_likely_the_reply_is_stands_beside_the_states(bundle: ModelBundle) -> None:
    steps = read_steps(make_trajectory("a", steps=(make_step(0), make_step(1))), bundle)
    never = replace(steps[0], reply_ids=(int(bundle.suppressed_ids[0]), bundle.end_id))
    with torch.no_grad():
        found = step_hidden(bundle, [*steps, never])[:, 2 * bundle.text_width :]
        scores = score_turns(bundle, steps)
    for row, logprobs, counted, states in zip(
        found, scores.logprobs, scores.mask, scores.token_hidden, strict=False
    ):
        likeliest = reply_logits(bundle, states[counted], 1.0).log_softmax(-1).amax(-1)
        short = (logprobs[counted] - likeliest).sum()
        assert short < 0
        torch.testing.assert_close(row, torch.stack([short, logprobs[counted].min()]))
    assert found[2, 1] == -20.0 and -40.0 <= found[2, 0] <= -20.0


def test_the_likeliest_reply_falls_short_of_nothing(bundle: ModelBundle) -> None:
    (step,) = read_steps(make_trajectory("a", steps=(make_step(0),)), bundle)
    reply: list[int] = []
    with torch.no_grad():
        for _ in range(3):
            scores = score_turns(bundle, [replace(step, reply_ids=(*reply, bundle.end_id))])
            reply.append(int(reply_logits(bundle, scores.token_hidden[0, -1], 1.0).argmax()))
        greedy = step_hidden(bundle, [replace(step, reply_ids=tuple(reply))])[0, 2 * bundle.text_width :]
    assert greedy[0] == 0.0 > greedy[1]


def test_sampled_ids_are_taken_as_they_are_and_other_turns_written_out(bundle: ModelBundle) -> None:
    own = make_step(0, prompt_ids=(5, 6, 7))
    (written,) = read_steps(make_trajectory("a", steps=(own,)), bundle)
    assert written.prompt_ids != (5, 6, 7)
    assert written.reply_ids[-1] == bundle.end_id
    request, completion = own.decision.request, own.decision.completion
    assert request is not None and completion is not None
    sampled = replace(
        own, decision=replace(own.decision, request=replace(request, processor_hash=bundle.processor_hash))
    )
    (taken,) = read_steps(make_trajectory("a", steps=(sampled,)), bundle)
    assert (taken.prompt_ids, taken.reply_ids, taken.images) == ((5, 6, 7), completion.ids, request.images)


def test_of_a_reply_longer_than_the_model_it_reads_what_fits(bundle: ModelBundle) -> None:
    step = make_step(0)
    typed = replace(
        step.decision, actions=(TypeText(text="deskhand " * 2_000),), request=None, completion=None
    )
    trajectory = make_trajectory("a", steps=(replace(step, decision=typed),))
    (read,) = read_steps(trajectory, bundle)
    assert len(read.reply_ids) == bundle.longest
    assert read.reply_ids[-1] == bundle.end_id


def test_a_rationale_that_does_not_fit_is_left_out(bundle: ModelBundle) -> None:
    trajectory = make_trajectory("a", steps=(make_step(0),))
    of = ("a", 0)

    def told(why: str) -> PrmExample:
        (example,) = examples_from(
            [trajectory],
            bundle,
            {of: StepTarget(trajectory_id="a", step_index=0, label=1.0, source="human", rationale=why)},
        )
        return example

    assert told("It helps.").rationale_ids
    assert not told("It helps. " * 2_000).rationale_ids and not told("It helps. " * 2_000).why_ids
    assert told("It helps. " * 2_000).label == 1.0


def test_examples_carry_the_labels(bundle: ModelBundle) -> None:
    won, lost = make_trajectory("w", end=make_end()), make_trajectory("l", end=make_end(success=False))
    broken = make_trajectory("b", end=make_end(success=None))
    targets = by_step(outcome_targets([won, lost, broken], discount=0.5))
    examples = examples_from([won, lost, broken], bundle, targets)
    assert [(e.sample.trajectory_id, e.sample.step_index, e.label) for e in examples] == [
        ("w", 0, 0.25),
        ("w", 1, 0.5),
        ("w", 2, 1.0),
        ("l", 0, 0.0),
        ("l", 1, 0.0),
        ("l", 2, 0.0),
    ]


def test_the_digest_names_every_weight(bundle: ModelBundle) -> None:
    head = _head(bundle)
    digest = weights_digest(bundle, head)
    assert digest == weights_digest(bundle.clone(), _head(bundle))
    changed = _head(bundle)
    with torch.no_grad():
        changed.layers[1].bias[3] += 1e-6  # pyright: ignore[reportIndexIssue]
    assert weights_digest(bundle, changed) != digest
    other = bundle.clone()
    with torch.no_grad():
        next(other.model.parameters()).view(-1)[0] += 1e-3
    assert weights_digest(other, head) != digest


async def test_a_saved_model_scores_the_same_and_keeps_its_name(bundle: ModelBundle, tmp_path: Path) -> None:
    model = ProcessRewardModel(bundle, _head(bundle))
    trajectory = make_trajectory("a", end=make_end())
    model.save(tmp_path / "prm")
    model.save(tmp_path / "prm")
    loaded = ProcessRewardModel.load(tmp_path / "prm")
    assert loaded.scorer == model.scorer
    assert await loaded.score(trajectory) == await model.score(trajectory)
    assert [path.name for path in tmp_path.iterdir()] == ["prm"]


def test_it_is_loaded_to_where_it_is_asked_for(
    bundle: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_reward_model(bundle, _head(bundle), tmp_path / "prm")
    loaded, head = load_reward_model(tmp_path / "prm", device="meta")
    assert {p.device.type for p in (*loaded.model.parameters(), *head.parameters())} == {"meta"}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert ProcessRewardModel.load(tmp_path / "prm").bundle.device.type == "cpu"
    with pytest.raises(ValueError, match="no CUDA device"):
        ProcessRewardModel.load(tmp_path / "prm", device="cuda")
    asked: list[torch.device | str] = []

    def noted(folder: Path, *, device: torch.device | str = "cpu") -> tuple[ModelBundle, ScoreHead]:
        asked.append(device)
        return load_reward_model(folder)

    monkeypatch.setattr(scoring, "load_reward_model", noted)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    ProcessRewardModel.load(tmp_path / "prm")
    ProcessRewardModel.load(tmp_path / "prm", device="cpu")
    assert asked == [torch.device("cuda"), torch.device("cpu")]


async def test_kept_in_the_store_it_shares_the_policy_s_files(
    bundle: ModelBundle, tmp_path: Path, store: Store, urls: Urls
) -> None:
    from deskhand_agent.models.bundle import save_bundle

    save_bundle(bundle, tmp_path / "policy")
    save_reward_model(bundle, _head(bundle), tmp_path / "prm")
    policy = await store.keep_policy(tmp_path / "policy", parent_id=None, metadata={})
    kept = await store.keep_policy(tmp_path / "prm", parent_id=policy.id, metadata={"kind": "prm"})
    assert set(policy.manifest.items()) < set(kept.manifest.items())
    assert set(kept.manifest) - set(policy.manifest) == {"head.safetensors", "prm.json"}
    folder = await store.materialise_policy(kept.id, tmp_path / "out")
    assert ProcessRewardModel.load(folder).scorer.startswith("prm:")


def test_a_damaged_or_foreign_folder_is_refused(bundle: ModelBundle, tmp_path: Path) -> None:
    folder = tmp_path / "prm"
    with pytest.raises(RewardModelError, match=r"no prm\.json"):
        load_reward_model(folder)
    save_reward_model(bundle, _head(bundle), folder)
    good = (folder / "head.safetensors").read_bytes()
    (folder / "head.safetensors").write_bytes(good[:-4] + b"\x00\x00\x80\x3f")
    with pytest.raises(RewardModelError, match="not those it was saved with"):
        load_reward_model(folder)
    (folder / "head.safetensors").write_bytes(good[:50])
    with pytest.raises(RewardModelError, match="damaged"):
        load_reward_model(folder)
    (folder / "prm.json").write_text('{"format": 99}')
    with pytest.raises(RewardModelError, match="form"):
        load_reward_model(folder)
    (folder / "prm.json").write_text("{")
    with pytest.raises(RewardModelError, match="not readable"):
        load_reward_model(folder)


def test_a_head_of_another_model_is_refused(bundle: ModelBundle) -> None:
    with pytest.raises(RewardModelError, match="another model"):
        ProcessRewardModel(bundle, ScoreHead(7))
