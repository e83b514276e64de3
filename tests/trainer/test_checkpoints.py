from __future__ import annotations

import errno
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from deskhand_agent.models import bundle
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle
from deskhand_trainer.batches import prepare
from deskhand_trainer.chain import chain_episodes
from deskhand_trainer.checkpoints import (
    confirm,
    load_checkpoint,
    random_state,
    restore_random_state,
    save_checkpoint,
    save_tensors,
    take_up,
)
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import CheckpointDamaged, CheckpointMismatch, DiskFull
from deskhand_trainer.learner import Learner, actor_lr
from deskhand_trainer.tabular import TabularActorCritic

LENGTH = 4
CONFIG = PpoConfig(minibatch=32, microbatch=16, lr=0.05, iterations=6, lr_warmup_iterations=1)


def test_a_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    state = {
        "t": torch.randn(3, dtype=torch.float64),
        "deep": {0: {"step": torch.tensor(3.0)}, "pair": (1, (2.5, None))},
        "list": [True, "x", torch.zeros(0)],
    }
    save_checkpoint(tmp_path, 7, state)
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    number, got = loaded
    assert number == 7
    assert torch.equal(got["t"], state["t"])
    assert got["t"].dtype == torch.float64
    assert got["deep"][0]["step"].item() == 3.0
    assert got["deep"]["pair"] == (1, (2.5, None))
    assert got["list"][:2] == [True, "x"]


def test_random_generators_go_on_where_they_were(tmp_path: Path) -> None:
    random.seed(1), np.random.seed(2), torch.manual_seed(3)
    random.gauss(0, 1), np.random.normal(), torch.rand(1)
    save_checkpoint(tmp_path, 0, {"rng": random_state()})

    def draw() -> tuple[Any, ...]:
        return (
            random.gauss(0, 1),
            random.random(),
            np.random.normal(),
            np.random.rand(),
            torch.rand(2).tolist(),
        )

    want = draw()
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    restore_random_state(loaded[1]["rng"])
    assert draw() == want


