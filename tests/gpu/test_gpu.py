"""What a GPU computes is what the processor does: the learner's step, the replies of the engine, pretraining,
the warm start, pairs.

`python -m deskhand_trainer.bench.gpu` measures the step at length.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.decoding import Decoder
from deskhand_agent.models.forward import TokenSequence
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_agent.shipped import shipped_model
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks.generated import Description, Thing
from deskhand_sandbox.tasks.layout import CharacterBox
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import write_shard
from deskhand_trainer.base.train import pretrain
from deskhand_trainer.bench.gpu import PARITY_GOALS, main
from deskhand_trainer.devices import learning_device
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.preferences.train import train_preferences
from deskhand_trainer.results import read_figures
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.train import train_sft
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here"),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("size", ["tiny", "half_billion"])
def test_steps_are_measured_and_agree_with_the_processor(tmp_path: Path, size: str) -> None:
    assert main(["--sizes", size, "--repeats", "2", "--results", str(tmp_path)]) == 0
    found = {figure.name: figure for figure in read_figures(tmp_path / "gpu.json")}
    assert found[f"{size}_tokens_per_s"].value > 0
    assert found[f"{size}_peak_memory"].value > 0
    for precision in PARITY_GOALS:
        assert found[f"{size}_parity_{precision}"].met


WORDS = ("apple", "window", "cancel", "send", "later", "north", "blue", "seven")


def page(number: int) -> SeenPage:
    """Two words on paper."""
    paper = Picture.new("RGB", (160, 210), "white")
    draw = ImageDraw.Draw(paper)
    things: list[Thing] = []
    characters: list[CharacterBox] = []
    for place, word in enumerate((WORDS[number % 8], WORDS[(number + 3) % 8])):
        left, top = 12 + 7 * number, 20 + 90 * place
        box = (left, top, left + 6 * len(word), top + 12)
        draw.text((left, top), word, fill="black")
        things.append(
            Thing(
                role="text", name=word, tone="", state="", value="", box=box, point=(left + 8, top + 6),
                descriptions=(Description(kind="text", words=f'"{word}"'),),
            )
        )  # fmt: skip
        characters += [
            CharacterBox(
                character=letter,
                box=(left + 6 * i, top, left + 6 * i + 6, top + 12),
                element=None,
                word=place,
            )
            for i, letter in enumerate(word)
        ]
    image = encoded(paper)
    return SeenPage(
        task_id="generated/press",
        seed=number,
        image=image,
        things=tuple(things),
        characters=tuple(characters),
    )


def replies(device: str) -> list[list[int]]:
    """Greedy, to what is to be clicked on eight pages."""
    bundle = load_bundle(shipped_model()).to(torch.device(device))
    decoder = Decoder(bundle, remember_bytes=0)
    found: list[list[int]] = []
    for number in range(8):
        seen = page(number)
        words = Text(text=f'Click on "{seen.things[0].name}".\n')
        prompt = tokenise_prompt(
            bundle, [PromptMessage(role="user", segments=(words, ImageSegment(image=seen.image)))]
        )
        state = decoder.join(TokenSequence(ids=prompt.ids, images=prompt.images), room=24)
        ids: list[int] = []
        while len(ids) < 24 and bundle.end_id not in ids:
            ids.append(int(bundle.model.lm_head(state.flatten()).argmax()))
            state = decoder.step(ids[-1:])
        decoder.leave(0)
        found.append(ids)
    return found


def test_the_engine_writes_what_it_writes_on_the_processor() -> None:
    assert replies("cuda") == replies("cpu")


@pytest.mark.timeout(900)
def test_pretraining_learns_there_what_it_learns_on_the_processor(tmp_path: Path) -> None:
    shard = tmp_path / "press-train-0000000-8.tar"
    write_shard(shard, [page(number) for number in range(8)])
    told: dict[str, list[float]] = {}
    for device, workers in (("cpu", 0), ("cuda", 2)):
        losses: list[float] = []
        config = PretrainConfig(
            reading_steps=2, asking_steps=4, strips_per_step=4, pages_per_step=4, questions_per_page=4,
            figures_every=100, precision="float32", device=device, workers=workers, threads=1, parts=1,
            warmup_steps=4, elsewhere=0.5,
        )  # fmt: skip
        pretrain(
            load_bundle(shipped_model()), [shard], [], config,
            heads_from=shipped_model(), progress=lambda each, kept=losses: kept.append(each.loss),
        )  # fmt: skip
        told[device] = losses
    assert len(told["cuda"]) == 6
    # the first step is before any update; later ones carry what rounding did to the weights
    assert told["cuda"][0] == pytest.approx(told["cpu"][0], rel=1e-3)
    assert told["cuda"] == pytest.approx(told["cpu"], rel=0.05)


def turns(bundle: ModelBundle) -> list[TrainingSample]:
    """A click at each of eight pages, every one an episode."""
    found: list[TrainingSample] = []
    for number in range(8):
        seen = page(number)
        words = Text(text=f'Click on "{seen.things[0].name}".\n')
        prompt = tokenise_prompt(
            bundle, [PromptMessage(role="user", segments=(words, ImageSegment(image=seen.image)))]
        )
        reply = tokenise_reply(bundle, f"click({20 + 8 * number}, {24 + 8 * number})")
        found.append(
            TrainingSample(
                trajectory_id=str(number), turn_index=0, prompt_ids=prompt.ids, images=prompt.images,
                reply_ids=reply, behaviour_logprobs=(0.0,) * len(reply), reward=1.0, last=True,
            )
        )  # fmt: skip
    return found


@pytest.mark.timeout(900)
def test_the_warm_start_learns_there_what_it_learns_on_the_processor() -> None:
    """Reading, pointing, cloning with questions in between."""
    told: dict[str, list[float]] = {}
    for device in ("cpu", "cuda"):
        bundle, losses = load_bundle(shipped_model()), list[float]()
        config = SftConfig(
            reading_steps=2, pointing_steps=2, cloning_epochs=2, minibatch=4, strips_per_step=4,
            pages_per_step=4, questions_per_page=4, question_share=0.3, warmup_steps=4, threads=1, parts=1,
            device=device,
        )  # fmt: skip
        report = train_sft(
            bundle, turns(bundle), [page(number) for number in range(8)], config,
            heads_from=shipped_model(), progress=lambda each, kept=losses: kept.append(each.loss),
        )  # fmt: skip
        assert bundle.device.type == "cpu" and report.figures["cloning/loss"] > 0
        told[device] = losses
    # the first step is before any update; later ones carry what rounding did to the weights
    assert told["cuda"][0] == pytest.approx(told["cpu"][0], rel=1e-3)
    assert told["cuda"] == pytest.approx(told["cpu"], rel=0.05)


def test_pairs_teach_there_what_they_teach_on_the_processor() -> None:
    told: dict[str, list[float]] = {}
    for device in ("cpu", "cuda"):
        bundle, losses = load_bundle(shipped_model()), list[float]()
        made = turns(bundle)
        report = train_preferences(
            VlmActorCritic(bundle.to(learning_device(device))),
            [Pair(task_id="t", sides=((made[i],), (made[i + 1],)), returns=(1.0, 0.0)) for i in (0, 2, 4, 6)],
            PreferenceConfig(minibatch=2, microbatch=2, epochs=2, threads=1),
            progress=lambda each, kept=losses: kept.append(each.loss),
        )
        told[device] = [*losses, report.loss]
    assert told["cuda"] == pytest.approx(told["cpu"], rel=0.01)
