from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

from deskhand_trainer.batches import explained_variance, prepare, reward_rule, with_rewards
from deskhand_trainer.chain import chain_episodes
from deskhand_trainer.choices import AdvantageKind
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.errors import NoTrainableTurns, TrainingDiverged
from deskhand_trainer.estimates import critic_returns, estimated, token_returns, turn_returns
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode
from deskhand_trainer.value_pretraining import TrunkSteps, pretrain_value, token_states, value_alarms

LENGTH, SLIP = 6, 0.15
CONFIG = ValuePretrainingConfig(max_epochs=100, lr=0.005, flat=1e-3, patience=8, explained_variance=0.05)


def fitted(config: ValuePretrainingConfig, episodes: list[Episode], *, gamma: float = 1.0):
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    report = pretrain_value(model, with_rewards(episodes, RewardRule()), config, gamma=gamma, seed=0)
    return model, report


@cache
def walks(count: int, seed: int = 0) -> list[Episode]:
    return chain_episodes(
        TabularActorCritic(states=LENGTH + 1, tokens=2), count, length=LENGTH, seed=seed, slip=SLIP
    )


def table_of(model: TabularActorCritic) -> torch.Tensor:
    return model.value(torch.eye(LENGTH + 1)).detach()


def test_values_match_the_closed_form() -> None:
    model, report = fitted(CONFIG, walks(1500))
    want = torch.tensor([(1 - SLIP) ** (LENGTH - s) for s in range(LENGTH)])
    assert (table_of(model)[:LENGTH] - want).abs().max() < 0.06  # four standard errors of 1,500 episodes
    assert report.stopped_by == "flat and explained"
    assert report.explained_variance > 0.05  # chance decides most: the truth explains a tenth


def test_steps_of_the_learner_come_to_the_same_values() -> None:
    """As a critic with a model of its own is fitted: turn by turn, in any micro-batches."""
    found: list[torch.Tensor] = []
    for microbatch in (64, 20):
        fitting = replace(CONFIG, lr=0.05, max_epochs=6)
        config = PpoConfig(value_pretraining=fitting, microbatch=microbatch, threads=1)
        model = TabularActorCritic(states=LENGTH + 1, tokens=2)
        episodes = with_rewards(walks(200), RewardRule())
        report = pretrain_value(
            model, episodes, config.value_pretraining, gamma=1.0, seed=0, trunk=TrunkSteps(model, config)
        )
        found.append(table_of(model)[:LENGTH])
        assert report.train_turns + report.held_out_turns == sum(len(e.samples) for e in episodes)
        assert model.logits.abs().max() == 0
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-5)
    by_head, fit = fitted(fitting, walks(200))
    # the head alone is stepped with AdamW's own betas and no clip, its minibatches in another order
    assert report.loss == pytest.approx(fit.loss, rel=0.05)
    assert (found[0] - table_of(by_head)[:LENGTH]).abs().max() < 0.1


def test_explains_a_chain_without_chance_almost_wholly() -> None:
    """γ < 1 and no slip: the return is γ^(turns left), which the state tells up to the waiting time."""
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        model.logits[:, 0, 1] = 6.0  # steps nearly always, so the state tells the return
    episodes = with_rewards(chain_episodes(model, 400, length=LENGTH, seed=1), RewardRule())
    report = pretrain_value(
        model, episodes, replace(CONFIG, lr=0.02, explained_variance=0.95), gamma=0.7, seed=0
    )
    assert report.explained_variance > 0.95
    assert report.stopped_by == "flat and explained"
    want = torch.tensor([0.7 ** (LENGTH - 1 - s) for s in range(LENGTH)])
    # rare waits take up to .003 of it, and the fit stops where it is flat
    assert (table_of(model)[:LENGTH] - want).abs().max() < 0.01


def test_goes_on_to_the_last_epoch_when_variance_stays_unexplained() -> None:
    config = replace(CONFIG, max_epochs=30, patience=1, flat=0.5, explained_variance=0.99)
    _, report = fitted(config, walks(200))
    assert (report.stopped_by, report.epochs) == ("epochs", 30)


def test_the_policy_is_not_touched() -> None:
    model, _ = fitted(replace(CONFIG, max_epochs=3), walks(50))
    assert model.logits.abs().max() == 0


def test_sabotage_shuffled_returns_have_no_held_out_explained_variance() -> None:
    """Outcomes dealt out at random among episodes whose turns cannot tell them apart."""
    episodes = walks(1500)
    first = [replace(e, samples=e.samples[:1]) for e in episodes]  # every length tells nothing
    shuffled = with_rewards(first, RewardRule(), shuffle=torch.Generator().manual_seed(1))
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    report = pretrain_value(model, shuffled, replace(CONFIG, max_epochs=60), gamma=1.0, seed=0)
    assert abs(report.explained_variance) < 0.05


