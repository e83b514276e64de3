from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from deskhand_trainer.losses import (
    Aggregation,
    TurnRatio,
    clipped_value_loss,
    entropy_of,
    kl_k3,
    reinforce,
    token_ppo,
    token_weights,
    truncated_importance,
    turn_ppo,
    turn_weights,
)

TIGHT = {"rtol": 1e-5, "atol": 1e-7}
CLIP = {"clip_low": 0.2, "clip_high": 0.28}
AGGREGATIONS: tuple[Aggregation, ...] = ("token", "turn", "trajectory")
RATIOS: tuple[TurnRatio, ...] = ("product", "geometric")


def leaf(values: Tensor) -> Tensor:
    return values.clone().requires_grad_()


def grad(loss: Tensor, of: Tensor) -> Tensor:
    (got,) = torch.autograd.grad(loss, of)
    return got


def batch(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]]).bool()
    old = -torch.rand(4, 4, generator=g)
    new = old + 0.3 * torch.randn(4, 4, generator=g)
    return new, old, torch.randn(4, generator=g), mask, torch.tensor([7, 7, 7, 2])


@pytest.mark.parametrize(
    ("w", "a", "flows"),
    [
        (1.25, 1, True),
        (1.29, 1, False),
        (0.79, -1, False),
        (0.81, -1, True),
        (1.29, -1, True),
        (0.5, 1, True),
    ],
)
def test_golden_clip_higher(w: float, a: float, flows: bool) -> None:
    new, mask = leaf(torch.tensor([[math.log(w)]])), torch.ones(1, 1).bool()
    terms = token_ppo(new, torch.zeros(1, 1), torch.full((1, 1), float(a)), mask, **CLIP)
    assert (grad(terms.loss.sum(), new).abs().item() > 0) is flows
    assert bool(terms.clipped.item()) is not flows
    symmetric = token_ppo(
        new, torch.zeros(1, 1), torch.full((1, 1), float(a)), mask, clip_low=0.2, clip_high=0.2
    )
    if w == 1.25:
        assert grad(symmetric.loss.sum(), new).item() == 0


def test_golden_turn_ratios() -> None:
    new = torch.tensor([[1.1, 0.9, 1.3, 1.0]]).log()
    mask, one = torch.ones(1, 4).bool(), torch.ones(1)
    for kind, want in (("geometric", 1.0651104), ("product", 1.287)):
        terms = turn_ppo(new, torch.zeros(1, 4), one, mask, ratio=kind, **CLIP)
        torch.testing.assert_close(terms.ratio, torch.tensor([want]), rtol=1e-6, atol=0)
    assert terms.clipped.tolist() == [True]
    torch.testing.assert_close(terms.loss, torch.tensor([-1.28]), **TIGHT)


def in_all(trajectory: Tensor, counts: Tensor) -> Tensor:
    """[B] of the whole trajectory, which is all there."""
    return torch.stack([counts[trajectory == each].sum() for each in trajectory])


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_weights_are_the_means_they_are_named_after(how: Aggregation) -> None:
    _, _, _, mask, trajectory = batch()
    tokens, turns = in_all(trajectory, mask.sum(-1)), in_all(trajectory, mask.any(-1))
    x = torch.arange(16.0).reshape(4, 4).square()
    rows = [x[b][mask[b]] for b in range(4)]
    slow = {
        "token": torch.cat(rows).mean(),
        "turn": torch.stack([r.mean() for r in rows]).mean(),
        "trajectory": torch.stack([torch.cat(rows[:3]).mean(), rows[3].mean()]).mean(),
    }[how]
    torch.testing.assert_close((token_weights(mask, tokens, how) * x).sum(), slow, **TIGHT)
    y = torch.tensor([3.0, 5.0, 11.0, 2.0])
    slow_turn = {
        "token": (y * mask.sum(-1)).sum() / mask.sum(),
        "turn": y.mean(),
        "trajectory": torch.stack([y[:3].mean(), y[3]]).mean(),
    }[how]
    torch.testing.assert_close((turn_weights(mask, turns, how) * y).sum(), slow_turn, **TIGHT)