def run_stream(folder: Path, *, begin: int, end: int, die_in: int | None = None) -> dict[str, Any]:
    """Train on a recorded stream of batches, a checkpoint after each; `die_in`: lost in the middle of it."""
    model = TabularActorCritic(states=LENGTH + 1, tokens=2)
    recorder = TabularActorCritic(states=LENGTH + 1, tokens=2)
    learner = Learner(model, CONFIG)
    found = load_checkpoint(folder)
    assert (found is None) == (begin == 0)
    if found is not None:
        assert found[0] == begin
        learner.load(found[1]["learner"])
        restore_random_state(found[1]["rng"])
    for i in range(begin, end):
        torch.rand(1), random.random()
        samples = prepare(chain_episodes(recorder, 24, length=LENGTH, seed=i, limit=6), model, CONFIG).samples
        if i == die_in:
            learner.update(samples[: len(samples) // 2], lr=0.01)
            return {}
        learner.update(samples, lr=actor_lr(CONFIG, iteration=i, progress=i / CONFIG.iterations))
        save_checkpoint(folder, i + 1, {"learner": learner.state(), "rng": random_state(), "cursor": i + 1})
    return {"learner": learner.state(), "python": random.random(), "torch": torch.rand(3)}


def identical(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(identical(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(identical(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


OFTEN = {(1, None), (1, 0), (3, 3), (5, 1), (5, 5)}


@pytest.mark.parametrize(
    ("boundary", "die_in"),
    [
        pytest.param(boundary, die_in, marks=[] if (boundary, die_in) in OFTEN else pytest.mark.slow)
        for boundary in (1, 3, 5)
        for die_in in (None, 0, 1, 3, 5)
    ],
)
def test_resumed_equals_uninterrupted_to_the_bit(tmp_path: Path, boundary: int, die_in: int | None) -> None:
    def seed() -> None:
        random.seed(0), torch.manual_seed(0)

    seed()
    whole = run_stream(tmp_path / "whole", begin=0, end=6)
    seed()
    if die_in is None:
        run_stream(tmp_path / "cut", begin=0, end=boundary)
        at = boundary
    else:
        run_stream(tmp_path / "cut", begin=0, end=6, die_in=die_in)
        at = die_in
    if at == 0:
        seed()
    else:
        random.seed(99), torch.manual_seed(99)  # a new process: nothing global survives
    resumed = run_stream(tmp_path / "cut", begin=at, end=6)
    assert identical(whole, resumed)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"w": (2, 3), "b": (1,)}, r"b is 1 there and 3 here, and 0 more differ"),
        ({"w": (2, 3)}, r"b is missing there and 3 here"),
        ({"w": (4, 3), "b": (3,), "c": ()}, r"c is one number there and missing here, and 1 more differ"),
    ],
)
def test_what_is_of_another_architecture_is_refused_and_changes_nothing(
    kept: dict[str, tuple[int, ...]], told: str
) -> None:
    own = {"w": torch.zeros(2, 3), "b": torch.zeros(3)}
    with pytest.raises(CheckpointMismatch, match=told):
        take_up(own.items(), {name: torch.ones(shape) for name, shape in kept.items()})
    assert not any(t.any() for t in own.values())
    take_up(own.items(), {"w": torch.ones(2, 3), "b": torch.ones(3)})
    assert all(t.all() for t in own.values())


def test_keeps_the_newest_two(tmp_path: Path) -> None:
    for number in range(5):
        save_checkpoint(tmp_path, number, {"n": number})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000003", "000004"]


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path / "none") is None


@pytest.mark.parametrize("victim", ["tensors.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_checkpoint_is_refused_with_its_mend(tmp_path: Path, victim: str, damage: str) -> None:
    for number in (1, 2):
        save_checkpoint(tmp_path, number, {"t": torch.ones(8), "n": number})
    path = tmp_path / "000002" / victim
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        half = len(data) // 2
        path.write_bytes(
            data[:half] if damage == "cut" else data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
        )
    with pytest.raises(
        CheckpointDamaged, match=r"000002 is damaged .* remove that folder to go on from checkpoint 1"
    ):
        load_checkpoint(tmp_path)
    for file in (tmp_path / "000002").iterdir():
        file.unlink()
    (tmp_path / "000002").rmdir()
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    assert loaded[1]["n"] == 1


def test_a_half_written_draft_is_not_a_checkpoint_and_is_swept(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, {"n": 1})
    (tmp_path / ".draft-000002-77").mkdir()
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    assert loaded[0] == 1
    save_checkpoint(tmp_path, 2, {"n": 2})
    assert not list(tmp_path.glob(".draft-*"))


def test_a_full_disk_told_by_safetensors_is_told_as_an_os_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("deskhand_trainer.checkpoints.save_file", full)
    with pytest.raises(OSError, match="No space left") as caught:
        save_tensors({"t": torch.ones(10)}, tmp_path / "t")
    assert caught.value.errno == errno.ENOSPC


def test_no_space_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, 1, {"n": 1})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deskhand_trainer.checkpoints.save_tensors", full)
    with pytest.raises(DiskFull, match="no space left for checkpoint 2"):
        save_checkpoint(tmp_path, 2, {"n": 2})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000001"]


@pytest.mark.parametrize("there", [True, False])
def test_what_a_checkpoint_knows_of_takes_its_place_whenever_its_writer_died(
    tmp_path: Path, there: bool
) -> None:
    for name in (*(["best"] if there else []), "best-3", "best-5"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
    confirm(tmp_path / "best", 3)
    assert (tmp_path / "best/which").read_text() == "best-3"
    confirm(tmp_path / "best", 3)
    assert [p.name for p in tmp_path.iterdir()] == ["best"]


def test_nothing_is_left_of_whoever_died_while_writing(
    tmp_path: Path, tiny: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_: ModelBundle) -> None:
        raise KeyboardInterrupt

    save_bundle(tiny, tmp_path / "best-3")

    def removes_nothing(_: Path, ignore_errors: bool = False) -> None: ...

    with monkeypatch.context() as killed:
        killed.setattr(bundle, "shutil", SimpleNamespace(rmtree=removes_nothing))
        save_bundle(tiny, tmp_path / "best-3")
        killed.setattr(bundle, "_processor", dies)
        for name in ("best-3", "best-5", "best"):
            with pytest.raises(KeyboardInterrupt):
                save_bundle(tiny, tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 5
    confirm(tmp_path / "best", 3)
    assert [p.name for p in tmp_path.iterdir()] == ["best"]
    assert load_bundle(tmp_path / "best").processor_hash == tiny.processor_hash
