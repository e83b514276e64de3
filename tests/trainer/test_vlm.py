from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from deskhand_agent.models.adapters import adapted, plain_weights
from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle, save_bundle
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.models.scoring import score_turns
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image
from deskhand_trainer.actor_critic import by_beginning
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.checkpoints import load_checkpoint, save_checkpoint
from deskhand_trainer.company import Company
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.learner import Learner
from deskhand_trainer.ranks import ALONE
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

CONFIG = PpoConfig(
    minibatch=100, microbatch=100, epochs=1, threads=1, max_grad_norm=0, critic_max_grad_norm=0
)
VARIANTS = {
    "turn": CONFIG,
    "token": replace(CONFIG, ratio="token", advantage="token", aggregation="token", entropy_coef=0.01),
    "clipping bias": replace(CONFIG, scale_by_clipping_bias=True, clip_low=0.001, clip_high=0.001),
}


def windows(bundle: ModelBundle, pages: Sequence[SeenPage]) -> list[TrainingSample]:
    """Turns of four episodes, each shown its last three screens: other lengths, and pictures shown again."""
    samples: list[TrainingSample] = []
    replies = ("click(point='<point>4 8</point>')", "type(content='some text')", "wait()")
    for episode in range(4):
        screens = [pages[(3 * episode + turn) % len(pages)].image for turn in range(4)]
        for turn in range(4):
            shown = screens[max(0, turn - 2) : turn + 1]
            samples.append(_sample(bundle, shown, replies[(episode + turn) % 3], episode, turn))
    return samples


def _sample(
    bundle: ModelBundle, shown: Sequence[Image], reply: str, episode: int, turn: int
) -> TrainingSample:
    words = Text(text="Click it" + " again" * turn)
    prompt = tokenise_prompt(
        bundle,
        [PromptMessage(role="user", segments=(words, *(ImageSegment(image=image) for image in shown)))],
    )
    ids = tokenise_reply(bundle, reply)
    draw = torch.Generator().manual_seed(10 * episode + turn)

    def numbers(scale: float) -> tuple[float, ...]:
        return tuple((scale * torch.randn(len(ids), generator=draw)).tolist())

    logprobs = tuple(-6.0 + x for x in numbers(0.1))
    value, target = float(torch.randn((), generator=draw)), float(torch.randn((), generator=draw))
    return TrainingSample(
        trajectory_id=f"t{episode}", turn_index=turn, prompt_ids=prompt.ids, reply_ids=ids,
        images=prompt.images, behaviour_logprobs=logprobs, old_logprobs=logprobs, reward=0.0,
        advantage=(float(torch.randn((), generator=draw)),) * len(ids),
        old_values=(value,) * len(ids), returns=(target,) * len(ids),
    )  # fmt: skip


Build = Callable[[ModelBundle], VlmActorCritic]


def gradients(
    model: VlmActorCritic, config: PpoConfig, samples: Sequence[TrainingSample]
) -> tuple[dict[str, Tensor], UpdateReport]:
    """Of an update that moves nothing."""
    with torch.no_grad():
        last = model.value_head.layers[-1].weight
        last.copy_(0.1 * torch.randn(last.shape, generator=torch.Generator().manual_seed(1)))
    report = Learner(model, replace(config, critic_lr=0.0)).update(samples, lr=0.0)
    named = [*model.actor_parameters(), *model.critic_parameters()]
    return {name: p.grad for name, p in named if p.grad is not None}, report


