from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import encode_text
from deskhand_agent.models.value import ValueHead
from deskhand_agent.types import StopReason
from deskhand_trainer.archer import TurnCritic, newest, polyak, td_targets, turns_of
from deskhand_trainer.batches import prepare, with_rewards
from deskhand_trainer.chain import STAY, STEP, chain_episodes
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import TrainingDiverged
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode, TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

LENGTH, SLIP, GAMMA = 5, 0.1, 0.9
CONFIG = PpoConfig(
    algorithm="reinforce",
    advantage="archer",
    normalisation="none",
    gamma=GAMMA,
    critic_lr=0.02,
    turn_critic_steps=600,
    turn_critic_polyak=0.1,
    turn_critic_replay=20_000,
)


def walker(stepping: float) -> TabularActorCritic:
    """A policy on the chain that steps with so much chance."""
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    with torch.no_grad():
        model.logits[:, 0, STEP] = torch.tensor(stepping / (1 - stepping)).log()
    return model


def tables(config: PpoConfig = CONFIG) -> TurnCritic:
    """A critic with one number for every state, and for every state and token."""

    def table(rows: int) -> nn.Module:
        linear = nn.Linear(rows, 1, bias=False)
        nn.init.zeros_(linear.weight)
        return nn.Sequential(linear, nn.Flatten(0))

    return TurnCritic(table(2 * (LENGTH + 1)), table(LENGTH + 1), config)


def walks(model: TabularActorCritic, count: int, seed: int) -> tuple[Episode, ...]:
    return with_rewards(chain_episodes(model, count, length=LENGTH, seed=seed, slip=SLIP), RewardRule())


def closed_form(stepping: float) -> tuple[torch.Tensor, torch.Tensor]:
    """V [LENGTH] and Q [LENGTH, 2] of a walker: arriving pays 1, slipping ends it for nothing."""
    v, q = torch.zeros(LENGTH), torch.zeros(LENGTH, 2)
    beyond = 1.0
    for state in reversed(range(LENGTH)):
        step = (1 - SLIP) * beyond
        v[state] = stepping * step / (1 - (1 - stepping) * GAMMA)
        q[state, STEP], q[state, STAY] = step, GAMMA * v[state]
        beyond = GAMMA * float(v[state])
    return v, q


def test_the_closed_form_is_a_fixed_point() -> None:
    v, q = closed_form(0.7)
    torch.testing.assert_close(v, 0.7 * q[:, STEP] + 0.3 * q[:, STAY])


def test_it_finds_the_values_of_the_policy_of_now_though_it_replays_turns_of_another() -> None:
    model = walker(0.8)
    critic = tables()
    critic.replay = walks(walker(0.3), 600, seed=1)
    judged = critic.judged(walks(model, 600, seed=2), model)
    v, q = closed_form(0.8)  # of the walker that is replayed, V(0) is less than half as much
    got_v = critic.nets["v"](torch.eye(LENGTH + 1))[:LENGTH].detach()
    got_q = critic.nets["q"](torch.eye(2 * (LENGTH + 1))).view(-1, 2)[:LENGTH].detach()
    assert (got_v - v).abs().max() < 0.06  # chance of the slips: four standard errors of 1,200 walks
    assert (got_q - q).abs().max() < 0.06
    for episode in judged[:50]:
        assert len(episode.turn_advantages) == len(episode.samples)
        for sample, advantage in zip(episode.samples, episode.turn_advantages, strict=True):
            state, (token,) = sample.prompt_ids[-1], sample.reply_ids
            # chance of the slips, as above, in both tables at once
            assert advantage == pytest.approx(float(q[state, token] - v[state]), abs=0.08)


def test_targets() -> None:
    got = td_targets(
        torch.tensor([0.0, 0.0, 1.0]),
        torch.tensor([0.5, 0.7, 9.0]),
        torch.tensor([True, True, False]),
        gamma=0.99,
    )
    torch.testing.assert_close(got, torch.tensor([0.495, 0.693, 1.0]))
    cut = td_targets(torch.tensor([1.0]), torch.tensor([0.5]), torch.tensor([True]), gamma=0.9)
    torch.testing.assert_close(cut, torch.tensor([1.45]))
    ended = td_targets(torch.tensor([1.0]), torch.tensor([torch.nan]), torch.tensor([False]), gamma=0.9)
    torch.testing.assert_close(ended, torch.tensor([1.0]))


def test_both_losses_ask_the_target_networks() -> None:
    """Q = 1, V = 2, Q̄ = 5, V̄ = 4 everywhere: ½·((1 − .9·4)² + (1 − 1)²)/2 = 1.69, and ½·(2 − 5)²."""
    critic = tables()
    for nets, q, v in ((critic.nets, 1.0, 2.0), (critic.targets, 5.0, 4.0)):
        for name, number in (("q", q), ("v", v)):
            for parameter in nets[name].parameters():
                nn.init.constant_(parameter, number)
    turns = turns_of([episode(sample(0, STEP), sample(1, STEP, 1.0))], walker(0.5), microbatch=2)
    assert critic._q_loss(turns).item() == pytest.approx(1.69)  # pyright: ignore[reportPrivateUsage]
    assert critic._v_loss(turns).item() == pytest.approx(4.5)  # pyright: ignore[reportPrivateUsage]