def test_of_trajectories_that_are_here_in_part_each_turn_counts_its_share() -> None:
    """A turn of one whose other three are in another minibatch, beside a whole one and half of a third."""
    mask = torch.tensor([[1, 1], [1, 1], [1, 0], [1, 0]]).bool()
    got = token_weights(mask, torch.tensor([8, 2, 4, 4]), "trajectory")
    shares = torch.tensor([[0.125, 0.125], [0.5, 0.5], [0.25, 0.0], [0.25, 0.0]])
    torch.testing.assert_close(got, shares / 1.75, **TIGHT)
    got = turn_weights(mask, torch.tensor([4, 1, 4, 4]), "trajectory")
    torch.testing.assert_close(got, torch.tensor([0.25, 1.0, 0.25, 0.25]) / 1.75, **TIGHT)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_turns_without_a_token_count_for_nothing(how: Aggregation) -> None:
    _, _, _, mask, trajectory = batch()
    with_empty = torch.cat([mask, torch.zeros(2, 4).bool()])
    owners = torch.cat([trajectory, torch.tensor([7, 3])])  # one trajectory has no token at all
    for weights, count in ((token_weights, torch.sum), (turn_weights, torch.any)):
        got = weights(with_empty, in_all(owners, count(with_empty, -1)), how)
        torch.testing.assert_close(got[:4], weights(mask, in_all(trajectory, count(mask, -1)), how), **TIGHT)
        assert not got[4:].any()


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_gradient_at_ratio_one_is_the_policy_gradient(how: Aggregation) -> None:
    _, old, a, mask, trajectory = batch()
    spread = a.unsqueeze(-1).expand(4, 4)
    new = leaf(old)
    per_token = token_ppo(new, old, spread, mask, **CLIP)
    weights = token_weights(mask, in_all(trajectory, mask.sum(-1)), how)
    torch.testing.assert_close(grad((weights * per_token.loss).sum(), new), -weights * spread, **TIGHT)
    assert not per_token.clipped.any()
    weights = turn_weights(mask, in_all(trajectory, mask.any(-1)), how)
    product = turn_ppo(new, old, a, mask, ratio="product", **CLIP)
    torch.testing.assert_close(
        grad((weights * product.loss).sum(), new), torch.where(mask, -(weights * a).unsqueeze(-1), 0), **TIGHT
    )
    geometric = turn_ppo(new, old, a, mask, ratio="geometric", **CLIP)
    lengths = mask.sum(-1)
    torch.testing.assert_close(
        grad((weights * geometric.loss).sum(), new),
        torch.where(mask, -(weights * a / lengths).unsqueeze(-1), 0),
        **TIGHT,
    )


@pytest.mark.parametrize("ratio", RATIOS)
def test_turn_gradient_equals_the_direct_form(ratio: TurnRatio) -> None:
    """Differentiating exp(Σ or mean Δ)·A directly, the slow way, gives the same value and gradient."""
    new, old, a, mask, _ = batch(3)
    x = leaf(new)
    terms = turn_ppo(x, old, a, mask, ratio=ratio, **CLIP)
    total = grad(terms.loss.sum(), x)
    y = leaf(new)
    for b in range(4):
        delta = (y - old)[b][mask[b]]
        w = (delta.sum() if ratio == "product" else delta.mean()).exp()
        loss = -torch.minimum(w * a[b], w.clamp(0.8, 1.28) * a[b])
        torch.testing.assert_close(terms.loss[b], loss, **TIGHT)
        torch.testing.assert_close(total[b], grad(loss, y)[b], **TIGHT)


