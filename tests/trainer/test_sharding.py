"""Two processes that learn together come to what one comes to, and end together.

This file is also what torchrun starts in each of them:

    torchrun --standalone --nproc-per-node 2 tests/trainer/test_sharding.py WHAT FOLDER

In float64: what is zero by symmetry (the bias of vision's keys) is noise in float32, and Adam would make
steps of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image as Picture
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle, save_bundle
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.models.scoring import score_turns
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_agent.types import StopReason
from deskhand_sandbox.pictures import encoded
from deskhand_trainer.batches import prepare, with_rewards
from deskhand_trainer.checkpoints import load_checkpoint, save_checkpoint
from deskhand_trainer.company import Company
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import RankLost
from deskhand_trainer.presets import method
from deskhand_trainer.ranks import ALONE, Ranks, join, leave
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.types import Episode, TrainingSample
from deskhand_trainer.value_pretraining import pretrain_value

BASE = PpoConfig(
    minibatch=7, microbatch=3, epochs=1, threads=1, lr=1e-3, lr_warmup_iterations=0, precision="float32"
)
TINY = TinyConfig(
    patch_px=8, vision_width=16, vision_depth=2, vision_heads=2, text_width=32, text_depth=2, text_heads=2,
    text_mlp=48, max_side_px=64,
)  # fmt: skip


def of(name: str, **changes: Any) -> PpoConfig:
    return replace(BASE, **{**method(name).config, "kl_coef": 0.0, **changes})


CASES = {
    "ppo": of("ppo"),
    "turn-ppo, padded, computing again": of("turn-ppo", packing=False, checkpointing=True),
    "st-ppo": of("st-ppo", clip_low=0.001, clip_high=0.001),
    "epo, vision frozen": of("epo", freeze="vision"),
    "dart, held to where it began": of("dart", kl_coef=0.1),
    "outcomes as they are, by trajectory": of(
        "ppo", advantage="return", normalisation="none", aggregation="trajectory"
    ),
    "a shared critic": of("ppo", critic="shared"),
    "a critic of its own": of("turn-ppo", critic="separate", critic_lr=1e-4),
    "a critic of its own, vision frozen": of("ppo", critic="separate", critic_lr=1e-4, freeze="vision"),
    "a critic of adapters": of("ppo", critic="separate", lora_rank=2, lr=1e-2, microbatch=2),
    "adapters, covariance clip": of("ppo", covariance_clip=0.1, lora_rank=2, lr=1e-2, microbatch=1),
}

OFTEN = ("ppo", "turn-ppo, padded, computing again", "a critic of its own", "adapters, covariance clip")
"""Of these, those that no change goes without; the others are slow."""
OTHERS = tuple(name for name in CASES if name not in OFTEN)


def fresh(dtype: torch.dtype = torch.float64) -> ModelBundle:
    bundle = build_tiny(TINY)
    bundle.model.to(dtype)
    return bundle


def episodes(bundle: ModelBundle) -> list[Episode]:
    """Six episodes of one to three turns, some without a picture, with replies of different lengths."""
    replies = ("click(point='<point>4 8</point>')", "type(content='some text')", "wait()")
    draw = torch.Generator().manual_seed(5)
    made: list[Episode] = []
    for number in range(6):
        samples: list[TrainingSample] = []
        for turn in range(1 + number % 3):
            words = Text(text="Click it" + " again" * turn)
            pictures = [_picture(number), _picture(turn)][: (number + turn) % 3]
            shown = [ImageSegment(image=picture) for picture in pictures]
            prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=(words, *shown))])
            ids = tokenise_reply(bundle, replies[(number + turn) % 3])
            samples.append(
                TrainingSample(
                    trajectory_id=f"t{number}", turn_index=turn, prompt_ids=prompt.ids, reply_ids=ids,
                    images=prompt.images, behaviour_logprobs=(0.0,) * len(ids), reward=0.0,
                )
            )  # fmt: skip
        made.append(
            Episode(
                trajectory_id=f"t{number}", task_id="t", seed=number // 3, group_id=str(number // 3),
                samples=_drawn(bundle, samples, draw), outcome=float(number % 2), success=number % 2 == 1,
                stop_reason=StopReason.TERMINATED,
            )
        )  # fmt: skip
    return made


def _picture(number: int) -> Any:
    return encoded(Picture.new("RGB", (48, 32 + 16 * (number % 2)), (40 * number, 90, 255 - 30 * number)))


@torch.no_grad()
def _drawn(
    bundle: ModelBundle, samples: Sequence[TrainingSample], draw: torch.Generator
) -> tuple[TrainingSample, ...]:
    """With log-probabilities as of a policy near the model."""
    scores = score_turns(bundle, samples).logprobs
    noisy = scores + 0.05 * torch.randn(scores.shape, generator=draw)
    return tuple(
        replace(s, behaviour_logprobs=tuple(row[: len(s.reply_ids)].tolist()))
        for s, row in zip(samples, noisy, strict=True)
    )


def begun(company: Company, config: PpoConfig, dtype: torch.dtype = torch.float64) -> list[Episode]:
    """A learner of fresh weights, and what it learns from."""
    bundle = fresh(dtype)
    company.build(bundle, config)
    # a critic that says nothing at first could hide a mistake
    state, draw = company.learner.state(), torch.Generator().manual_seed(1)
    for name, tensor in state["critic"].items():
        if name.startswith(("layers", "head")):
            state["critic"][name] = tensor + 0.1 * torch.randn(tensor.shape, generator=draw)
    company.learner.load(state)
    return episodes(bundle)


def iteration(company: Company, config: PpoConfig, played: Sequence[Episode]) -> dict[str, Any]:
    batch = prepare(played, company.model, config)
    report = company.learner.update(batch.samples, lr=config.lr, entropy_push=1.0)
    return {name: getattr(report, name) for name in report.__slots__} | {
        "entropy_before": batch.entropy or 0.0
    }


def fitted(company: Company, played: Sequence[Episode], config: PpoConfig) -> dict[str, float]:
    """Value pretraining of a critic with a model of its own, and an iteration in which it learns alone."""
    rewarded = with_rewards(played, RewardRule())
    fitting = replace(config.value_pretraining, max_epochs=3, held_out=0.5)
    told: dict[str, Any] = {"gamma": 1.0, "seed": 0, "advantage": config.advantage, "microbatch": 4}
    report = pretrain_value(company.model, rewarded, fitting, **told, trunk=company.trunk)
    company.learner.update(prepare(played, company.model, config).samples, lr=None)
    return {"loss": report.loss, "explained_variance": report.explained_variance}


def outcome(company: Company, reports: list[dict[str, Any]]) -> dict[str, Any]:
    state = company.learner.state()
    return {
        "weights": dict(company.publish()),
        "critic": state["critic"],
        "moments": state["actor_optimizer"]["state"],
        "reports": reports,
    }


def compare(company: Company, names: Iterable[str]) -> dict[str, Any]:
    """Two iterations of each of these cases."""
    found: dict[str, Any] = {}
    for name in names:
        config = CASES[name]
        played = begun(company, config)
        fit = fitted(company, played, config) if company.trunk is not None else {}
        found[name] = outcome(company, [iteration(company, config, played) for _ in range(2)]) | {"fit": fit}
    return found


def rounded(company: Company) -> dict[str, Any]:
    """An iteration in float32."""
    played = begun(company, CHECKPOINTED, torch.float32)
    return {"float32": iteration(company, CHECKPOINTED, played)}


CHECKPOINTED = CASES["ppo"]


def checkpoint(company: Company, folder: Path) -> None:
    """Keep the state and the policy after one iteration."""
    played = begun(company, CHECKPOINTED)
    iteration(company, CHECKPOINTED, played)
    save_checkpoint(folder / "checkpoint", 0, {"learner": company.learner.state()})
    trained = fresh()
    trained.model.load_state_dict(dict(company.publish()))
    save_bundle(trained, folder / "policy")


def resume(company: Company, folder: Path) -> dict[str, Any]:
    """Take up a state and do the second iteration."""
    played = begun(company, CHECKPOINTED)
    loaded = load_checkpoint(folder / "checkpoint")
    assert loaded is not None
    company.learner.load(loaded[1]["learner"])
    return outcome(company, [iteration(company, CHECKPOINTED, played)])


def failing(ranks: Ranks, how: str) -> Callable[[], Tensor]:
    """Rank 1 alone fails while rank 0 waits for it."""

    def call() -> Tensor:
        if ranks.rank == 1:
            if how == "killed":
                os._exit(9)
            raise ValueError("out of luck")
        total = torch.ones(())
        ranks.add_up([total])
        return total

    return ranks.everywhere("fail", call)


def lose(ranks: Ranks, work: Callable[[], Tensor]) -> None:
    """On rank 0: make the call that the other fails in."""
    # torchrun ends what is left as soon as it sees one gone: rank 0 is to say why first, as a run is
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        work()
    except RankLost as error:
        print(f"RankLost: {error}", flush=True)
        ranks.close()
        leave(1)


# ---- the tests ----


EXACT = (
    "policy_loss", "value_loss", "entropy", "kl_per_turn", "clip_fraction", "ratio_mean", "ratio_max",
    "logprob_gap", "actor_grad_norm", "critic_grad_norm", "bias_norm", "bias_scaled", "optimizer_steps",
    "skipped_steps", "entropy_before",
)  # fmt: skip


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, __file__, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process and two came to, of what is compared often."""
    folder = tmp_path_factory.mktemp("sharded")
    one = Company(ALONE)
    checkpoint(one, folder / "by_one")
    done = torchrun("often", str(folder))
    # failing is the last of what it does
    assert done.returncode != 0 and "RankLost" in done.stdout, done.stdout + done.stderr
    (folder / "said.txt").write_text(done.stdout)
    torch.save(compare(one, OFTEN) | rounded(one), folder / "alone.pt")
    torch.save(resume(one, folder / "by_two"), folder / "taken_up_by_one.pt")
    return folder


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process and two came to, of the other cases."""
    folder = tmp_path_factory.mktemp("others")
    done = torchrun("others", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    torch.save(compare(Company(ALONE), OTHERS), folder / "alone.pt")
    return folder


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for part, within in (("weights", 1e-7), ("critic", 1e-6)):
        assert found[part].keys() == expected[part].keys()
        for name, tensor in expected[part].items():
            assert_close(found[part][name], tensor, within, name)
    assert found["moments"].keys() == expected["moments"].keys()
    for number, kept in expected["moments"].items():
        for name, tensor in kept.items():
            assert_close(found["moments"][number][name], tensor, 1e-7, f"{name} of {number}")
    for name, figure in expected.get("fit", {}).items():
        assert found["fit"][name] == pytest.approx(figure, rel=1e-5), name
    for mine, theirs in zip(found["reports"], expected["reports"], strict=True):
        for name in EXACT:
            assert mine[name] == pytest.approx(theirs[name], rel=1e-5, abs=1e-7, nan_ok=True), name


def assert_close(found: Tensor, expected: Tensor, within: float, name: str) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=within, msg=lambda m: f"{name}: {m}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("compared", "name"),
    [
        ("folder", name) if name in OFTEN else pytest.param("others", name, marks=pytest.mark.slow)
        for name in CASES
    ],
)
def test_two_ranks_train_as_one_does(request: pytest.FixtureRequest, compared: str, name: str) -> None:
    folder: Path = request.getfixturevalue(compared)
    expected = torch.load(folder / "alone.pt")[name]
    assert expected["reports"][0]["optimizer_steps"] == 2
    assert expected["reports"][0]["actor_grad_norm"] > 1e-3
    assert_same(torch.load(folder / "compared.pt")[name], expected)


@pytest.mark.timeout(600)
def test_in_float32_they_differ_by_its_rounding(folder: Path) -> None:
    found, expected = (torch.load(folder / f"{name}.pt")["float32"] for name in ("compared", "alone"))
    for name in EXACT:
        assert found[name] == pytest.approx(expected[name], rel=1e-3, abs=1e-5), name


@pytest.mark.timeout(600)
@pytest.mark.parametrize("taken_up", ["resumed.pt", "taken_up_by_one.pt"])
def test_a_state_goes_on_with_another_number_of_ranks(folder: Path, taken_up: str) -> None:
    through = torch.load(folder / "alone.pt")["ppo"]
    assert_same(torch.load(folder / taken_up), through | {"reports": through["reports"][1:]})


@pytest.mark.timeout(600)
def test_what_two_ranks_write_loads_as_a_plain_model(folder: Path) -> None:
    mine, theirs = (load_bundle(folder / by / "policy").model.state_dict() for by in ("by_two", "by_one"))
    for name, tensor in theirs.items():
        assert_close(mine[name], tensor, 1e-6, name)


@pytest.mark.timeout(600)
def test_a_rank_that_fails_ends_the_others_with_its_reason(folder: Path) -> None:
    said = (folder / "said.txt").read_text()
    assert "RankLost: rank 1 of 2 failed: ValueError: out of luck" in said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_rank_that_is_killed_ends_the_others(tmp_path: Path) -> None:
    done = torchrun("killed", str(tmp_path))
    assert done.returncode != 0
    assert "RankLost: another of the 2 processes ended without a word" in done.stdout


# ---- what torchrun starts ----


def main(what: str, folder: Path) -> None:
    torch.set_num_threads(1)
    ranks = join()
    work = failing(ranks, "killed" if what == "killed" else "raises")
    company = Company(ranks)
    if ranks.rank > 0:
        reason = ranks.follow()
        if reason is not None:
            print(reason)
        leave(0 if reason is None else 1)
    if what == "killed":
        lose(ranks, work)
        return
    if what == "others":
        torch.save(compare(company, OTHERS), folder / "compared.pt")
        ranks.close()
        leave(0)
    torch.save(compare(company, OFTEN) | rounded(company), folder / "compared.pt")
    torch.save(resume(company, folder / "by_one"), folder / "resumed.pt")
    checkpoint(company, folder / "by_two")
    lose(ranks, work)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
