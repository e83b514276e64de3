"""The bench itself, on a model of random weights: what it times is what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_agent.models.bundle import ModelBundle, build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_trainer.bench.decoding import (
    ENVIRONMENTS,
    MAX_TOKENS,
    MeasuredEngine,
    engine_replies,
    main,
    requests,
    stock_replies,
)
from deskhand_trainer.results import read_figures


@pytest.fixture
def bundle() -> ModelBundle:
    return build_tiny(TinyConfig(vision_width=16, vision_depth=1, text_width=48, text_depth=2, text_mlp=48))


async def test_both_reply_alike_and_time_is_split(bundle: ModelBundle) -> None:
    async with MeasuredEngine(bundle) as engine:
        asked = requests(bundle, engine, 3, seed=0)
        assert len({each.images[0].digest for each in asked}) == 3
        ours, theirs = await engine_replies(engine, asked), stock_replies(bundle, asked)
    assert ours.ids == theirs.ids
    assert ours.tokens == sum(map(len, ours.ids)) - 3
    for each in (ours, theirs):
        assert 0 < each.decoding_s < each.seconds
        assert all(len(ids) <= MAX_TOKENS for ids in each.ids)


def test_figures_are_written(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "model")
    assert main([str(tmp_path / "model"), "--repeats", "1", "--results", str(tmp_path)]) == 0
    found = {figure.name: figure for figure in read_figures(tmp_path / "trainer.json")}
    kinds = ("decode_vs_generate", "decode_tokens_per_s", "reply_vs_generate")
    assert set(found) == {f"{kind}_{count}" for kind in kinds for count in ENVIRONMENTS}
    assert all(figure.value > 0 for figure in found.values())
    assert (found["decode_vs_generate_1"].goal, found["decode_vs_generate_16"].goal) == (">= 2", ">= 1.3")


def test_a_missing_model_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none"), "--results", str(tmp_path)]) == 1
    assert "no model folder" in capsys.readouterr().err
