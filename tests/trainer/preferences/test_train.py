from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_sandbox.types import Image
from deskhand_trainer.errors import RunRefused, RunStopped, TrainingDiverged
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.losses import trajectory_dpo
from deskhand_trainer.preferences.pairs import Pair, Played, parting_pairs, partners, trajectory_pairs
from deskhand_trainer.preferences.train import train_preferences
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import TrainingSample

CONFIG = PreferenceConfig(minibatch=4, microbatch=3, lr=0.05, threads=1, epochs=2, beta=0.5)


def model() -> TabularActorCritic:
    torch.manual_seed(0)
    made = TabularActorCritic(states=4, tokens=3, reply_length=2)
    with torch.no_grad():
        made.logits.copy_(0.3 * torch.randn(made.logits.shape))
    return made


def played(number: int, seed: int, replies: list[tuple[int, ...]], outcome: float) -> Played:
    samples = tuple(
        TrainingSample(
            trajectory_id=f"t{number}", turn_index=h, prompt_ids=(9, h), reply_ids=reply, images=(),
            behaviour_logprobs=(0.0,) * len(reply), reward=0.0,
        )
        for h, reply in enumerate(replies)
    )  # fmt: skip
    return Played(task_id="t", seed=seed, samples=samples, outcome=outcome, success=outcome >= 1)


