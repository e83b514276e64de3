"""Which size of model, and which size of patch, sees most for its milliseconds?

    deskhand study sizes [FOLDER] [--models small medium …] [--cpu-minutes 30] [--workers 2]

Every model is pretrained from nothing on the same pages of 160x210, which two of them are shown larger or
smaller, for the same seconds of one processor, not the same steps: a larger one learns from fewer. Then it is
asked about pages of validation seeds, and the processor time of one action is taken, a click drawn by the
engine for 16 pages at once. FOLDER holds the pages and a folder per model: a finished one is not done again,
a stopped one goes on, and one of another size or other minutes is refused. What is published is of the usual
minutes; figures of others go where `--results` says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch

from deskhand_agent.inference import CompletionRequest, Sampling
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.models.prompting import image_run, message_header
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.types import Split
from deskhand_trainer.base.asking import Asker
from deskhand_trainer.base.config import BaseModelConfig, PretrainConfig
from deskhand_trainer.base.drawing import draw_pages
from deskhand_trainer.base.fresh import fresh_base
from deskhand_trainer.base.questions import Kind, ask
from deskhand_trainer.base.scaling import scaled
from deskhand_trainer.base.shards import read_shard, write_shard
from deskhand_trainer.base.train import StageProgress, pretrain
from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.results import (
    Figure,
    published_or,
    results_file,
    write_figures,
    write_results_page,
)
from deskhand_trainer.run_folder import hold, write_json
from deskhand_trainer.studies.publishing import made_by
from deskhand_trainer.studies.runs import StudyDiffers, labels_now, refuse, until_done
from deskhand_trainer.studies.spec_differences import differing, summary

T = TypeVar("T")
FOLDER, PUBLISHED = Path(".deskhand/studies/sizes"), Path("docs/results/base.json")
CPU_MINUTES = 30.0
MODELS: Mapping[str, BaseModelConfig] = {
    "small": BaseModelConfig(vision_width=96, vision_depth=3, text_width=128, text_depth=4, text_mlp=352),
    "medium": BaseModelConfig(),
    "deep": BaseModelConfig(vision_depth=8),
    "deeper": BaseModelConfig(vision_depth=12),
    "large": BaseModelConfig(vision_width=160, vision_depth=5, text_width=256, text_depth=6, text_mlp=704),
    "coarse": BaseModelConfig(patch_px=16, vision_width=192),
    "magnified": BaseModelConfig(),
    "reduced": BaseModelConfig(),
}
"""By how much they hold; "deep" is "medium" with twice the vision, "deeper" with three times, as
deskhand-tiny has it, "coarse" cuts pictures into patches four times as large. "magnified" and "reduced" are
"medium", shown other pictures."""
SCALES: Mapping[str, float] = {"magnified": 1.5, "reduced": 0.75}
"""How many pixels one of a page's is shown as, where that is not one."""
PAGES, HELD_OUT_PAGES, TABS = 6_000, 128, 8
READING_SHARE = 0.3
"""Of the processor time: vision alone learns to read first."""
TIMED_STEPS = 6
PAGES_AT_ONCE, TIMED_ROUNDS = 16, 8
CLICK_TOKENS = 6
MEASURED = ("answers", Kind.POINT_NAMED, Kind.POINT_DESCRIBED, Kind.READ_AT, Kind.STATE, "character")


