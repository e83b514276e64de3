"""The reliability diagram: what scores say against what they should have said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Plot

from deskhand_flywheel.prm.calibration import Quality

SIZE_IN = (5.0, 5.0)
DPI = 110


def draw_reliability(found: Mapping[str, Quality], title: str, path: Path) -> None:
    """A picture of bins, each point as large as its share of the steps; on the diagonal scores can be taken
    at their word.

    Args:
        found: what a line is called -> its figures.
    """
    plot = Plot(figsize=SIZE_IN, dpi=DPI, layout="constrained")
    FigureCanvasAgg(plot)
    axes = plot.subplots()
    axes.plot((0, 1), (0, 1), color="grey", linewidth=1, linestyle="--")
    for number, (name, each) in enumerate(found.items()):
        scores, labels = [b.mean_score for b in each.bins], [b.mean_label for b in each.bins]
        off = each.calibration_error
        label = name if off is None else f"{name}: error {off:.3f}"
        axes.plot(scores, labels, color=f"C{number}", linewidth=1, label=label)
        axes.scatter(
            scores, labels, s=[10 + 200 * b.count / each.steps for b in each.bins], color=f"C{number}"
        )
    axes.set(xlabel="mean score", ylabel="mean label", title=title, xlim=(0, 1), ylim=(0, 1))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="upper left", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    plot.savefig(path, format="png")  # whatever it is called