def test_biased_critic_hurts_with_lambda_below_one_and_pretraining_repairs_it() -> None:
    """Ablation: λ = .5 advantages from a wrong V are far from the truth; after pretraining they are near."""
    config = PpoConfig(lambda_policy=0.5, normalisation="none")
    episodes = walks(300, seed=3)
    truth = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        truth.critic.weight[0, :LENGTH] = torch.tensor([(1 - SLIP) ** (LENGTH - s) for s in range(LENGTH)])
    biased = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        biased.critic.weight[0] = torch.linspace(1.0, -1.0, LENGTH + 1)

    def error(model: TabularActorCritic) -> float:
        got = torch.tensor([s.advantage[0] for s in prepare(episodes, model, config).samples])
        want = torch.tensor([s.advantage[0] for s in prepare(episodes, truth, config).samples])
        return float((got - want).abs().mean())

    before = error(biased)
    pretrain_value(biased, with_rewards(walks(1500), RewardRule()), CONFIG, gamma=1.0, seed=0)
    after = error(biased)
    assert before > 0.2
    assert after < 0.15 * before


def test_explained_variance_of_a_constant_return_is_no_number() -> None:
    assert explained_variance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])) != 0.0
    assert torch.isnan(torch.tensor(explained_variance(torch.zeros(2), torch.ones(2))))
    r = torch.tensor([0.0, 1.0, 2.0])
    assert explained_variance(r + 5, r) == pytest.approx(1.0)
    assert explained_variance(torch.zeros(3), r) == pytest.approx(0.0)


def test_returns_are_listed_turn_by_turn() -> None:
    episodes = with_rewards(walks(3), RewardRule())
    got = turn_returns(episodes, gamma=0.9)
    want = [0.9 ** (len(e.samples) - 1 - h) * e.outcome for e in episodes for h in range(len(e.samples))]
    torch.testing.assert_close(got, torch.tensor(want), rtol=1e-5, atol=1e-7)


def test_moves_earn_what_the_config_weighs_them_with() -> None:
    (episode,) = walks(1)
    turns = len(episode.samples)
    moved = replace(episode, environment_rewards=(-0.25,) * turns)
    (rewarded,) = with_rewards([moved], reward_rule(PpoConfig(environment_weight=2.0)))
    assert [s.reward for s in rewarded.samples[:-1]] == [-0.5] * (turns - 1)
    assert rewarded.samples[-1].reward == pytest.approx(episode.outcome - 0.5)
    (plain,) = with_rewards([moved], reward_rule(PpoConfig()))
    assert sum(s.reward for s in plain.samples) == episode.outcome


def test_scores_are_centred_on_the_mean_of_all_steps_of_a_batch() -> None:
    """(.9 + .9 + .3)/3 = .7, which is not the mean of the episodes' means."""
    long = replace(two_turns(), process_scores=(0.9, 0.9))
    short = replace(two_turns(), samples=two_turns().samples[:1], process_scores=(0.3,))
    rewarded = with_rewards([long, short], RewardRule(process_weight=0.5))
    paid = [dict(s.reward_parts)["process"] for e in rewarded for s in e.samples]
    assert paid == pytest.approx([0.1, 0.1, -0.2])


def test_of_one_token_turns_the_token_critic_learns_what_the_turn_critic_does() -> None:
    by_turn, _ = fitted(CONFIG, walks(60))
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    episodes = with_rewards(walks(60), RewardRule())
    report = pretrain_value(model, episodes, CONFIG, gamma=1.0, seed=0, advantage="token")
    assert torch.equal(table_of(model), table_of(by_turn))
    assert report.train_turns + report.held_out_turns == sum(len(e.samples) for e in episodes)


def test_every_token_has_its_state_and_its_return() -> None:
    (episode,) = walks(1)
    samples = [
        replace(s, reply_ids=s.reply_ids * n) for s, n in zip(episode.samples, (2, 1, 3), strict=False)
    ]
    longer = replace(episode, samples=tuple(samples), outcome=1.0)
    (rewarded,) = with_rewards([longer], RewardRule())
    lengths = [len(s.reply_ids) for s in samples]
    got = token_returns([rewarded, rewarded], gamma=0.5)
    want = [0.5**n for n in reversed(range(sum(lengths)))]
    torch.testing.assert_close(got, torch.tensor(want * 2), rtol=1e-6, atol=0)
    model = TabularActorCritic(states=LENGTH + 1, tokens=2, reply_length=3)
    states = token_states(model, [rewarded], microbatch=2)
    where = [s.prompt_ids[-1] for s, n in zip(samples, lengths, strict=True) for _ in range(n)]
    assert states.argmax(-1).tolist() == where