@pytest.mark.parametrize("ratio", RATIOS)
def test_one_token_turns_equal_token_ppo(ratio: TurnRatio) -> None:
    new, old, a, _, _ = batch(5)
    x = leaf(new[:, :1])
    mask = torch.ones(4, 1).bool()
    turn = turn_ppo(x, old[:, :1], a, mask, ratio=ratio, **CLIP)
    token = token_ppo(x, old[:, :1], a.unsqueeze(-1), mask, **CLIP)
    torch.testing.assert_close(turn.loss, token.loss[:, 0], **TIGHT)
    torch.testing.assert_close(grad(turn.loss.sum(), x), grad(token.loss.sum(), x), **TIGHT)
    assert turn.clipped.tolist() == token.clipped[:, 0].tolist()


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_masked_slots_have_zero_gradient_even_when_poisoned(poison: float) -> None:
    new, old, a, mask, _ = batch(1)
    spread = a.unsqueeze(-1).expand(4, 4)

    def dirty(clean: Tensor) -> Tensor:
        return torch.where(mask, clean, poison)

    for loss_of in (
        lambda n, o, s: token_ppo(n, o, s, mask, **CLIP).loss.sum(),
        lambda n, o, s: turn_ppo(n, o, a, mask, ratio="product", **CLIP).loss.sum(),
        lambda n, o, s: turn_ppo(n, o, a, mask, ratio="geometric", **CLIP).loss.sum(),
        lambda n, o, s: reinforce(n, s, mask).sum(),
        lambda n, o, s: kl_k3(n, o, mask).sum(),
        lambda n, o, s: clipped_value_loss(n, o, s, mask, clip=0.2).sum(),
    ):
        x, clean = leaf(dirty(new)), leaf(torch.where(mask, new, 0))
        got = grad(loss_of(x, dirty(old), dirty(spread)), x)
        want = grad(loss_of(clean, torch.where(mask, old, 0), torch.where(mask, spread, 0)), clean)
        assert got[~mask].abs().max() == 0
        torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_any_split_and_padding_gives_the_same_gradient(how: Aggregation) -> None:
    new, old, a, mask, trajectory = batch(2)
    weights = turn_weights(mask, in_all(trajectory, mask.any(-1)), how)
    x = leaf(new)
    whole = grad((weights * turn_ppo(x, old, a, mask, ratio="geometric", **CLIP).loss).sum(), x)
    pieces = torch.zeros_like(whole)
    for rows in ([0], [1, 3], [2]):
        terms = turn_ppo(x[rows], old[rows], a[rows], mask[rows], ratio="geometric", **CLIP)
        pieces += grad((weights[rows] * terms.loss).sum(), x)
    torch.testing.assert_close(pieces, whole, **TIGHT)
    pad = torch.full((4, 3), math.nan)
    wide = leaf(torch.cat([new, pad], 1))
    wide_mask = torch.cat([mask, torch.zeros(4, 3).bool()], 1)
    terms = turn_ppo(wide, torch.cat([old, pad], 1), a, wide_mask, ratio="geometric", **CLIP)
    torch.testing.assert_close(grad((weights * terms.loss).sum(), wide)[:, :4], whole, **TIGHT)


def test_value_loss_pays_for_leaving_the_range() -> None:
    v, old, target = (
        leaf(torch.tensor([1.0, 0.3, -1.0])),
        torch.tensor([0.0, 0.2, 0.0]),
        torch.tensor([1.0, 0.0, 1.0]),
    )
    mask = torch.ones(3).bool()
    got = clipped_value_loss(v, old, target, mask, clip=0.2)
    torch.testing.assert_close(got, torch.tensor([0.5 * 0.64, 0.5 * 0.09, 0.5 * 4.0]), **TIGHT)
    assert grad(got.sum(), v)[0] == 0  # moved past the range towards the target: no more pull
    plain = clipped_value_loss(v, old, target, mask, clip=None)
    torch.testing.assert_close(plain, torch.tensor([0.0, 0.045, 2.0]), **TIGHT)


def test_k3_is_zero_at_equality_positive_elsewhere_and_unbiased() -> None:
    p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
    mask = torch.ones(3).bool()
    assert kl_k3(p.log(), p.log(), mask).abs().max() == 0
    k3 = kl_k3(p.log(), q.log(), mask)
    assert (k3 > 0).all()
    torch.testing.assert_close((p * k3).sum(), (p * (p / q).log()).sum(), **TIGHT)


def test_k3_of_a_token_that_became_all_but_impossible_is_finite_and_pulls_it_back() -> None:
    new, held = leaf(torch.tensor([-120.0, -1.0])), torch.tensor([0.0, -1.0])
    k3 = kl_k3(new, held, torch.ones(2).bool())
    assert k3.square().isfinite().all() and k3[0] > 1e17 and k3[1] == 0
    slope = grad(k3.sum(), new)
    assert slope.norm().isfinite() and slope[0] < 0 and slope[1] == 0


def test_entropy_with_suppressed_ids() -> None:
    logits = leaf(torch.tensor([[0.0, 0.0, -math.inf], [math.nan, 1.0, 2.0]]))
    mask = torch.tensor([True, False])
    got = entropy_of(logits, mask)
    torch.testing.assert_close(got, torch.tensor([math.log(2), 0.0]), **TIGHT)
    assert torch.isfinite(grad(got.sum(), logits)).all()


