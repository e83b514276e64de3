"""The local engine beside transformers' own `generate`, on the same prompts in the same process.

    deskhand bench decoding [MODEL] [--repeats 15] [--results docs/results]

Both are shown the same screenshots with the same instructions, as the local policy makes them, and reply
greedily; the ids have to be the same. Every repeat draws new pictures, so that none is known, and times both
one after the other, the first of the two in turns. Decoding is counted from the first token's logits on: what
reading the prompts takes is left out of it on both sides, and shown apart with the whole of a reply. Both
have one thread, and their processor time counts: other work on the machine then lengthens neither.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3
from PIL import Image as PilImage
from PIL import ImageDraw
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList

from deskhand_agent.errors import AgentError
from deskhand_agent.inference import Completion, CompletionRequest, InferenceEngine, Sampling
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.forward import TokenSequence, collate
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_agent.types import Context
from deskhand_sandbox.types import EnvironmentSpec, Image, Observation, Task, VerifierSpec
from deskhand_trainer.errors import TrainerError
from deskhand_trainer.results import PUBLISHED, Figure, published_or, write_figures, write_results_page

COMMAND = "deskhand bench decoding"
ENVIRONMENTS = (1, 4, 16)
GOALS = {1: ">= 2", 16: ">= 1.3"}
MAX_TOKENS = 40
PAGE_PX = (160, 210)
NAMES = ("cancel", "submit", "next", "yes", "no", "search")


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """One way to draw some replies."""

    seconds: float
    """Of processor time, in all."""
    decoding_s: float
    """Without reading the prompts."""
    ids: tuple[tuple[int, ...], ...]

    @property
    def tokens(self) -> int:
        """Behind the first of each reply, which reading the prompt gives."""
        return sum(len(each) - 1 for each in self.ids)


class _FirstLogits(LogitsProcessor):
    """Notes when `generate` has read the prompts."""

    def __init__(self) -> None:
        self.at: float | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.at = self.at or time.process_time()
        return scores


class MeasuredEngine(LocalEngine):
    """Counts what its worker computes behind the prompts."""

    decoding_s = 0.0

    def _token(self, drafts: list[Any]) -> None:
        began = time.thread_time()
        super()._token(drafts)
        self.decoding_s += time.thread_time() - began


def requests(bundle: ModelBundle, engine: InferenceEngine, count: int, seed: int) -> list[CompletionRequest]:
    """Prompts of new pages, as the local policy makes them."""
    policy = LocalPolicy(
        bundle=bundle, engine=engine, sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS)
    )
    task = Task(id="bench", environment=EnvironmentSpec(kind="drawn"), verifier=VerifierSpec(name="none"))
    draws = random.Random(seed)
    made: list[CompletionRequest] = []
    for _ in range(count):
        shown = Observation(screenshot=drawn_page(draws), captured_at_s=0, settled_ms=0)
        wanted = draws.choice(NAMES)
        made.append(
            policy.request(
                Context(
                    task=task, instruction=f'Click on the "{wanted}" button.', steps=(), observation=shown
                )
            )
        )
    return made


async def engine_replies(engine: MeasuredEngine, asked: Sequence[CompletionRequest]) -> Timed:
    """By our engine, all asked at once."""
    decoding, began = engine.decoding_s, time.process_time()
    replies: list[Completion] = await asyncio.gather(*(engine.generate(each) for each in asked))
    return Timed(
        seconds=time.process_time() - began,
        decoding_s=engine.decoding_s - decoding,
        ids=tuple(reply.ids for reply in replies),
    )


@torch.no_grad()
def stock_replies(bundle: ModelBundle, asked: Sequence[CompletionRequest]) -> Timed:
    """By the stock model's `generate`, as one batch padded on the left."""
    began = time.process_time()
    model: Any = bundle.model
    batch = collate(bundle, [TokenSequence(ids=each.prompt_ids, images=each.images) for each in asked])
    patches, grids = bundle.cache.features([batch.images[number] for number in batch.shown])
    longest = batch.ids.shape[1]
    ids, real = torch.zeros_like(batch.ids), torch.zeros_like(batch.ids)
    for row, each in enumerate(asked):
        ids[row, longest - len(each.prompt_ids) :] = torch.tensor(each.prompt_ids)
        real[row, longest - len(each.prompt_ids) :] = 1
    first = _FirstLogits()
    found: Tensor = model.generate(
        input_ids=ids,
        attention_mask=real,
        mm_token_type_ids=(ids == model.config.image_token_id).int(),
        pixel_values=torch.cat(patches),
        image_grid_thw=torch.tensor([[1, *grid] for grid in grids]),
        max_new_tokens=MAX_TOKENS,
        do_sample=False,
        eos_token_id=bundle.end_id,
        pad_token_id=0,
        suppress_tokens=bundle.suppressed_ids.tolist(),
        logits_processor=LogitsProcessorList([first]),
    )
    ended = time.process_time()
    assert first.at is not None
    replies = [row[longest:].tolist() for row in found]
    whole = [each[: each.index(bundle.end_id) + 1] if bundle.end_id in each else each for each in replies]
    return Timed(seconds=ended - began, decoding_s=ended - first.at, ids=tuple(map(tuple, whole)))


