from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from PIL import Image as Picture
from torch import Tensor, nn

from deskhand_agent.types import StopReason
from deskhand_sandbox.pictures import encoded
from deskhand_trainer.actor_critic import reply_mask
from deskhand_trainer.batches import Batch, prepare
from deskhand_trainer.chain import STEP, chain_episodes
from deskhand_trainer.choices import BY_GROUP
from deskhand_trainer.clipping_bias import ClippingBias
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.errors import TrainingDiverged
from deskhand_trainer.learner import Learner, actor_lr, by_advantages_alone
from deskhand_trainer.minibatch import minibatch, of_whole_trajectories
from deskhand_trainer.presets import method, method_names
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Conduct, Episode, TrainingSample

LENGTH = 4
PICTURE = encoded(Picture.new("RGB", (2, 2)))
SMALL: dict[str, Any] = {
    "minibatch": 32, "microbatch": 32, "epochs": 2, "threads": 1,
    "lr": 0.05, "critic_lr": 0.05, "lr_warmup_iterations": 0,
}  # fmt: skip
BASE = parse_config(PpoConfig, SMALL)
VARIANTS = {
    "turn product": BASE,
    "turn geometric": replace(BASE, ratio="turn_geometric"),
    "token": replace(BASE, advantage="token", ratio="token", aggregation="token"),
    "trajectory mean": replace(BASE, aggregation="trajectory"),
    "reinforce": replace(BASE, algorithm="reinforce"),
    "adaptive": replace(BASE, lambda_policy="adaptive"),
    "dual clip": replace(BASE, dual_clip=1.01),
}
METHODS = [name for name in method_names() if method(name).kind == "ppo"]
VARIANTS |= {
    name: parse_config(PpoConfig, {**SMALL, **method(name).config, "epochs": 2, "kl_coef": 0.0})
    for name in METHODS
}


def fresh() -> TabularActorCritic:
    torch.manual_seed(0)
    model = TabularActorCritic(states=LENGTH + 1, tokens=3, reply_length=3)
    with torch.no_grad():
        model.logits.copy_(0.3 * torch.randn(model.logits.shape))
    return model


def wordy_episodes(count: int, seed: int = 0) -> list[Episode]:
    """Episodes with replies of one to three tokens; a reply that begins with 1 in the last turn wins."""
    model, g = fresh(), torch.Generator().manual_seed(seed)
    episodes: list[Episode] = []
    for i in range(count):
        turns = int(torch.randint(1, 4, (1,), generator=g).item())
        samples: list[TrainingSample] = []
        for h in range(turns):
            n = int(torch.randint(1, 4, (1,), generator=g).item())
            logprobs = torch.log_softmax(model.logits[h, :n].detach(), -1)
            ids = torch.multinomial(logprobs.exp(), 1, generator=g)
            drawn = logprobs.gather(-1, ids).squeeze(-1)
            samples.append(
                TrainingSample(
                    trajectory_id=f"t{i}",
                    turn_index=h,
                    prompt_ids=(9, h),
                    reply_ids=tuple(ids[:, 0].tolist()),
                    images=(),
                    behaviour_logprobs=tuple(drawn.tolist()),
                    reward=0.0,
                )
            )
        won = samples[-1].reply_ids[0] == 1
        episodes.append(
            Episode(
                trajectory_id=f"t{i}",
                task_id="wordy",
                seed=i,
                group_id=f"wordy#{i // 8}",
                samples=tuple(samples),
                outcome=float(won),
                success=won,
                stop_reason=StopReason.TERMINATED,
            )
        )
    return episodes


def trained(config: PpoConfig, samples: Sequence[TrainingSample]) -> TabularActorCritic:
    model = fresh()
    Learner(model, config).update(samples, lr=config.lr)
    return model


def batch_for(config: PpoConfig, count: int = 40) -> Batch:
    return prepare(wordy_episodes(count), fresh(), config)