def test_reinforce_gradient() -> None:
    new, _, a, mask, _ = batch()
    x = leaf(new)
    got = grad(reinforce(x, a.unsqueeze(-1).expand(4, 4), mask).sum(), x)
    torch.testing.assert_close(got, torch.where(mask, -a.unsqueeze(-1), 0), **TIGHT)


def test_golden_dual_clip() -> None:
    mask = torch.ones(1, 1).bool()
    for w, a, loss, slope in ((5.0, -1.0, 3.0, 0.0), (2.0, -1.0, 2.0, 2.0), (5.0, 1.0, -1.28, 0.0)):
        new = leaf(torch.tensor([[math.log(w)]]))
        terms = token_ppo(new, torch.zeros(1, 1), torch.full((1, 1), a), mask, **CLIP, dual_clip=3.0)
        assert terms.loss.item() == pytest.approx(loss, rel=1e-5)
        assert grad(terms.loss.sum(), new).item() == pytest.approx(slope, rel=1e-5)
        assert bool(terms.clipped.item()) is (slope == 0)


def test_truncated_importance_is_one_where_engine_and_trainer_agree() -> None:
    _, old, _, mask, _ = batch()
    drawn = old + torch.tensor([0.0, 0.0, -1.0, 0.5]).unsqueeze(-1)
    for ratio in ("token", *RATIOS):
        same = truncated_importance(old, old, mask, cap=math.inf, ratio=ratio)
        assert torch.equal(same, torch.ones(same.shape))
        got = truncated_importance(old, drawn, mask, cap=2.0, ratio=ratio)
        first = got[:, 0] if ratio == "token" else got
        # e and e³ are cut at 2; .5 less is e^−.5
        torch.testing.assert_close(first, torch.tensor([1.0, 1.0, 2.0, math.exp(-0.5)]), **TIGHT)
    for ratio, lengths in (("product", mask.sum(-1)), ("geometric", torch.ones(4))):
        got = truncated_importance(old, old + 0.1, mask, cap=2.0, ratio=ratio)
        torch.testing.assert_close(got, (-0.1 * lengths).exp(), **TIGHT)


@pytest.mark.parametrize("ratio", ["token", *RATIOS])
@pytest.mark.parametrize("a", [1.0, 0.0, -1.0])
def test_a_reply_that_grew_beyond_measure_leaves_finite_numbers(ratio: str, a: float) -> None:
    new, old, mask = leaf(torch.zeros(1, 2)), torch.full((1, 2), -120.0), torch.ones(1, 2).bool()
    if ratio == "token":
        terms = token_ppo(new, old, torch.full((1, 2), a), mask, **CLIP)
    else:
        terms = turn_ppo(new, old, torch.tensor([a]), mask, ratio=ratio, **CLIP)  # type: ignore[arg-type]
    assert terms.ratio.square().isfinite().all() and (terms.ratio > 1e17).all()
    loss = terms.loss.mean()
    assert loss.item() == pytest.approx(-1.28 * a) if a >= 0 else math.isfinite(loss.item())
    slope = grad(loss, new)
    assert slope.norm().isfinite() and (slope > 0).all().item() is (a < 0)  # what is bad is still pushed down
    assert terms.clipped_mass.isfinite().all()


@pytest.mark.parametrize("ratio", ["token", *RATIOS])
def test_clipped_mass_is_the_gradient_that_the_clip_took(ratio: str) -> None:
    new, old, a, mask, _ = batch(3)
    x = leaf(old + 3 * (new - old))
    if ratio == "token":
        args = (x, old, a.unsqueeze(-1).expand(4, 4), mask)
        terms, free = token_ppo(*args, **CLIP), token_ppo(*args, clip_low=1.0, clip_high=1e9)
    else:
        turn = (x, old, a, mask)
        terms = turn_ppo(*turn, ratio=ratio, **CLIP)  # type: ignore[arg-type]
        free = turn_ppo(*turn, ratio=ratio, clip_low=1.0, clip_high=1e9)  # type: ignore[arg-type]
    assert terms.clipped.any()
    assert not terms.clipped.all()
    (mass,) = torch.autograd.grad(terms.clipped_mass.sum(), x, retain_graph=True)
    torch.testing.assert_close(mass, grad(terms.loss.sum(), x) - grad(free.loss.sum(), x), **TIGHT)