def test_targets_follow_a_share_of_the_way() -> None:
    target, net = nn.Linear(1, 1), nn.Linear(1, 1)
    for module, number in ((target, 1.0), (net, 3.0)):
        nn.init.constant_(module.weight, number)
        nn.init.constant_(module.bias, -number)
    polyak(target, net, share=0.25)
    assert (target.weight.item(), target.bias.item()) == (1.5, -1.5)
    assert (net.weight.item(), net.bias.item()) == (3.0, -3.0)


def sample(state: int, token: int, reward: float = 0.0) -> TrainingSample:
    return TrainingSample(
        trajectory_id="t",
        turn_index=0,
        prompt_ids=(state,),
        reply_ids=(token,),
        images=(),
        behaviour_logprobs=(0.0,),
        reward=reward,
    )


def episode(*samples: TrainingSample, cut_at: int | None = None) -> Episode:
    after = None if cut_at is None else replace(sample(cut_at, 0), reply_ids=(), behaviour_logprobs=())
    return Episode(
        trajectory_id=f"t{len(samples)}",
        task_id="chain",
        seed=0,
        samples=samples,
        outcome=0.0,
        success=False,
        stop_reason=StopReason.TERMINATED if cut_at is None else StopReason.TURN_LIMIT,
        after=after,
    )


def test_what_follows_a_turn_is_the_next_of_its_own_episode_or_the_state_it_was_cut_off_in() -> None:
    episodes = [
        episode(sample(0, STEP), sample(1, STAY), cut_at=4),
        episode(sample(2, STEP, 1.0)),
        episode(sample(3, STAY), cut_at=5),
    ]
    turns = turns_of(episodes, walker(0.5), microbatch=2)
    assert turns.before.argmax(-1).tolist() == [0, 1, 2, 3]
    assert turns.after.argmax(-1).tolist() == [1, 2, 5, 6]
    assert turns.goes_on.tolist() == [True, True, False, True]
    assert turns.following.argmax(-1)[turns.goes_on].tolist() == [1, 4, 5]
    assert turns.rewards.tolist() == [0.0, 0.0, 1.0, 0.0]


def test_where_progress_is_paid_nothing_follows_an_attempt_that_failed() -> None:
    model, config = walker(0.5), replace(CONFIG, attempts=2, progress_bonus=4.0, turn_critic_steps=200)
    won = replace(episode(sample(0, STAY), replace(sample(1, STEP), attempt=1)), outcome=1.0, success=True)
    critic = tables(config)
    for _ in range(2):  # the second time of replay alike
        first, second = prepare([won], model, config, turn_critic=critic).samples
        q = critic.nets["q"](torch.eye(2 * (LENGTH + 1)))
        assert q[2 * 0 + STAY] == 0.0 < q[2 * 1 + STEP]
        assert first.advantage == (0.0,) and second.advantage[0] != 0.0


def test_the_oldest_episodes_make_room_whole() -> None:
    three = [episode(*[sample(0, STEP)] * count) for count in (3, 2, 1)]
    assert [len(e.samples) for e in newest(three, turns=6)] == [3, 2, 1]
    assert [len(e.samples) for e in newest(three, turns=5)] == [2, 1]
    assert newest(three, turns=0) == ()


def test_all_tokens_of_a_turn_get_its_advantage_and_the_critic_of_the_model_is_left_alone() -> None:
    model = walker(0.5)
    critic = tables(replace(CONFIG, turn_critic_steps=50))
    batch = prepare(walks(model, 20, seed=3), model, critic.config, turn_critic=critic)
    assert {len(s.advantage) for s in batch.samples} == {1}
    assert any(s.advantage[0] != 0 for s in batch.samples)
    assert all(s.returns == (0.0,) for s in batch.samples)
    assert sum(len(e.samples) for e in critic.replay) == len(batch.samples)


async def test_a_restored_critic_goes_on_bit_identically() -> None:
    model, config = walker(0.5), replace(CONFIG, turn_critic_steps=20, turn_critic_replay=40)
    first, second, third = (walks(model, 10, seed=seed) for seed in (4, 5, 6))
    unbroken = tables(config)
    unbroken.judged(first, model)
    kept = copy.deepcopy(unbroken.state())
    known = {e.trajectory_id: e for e in (*first, *second, *third)}

    async def stored(ids: object) -> list[Episode]:
        assert isinstance(ids, list)
        # the store has no rewards: the checkpoint brings them
        bare = [known[name] for name in ids]
        return [replace(e, samples=tuple(replace(s, reward=-9.0) for s in e.samples)) for e in bare]

    again = tables(config)
    again.load(kept)
    await again.restore(stored)
    for episodes in (second, third):
        one, other = unbroken.judged(episodes, model), again.judged(episodes, model)
        assert [e.turn_advantages for e in one] == [e.turn_advantages for e in other]