async def draw(folder: Path) -> tuple[list[Path], list[Path]]:
    """Shards of train seeds and of validation seeds.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    settings = HostSettings(kinds={"browser": PoolSettings(max_sandboxes=TABS)}, state_folder=folder / "host")
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as client:

        async def drawn(split: Split, count: int) -> list[Path]:
            return await draw_pages(
                client, folder / "pages", "", split, count, owner="study sizes", concurrency=TABS
            )

        return await drawn(Split.TRAIN, PAGES), await drawn(Split.VALIDATION, HELD_OUT_PAGES)


def study_model(
    folder: Path,
    size: BaseModelConfig,
    shards: Sequence[Path],
    held_out: Sequence[Path],
    cpu_s: float,
    scale: float = 1.0,
) -> dict[str, Any]:
    """Train one model and measure it; or what was found before.

    Args:
        folder: the model's own.
        cpu_s: processor seconds to train for.
        scale: see `SCALES`.

    Raises:
        StudyDiffers: the model there was told another size, another time or another scale.
    """
    begin(folder, size, cpu_s, scale)
    result = folder / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    if scale != 1.0:
        shards, held_out = (_scaled(each, scale, folder / "pages") for each in (shards, held_out))
    plan = folder / "plan.json"
    if not plan.exists():
        write_json(plan, asdict(_planned(size, shards, cpu_s)))
    config = parse_config(PretrainConfig, json.loads(plan.read_text()))
    bundle, made = fresh_base(size), labels_now()
    report = pretrain(bundle, shards, held_out, config, checkpoint_dir=folder / "checkpoints")
    save_bundle(bundle, folder / "model")
    found = {
        "figures": dict(report.figures),
        "curve": [dict(each) for each in report.curve],
        "parameters": sum(each.numel() for each in bundle.model.parameters()),
        "cpu_ms_per_action": asyncio.run(_cpu_ms_per_action(load_bundle(folder / "model"), held_out[0])),
        "steps": {"reading": config.reading_steps, "asking": config.asking_steps},
        "made": made,
    }
    write_json(result, found)
    return found


def begin(folder: Path, size: BaseModelConfig, cpu_s: float, scale: float = 1.0) -> None:
    """Note what a model is told; once more it is as it was.

    Raises:
        StudyDiffers: the model there was told something else, or it is not known what.
    """
    told, asked = folder / "told.json", {"size": asdict(size), "cpu_s": cpu_s}
    if scale != 1.0:
        asked["scale"] = scale
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "plan.json").exists():
        write_json(told, asked)
    if differ := differing(json.loads(told.read_text()) if told.exists() else {}, asked):
        raise StudyDiffers(
            f"the model in {folder} is not the one asked for: {summary(differ)}. "
            "Ask for the same again, or give the study another folder"
        )


def _scaled(shards: Sequence[Path], scale: float, folder: Path) -> list[Path]:
    """The same pages shown larger or smaller, each shard once."""
    folder.mkdir(exist_ok=True)
    found = [folder / shard.name for shard in shards]
    for shard, path in zip(shards, found, strict=True):
        if not path.exists():
            write_shard(path, [scaled(page, scale) for page in read_shard(shard)])
    return found


def _planned(size: BaseModelConfig, shards: Sequence[Path], cpu_s: float) -> PretrainConfig:
    """As many steps of each stage as fit the processor time, by the time a few of them took."""
    config = PretrainConfig(
        model=size,
        wide_pages=0,
        large_pages=0,
        threads=1,
        reading_steps=TIMED_STEPS,
        asking_steps=TIMED_STEPS,
    )
    spent: dict[str, list[float]] = {"reading": [], "asking": []}
    before = time.process_time()

    def step_done(progress: StageProgress) -> None:
        nonlocal before
        spent[progress.stage].append(time.process_time() - before)
        before = time.process_time()

    pretrain(fresh_base(size), shards, [], config, progress=step_done)
    reading, asking = median(spent["reading"]), median(spent["asking"])
    return replace(
        config,
        reading_steps=round(cpu_s * READING_SHARE / reading),
        asking_steps=round(cpu_s * (1 - READING_SHARE) / asking),
    )


async def _cpu_ms_per_action(bundle: ModelBundle, shard: Path) -> float:
    """Processor time of one click where the engine serves 16 pages at once."""
    asker, draw = Asker(bundle), random.Random(0)
    requests: list[CompletionRequest] = []
    for page in read_shard(shard):
        question = ask(page, Kind.POINT_NAMED, draw)
        if question is None or len(requests) == PAGES_AT_ONCE * TIMED_ROUNDS:
            continue
        asked = asker.encode(question, (page.image.width_px, page.image.height_px))
        requests.append(
            CompletionRequest(
                prompt_ids=(*message_header(bundle, "user"), *image_run(bundle, page.image), *asked.ids),
                images=(page.image,),
                processor_hash=bundle.processor_hash,
                sampling=Sampling(temperature=0.0, max_tokens=CLICK_TOKENS),
            )
        )
    each: list[float] = []
    async with LocalEngine(bundle, settings=EngineSettings(max_batch=PAGES_AT_ONCE)) as engine:
        for start in range(0, len(requests), PAGES_AT_ONCE):
            chunk = requests[start : start + PAGES_AT_ONCE]
            before = time.process_time()
            await asyncio.gather(*(engine.generate(request) for request in chunk))
            each.append((time.process_time() - before) / len(chunk))
    return 1000 * median(each)


def figures(found: Mapping[str, Mapping[str, Any]], cpu_minutes: float) -> list[Figure]:
    """Of every model its accuracies, parameters, and milliseconds per action."""
    made: list[Figure] = []
    for name, each in found.items():
        shared: dict[str, Any] = {
            "command": "deskhand study sizes",
            "config": {
                "model": asdict(MODELS[name]),
                "cpu_minutes": cpu_minutes,
                "steps": each["steps"],
                **({"scale": SCALES[name]} if name in SCALES else {}),
            },
            "seeds": "validation",
            **made_by([each.get("made", {})]),
        }
        for measure in MEASURED:
            note = f"answered rightly, each token given the right ones before it; {name} model"
            value = round(float(each["figures"][measure]), 4)
            made.append(Figure(name=f"size_{name}_{measure}", value=value, unit="share", note=note, **shared))
        milliseconds = round(float(each["cpu_ms_per_action"]), 1)
        note = f"processor time of a click, {PAGES_AT_ONCE} pages at once; {name} model"
        made.append(Figure(name=f"size_{name}_cpu_ms", value=milliseconds, unit="ms", note=note, **shared))
        made.append(
            Figure(name=f"size_{name}_parameters", value=each["parameters"], unit="parameters", **shared)
        )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study sizes",
        description="Models of several sizes, trained for the same processor time; goes on where it stopped.",
        epilog="Example:  deskhand study sizes --models small medium --cpu-minutes 10 "
        "--results my-results/base.json",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="pages and models (%(default)s)")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument(
        "--cpu-minutes", type=float, default=CPU_MINUTES, help="of training each (%(default)s)"
    )
    parser.add_argument("--workers", type=int, default=2, help="models at a time (%(default)s)")
    parser.add_argument(
        "--results", type=results_file, help=f"file of the figures ({PUBLISHED}, of the usual minutes)"
    )
    options = parser.parse_args(argv)
    if options.cpu_minutes <= 0 or options.workers < 1:
        parser.error("minutes and workers must be positive")
    folder: Path = options.folder.resolve()
    work = partial(_work, folder, options.models, options.cpu_minutes, options.workers, options.results)
    return until_done(work, SandboxError)


def _work(folder: Path, models: Sequence[str], cpu_minutes: float, workers: int, named: Path | None) -> None:
    results = published_or(
        named, PUBLISHED, of=f"{CPU_MINUTES:g} minutes each", other=cpu_minutes != CPU_MINUTES
    )
    folder.mkdir(parents=True, exist_ok=True)
    with hold(folder, busy=partial(refuse, folder)):
        found = _study(folder, models, cpu_minutes, workers)
    made = figures(found, cpu_minutes)
    print(*made, sep="\n")
    write_figures(results, made)
    write_results_page(results.parent)


def _study(
    folder: Path, models: Sequence[str], cpu_minutes: float, workers: int
) -> dict[str, dict[str, Any]]:
    for name in models:
        begin(folder / name, MODELS[name], cpu_minutes * 60.0, SCALES.get(name, 1.0))
    shards, held_out = asyncio.run(draw(folder))
    torch.set_num_threads(1)
    cpu_s = cpu_minutes * 60.0
    return in_processes(
        {
            name: partial(
                study_model, folder / name, MODELS[name], shards, held_out, cpu_s, SCALES.get(name, 1.0)
            )
            for name in models
        },
        workers,
    )


def in_processes(jobs: Mapping[str, Callable[[], T]], workers: int) -> dict[str, T]:
    """What the jobs come to, in processes that each do one at a time: processor time is counted by process.

    Ctrl-C, or the error of a job, ends those under way, and no other is begun.
    """
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        begun = {name: pool.submit(job) for name, job in jobs.items()}
        try:
            return {name: each.result() for name, each in begun.items()}
        except BaseException:
            # a process would take the next job, and the pool waits for all; a model keeps its checkpoints
            for process in multiprocessing.active_children():
                process.terminate()
            raise


if __name__ == "__main__":
    sys.exit(main())