def assert_same(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert mine.keys() == theirs.keys()
    for name, gradient in theirs.items():
        limit = 1e-5 * float(gradient.abs().max()) + 1e-8
        torch.testing.assert_close(
            mine[name], gradient, rtol=1e-5, atol=limit, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("name", VARIANTS)
def test_packed_padded_and_any_split_give_the_same_gradients(
    bundle: ModelBundle, pages: list[SeenPage], name: str
) -> None:
    config, samples = VARIANTS[name], windows(bundle, pages)
    expected, report = gradients(VlmActorCritic(bundle, packing=False), config, samples)
    assert any(g.abs().max() > 1e-4 for n, g in expected.items() if n.startswith("model.visual"))
    assert any(n.startswith("layers") and g.abs().max() > 1e-4 for n, g in expected.items())
    for packing, size in ((True, 1), (True, 5), (True, 100), (False, 5)):
        split = replace(config, microbatch=size)
        found, other = gradients(VlmActorCritic(bundle, packing=packing), split, samples)
        assert_same(found, expected)
        assert other.actor_grad_norm == pytest.approx(report.actor_grad_norm, rel=1e-5)
        assert other.critic_grad_norm == pytest.approx(report.critic_grad_norm, rel=1e-5)


def test_bfloat16_rounds_the_gradients_and_the_weights_stay_float32(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    samples = windows(bundle, pages)
    expected, report = gradients(VlmActorCritic(bundle.clone()), CONFIG, samples)
    rounded = VlmActorCritic(bundle, precision="bfloat16")
    found, other = gradients(rounded, CONFIG, samples)
    apart = torch.stack([(found[name] - expected[name]).norm() for name in expected]).norm()
    assert 1e-4 < apart / torch.stack([g.norm() for g in expected.values()]).norm() < 0.1
    assert other.entropy == pytest.approx(report.entropy, rel=0.01)
    assert {g.dtype for g in found.values()} == {torch.float32}
    assert {p.dtype for p in bundle.model.parameters()} == {torch.float32}


def seen_together(samples: Sequence[TrainingSample], microbatch: int) -> int:
    """Distinct pictures of each micro-batch, added up."""
    order = by_beginning(samples, range(len(samples)))
    parts = [order[at : at + microbatch] for at in range(0, len(order), microbatch)]
    return sum(len({image.digest for i in part for image in samples[i].images}) for part in parts)


def test_a_frozen_tower_encodes_each_picture_once_and_a_trained_one_once_per_pass(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    config, samples = replace(CONFIG, epochs=2, microbatch=5, threads=2), windows(bundle, pages)
    shown = [image.digest for s in samples for image in s.images]
    assert len(set(shown)) < seen_together(samples, 5) < len(shown)
    trained, report = gradients(VlmActorCritic(bundle), config, samples)
    assert report.image_encoder_calls == 2 * seen_together(samples, 5)
    learner = Learner(VlmActorCritic(bundle, freeze="vision"), config)
    assert learner.update(samples, lr=0.0).image_encoder_calls == len(set(shown))
    assert learner.update(samples, lr=0.0).image_encoder_calls == 0
    found, _ = gradients(VlmActorCritic(bundle, freeze="vision"), config, samples)
    assert_same(found, {n: g for n, g in trained.items() if not n.startswith("model.visual")})


def test_of_a_frozen_tower_as_much_is_kept_as_a_run_is_told(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    samples = windows(bundle, pages)
    config = replace(CONFIG, microbatch=5, freeze="vision", kl_coef=0.1, features_mb=0)
    company = Company(ALONE)
    company.build(bundle, config)
    for _ in range(2):
        report = company.learner.update(samples, lr=0.0)
        assert report.image_encoder_calls == seen_together(samples, 5)
    held = company.learner.reference
    assert isinstance(held, VlmActorCritic) and held.features is not None and not held.features.keeps


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
@pytest.mark.parametrize("name", VARIANTS)
def test_computing_again_gives_the_same_gradients(
    bundle: ModelBundle, pages: list[SeenPage], name: str, family: str
) -> None:
    assert bundle.tiny is not None
    bundle = build_tiny(replace(bundle.tiny, family=family))
    config, samples = replace(VARIANTS[name], microbatch=5), windows(bundle, pages)
    kept, _ = gradients(VlmActorCritic(bundle), config, samples)
    assert_same(gradients(VlmActorCritic(bundle, checkpointing=True), config, samples)[0], kept)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("named", [{}, {"checkpointing": True}, {"lora_rank": 2}, {"critic": "separate"}])
def test_compiled_layers_give_the_same_gradients(
    bundle: ModelBundle, pages: list[SeenPage], named: Any
) -> None:
    more: dict[str, Any] = named
    samples = windows(bundle, pages)
    expected, _ = gradients(VlmActorCritic(bundle.clone(), **more), CONFIG, samples)
    for packing, size in ((True, 5), (True, 100), (False, 5)):
        model = VlmActorCritic(bundle.clone(), compile=True, packing=packing, **more)
        assert_same(gradients(model, replace(CONFIG, microbatch=size), samples)[0], expected)


def test_what_cannot_be_compiled_is_refused(bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunRefused, match=r"compile is for a Qwen3-VL .* in float32"):
        VlmActorCritic(bundle.clone(), compile=True, precision="bfloat16")
    assert bundle.tiny is not None
    with pytest.raises(RunRefused, match="compile is for a Qwen3-VL"):
        VlmActorCritic(build_tiny(replace(bundle.tiny, family="qwen2_5_vl")), compile=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RunRefused, match="compiler 'no-such-compiler', which is not in PATH"):
        VlmActorCritic(bundle.clone(), compile=True)


CRITICS: dict[str, Any] = {
    "separate": {},
    "separate, vision frozen": {"freeze": "vision"},
    "separate, adapters": {"lora_rank": 2},
}


def valued(bundle: ModelBundle, name: str, **changes: Any) -> VlmActorCritic:
    return VlmActorCritic(bundle.clone(), critic=name.split(",")[0], **CRITICS[name], **changes)


@pytest.mark.parametrize("name", CRITICS)
def test_a_critic_with_a_model_of_its_own_begins_as_a_head_does_and_learns_the_same_in_any_split(
    bundle: ModelBundle, pages: list[SeenPage], name: str
) -> None:
    samples = windows(bundle, pages)
    head = VlmActorCritic(bundle.clone(), **CRITICS[name])
    expected, report = gradients(head, CONFIG, samples)
    model = valued(bundle, name, packing=False)
    found, other = gradients(model, CONFIG, samples)
    policy = {n for n, _ in model.actor_parameters()}
    assert_same({n: g for n, g in found.items() if n in policy}, {n: expected[n] for n in policy})
    assert_same(
        {n.removeprefix("head."): g for n, g in found.items() if n.startswith("head.")},
        {n: g for n, g in expected.items() if n.startswith("layers")},
    )
    trunk = [n for n in found if n not in policy and not n.startswith("head.")]
    assert any(found[n].abs().max() > 1e-4 for n in trunk)
    assert {n.removeprefix("model.") for n in trunk} <= policy
    assert other.critic_grad_norm > report.critic_grad_norm
    for packing, size, checkpointing in ((True, 1, False), (True, 5, True), (False, 5, False)):
        split = replace(CONFIG, microbatch=size)
        again = valued(bundle, name, packing=packing, checkpointing=checkpointing)
        assert_same(gradients(again, split, samples)[0], found)


@pytest.mark.parametrize("critic", ["head", "separate"])
def test_what_a_critic_learns_leaves_the_gradient_of_the_policy_as_it_is(
    bundle: ModelBundle, pages: list[SeenPage], critic: Any
) -> None:
    samples = windows(bundle, pages)
    told_other = [replace(s, returns=tuple(r + 3.0 for r in s.returns)) for s in samples]
    policy = [n for n, _ in VlmActorCritic(bundle).actor_parameters()]
    one, other = (
        gradients(VlmActorCritic(bundle, critic=critic), CONFIG, each)[0] for each in (samples, told_other)
    )
    assert all(torch.equal(one[n], other[n]) for n in policy if n in one)
    assert any(not torch.equal(one[n], other[n]) for n in one if n not in policy)


@pytest.mark.parametrize("lora_rank", [0, 2])
def test_a_shared_critic_teaches_the_policy_so_many_times_what_the_value_loss_does(
    bundle: ModelBundle, pages: list[SeenPage], lora_rank: int
) -> None:
    """What that is, a critic of its own says, which begins as a copy."""
    samples, config = windows(bundle, pages), replace(CONFIG, value_coef=0.25, critic="shared")

    def made(critic: Any, **how: Any) -> VlmActorCritic:
        return VlmActorCritic(bundle.clone(), critic=critic, lora_rank=lora_rank, **how)

    head, _ = gradients(made("head"), CONFIG, samples)
    apart, _ = gradients(made("separate"), CONFIG, samples)
    shared, report = gradients(made("shared"), config, samples)
    nothing = {n: torch.zeros_like(g) for n, g in head.items()}
    expected = {n: g + 0.25 * apart.get(f"model.{n}", nothing[n]) for n, g in head.items()}
    expected |= {n: 0.25 * g for n, g in head.items() if n.startswith("layers")}
    assert_same(shared, expected)
    assert any(apart[f"model.{n}"].abs().max() > 1e-4 for n in head if f"model.{n}" in apart)
    split = replace(config, microbatch=5)
    again = made("shared", packing=False, checkpointing=True)
    found, other = gradients(again, split, samples)
    assert_same(found, shared)
    assert other.value_loss == pytest.approx(report.value_loss, rel=1e-5)


def test_a_shared_critic_that_learns_alone_leaves_the_policy_as_it_is(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    model = VlmActorCritic(bundle, critic="shared")
    before, head = weights(model), [p.detach().clone() for p in model.value_head.parameters()]
    Learner(model, replace(CONFIG, critic="shared")).update(windows(bundle, pages), lr=None)
    assert all(torch.equal(old, weights(model)[n]) for n, old in before.items())
    assert any(not torch.equal(a, b) for a, b in zip(head, model.value_head.parameters(), strict=True))


def test_a_frozen_tower_and_what_adapters_are_on_are_there_once_for_both(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    samples = windows(bundle, pages)
    shown = {image.digest for s in samples for image in s.images}
    for name in ("separate, vision frozen", "separate, adapters"):
        model = valued(bundle, name)
        critic = dict(model.critic_parameters())
        assert {n for n in critic if not n.startswith("head.")} <= {
            f"model.{n}" for n, _ in model.actor_parameters()
        }
        learner = Learner(model, CONFIG)
        assert learner.update(samples, lr=0.0).image_encoder_calls == len(shown)
        assert learner.update(samples, lr=None).image_encoder_calls == 0
    assert all("lora_" in n or n.startswith("head.") for n in critic)
    learner = Learner(valued(bundle, "separate"), CONFIG)
    assert learner.update(samples, lr=0.0).image_encoder_calls == 2 * len(shown)
    assert learner.update(samples, lr=None).image_encoder_calls == len(shown)


@pytest.mark.parametrize("name", CRITICS)
def test_such_a_critic_learns_alone_and_goes_on_from_a_checkpoint(
    bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path, name: str
) -> None:
    samples, config = windows(bundle, pages), replace(CONFIG, minibatch=5, critic_lr=1e-3)
    model = valued(bundle, name)
    learner, before = Learner(model, config), weights(model)
    critic = {n: p.detach().clone() for n, p in model.critic_parameters()}
    learner.update(samples, lr=None)
    assert all(torch.equal(old, weights(model)[n]) for n, old in before.items())
    assert any(not torch.equal(critic[n], p) for n, p in model.critic_parameters() if "model." in n)
    learner.update(samples, lr=1e-3)
    save_checkpoint(tmp_path, 0, {"learner": learner.state()})
    taken_up = Learner(valued(bundle, name), config)
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    taken_up.load(loaded[1]["learner"])
    for each in (learner, taken_up):
        each.update(samples, lr=1e-3)
    for kind in ("actor", "critic"):
        for n, tensor in learner.state()[kind].items():
            assert torch.equal(tensor, taken_up.state()[kind][n]), n


def saved_for_the_gradient(model: VlmActorCritic, samples: Sequence[TrainingSample]) -> int:
    """Bytes that a forward pass keeps beside the weights."""
    kept: dict[int, int] = {}
    own = {p.untyped_storage().data_ptr() for p in model.bundle.model.parameters()}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        scores = model.score(samples, temperature=1.0)
    assert scores.logprobs.requires_grad
    return sum(kept.values())


@pytest.mark.parametrize("packing", [True, False])
def test_computing_again_keeps_less(bundle: ModelBundle, pages: list[SeenPage], packing: bool) -> None:
    samples = windows(bundle, pages)
    plain = saved_for_the_gradient(VlmActorCritic(bundle, packing=packing), samples)
    again = VlmActorCritic(bundle, packing=packing, checkpointing=True)
    assert saved_for_the_gradient(again, samples) < plain / 2


def weights(model: VlmActorCritic) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.bundle.model.named_parameters()}


def test_adapters_and_critic_alone_are_trained_and_a_plain_model_is_kept(
    bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path
) -> None:
    samples, start = windows(bundle, pages), bundle.clone()
    model = VlmActorCritic(bundle, lora_rank=4)
    config = replace(CONFIG, lora_rank=4, epochs=2)
    before, critic = weights(model), [p.detach().clone() for _, p in model.critic_parameters()]
    torch.testing.assert_close(
        model.score(samples, temperature=1.0).logprobs,
        VlmActorCritic(start).score(samples, temperature=1.0).logprobs,
    )
    learner = Learner(model, config)
    learner.update(samples, lr=0.02)
    after = weights(model)
    moved = {name for name, old in before.items() if not torch.equal(old, after[name])}
    assert moved == {name for name, _ in model.actor_parameters()}
    assert all("lora_" in name and "language_model" in name for name in moved)
    layers = sum(isinstance(layer, torch.nn.Linear) for layer in start.model.model.language_model.modules())
    assert len(moved) == 2 * layers
    assert any(not torch.equal(a, b) for a, (_, b) in zip(critic, model.critic_parameters(), strict=True))

    expected = score_turns(bundle, samples).logprobs.detach()
    assert (expected - score_turns(start, samples).logprobs).abs().max() > 1e-3
    save_bundle(bundle, tmp_path / "kept")
    for plain in (load_bundle(tmp_path / "kept"), bundle.clone()):
        assert not adapted(plain.model)
        found = score_turns(plain, samples).logprobs.detach()
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    start.model.load_state_dict(plain_weights(bundle.model))
    found = score_turns(start, samples).logprobs.detach()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_who_acts_draws_from_the_policy_that_is_trained(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """A matrix in bfloat16 sees nothing of a step that is finer; what acts in float32 must not either."""
    samples = windows(bundle, pages)[:4]
    model = VlmActorCritic(bundle, freeze="vision", precision="bfloat16")
    trained = dict(model.actor_parameters())
    with torch.no_grad():
        for parameter in trained.values():
            parameter *= 1.0015
    told = model.as_multiplied(bundle.model.state_dict())
    for name, weights in bundle.model.state_dict().items():
        rounded = name in trained and weights.dim() > 1
        assert torch.equal(told[name], weights.bfloat16().float() if rounded else weights)
    assert any(not torch.equal(told[name], trained[name]) for name in trained)
    kept = VlmActorCritic(bundle.clone(), precision="float32").as_multiplied(bundle.model.state_dict())
    assert all(torch.equal(kept[name], weights) for name, weights in bundle.model.state_dict().items())
    acting = bundle.clone()
    acting.model.load_state_dict(told)
    drawn = model.score(samples, temperature=1.0).logprobs
    assert (score_turns(acting, samples).logprobs - drawn).abs().mean() < 0.02


def test_adapters_go_on_from_a_checkpoint(bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path) -> None:
    samples, again = windows(bundle, pages), bundle.clone()
    config = replace(CONFIG, lora_rank=2, minibatch=5)
    learner = Learner(VlmActorCritic(bundle, lora_rank=2), config)
    learner.update(samples, lr=0.01)
    save_checkpoint(tmp_path, 0, {"learner": learner.state()})
    taken_up = Learner(VlmActorCritic(again, lora_rank=2), config)
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    taken_up.load(loaded[1]["learner"])
    for each in (learner, taken_up):
        each.update(samples, lr=0.01)
    for name, tensor in plain_weights(bundle.model).items():
        assert torch.equal(tensor, plain_weights(again.model)[name]), name