def episodes(count: int = 24) -> list[Played]:
    """A reply that begins with 1 in the first turn wins."""
    draw = random.Random(3)
    found: list[Played] = []
    for i in range(count):
        turns = [tuple(draw.choices(range(3), k=draw.choice((1, 2)))) for _ in range(draw.choice((1, 2, 3)))]
        found.append(played(i, i // 4, turns, float(turns[0][0] == 1)))
    return found


def pairs() -> list[Pair]:
    return trajectory_pairs(episodes(), limit=100, draw=random.Random(0))


def test_a_success_stands_against_a_failure_of_its_own_start_state() -> None:
    by_id = {e.samples[0].trajectory_id: e for e in episodes()}
    found = pairs()
    assert len(found) >= 4
    used = [side[0].trajectory_id for pair in found for side in pair.sides]
    assert len(used) == len(set(used))
    for pair in found:
        good, bad = (by_id[side[0].trajectory_id] for side in pair.sides)
        assert good.success
        assert not bad.success
        assert good.seed == bad.seed
    assert len(trajectory_pairs(episodes(), limit=3, draw=random.Random(0))) == 3
    alike = [replace(e, success=True) for e in episodes()]
    assert trajectory_pairs(alike, limit=100, draw=random.Random(0)) == []


def test_the_attempt_that_succeeded_stands_against_a_failure() -> None:
    """The one before it failed: the very reply may be the worse side's."""
    lost, won = played(0, 0, [(2,)], 0.0), played(1, 0, [(2,), (1,)], 1.0)
    again = tuple(replace(s, attempt=n) for n, s in enumerate(won.samples))
    (pair,) = trajectory_pairs([lost, replace(won, samples=again)], limit=9, draw=random.Random(0))
    assert [[s.reply_ids for s in side] for side in pair.sides] == [[(1,)], [(2,)]]


def test_first_replies_stand_against_each_other_where_they_differ() -> None:
    found = parting_pairs(episodes(), limit=100, draw=random.Random(0))
    assert found
    for pair in found:
        (one,), (other,) = pair.sides
        assert one.prompt_ids == other.prompt_ids
        assert one.reply_ids != other.reply_ids
        assert pair.returns[0] >= pair.returns[1]


def test_episodes_that_share_turns_are_paired_where_they_part() -> None:
    """By ids and pictures; what came to another state, and what never parts, is no pair."""
    won, lost = played(0, 0, [(1,), (2, 0), (1,)], 1.0), played(1, 0, [(1,), (2, 1)], 0.25)

    def found(*two: Played) -> list[Pair]:
        return parting_pairs(two, limit=9, draw=random.Random(0))

    (pair,) = found(lost, won)
    assert [[(s.trajectory_id, s.turn_index, s.reply_ids) for s in side] for side in pair.sides] == [
        [("t0", 1, (2, 0))], [("t1", 1, (2, 1))]
    ]  # fmt: skip
    assert pair.returns == (1.0, 0.25)
    first, second, _ = won.samples
    slipped = Image(digest="0" * 64, format="png", width_px=8, height_px=8)
    for elsewhere in (replace(second, images=(slipped,)), replace(second, prompt_ids=(9, 7))):
        assert found(lost, replace(won, samples=(first, elsewhere))) == []
    assert found(won, replace(lost, samples=won.samples[:2])) == []


@pytest.mark.parametrize("method", ["tdpo", "refuel"])
def test_the_better_side_becomes_likelier(method: str) -> None:
    config = replace(CONFIG, method=method, epochs=8)  # type: ignore[arg-type]
    made = pairs() if method == "tdpo" else parting_pairs(episodes(), limit=100, draw=random.Random(0))
    trained = model()
    before = torch.softmax(trained.logits[0, 0], -1)[1].item()
    report = train_preferences(trained, made, config)
    assert report.preferred >= 0.7
    assert report.margin > 0
    assert torch.softmax(trained.logits[0, 0], -1)[1].item() > before
    assert report.steps == 8 * -(-len(made) // 4) or report.steps == -(-8 * len(made) // 4)


def test_the_gradient_is_that_of_the_loss_written_out() -> None:
    made = pairs()[:3]
    config = replace(CONFIG, minibatch=3, epochs=1, max_grad_norm=0.0)
    trained, direct = model(), model()
    optimizer = torch.optim.AdamW([direct.logits], lr=config.lr, weight_decay=0.0)

    def sums(of: TabularActorCritic) -> torch.Tensor:
        rows = [
            [sum(of.score([s], temperature=1.0).logprobs.sum() for s in side) for side in pair.sides]
            for pair in made
        ]
        return torch.stack([torch.stack([torch.as_tensor(x) for x in row]) for row in rows])

    loss = trajectory_dpo(sums(direct) - sums(model()).detach(), beta=config.beta).mean()
    loss.backward()
    optimizer.step()
    train_preferences(trained, made, config)
    torch.testing.assert_close(trained.logits, direct.logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_any_split_and_any_threads_train_the_same(size: int) -> None:
    whole, split = model(), model()
    train_preferences(whole, pairs(), CONFIG)
    train_preferences(split, pairs(), replace(CONFIG, microbatch=size, threads=2))
    torch.testing.assert_close(split.logits, whole.logits, rtol=1e-5, atol=1e-6)


def test_stopped_and_gone_on_with_it_ends_bit_for_bit_the_same(tmp_path: Path) -> None:
    whole, stopped = model(), model()
    report = train_preferences(whole, pairs(), CONFIG)
    for _ in range(3):
        with pytest.raises(RunStopped):
            train_preferences(stopped, pairs(), CONFIG, checkpoint_dir=tmp_path, should_stop=lambda: True)
        with torch.no_grad():
            stopped.logits.fill_(7.0)  # what a new process begins with is not looked at
    assert train_preferences(stopped, pairs(), CONFIG, checkpoint_dir=tmp_path) == report
    assert torch.equal(stopped.logits, whole.logits)


@pytest.mark.parametrize("other", [slice(1, None), slice(None, None, -1)])
def test_it_goes_on_with_the_pairs_it_began_with_alone(tmp_path: Path, other: slice) -> None:
    with pytest.raises(RunStopped):
        train_preferences(model(), pairs(), CONFIG, checkpoint_dir=tmp_path, should_stop=lambda: True)
    with pytest.raises(RunRefused, match="other pairs"):
        train_preferences(model(), pairs()[other], CONFIG, checkpoint_dir=tmp_path)


def test_a_gradient_that_is_not_finite_is_left_out() -> None:
    trained = model()
    made = [replace(pair, returns=(float("nan"), 0.0)) for pair in pairs()]
    before = trained.logits.clone()
    report = train_preferences(trained, made, replace(CONFIG, method="refuel"))
    assert report.steps == 0
    assert report.skipped_steps > 0
    assert torch.equal(trained.logits, before)


def test_too_many_of_them_in_a_row_end_the_run_whatever_lives_they_were_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [replace(pair, returns=(float("nan"), 0.0)) for pair in pairs()]
    config = replace(CONFIG, method="refuel", minibatch=1, epochs=40)
    trained = model()
    for _ in range(19):
        with pytest.raises(RunStopped):
            train_preferences(trained, broken, config, checkpoint_dir=tmp_path, should_stop=lambda: True)
    assert "a step was left out" in capsys.readouterr().out
    with pytest.raises(TrainingDiverged, match="in 20 steps in a row: lower lr"):
        train_preferences(trained, broken, config, checkpoint_dir=tmp_path)
    assert torch.equal(trained.logits, model().logits)


def test_episodes_are_paired_by_their_start_before_they_are_read() -> None:
    """A success and a failure, or any two, each once and so many of a task; one without a start is gone."""
    won, lost = [f"won {i}" for i in range(4)], [f"lost {i}" for i in range(6)]
    starts = {name: ("t", int(name[-1]) % 2) for name in (*won, *lost)}
    told: dict[str, Any] = {"starts": starts, "draw": random.Random(0)}
    for unlike, most in ((True, 4), (False, 4)):
        found = partners([*won, "gone"], lost, unlike=unlike, taken={}, limit=9, **told)
        assert len(found) == most
        assert all(starts[one] == starts[other] for one, other in found)
        assert len({name for pair in found for name in pair}) == 2 * most
        assert len(partners(won, lost, unlike=unlike, taken={"t": 1}, limit=3, **told)) == 2
    assert {
        (one[:3], other[:4]) for one, other in partners(won, lost, unlike=True, taken={}, limit=9, **told)
    } == {("won", "lost")}
    assert partners(won, [], unlike=True, taken={}, limit=9, **told) == []
