"""The bench itself, on few corridors: what a reader can and cannot know under each memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_trainer.bench.memory import ARMS, Reader, episode, main
from deskhand_trainer.results import read_figures


@pytest.fixture
def bundle() -> ModelBundle:
    return build_tiny(TinyConfig(vision_width=16, vision_depth=1, text_width=32, text_depth=1, text_mlp=32))


def test_the_reader_says_what_its_prompt_says_and_no_more(bundle: ModelBundle) -> None:
    bundle.memory = ARMS["summary"]
    reader = Reader(bundle)
    seen = "Walk.\nroom 7 of 96\non the wall: 4\nYour summary of what was before:\nroom 2: 9\n"
    assert reader.reply(seen).startswith("<think>room 2: 9, room 7: 4</think>")
    assert reader.reply(f"{seen}door: ____") == "type(content='9400')"
    assert reader.reply("Walk.\nroom 8 of 96\n").startswith("hotkey(")


@pytest.mark.parametrize("arm", ["window", "operations", "constant"])
async def test_what_is_kept_is_known_at_the_door(bundle: ModelBundle, arm: str) -> None:
    bundle.memory = ARMS[arm]
    kept = await episode(bundle, seed=1)
    assert kept.success is (arm != "window")
    assert kept.growth <= 2 and 50 < kept.tokens_per_turn < 2000


def test_figures_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {arm: ARMS[arm] for arm in ("everything", "constant")}
    monkeypatch.setattr("deskhand_trainer.bench.memory.ARMS", chosen)
    assert main(["--episodes", "1", "--results", str(tmp_path)]) == 0
    found = {figure.name: figure for figure in read_figures(tmp_path / "memory.json")}
    assert set(found) == {
        f"{what}_{arm}" for what in ("success", "tokens_per_turn", "growth") for arm in chosen
    }
    assert found["success_everything"].value == found["success_constant"].value == 1.0
    assert found["growth_everything"].value > 10 and found["growth_constant"].met
    assert found["tokens_per_turn_constant"].value < found["tokens_per_turn_everything"].value / 3
    assert (tmp_path / "README.md").is_file()
