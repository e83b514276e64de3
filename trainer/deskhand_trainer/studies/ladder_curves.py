"""How the ladder's arms got where they came to: success on validation seeds over turns played."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Plot

from deskhand_flywheel.store import Store
from deskhand_trainer.studies.ladder_record import Curve
from deskhand_trainer.studies.runs import run_id

SIZE_IN = (7.0, 4.0)
DPI = 110
COLOURS = 10
"""Before they come round: then lines are broken."""


def read_curve(store: tuple[str, str], name: str) -> Curve:
    """The curve of a training run.

    Args:
        store: URLs of the study's database and of its blobs.
        name: of the run's folder below the study's.
    """
    found: dict[int, tuple[float, float]] = {}
    for told in asyncio.run(_told(*store, name, "ppo/validation")):
        # a run that was killed measures some of it again
        found[int(told["step"])] = float(told["turns"]), float(told["success_sampled"])
    return tuple(found[step] for step in sorted(found))


def iterations_done(store: tuple[str, str], name: str) -> int:
    """How many a training run came to; its store and its name as in `read_curve`."""
    told = asyncio.run(_told(*store, name, "ppo/iteration"))
    return int(told[-1]["step"]) if told else 0


async def _told(store_url: str, blobs_url: str, name: str, metric: str) -> list[Mapping[str, Any]]:
    """Every time a run told of a metric, in order."""
    found: list[Mapping[str, Any]] = []
    last = 0
    async with await Store.open(store_url, blobs_url) as opened:
        while events := await opened.events_after(last, subjects=[f"run:{run_id(name)}"]):
            last = events[-1].id
            found += [event.data for event in events if event.name == metric]
    return found


def draw_curves(curves: Mapping[str, Sequence[Curve]], title: str, path: Path) -> None:
    """A picture of arms beside each other: every seed faint, their mean bold.

    Args:
        curves: arm -> a curve per seed.
    """
    plot = Plot(figsize=SIZE_IN, dpi=DPI, layout="constrained")
    FigureCanvasAgg(plot)
    axes = plot.subplots()
    for number, (arm, seeds) in enumerate(curves.items()):
        colour, style = f"C{number}", "--" if number >= COLOURS else "-"
        for curve in seeds:
            axes.plot(*zip(*curve, strict=True), color=colour, alpha=0.25, linewidth=1)
        # arms end iterations at other turns in every seed: the n-th measurements are averaged
        together = [tuple(map(mean, zip(*points, strict=True))) for points in zip(*seeds, strict=False)]
        axes.plot(*zip(*together, strict=True), color=colour, linestyle=style, linewidth=2, label=arm)
    axes.set(xlabel="turns played", ylabel="success on validation seeds, sampled", title=title, ylim=(0, 1))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="upper left", ncols=4, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    plot.savefig(path)