async def bench_decoding(model: Path, *, repeats: int) -> list[Figure]:
    """Measure.

    Raises:
        AgentError: the model cannot be loaded.
        AssertionError: the replies differ.
    """
    bundle = await asyncio.to_thread(load_bundle, model)
    torch.set_num_threads(1)
    pairs: dict[int, list[tuple[Timed, Timed]]] = {count: [] for count in ENVIRONMENTS}
    whole = EngineSettings()
    # all prompts before the first token, as `generate` does, so that the two can be told apart
    apart = EngineSettings(prompts_per_token=max(ENVIRONMENTS))
    replies: dict[int, list[tuple[Timed, Timed]]] = {count: [] for count in ENVIRONMENTS}
    decoding, engine = (MeasuredEngine(bundle, settings=each) for each in (apart, whole))
    async with decoding, engine:
        for number in range(-1, repeats):  # the first warms up
            for count in ENVIRONMENTS:
                for run, into in ((decoding, pairs), (engine, replies)):
                    seed = 2 * (number * 100 + count) + (into is replies)
                    asked = requests(bundle, run, count, seed)
                    ours_first = number % 2 == 0
                    ours = await engine_replies(run, asked) if ours_first else None
                    theirs = stock_replies(bundle, asked)
                    ours = ours or await engine_replies(run, asked)
                    assert ours.ids == theirs.ids, f"the engine replies {ours.ids}, generate {theirs.ids}"
                    if number >= 0:
                        into[count].append((ours, theirs))
    config = {"repeats": repeats, "threads": 1, "page_px": list(PAGE_PX)}
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": "pages drawn"}
    return [
        figure
        for count in ENVIRONMENTS
        for figure in (*_decoding(count, pairs[count], shared), _replies(count, replies[count], shared))
    ]


def _decoding(count: int, pairs: Sequence[tuple[Timed, Timed]], shared: dict[str, Any]) -> list[Figure]:
    rates = [ours.tokens / ours.decoding_s for ours, _ in pairs]
    stock = [theirs.tokens / theirs.decoding_s for _, theirs in pairs]
    ratios = [our / their for our, their in zip(rates, stock, strict=True)]
    note = (
        f"tokens per second of processor time behind the first of each reply, {count} at once, over those of "
        f"transformers' generate ({statistics.median(stock):.0f} tokens/s), paired; median of {len(pairs)}; "
        "low and high: least and most"
    )
    return [
        _figure(f"decode_vs_generate_{count}", ratios, "times", note, shared, GOALS.get(count)),
        _figure(
            f"decode_tokens_per_s_{count}",
            rates,
            "tokens/s",
            "ours, the same way; low and high: least and most",
            shared,
        ),
    ]


def _replies(count: int, pairs: Sequence[tuple[Timed, Timed]], shared: dict[str, Any]) -> Figure:
    note = (
        f"processor time of {count} replies asked at once, the reading of prompts with pictures never seen "
        "before in it: theirs over ours; reading is most of it and the same arithmetic in both"
    )
    ratios = [theirs.seconds / ours.seconds for ours, theirs in pairs]
    return _figure(f"reply_vs_generate_{count}", ratios, "times", note, shared)


def _figure(
    name: str, values: Sequence[float], unit: str, note: str, shared: dict[str, Any], goal: str | None = None
) -> Figure:
    return Figure(
        name=name,
        value=round(statistics.median(values), 2),
        unit=unit,
        low=round(min(values), 2),
        high=round(max(values), 2),
        goal=goal,
        note=note,
        **shared,
    )


def drawn_page(draws: random.Random) -> Image:
    """A small page with buttons."""
    width, height = PAGE_PX
    picture = PilImage.new("RGB", PAGE_PX, "white")
    pen = ImageDraw.Draw(picture)
    for name in draws.sample(NAMES, 4):
        x, y = draws.randrange(width - 50), draws.randrange(50, height - 20)
        pen.rectangle((x, y, x + 46, y + 17), outline="black", fill=(239, 239, 239))
        pen.text((x + 5, y + 3), name, fill="black")
    out = io.BytesIO()
    picture.save(out, "PNG")
    data = out.getvalue()
    return Image(digest=blake3(data).hexdigest(), format="png", width_px=width, height_px=height, data=data)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into trainer.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="The local engine beside transformers' generate.",
        epilog="Example:  deskhand bench decoding --repeats 5",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help=f"the folder of a tiny model (default: {DESKHAND_TINY})"
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument(
        "--results", type=Path, help=f"folder for the figures ({PUBLISHED}, of {DESKHAND_TINY})"
    )
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("repeats must be positive")
    try:
        results = published_or(options.results, PUBLISHED, of=DESKHAND_TINY, other=options.model is not None)
        model = Path(options.model) if options.model else shipped_model()
        figures = asyncio.run(bench_decoding(model, repeats=options.repeats))
    except (AgentError, TrainerError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    print(*figures, sep="\n")
    write_figures(results / "trainer.json", figures)
    write_results_page(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