def two_turns() -> Episode:
    """Of three tokens and of two; the first earns .2, the second 1."""
    (episode,) = walks(1)
    samples = [
        replace(s, prompt_ids=(h,), reply_ids=(0,) * n, behaviour_logprobs=(0.0,) * n, reward=r)
        for h, (s, n, r) in enumerate(zip(episode.samples, (3, 2), (0.2, 1.0), strict=False))
    ]
    return replace(episode, samples=tuple(samples))


def test_golden_returns_of_two_levels() -> None:
    """γ = .5. Turns: G2 = 1, G1 = .2 + .5·1 = .7, at their last tokens; .5 and .25 of that before them."""
    got = critic_returns([two_turns()], "bilevel", gamma=0.5)
    torch.testing.assert_close(got, torch.tensor([0.175, 0.35, 0.7, 0.5, 1.0]), rtol=1e-6, atol=0)


@pytest.mark.parametrize("advantage", ["turn", "token", "bilevel"])
def test_the_critic_is_fitted_to_what_the_loop_has_it_learn(advantage: AdvantageKind) -> None:
    """With λ = 1 whatever V is."""
    played = [two_turns(), replace(two_turns(), samples=two_turns().samples[:1])]
    config = PpoConfig(advantage=advantage, ratio="token", gamma=0.9, lambda_critic=1.0)
    values = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    in_loop = estimated(played, values, torch.zeros(2), (True, True), config).returns
    tokens = torch.arange(3) < torch.tensor([[3], [2], [3]])
    want = in_loop[:, 0] if advantage == "turn" else in_loop[tokens]
    torch.testing.assert_close(critic_returns(played, advantage, gamma=0.9), want, rtol=1e-5, atol=1e-6)


def test_values_are_pretrained_to_returns_of_two_levels() -> None:
    """A critic that cannot tell a turn's tokens apart foretells their mean."""
    model = TabularActorCritic(states=LENGTH + 1, tokens=2, reply_length=3)
    fitting = replace(CONFIG, lr=0.02)
    pretrain_value(model, [two_turns()] * 40, fitting, gamma=0.5, seed=0, advantage="bilevel")
    want = torch.tensor([(0.175 + 0.35 + 0.7) / 3, (0.5 + 1.0) / 2])
    # the fit stops where it is flat
    torch.testing.assert_close(table_of(model)[:2], want, rtol=0, atol=0.005)


def test_needs_two_episodes() -> None:
    with pytest.raises(NoTrainableTurns, match=r"at least 2 episodes .* raise value_pretraining\.episodes"):
        fitted(CONFIG, walks(1))


class Broken(TabularActorCritic):
    """Gives so many first values that are no numbers where it learns."""

    def __init__(self, first: int) -> None:
        super().__init__(states=LENGTH + 1, tokens=2)
        self.first = first

    def value(self, states: torch.Tensor) -> torch.Tensor:
        values = super().value(states)
        if not values.requires_grad or self.first == 0:
            return values
        self.first -= 1
        return values * torch.nan


def test_a_step_whose_gradient_is_no_number_is_left_out() -> None:
    model = Broken(first=3)
    report = pretrain_value(model, with_rewards(walks(200), RewardRule()), CONFIG, gamma=1.0, seed=0)
    assert model.first == 0 and report.explained_variance > 0
    assert table_of(model).isfinite().all()


@pytest.mark.parametrize(("max_epochs", "steps"), [(100, 20), (2, None)])
def test_many_of_them_in_a_row_end_the_run_or_all_of_a_short_fit(max_epochs: int, steps: int | None) -> None:
    model, episodes = Broken(first=10_000), with_rewards(walks(40), RewardRule())
    before = model.critic.weight.clone()
    with pytest.raises(TrainingDiverged, match=r"in a row: lower value_pretraining\.lr"):
        pretrain_value(model, episodes, replace(CONFIG, max_epochs=max_epochs), gamma=1.0, seed=0)
    assert steps is None or 10_000 - model.first == steps
    assert torch.equal(model.critic.weight, before)


def test_an_alarm_says_that_the_critic_explains_too_little() -> None:
    config = replace(CONFIG, max_epochs=2, explained_variance=0.99)
    _, report = fitted(config, walks(200))
    (alarm,) = value_alarms(report, config)
    assert alarm.name == "value_unexplained"
    assert (alarm.data["value"], alarm.data["limit"]) == (report.explained_variance, 0.99)
    assert "raise value_pretraining.episodes" in str(alarm.data["advice"])
    assert value_alarms(replace(report, stopped_by="flat and explained"), config) == ()
    assert value_alarms(replace(report, explained_variance=0.99), config) == ()
    assert value_alarms(replace(report, explained_variance=float("nan")), config) == ()