def test_a_restored_critic_learns_at_the_rate_asked_for_now() -> None:
    again = tables(replace(CONFIG, critic_lr=1e-5))
    again.load(tables(CONFIG).state())
    assert again.optimizer.param_groups[0]["lr"] == 1e-5


async def test_a_restored_critic_does_without_episodes_that_cannot_be_had() -> None:
    model = walker(0.5)
    critic = tables(replace(CONFIG, turn_critic_steps=1, turn_critic_replay=99))
    episodes = walks(model, 3, seed=4)
    critic.judged(episodes, model)
    again = tables(critic.config)
    again.load(copy.deepcopy(critic.state()))

    async def stored(names: object) -> list[Episode]:
        return [e for e in episodes if e.trajectory_id != critic.replay[1].trajectory_id]

    await again.restore(stored)
    kept = [e.trajectory_id for e in critic.replay]
    assert [e.trajectory_id for e in again.replay] == [name for name in kept if name != kept[1]]
    again.judged(walks(model, 3, seed=5), model)


def ids(bundle: ModelBundle, text: str) -> tuple[int, ...]:
    return tuple(encode_text(bundle, text))


def test_q_of_a_model_reads_the_state_after_the_whole_reply(tiny: ModelBundle) -> None:
    model = VlmActorCritic(tiny)
    turns = [
        replace(sample(0, 0), prompt_ids=ids(tiny, "say"), reply_ids=ids(tiny, reply))
        for reply in ("ab", "ac", "a", "xyz")
    ]
    before, after = model.turn_states(turns)
    torch.testing.assert_close(before, before[:1].expand_as(before))  # the reply is not in it yet
    assert not torch.allclose(after[0], after[1]) and not torch.allclose(after[0], after[2])
    alone = [model.turn_states([turn])[1][0] for turn in turns]
    torch.testing.assert_close(after, torch.stack(alone))
    # a token more at the end is a prompt that ends there
    (longer,), _ = model.turn_states([replace(turns[0], prompt_ids=ids(tiny, "sayab"))])
    torch.testing.assert_close(after[0], longer)


def test_heads_on_a_model_learn_what_a_reply_is_worth(tiny: ModelBundle) -> None:
    """One turn, two replies, one of which pays: Q tells them apart, V lies between."""
    torch.manual_seed(0)
    model = VlmActorCritic(tiny)
    config = replace(CONFIG, turn_critic_steps=120)
    critic = TurnCritic(ValueHead(tiny.text_width), ValueHead(tiny.text_width), config)
    good, bad = (
        replace(sample(0, 0, reward), prompt_ids=ids(tiny, "say"), reply_ids=ids(tiny, reply))
        for reply, reward in (("yes", 1.0), ("no", 0.0))
    )
    judged = critic.judged([episode(turn) for turn in (good, bad) * 8], model)
    # after so few steps they still swing about it, by a hundredth
    assert judged[0].turn_advantages[0] == pytest.approx(0.5, abs=0.05)
    assert judged[1].turn_advantages[0] == pytest.approx(-0.5, abs=0.05)


def test_steps_that_are_not_finite_are_left_out_counted_and_too_many_end_the_run() -> None:
    """Rewards without a number: the nets, their targets and moments stay what they were."""
    model, critic = walker(0.7), tables(replace(CONFIG, turn_critic_steps=3, max_skipped_steps=5))
    good = walks(model, 4, seed=0)
    bad = turns_of(good, model, microbatch=8)
    bad = replace(bad, rewards=torch.full_like(bad.rewards, torch.nan))
    before = copy.deepcopy(critic.state())
    critic.fit(bad, bad)
    for part in ("nets", "targets"):
        assert all(torch.equal(p, before[part][name]) for name, p in critic.state()[part].items())
    assert critic.skipped.count == 3
    again = tables(critic.config)
    again.load(critic.state())
    with pytest.raises(TrainingDiverged, match="in 5 steps in a row: lower critic_lr"):
        again.fit(bad, bad)
    fresh = turns_of(good, model, microbatch=8)
    critic.fit(fresh, fresh)
    assert critic.skipped.in_row == 0
    assert not torch.equal(critic.nets.state_dict()["q.0.weight"], before["nets"]["q.0.weight"])


def test_a_batch_says_how_many_steps_its_critic_left_out() -> None:
    model, critic = walker(0.7), tables(replace(CONFIG, turn_critic_steps=3))
    episodes = chain_episodes(model, 4, length=LENGTH, seed=0, slip=SLIP)
    assert prepare(episodes, model, critic.config, turn_critic=critic).skipped_steps == 0
    endless = [replace(e, outcome=float("nan")) for e in episodes]
    assert prepare(endless, model, critic.config, turn_critic=critic).skipped_steps == 3