@pytest.mark.parametrize("name", VARIANTS)
def test_any_split_into_microbatches_trains_the_same(name: str) -> None:
    config = VARIANTS[name]
    # so many that no gradient comes to rounding alone, which Adam would make a step of
    samples = batch_for(config, 41).samples
    whole = trained(replace(config, microbatch=32), samples)
    for size in (1, 5, 31):
        split = trained(replace(config, microbatch=size), samples)
        torch.testing.assert_close(split.logits, whole.logits, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(split.critic.weight, whole.critic.weight, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", VARIANTS)
def test_threads_change_no_bit(name: str) -> None:
    config = replace(VARIANTS[name], microbatch=5)
    samples = batch_for(config).samples
    alone, together = trained(config, samples), trained(replace(config, threads=3), samples)
    assert torch.equal(alone.logits, together.logits)
    assert torch.equal(alone.critic.weight, together.critic.weight)


@pytest.mark.parametrize("name", VARIANTS)
def test_at_rate_zero_nothing_is_clipped_and_the_ratio_is_one(name: str) -> None:
    config = VARIANTS[name]
    batch = batch_for(config)
    report = Learner(fresh(), config).update(batch.samples, lr=0.0)
    assert report.clip_fraction == 0.0
    assert report.kl_per_turn == pytest.approx(0.0, abs=1e-9)
    assert report.ratio_mean == pytest.approx(1.0, abs=1e-6)
    assert report.ratio_max == pytest.approx(1.0, abs=1e-6)
    assert report.logprob_gap < 1e-6
    assert report.optimizer_steps == config.epochs * -(-len(batch.samples) // 32)


@pytest.mark.parametrize("name", ["turn product", "turn geometric", "token", "reinforce"])
def test_learns_the_bandit_hidden_in_the_replies(name: str) -> None:
    config = replace(VARIANTS[name], lr=0.1)
    model = fresh()
    learner = Learner(model, config)
    before = torch.softmax(model.logits[:3, 0], -1)[:, 1].mean().item()
    for iteration in range(12):
        samples = prepare(bandit_episodes(model, iteration), model, config).samples
        learner.update(samples, lr=config.lr)
    after = torch.softmax(model.logits[:3, 0], -1)[:, 1].mean().item()
    assert before < 0.5
    assert after > 0.8


def bandit_episodes(model: TabularActorCritic, seed: int) -> list[Episode]:
    """One turn of two tokens each, drawn from the model as it is; a reply that begins with 1 wins."""
    g = torch.Generator().manual_seed(seed)
    episodes: list[Episode] = []
    for i in range(64):
        h = i % 3
        logprobs = torch.log_softmax(model.logits[h, :2].detach(), -1)
        ids = torch.multinomial(logprobs.exp(), 1, generator=g)
        sample = TrainingSample(
            trajectory_id=f"t{i}",
            turn_index=0,
            prompt_ids=(h,),
            reply_ids=tuple(ids[:, 0].tolist()),
            images=(),
            behaviour_logprobs=tuple(logprobs.gather(-1, ids)[:, 0].tolist()),
            reward=0.0,
        )
        won = sample.reply_ids[0] == 1
        episodes.append(
            Episode(
                trajectory_id=f"t{i}",
                task_id="bandit",
                seed=i,
                samples=(sample,),
                outcome=float(won),
                success=won,
                stop_reason=StopReason.TERMINATED,
            )
        )
    return episodes


def test_ppo_walks_the_chain() -> None:
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    config = replace(BASE, lr=0.1, minibatch=128, microbatch=128)
    learner = Learner(model, config)
    for iteration in range(15):
        episodes = chain_episodes(model, 64, length=LENGTH, seed=iteration, limit=6)
        learner.update(prepare(episodes, model, config).samples, lr=config.lr)
    arrived = [e.success for e in chain_episodes(model, 400, length=LENGTH, seed=99, limit=6)]
    assert sum(arrived) / 400 > 0.95  # .66 untrained
    assert torch.softmax(model.logits[:LENGTH, 0], -1)[:, STEP].min() > 0.6


def test_sabotage_shuffled_rewards_teach_nothing() -> None:
    config = replace(BASE, lr=0.02, minibatch=128, microbatch=128)
    gains: list[float] = []
    for seed in range(2):
        model = TabularActorCritic(states=LENGTH + 1, tokens=2)
        learner, shuffle = Learner(model, config), torch.Generator().manual_seed(seed)
        before = success_rate(model)
        for iteration in range(10):
            episodes = chain_episodes(model, 64, length=LENGTH, seed=1000 * seed + iteration, limit=6)
            learner.update(prepare(episodes, model, config, shuffle=shuffle).samples, lr=config.lr)
        gains.append(success_rate(model) - before)
    assert sum(gains) / 2 <= 0.05


def success_rate(model: TabularActorCritic) -> float:
    return sum(e.success for e in chain_episodes(model, 1024, length=LENGTH, seed=7, limit=6)) / 1024


def test_truncated_episodes_bootstrap_and_terminated_ones_do_not() -> None:
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        model.critic.bias.fill_(0.5)
    config = replace(BASE, normalisation="none")
    cut, done = (
        [e for e in chain_episodes(model, 50, length=LENGTH, seed=0, limit=4) if e.stop_reason is reason]
        for reason in (StopReason.TURN_LIMIT, StopReason.TERMINATED)
    )
    assert cut
    assert done
    samples = prepare([cut[0], done[0]], model, config).samples
    for last, want in ((samples[len(cut[0].samples) - 1], 0.5), (samples[-1], 1.0)):
        assert last.returns[0] == pytest.approx(want)
        assert last.advantage[0] == pytest.approx(want - 0.5)


def test_what_follows_cut_off_episodes_is_read_in_microbatches() -> None:
    class Counting(TabularActorCritic):
        def __init__(self) -> None:
            super().__init__(states=LENGTH + 1, tokens=2)
            self.read: list[int] = []

        def values(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
            self.read.append(len(samples))
            return super().values(samples)

    model = Counting()
    with torch.no_grad():
        model.critic.weight.copy_(torch.arange(LENGTH + 1.0)[None])
    walker = TabularActorCritic(states=LENGTH + 1, tokens=2)
    drawn = chain_episodes(walker, 50, length=LENGTH, seed=0, limit=4)
    episodes = [e for e in drawn if e.after is not None][:7]
    assert len(episodes) == 7
    whole = prepare(episodes, model, replace(BASE, microbatch=64)).samples
    assert model.read == [7]
    assert prepare(episodes, model, replace(BASE, microbatch=3)).samples == whole
    assert model.read == [7, 3, 3, 1]


SCORE = replace(BASE, **method("score").config)


def attempts_at(name: str, outcome: float, attempts: Sequence[int]) -> Episode:
    return Episode(
        trajectory_id=name,
        task_id="twice",
        seed=0,
        samples=tuple(
            TrainingSample(
                trajectory_id=name, turn_index=h, prompt_ids=(9, 0), reply_ids=(0, 1), images=(),
                behaviour_logprobs=(-1.0, -1.0), reward=0.0, attempt=attempt,
            )
            for h, attempt in enumerate(attempts)
        ),
        outcome=outcome,
        success=outcome == 1.0,
        stop_reason=StopReason.TERMINATED,
        failed_attempts=tuple((h, 0.0) for h, (a, b) in enumerate(pairwise(attempts)) if a < b),
    )  # fmt: skip


@pytest.mark.parametrize(
    "config",
    [
        SCORE,
        replace(SCORE, gamma=0.9),
        *(replace(SCORE, advantage=kind) for kind in ("grpo", "rloo", "rebn", "step_episode")),
        *(replace(SCORE, advantage=kind, ratio="token") for kind in ("turn", "token", "bilevel")),
    ],
)
def test_to_fail_first_is_worth_nothing(config: PpoConfig) -> None:
    right = [attempts_at(f"right{i}", 1.0, [0, 0]) for i in range(4)]
    mended = [attempts_at(f"mended{i}", 1.0, [0, 0, 1]) for i in range(3)]
    wrong = [attempts_at(f"wrong{i}", 0.0, [0, 0, 1]) for i in range(3)]
    model = TabularActorCritic(states=1, tokens=2, reply_length=2)
    batch = prepare([*right, *mended, *wrong], model, config)
    earned = {(s.trajectory_id[:-1], s.attempt): s.advantage[0] for s in batch.samples}
    assert earned["right", 0] > 0 > earned["mended", 0]
    assert earned["mended", 0] == pytest.approx(earned["wrong", 0])
    assert earned["mended", 1] > 0 > earned["wrong", 1]
    assert dict(batch.reward_parts) == pytest.approx({"outcome": 0.7, "progress": 3.0})


@pytest.mark.parametrize("normalisation", ["none", "group"])
@pytest.mark.parametrize("advantage", BY_GROUP)
def test_a_group_that_all_went_alike_has_no_advantage_whatever_became_of_others(
    advantage: Any, normalisation: Any
) -> None:
    of_groups = {
        "differ": [attempts_at("won", 1.0, [0] * 2), attempts_at("lost", 0.0, [0] * 8)],
        "failed": [attempts_at(f"failed{turns}", 0.0, [0] * turns) for turns in (5, 3)],
        "won": [attempts_at(f"won{i}", 1.0, [0] * 3) for i in range(2)],
        "one": [attempts_at("one", 0.0, [0] * 4)],
    }
    episodes = [replace(e, group_id=group) for group, members in of_groups.items() for e in members]
    config = replace(BASE, advantage=advantage, normalisation=normalisation, ratio="token")
    samples = prepare(episodes, TabularActorCritic(states=1, tokens=2, reply_length=2), config).samples
    taught = {s.trajectory_id for s in samples if any(s.advantage)}
    assert taught == {"won", "lost"}


def test_an_episode_counts_beside_its_turns_as_it_is_weighed() -> None:
    config = replace(BASE, advantage="step_episode", normalisation="none", ratio="token")
    pair = [attempts_at("won", 1.0, [0] * 2), attempts_at("lost", 0.0, [0] * 2)]
    for weight in (0.0, 1.0, 3.0):
        told = replace(config, episode_weight=weight)
        samples = prepare(pair, TabularActorCritic(states=1, tokens=2, reply_length=2), told).samples
        gain = 1.0 + weight
        assert [s.advantage[0] for s in samples] == pytest.approx([gain, gain, -gain, -gain])


@pytest.mark.parametrize(
    ("advantage", "worth"), [("rebn", [1.0, 1.0, -1.0, -1.0]), ("return", [0.75, 0.75, -0.5, -0.5])]
)
def test_returns_are_compared_with_what_counts_and_with_what_was_usual(
    advantage: Any, worth: list[float]
) -> None:
    """A void episode is in no mean or deviation of the batch; a baseline is taken from each turn's return."""
    told: dict[str, Any] = {"algorithm": "reinforce", "normalisation": "none", "skip_void": True}
    won, lost = attempts_at("won", 1.0, [0] * 2), attempts_at("lost", 0.0, [0] * 2)
    void = replace(attempts_at("void", 0.0, [0] * 4), void_turns=1)
    played = [replace(won, baseline=0.25), replace(lost, baseline=0.5), void]
    model = TabularActorCritic(states=1, tokens=2, reply_length=2)
    samples = prepare(played, model, replace(BASE, advantage=advantage, **told)).samples
    assert [s.advantage[0] for s in samples[:4]] == pytest.approx(worth)


@pytest.mark.parametrize("advantage", ["grpo", "rloo"])
def test_groups_compare_what_was_earned_discounted_from_the_start(advantage: str) -> None:
    config = parse_config(
        PpoConfig,
        {
            "advantage": advantage, "normalisation": "none", "gamma": 0.9,
            "process_form": "potential", "process_weight": 0.5, "shaping": {"void": 0.2},
        },
    )  # fmt: skip
    late, soon = attempts_at("late", 1.0, [0] * 5), attempts_at("soon", 1.0, [0] * 2)
    failed = [attempts_at(f"failed{turns}", 0.0, [0] * turns) for turns in (1, 3, 9)]

    def first_turns(*episodes: Episode, gamma: float = 0.9) -> list[float]:
        model = TabularActorCritic(states=1, tokens=2, reply_length=2)
        samples = prepare(episodes, model, replace(config, gamma=gamma)).samples
        return [s.advantage[0] for s in samples if s.turn_index == 0]

    gain = 1.0 if advantage == "grpo" else 0.9 - 0.9**4
    assert first_turns(soon, late) == pytest.approx([gain, -gain])
    assert first_turns(soon, late, gamma=1.0) == [0.0, 0.0]
    # potentials shift every way from a start alike
    valued = [replace(e, potentials=(0.5,) * len(e.samples) + (0.0,)) for e in failed]
    assert first_turns(*valued) == [0.0] * 3
    # no failure earns more than a success, however each behaved
    void = replace(late, conduct=(Conduct(void=True),) * 5)
    assert first_turns(void, *failed)[0] > 0
    assert first_turns(void, soon)[0] < 0


def test_turn_advantages_are_equal_within_the_turn_and_whitened_over_turns() -> None:
    samples = batch_for(BASE).samples
    firsts = torch.tensor([s.advantage[0] for s in samples])
    assert all(len(set(s.advantage)) == 1 for s in samples)
    assert firsts.mean().abs() < 1e-6
    assert firsts.std(unbiased=False) == pytest.approx(1.0, rel=1e-5)


def test_turn_and_token_estimates_agree_for_one_token_turns() -> None:
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        model.critic.weight.copy_(torch.randn(1, LENGTH + 1, generator=torch.Generator().manual_seed(3)))
    episodes = chain_episodes(model, 20, length=LENGTH, seed=0, limit=5)
    turn = prepare(episodes, model, BASE)
    token = prepare(episodes, model, replace(BASE, advantage="token", ratio="token"))
    for a, b in zip(turn.samples, token.samples, strict=True):
        assert a.advantage == pytest.approx(b.advantage, rel=1e-5)
        assert a.returns == pytest.approx(b.returns, rel=1e-5)


@pytest.mark.parametrize("algorithm", ["rejection", "cloning"])
def test_imitation_raises_the_likelihood_and_leaves_the_critic(algorithm: str) -> None:
    config = replace(BASE, algorithm=algorithm)  # type: ignore[arg-type]
    samples = [replace(s, advantage=(1.0,) * len(s.reply_ids)) for s in batch_for(config).samples]
    model = fresh()
    before, critic = score_of(model, samples), model.critic.weight.clone()
    Learner(model, config).update(samples, lr=0.05)
    assert score_of(model, samples) > before
    assert torch.equal(model.critic.weight, critic)


def score_of(model: TabularActorCritic, samples: Sequence[TrainingSample]) -> float:
    logprobs = model.score(samples, temperature=1.0).logprobs.detach()
    return sum(float(row[: len(s.reply_ids)].sum()) for row, s in zip(logprobs, samples, strict=True))


def test_kl_penalty_holds_the_policy_back() -> None:
    samples = batch_for(BASE).samples
    free, held = fresh(), fresh()
    Learner(free, BASE).update(samples, lr=0.05)
    config = replace(BASE, kl_coef=50.0)
    Learner(held, config, reference=fresh()).update(samples, lr=0.05)
    start = fresh().logits
    assert (held.logits - start).abs().mean() < 0.6 * (free.logits - start).abs().mean()
    with pytest.raises(ValueError, match="policy to hold on to"):
        Learner(fresh(), config)


def test_what_the_kl_penalty_no_longer_holds_learns_as_without_it() -> None:
    samples = batch_for(BASE).samples
    config = replace(BASE, kl_coef=50.0, kl_iterations=1)
    learner = Learner(loosed := fresh(), config, reference=fresh())
    learner.update(samples, lr=0.05, held=False)
    Learner(free := fresh(), BASE).update(samples, lr=0.05)
    assert torch.equal(loosed.logits, free.logits)


class Poisoned(TabularActorCritic):
    """Gives NaN wherever there is no reply token."""

    def score(self, samples: Sequence[TrainingSample], *, temperature: float):
        scores = super().score(samples, temperature=temperature)
        mask = (
            torch.arange(scores.logprobs.shape[1])
            < torch.tensor([len(s.reply_ids) for s in samples])[:, None]
        )

        def dirty(x: Tensor) -> Tensor:
            return torch.where(mask, x, torch.nan)

        return replace(scores, logprobs=dirty(scores.logprobs), entropies=dirty(scores.entropies))

    def actor_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return super().actor_parameters()


@pytest.mark.parametrize("name", VARIANTS)
def test_nan_in_padding_changes_nothing(name: str) -> None:
    config = replace(VARIANTS[name], entropy_coef=0.01)
    samples = batch_for(config).samples
    poisoned = Poisoned(states=LENGTH + 1, tokens=3, reply_length=3)
    poisoned.load_state_dict(fresh().state_dict())
    Learner(poisoned, config).update(samples, lr=config.lr)
    assert torch.equal(poisoned.logits, trained(config, samples).logits)


def test_schedule_warms_up_and_decays() -> None:
    config = PpoConfig(lr=1.0, lr_warmup_iterations=3, lr_final=0.1)
    warm = [actor_lr(config, iteration=i, progress=0.0) for i in range(5)]
    assert warm == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert actor_lr(config, iteration=10, progress=0.5) == pytest.approx(0.55)
    assert actor_lr(config, iteration=10, progress=7.0) == pytest.approx(0.1)


def test_the_actors_schedule_begins_where_the_critic_has_learned_alone() -> None:
    config = PpoConfig(lr=1.0, lr_warmup_iterations=1, critic_warmup=2)
    rates = [actor_lr(config, iteration=i, progress=0.0) for i in range(5)]
    assert rates == [None, None, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", ["turn product", "token", "st-ppo"])
def test_the_critic_alone_learns_as_it_does_beside_the_policy(name: str) -> None:
    config = replace(VARIANTS[name], kl_coef=0.5, microbatch=5)
    samples = batch_for(config).samples
    both, alone = fresh(), fresh()
    Learner(both, config, reference=fresh()).update(samples, lr=config.lr)
    learner = Learner(alone, config, reference=fresh())
    report = learner.update(samples, lr=None)
    assert torch.equal(alone.critic.weight, both.critic.weight)
    assert not torch.equal(alone.critic.weight, fresh().critic.weight)
    assert torch.equal(alone.logits, fresh().logits)
    assert learner.updates == 0
    assert report.critic_grad_norm > 0 == report.actor_grad_norm
    assert not learner.state()["actor_optimizer"]["state"]


@pytest.mark.parametrize("ratio", ["token", "turn_product", "turn_geometric"])
def test_nothing_clipped_trains_bit_for_bit_as_without_the_bias(ratio: str) -> None:
    wide = replace(BASE, ratio=ratio, clip_low=1.0, clip_high=10.0, lr=0.001, microbatch=5)  # type: ignore[arg-type]
    samples = batch_for(wide).samples
    scaled = replace(wide, scale_by_clipping_bias=True)
    assert torch.equal(trained(scaled, samples).logits, trained(wide, samples).logits)


def test_the_more_is_clipped_the_smaller_the_gradient() -> None:
    steps: list[float] = []
    for scale in (1.0, 4.0, 16.0):
        parameter = nn.Parameter(torch.zeros(3))
        bias = ClippingBias([parameter])
        for part in (torch.tensor([1.0, 0.0, 2.0]), torch.tensor([0.0, 1.0, 0.0])):
            bias.add(bias.gradients((parameter * part).sum(), scale * 0.3 * (parameter * part).sum()))
        norm = bias.apply()
        assert norm == pytest.approx(scale * 0.3 * 6**0.5, rel=1e-5)
        assert parameter.grad is not None
        steps.append(float(parameter.grad.norm()))
        assert steps[-1] == pytest.approx(6**0.5 / max(1.0, norm), rel=1e-5)
    assert steps[0] == pytest.approx(6**0.5, rel=1e-6)
    assert steps[0] > steps[1] > steps[2]


def test_adamw_takes_a_steady_scale_out_again_and_feels_a_sudden_one() -> None:
    """Ten steps along the same gradient; how long the last is beside one without any clipped mass."""

    def moved(norms: Sequence[float]) -> float:
        parameter = nn.Parameter(torch.zeros(4))
        optimizer = torch.optim.AdamW([parameter], lr=0.1, betas=BASE.betas, weight_decay=0.0)
        before = parameter.detach().clone()
        for norm in norms:
            before = parameter.detach().clone()
            optimizer.zero_grad()
            bias = ClippingBias([parameter])
            bias.add(bias.gradients(parameter.sum(), 0.5 * norm * parameter.sum()))
            assert bias.apply() == pytest.approx(norm)
            optimizer.step()
        return float((parameter.detach() - before).norm())

    plain = moved([0.0] * 10)
    assert moved([8.0] * 10) == pytest.approx(plain, rel=1e-5)
    assert moved([0.0] * 9 + [8.0]) < 0.97 * plain
    # by hand, with g = 1 and an eighth at the end: m = .9·(1 − .9⁹) + .1/8, v = .99·(1 − .99⁹) + .01/64
    first, second = 0.9 * (1 - 0.9**9) + 0.1 / 8, 0.99 * (1 - 0.99**9) + 0.01 / 64
    ratio = first / (1 - 0.9**10) / (second / (1 - 0.99**10)) ** 0.5
    assert moved([0.0] * 9 + [8.0]) == pytest.approx(ratio * plain, rel=1e-5)


def shifted(samples: Sequence[TrainingSample], by: float) -> list[TrainingSample]:
    """As if the engine had given every token another log-probability."""
    return [replace(s, behaviour_logprobs=tuple(p + by for p in s.behaviour_logprobs)) for s in samples]


def test_clipped_updates_are_scaled_down() -> None:
    hard = replace(BASE, ratio="token", advantage="token", clip_low=0.001, clip_high=0.001, max_grad_norm=0.0)
    drawn = shifted(batch_for(hard).samples, -0.1)
    samples = [replace(s, advantage=tuple(50 * a for a in s.advantage)) for s in drawn]
    report = Learner(fresh(), replace(hard, scale_by_clipping_bias=True)).update(samples, lr=0.0)
    plain = Learner(fresh(), hard).update(samples, lr=0.0)
    assert report.clip_fraction == plain.clip_fraction > 0.2
    assert report.bias_norm > 1
    assert 0 < report.bias_scaled <= 1
    assert report.actor_grad_norm < plain.actor_grad_norm
    assert plain.bias_norm == 0 == plain.bias_scaled


def test_turns_out_of_the_policy_loss_move_the_critic_alone() -> None:
    samples = batch_for(BASE).samples
    out = [replace(s, in_policy_loss=False) for s in samples]
    model = trained(BASE, out)
    assert torch.equal(model.logits, fresh().logits)
    assert torch.equal(model.critic.weight, trained(BASE, samples).critic.weight)
    half = [replace(s, in_policy_loss=i % 2 == 0) for i, s in enumerate(samples)]
    kept = [s for s in samples if s.turn_index >= 0][::2]
    whole = replace(BASE, minibatch=1000, epochs=1)
    alone = trained(whole, kept)
    torch.testing.assert_close(trained(whole, half).logits, alone.logits, rtol=1e-5, atol=1e-6)


def test_an_engine_that_agrees_needs_no_correction_and_one_that_does_not_is_weighed() -> None:
    capped = replace(BASE, importance_cap=2.0, max_grad_norm=0.0)
    with_cap, without = trained(capped, batch_for(capped).samples), trained(BASE, batch_for(BASE).samples)
    torch.testing.assert_close(with_cap.logits, without.logits, rtol=1e-5, atol=1e-6)
    samples = batch_for(capped).samples
    agreed, drifted = (
        Learner(fresh(), capped).update(drawn, lr=0.0) for drawn in (samples, shifted(samples, 0.2))
    )
    assert drifted.ratio_mean == pytest.approx(1.0, abs=1e-6)  # of the trainer, not of the engine
    assert drifted.actor_grad_norm < agreed.actor_grad_norm
    assert agreed.logprob_gap == pytest.approx(0.0, abs=1e-6)
    assert drifted.logprob_gap == pytest.approx(0.2, abs=1e-5)  # the alarm still sees it


def test_how_much_of_a_batch_is_left_is_told_wherever_the_trainer_scored_it() -> None:
    episodes = wordy_episodes(16)
    model = fresh()
    older = [replace(e, samples=tuple(shifted(list(e.samples), -math.log(2)))) for e in episodes[:8]]
    drawn = [*older, *episodes[8:]]
    twice, once = (sum(len(s.reply_ids) for e in es for s in e.samples) for es in (older, episodes[8:]))
    expected = (2 * twice + once) ** 2 / ((twice + once) * (4 * twice + once))
    assert prepare(drawn, model, BASE).effective_share == pytest.approx(expected)
    assert prepare(drawn, model, replace(BASE, importance_cap=1.0)).effective_share == pytest.approx(1.0)
    unscored = replace(VARIANTS["grpo"], precision="float32", entropy_coef=0.01, minibatch=1000)
    batch = prepare(drawn, model, unscored)
    assert batch.effective_share is None
    # then the update's first step does, whatever those after it come to
    for config in (unscored, replace(unscored, microbatch=3)):
        report = Learner(fresh(), config).update(batch.samples, lr=0.5)
        assert report.effective_share == pytest.approx(expected)
    beside = [*batch.samples, *(replace(s, beside=True) for s in shifted(batch.samples, 1.0))]
    assert Learner(fresh(), unscored).update(beside, lr=0.5).effective_share == pytest.approx(expected)
    scored = prepare(drawn, model, BASE, update=0).samples
    assert math.isnan(Learner(fresh(), BASE).update(scored, lr=0.5).effective_share)


def test_an_engine_that_rounds_otherwise_clips_nothing_of_fresh_turns() -> None:
    model = fresh()
    rounded = [replace(e, samples=tuple(shifted(list(e.samples), 0.3))) for e in wordy_episodes(12)]
    for update, clips in ((0, False), (1, True), (None, True)):
        report = Learner(model, BASE).update(prepare(rounded, model, BASE, update=update).samples, lr=0.0)
        assert (report.clip_fraction > 0) == clips
        assert report.ratio_mean == pytest.approx(1.0, abs=1e-6) or clips
        assert report.logprob_gap == pytest.approx(0.3, abs=1e-5)


def test_without_a_critic_nothing_of_it_is_read_or_moved() -> None:
    config = VARIANTS["grpo"]
    model = fresh()
    with torch.no_grad():
        model.critic.weight.fill_(float("nan"))
    batch = prepare(wordy_episodes(40), model, config)
    report = Learner(model, config).update(batch.samples, lr=config.lr)
    assert report.value_loss == 0
    assert model.critic.weight.isnan().all()
    assert model.logits.isfinite().all()
    assert not torch.equal(model.logits, fresh().logits)


@pytest.mark.parametrize("name", METHODS)
def test_equal_rewards_and_nothing_left_are_no_ops_and_never_nan(name: str) -> None:
    config = VARIANTS[name]
    for episodes in (
        [replace(e, outcome=1.0) for e in wordy_episodes(16)],
        [replace(e, stop_reason=StopReason.TURN_LIMIT, void_turns=1) for e in wordy_episodes(16)],
    ):
        model = fresh()
        Learner(model, config).update(prepare(episodes, model, config).samples, lr=config.lr)
        assert model.logits.isfinite().all()
        assert model.critic.weight.isfinite().all()


@pytest.mark.parametrize("name", [n for n in METHODS if VARIANTS[n].by_critic])
def test_of_returns_all_alike_the_critic_alone_learns(name: str) -> None:
    config = replace(VARIANTS[name], gamma=1.0, entropy_coef=0.0, entropy_smoothing=0.0)
    failed = [replace(e, outcome=0.0, success=False) for e in wordy_episodes(32)]
    cut = [replace(e, after=replace(e.samples[0], reply_ids=(), behaviour_logprobs=())) for e in failed[::2]]
    for alike in (
        [replace(e, outcome=1.0, success=True) for e in wordy_episodes(32)],
        [*failed[1::2], *cut],  # V of the states they were left in is not earned
    ):
        model = fresh()
        with torch.no_grad():
            model.critic.weight.add_(torch.linspace(0.1, 0.5, LENGTH + 1))
        batch = prepare(alike, model, config)
        before = model.critic.weight.clone()
        report = Learner(model, config).update(batch.samples, lr=config.lr)
        assert report.policy_loss == 0
        assert torch.equal(model.logits, fresh().logits)
        assert not torch.equal(model.critic.weight, before)
    one = [replace(alike[0], outcome=1.0, success=True), *alike[1:]]
    samples = prepare(one, model, config).samples
    assert any(any(s.advantage) for s in samples)
    dealt = prepare(one, model, config, shuffle=torch.Generator().manual_seed(0)).samples
    assert any(any(s.advantage) for s in dealt)


@pytest.mark.parametrize(("advantage", "normalisation"), [("grpo", "none"), ("turn", "batch")])
def test_where_all_went_alike_the_policy_stays_whatever_momentum_it_has(
    advantage: Any, normalisation: Any
) -> None:
    config = replace(BASE, advantage=advantage, normalisation=normalisation, group_size=4, gamma=1.0)
    learner = Learner(model := fresh(), config)
    moved = learner.update(batch_for(config).samples, lr=0.05)
    before = model.logits.detach().clone()
    alike = prepare([replace(e, outcome=1.0, success=True) for e in wordy_episodes(32)], model, config)
    held = learner.update(alike.samples, lr=0.05)
    assert (moved.held, held.held, held.policy_loss) == (False, True, 0)
    assert torch.equal(model.logits, before) and learner.updates == 1
    pulled = Learner(fresh(), replace(config, entropy_coef=0.01))
    assert not pulled.update(alike.samples, lr=0.05).held and pulled.updates == 1


@pytest.mark.parametrize("ratio", ["token", "turn_product"])
@pytest.mark.parametrize("aggregation", ["token", "turn", "trajectory"])
def test_turns_learned_beside_take_nothing_from_the_others(ratio: Any, aggregation: Any) -> None:
    config = replace(BASE, ratio=ratio, aggregation=aggregation)
    samples = list(batch_for(config).samples)
    again = [
        replace(s, trajectory_id="old", policy_weights=(0.25,) * len(s.reply_ids), beside=True)
        for s in samples
    ]

    def weights(found: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        whole = of_whole_trajectories(found, config)
        rows = minibatch(found, range(len(found)), config, None, whole)
        return rows.policy_weights, rows.token_shares

    (alone, shares), (both, all_shares) = weights(samples), weights([*samples, *again])
    torch.testing.assert_close(both[: len(samples)], alone)
    torch.testing.assert_close(all_shares[: len(samples)], shares)
    assert not all_shares[len(samples) :].any()
    assert float(both[len(samples) :].sum()) == pytest.approx(0.25, rel=1e-5)


def test_a_state_taken_up_leaves_the_rates_and_settings_asked_for_now() -> None:
    begun = Learner(fresh(), replace(BASE, weight_decay=0.1))
    begun.update(batch_for(BASE).samples, lr=0.05)
    config = replace(BASE, critic_lr=1e-5, weight_decay=0.0, betas=(0.5, 0.6))
    learner = Learner(fresh(), config)
    learner.load(begun.state())
    for optimizer in (learner.actor_optimizer, learner.critic_optimizer):
        (group,) = optimizer.param_groups
        assert (group["betas"], group["weight_decay"]) == (config.betas, 0.0)
    assert learner.critic_optimizer.param_groups[0]["lr"] == config.critic_lr
    moments = [each.critic_optimizer.state_dict()["state"][0] for each in (begun, learner)]
    assert torch.equal(moments[0]["exp_avg"], moments[1]["exp_avg"])
    assert moments[0]["step"] == moments[1]["step"] > 0


class Broken(TabularActorCritic):
    """Its scores are NaN as long as it is told so."""

    broken = True

    def score(self, samples: Sequence[TrainingSample], *, temperature: float):
        scores = super().score(samples, temperature=temperature)
        return replace(scores, logprobs=scores.logprobs * (float("nan") if self.broken else 1.0))


def test_a_step_that_is_not_finite_is_left_out_and_too_many_end_the_run() -> None:
    config = replace(BASE, minibatch=16, max_skipped_steps=4, epochs=1)
    samples = batch_for(config).samples[:32]
    model = Broken(states=LENGTH + 1, tokens=3, reply_length=3)
    model.load_state_dict(fresh().state_dict())
    learner = Learner(model, config)
    report = learner.update(samples, lr=config.lr)
    assert (report.skipped_steps, report.optimizer_steps) == (2, 0)
    assert report.policy_loss == report.actor_grad_norm == 0
    again = Learner(model, config)
    again.load(learner.state())
    with pytest.raises(TrainingDiverged, match="in 4 steps in a row: lower lr"):
        again.update(samples, lr=config.lr)
    assert torch.equal(model.logits, fresh().logits)
    assert torch.equal(model.critic.weight, fresh().critic.weight)
    model.broken = False
    assert learner.update(samples, lr=config.lr).skipped_steps == 0
    assert learner.skipped_in_row == 0
    assert not torch.equal(model.logits, fresh().logits)


@pytest.mark.parametrize("ratio", ["token", "turn_product"])
def test_what_a_reply_counts_scales_its_part_of_the_gradient(ratio: str) -> None:
    config = replace(VARIANTS["token" if ratio == "token" else "turn product"], epochs=1, minibatch=999)
    config = replace(config, betas=(0.0, 0.0), max_grad_norm=0.0)
    samples = list(batch_for(config).samples)

    def gradient(given: Sequence[TrainingSample]) -> Tensor:
        learner = Learner(model := fresh(), config)
        learner.update(given, lr=0.0)
        assert model.logits.grad is not None
        return model.logits.grad.clone()

    whole = gradient(samples)
    halved = [replace(s, policy_weights=(0.5,) * len(s.reply_ids)) for s in samples]
    torch.testing.assert_close(gradient(halved), whole / 2, rtol=1e-5, atol=1e-8)
    first = [i for i, s in enumerate(samples) if s.turn_index == 0]
    silent = [
        replace(s, policy_weights=(0.0,) * len(s.reply_ids)) if i in first else s
        for i, s in enumerate(samples)
    ]
    alone = [replace(s, in_policy_loss=True) for s in silent]
    got = gradient(alone)
    assert (got[0] == 0).all() and (whole[0] != 0).any()


def test_samples_for_the_policy_alone_leave_the_critic_and_the_engines_gap() -> None:
    config = replace(BASE, epochs=1)
    samples = list(batch_for(config).samples)
    model = fresh()
    before = model.critic.weight.clone()
    report = Learner(model, config).update([replace(s, in_value_loss=False) for s in samples], lr=0.01)
    assert torch.equal(model.critic.weight, before)
    assert report.value_loss == 0.0
    off = [replace(s, behaviour_logprobs=tuple(p - 1.0 for p in s.behaviour_logprobs)) for s in samples]
    fresh_gap = Learner(fresh(), config).update(off, lr=0.0).logprob_gap
    old_gap = Learner(fresh(), config).update([replace(s, replayed=True) for s in off], lr=0.0).logprob_gap
    assert fresh_gap == pytest.approx(1.0, rel=1e-5)
    assert math.isnan(old_gap)


def test_engine_and_trainer_are_compared_over_all_that_the_weights_of_now_drew() -> None:
    """One turn of a hundred, wherever it stands; of none there is no figure."""
    drawn = shifted(prepare(wordy_episodes(40), fresh(), BASE, update=0).samples, 0.4)
    samples = [replace(s, policy_update=7) for s in drawn]
    for place in (0, len(samples) // 2, len(samples) - 1):
        few = [replace(s, policy_update=0) if i == place else s for i, s in enumerate(samples)]
        assert Learner(fresh(), BASE).update(few, lr=0.01).logprob_gap == pytest.approx(0.4, abs=1e-5)
    assert math.isnan(Learner(fresh(), BASE).update(samples, lr=0.01).logprob_gap)
    unscored = [replace(s, old_logprobs=()) for s in samples]
    assert math.isnan(Learner(fresh(), BASE).update(unscored, lr=0.01).logprob_gap)


def test_kl_on_the_first_attempt_leaves_later_ones_free() -> None:
    config = replace(BASE, kl_coef=100.0, epochs=1, minibatch=999, betas=(0.0, 0.0), max_grad_norm=0.0)
    samples = [replace(s, advantage=(0.0,) * len(s.reply_ids)) for s in batch_for(config).samples]
    away = fresh()
    with torch.no_grad():
        away.logits.copy_(away.logits + torch.randn(away.logits.shape))

    def pull(held: str, attempt: int) -> float:
        learner = Learner(model := fresh(), replace(config, kl_on=held), reference=away)
        learner.update([replace(s, attempt=attempt) for s in samples], lr=0.0)
        assert model.logits.grad is not None
        return float(model.logits.grad.abs().sum())

    assert pull("first_attempt", 0) == pytest.approx(pull("all", 0), rel=1e-5)
    assert pull("all", 1) > 0
    assert pull("first_attempt", 1) == 0.0


def test_kl_to_the_reference_is_told_as_it_is_weighed() -> None:
    """Mean of e^d − d − 1 over the tokens, d = log-probability by the reference less that by the policy."""
    config = replace(BASE, kl_coef=0.5, epochs=1, minibatch=999, microbatch=5)
    samples = batch_for(config).samples
    away = fresh()
    with torch.no_grad():
        away.logits.copy_(away.logits + torch.randn(away.logits.shape))
        by_reference, by_policy = (
            each.score(samples, temperature=config.temperature).logprobs for each in (away, fresh())
        )
    apart = (by_reference - by_policy)[reply_mask(samples)]
    report = Learner(fresh(), config, reference=away).update(samples, lr=0.05)
    assert report.kl_reference == pytest.approx(float((apart.exp() - apart - 1).mean()), rel=1e-5) != 0
    free = Learner(fresh(), config, reference=away).update(samples, lr=0.05, held=False)
    assert math.isnan(free.kl_reference)


@pytest.mark.parametrize("advantage", ["return", "grpo", "rloo"])
@pytest.mark.parametrize("ratio", ["turn_product", "token"])
def test_turns_without_advantage_are_left_out_and_change_nothing(
    monkeypatch: pytest.MonkeyPatch, advantage: str, ratio: str
) -> None:
    """Where nothing but advantages gives a gradient."""
    how: dict[str, Any] = {"advantage": advantage, "ratio": ratio, "normalisation": "none", "group_size": 1}
    config = replace(BASE, **how)
    samples = batch_for(config).samples
    # of two turns in three, as of groups in which all went alike
    samples = [replace(s, advantage=(0.0,) * len(s.reply_ids)) if i % 3 else s for i, s in enumerate(samples)]
    left_out, weights_of_some = learned_from(samples, config, monkeypatch)
    monkeypatch.setattr("deskhand_trainer.learner.by_advantages_alone", lambda _: False)
    all_seen, weights_of_all = learned_from(samples, config, monkeypatch)
    assert left_out < all_seen == config.epochs * len(samples)
    torch.testing.assert_close(weights_of_some, weights_of_all)


def learned_from(
    samples: Sequence[TrainingSample], config: PpoConfig, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, Tensor]:
    """How many turns went through a fresh model, and what it came to."""
    model, passed = fresh(), list[int]()
    score = model.score

    def counted(few: Sequence[TrainingSample], *, temperature: float) -> Any:
        passed.append(len(few))
        return score(few, temperature=temperature)

    monkeypatch.setattr(model, "score", counted)
    Learner(model, config).update(samples, lr=0.05)
    return sum(passed), model.logits.detach().clone()


@pytest.mark.parametrize(
    ("changed", "alone"),
    [
        ({}, False),
        ({"advantage": "grpo", "normalisation": "none"}, True),
        ({"advantage": "return", "entropy_coef": 0.01}, False),
        ({"advantage": "rloo", "normalisation": "none", "kl_coef": 0.1}, False),
        ({"algorithm": "rejection"}, True),
    ],
)
def test_all_turns_are_learned_from_where_more_than_advantages_counts(
    changed: dict[str, Any], alone: bool
) -> None:
    assert by_advantages_alone(replace(BASE, **changed)) is alone


def test_a_batch_without_any_advantage_changes_nothing() -> None:
    config = replace(BASE, advantage="return", normalisation="none")
    samples = [replace(s, advantage=(0.0,) * len(s.reply_ids)) for s in batch_for(config).samples]
    model = fresh()
    before = model.logits.detach().clone()
    report = Learner(model, config).update(samples, lr=0.05)
    assert torch.equal(model.logits, before)
    assert report.policy_loss == 0 and math.isfinite(report.entropy)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_policy_that_is_held_is_not_differentiated(monkeypatch: pytest.MonkeyPatch, scaled: bool) -> None:
    config = replace(BASE, scale_by_clipping_bias=scaled)
    samples = [replace(s, advantage=(0.0,) * len(s.reply_ids)) for s in batch_for(config).samples]

    def critic_of(config: PpoConfig) -> tuple[Tensor, bool, int]:
        model, ways_back = fresh(), list[Tensor]()
        score = model.score

        def seen(few: Sequence[TrainingSample], *, temperature: float) -> Any:
            scores = score(few, temperature=temperature)
            scores.logprobs.register_hook(ways_back.append)
            return scores

        monkeypatch.setattr(model, "score", seen)
        report = Learner(model, config).update(samples, lr=0.05)
        return model.critic.weight.detach().clone(), report.held, len(ways_back)

    critic, held, ways_back = critic_of(config)
    assert held and ways_back == 0 and not torch.equal(critic, fresh().critic.weight)
    beside, held, ways_back = critic_of(replace(config, entropy_coef=0.01))
    assert not held and ways_back > 0 and torch.equal(critic, beside)


@pytest.mark.parametrize(
    ("worth", "pictured", "stay"),
    [
        ([0, 1, 0, 1], [0, 1, 2, 3], [1, 3]),
        ([0, 1, 0, 1], [2], [1, 2, 3]),
        ([0, 0, 0, 0], [2, 3], [2]),
        ([0, 0, 0, 0], [], [0]),
    ],
)
def test_a_picture_stays_where_there_was_one(worth: list[int], pictured: list[int], stay: list[int]) -> None:
    """Else the vision tower would be stepped or not by which turns were left out."""
    config = replace(BASE, advantage="return", normalisation="none")
    samples = [
        replace(s, advantage=(float(worth[i]),) * len(s.reply_ids), images=(PICTURE,) * (i in pictured))
        for i, s in enumerate(batch_for(config).samples[:4])
    ]
    whole = of_whole_trajectories(samples, config)
    rest = minibatch(samples, range(4), config, None, whole).teaching()
    assert list(rest.samples) == [samples[i] for i in stay]
    assert float(rest.token_shares.sum()) == pytest.approx(1)


@pytest.mark.parametrize(("ratio", "whole"), [("turn_product", [2, 2, 1, 1]), ("token", [4, 4, 2, 2])])
def test_a_trajectory_is_as_long_as_what_it_has_in_the_policy_loss(ratio: str, whole: list[int]) -> None:
    config = replace(BASE, **dict[str, Any](aggregation="trajectory", ratio=ratio))
    turn = batch_for(config, 1).samples[0]
    samples = [
        replace(turn, trajectory_id=name, turn_index=h, reply_ids=(1,) * tokens, in_policy_loss=counts)
        for name, h, tokens, counts in (
            ("a", 0, 3, True),
            ("a", 1, 1, True),
            ("b", 0, 2, True),
            ("b", 1, 5, False),
        )
    ]
    assert of_whole_trajectories(samples, config).tolist() == whole


@pytest.mark.parametrize("ratio", ["turn_product", "token"])
def test_by_trajectory_one_that_is_there_twice_counts_twice(ratio: str) -> None:
    """A success that replay gave to two groups."""
    config = replace(BASE, **dict[str, Any](aggregation="trajectory", ratio=ratio))
    turn = batch_for(config, 1).samples[0]
    names = ("old", "old", "new", "other")
    samples = [replace(turn, trajectory_id=name, turn_index=h) for name in names for h in range(3)]
    rows = minibatch(samples, range(12), config, None, of_whole_trajectories(samples, config))
    each = rows.policy_weights.reshape(4, -1).sum(-1)
    assert each.tolist() == pytest.approx([0.25] * 4)


@pytest.mark.parametrize("ratio", ["turn_product", "token"])
@pytest.mark.parametrize("size", [64, 128, 9999])
def test_by_trajectory_a_long_episode_counts_what_a_short_one_does(ratio: str, size: int) -> None:
    """Over an epoch, into however many minibatches its turns were dealt out."""
    config = replace(BASE, **dict[str, Any](aggregation="trajectory", ratio=ratio))
    turn = batch_for(config, 1).samples[0]
    lengths = {str(number): 20 if number % 2 else 2 for number in range(96)}
    samples = [replace(turn, trajectory_id=t, turn_index=h) for t, n in lengths.items() for h in range(n)]
    # what only the critic learns from is no part of a trajectory's length
    samples += [replace(turn, trajectory_id=t, in_policy_loss=False) for t in lengths]
    order = torch.randperm(len(samples), generator=torch.Generator().manual_seed(0)).tolist()
    counted = {2: 0.0, 20: 0.0}
    whole = of_whole_trajectories(samples, config)
    for begin in range(0, len(order), size):
        rows = minibatch(samples, order[begin : begin + size], config, None, whole)
        assert float(rows.policy_weights.sum()) == pytest.approx(1, rel=1e-5)
        for sample, weights in zip(rows.samples, rows.policy_weights, strict=True):
            counted[lengths[sample.trajectory_id]] += float(weights.sum())
    assert counted[20] / counted[2] == pytest.approx(1, abs=1e-5 if size == 9999 else 0.15)
