"""What a base model sees on pages it never met, by the `generate` of plain transformers.

    deskhand bench base MODEL [--pages 200] [--sizes 160x210 320x240 448x448] [--results docs/results]

MODEL is a folder, the id of a policy in the store, or deskhand-tiny. The pages, and others on which actions
are taken to ask what they changed, are of test seeds: their words (but for numbers, endings and what icons
are called), fonts, grounds and layouts are on no page of a train seed. `read_exact` is of words alone that no
such page shows. Intervals are Wilson's, at 95 %. What is published is of deskhand-tiny and of the usual pages
and sizes; figures of anything else go where `--results` says.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.policies import manifest_of
from deskhand_platform.bench.models import model_folder
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_sandbox.types import Split
from deskhand_trainer.base.changes import CHANGES_PER_PAGE, SeenChange, change_tasks, watch
from deskhand_trainer.base.collection import collect
from deskhand_trainer.base.examination import Mark, examine, refuse_unfit
from deskhand_trainer.base.pages import SeenPage, look, page_tasks
from deskhand_trainer.base.questions import LONGEST_WORD, Kind
from deskhand_trainer.errors import ResultsError
from deskhand_trainer.results import PUBLISHED, Figure, published_or, write_figures, write_results_page
from deskhand_trainer.studies.runs import model_named

COMMAND = "deskhand bench base"
TABS, PAGES = 4, 200
SIZES: Mapping[str, str] = {f"{width}x{height}": end for end, (width, height) in SIZES_PX.items()}
"""As one writes them -> end of a task's name."""
FIGURES: Mapping[Kind, tuple[str, str | None]] = {
    Kind.POINT_NAMED: ("point_unseen", ">= 0.97"),
    Kind.POINT_DESCRIBED: ("point_described", ">= 0.93"),
    Kind.POINT_WORD: ("point_word", None),
    Kind.READ_AT: ("read_exact", ">= 0.9"),
    Kind.READ_THING: ("read_thing", None),
    Kind.VALUE: ("widget_value", None),
    Kind.STATE: ("widget_state", ">= 0.95"),
    Kind.COPY: ("copy_text", None),
    Kind.WRITE: ("write_told", None),
    Kind.CHANGE: ("what_changed", None),
    Kind.ACTION: ("which_action", None),
    Kind.POINT_PLACED: ("point_placed", None),
    Kind.READ_BOX: ("read_box", None),
    Kind.COPY_INTO: ("copy_into_field", None),
}
ASKED: Mapping[Kind, str] = {
    Kind.READ_AT: f"read at a point, words of {LONGEST_WORD} letters at most that no training page shows"
}
"""For notes: what is asked, where the name of the kind does not say it."""


async def draw(sizes: Sequence[str], count: int) -> tuple[list[SeenPage], list[SeenChange]]:
    """The first `count` test pages of every size, and about as many changes on others; all in unseen layouts.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    tasks = [
        task for size in sizes for task in page_tasks(SIZES[size], Split.TEST, count, unseen_layouts=True)
    ]
    worked = -(-count // CHANGES_PER_PAGE)
    works = [
        task for size in sizes for task in change_tasks(SIZES[size], Split.TEST, worked, unseen_layouts=True)
    ]
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        settings = HostSettings(
            kinds={"browser": PoolSettings(max_sandboxes=TABS)}, state_folder=Path(folder)
        )
        async with start_host(settings) as host, SandboxClient(host.url, host.token) as client:
            pages = await collect(client, tasks, look, owner="bench base", concurrency=TABS)
            watched = await collect(client, works, watch, owner="bench base", concurrency=TABS)
            return pages, [change for page in watched for change in page]


def figures(
    marks: Mapping[Kind, Mark], *, command: str, model: str, sizes: Sequence[str], pages: int
) -> list[Figure]:
    """One for every kind of question that was asked.

    Args:
        command: that was given.
        model: see `model_named`.
    """
    return [
        Figure(
            name=name,
            value=round(mark.rate.value, 4),
            unit="share",
            low=round(mark.rate.low, 4),
            high=round(mark.rate.high, 4),
            goal=goal,
            note=f"of {mark.rate.count} questions; chance {mark.chance:.3f}; "
            + ASKED.get(kind, kind.value.replace("_", " ")),
            command=command,
            config={"model": model, "sizes": list(sizes), "pages": pages, "layouts": "unseen"},
            seeds="test",
        )
        for kind, (name, goal) in FIGURES.items()
        if (mark := marks.get(kind)) is not None
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write into base.json."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="What a base model sees on pages it never met.",
        epilog="Example:  deskhand bench base ./my-model --pages 50 --results ./my-results",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a model's folder, the id of a policy, or deskhand-tiny"
    )
    parser.add_argument("--pages", type=int, default=PAGES, help="of each size (%(default)s)")
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES), metavar="SIZE")
    parser.add_argument(
        "--results", type=Path, help=f"folder for the figures ({PUBLISHED}, of {DESKHAND_TINY} as usual)"
    )
    options = parser.parse_args(arguments)
    if options.pages < 1:
        parser.error("pages must be positive")
    usual = options.model == DESKHAND_TINY and options.pages == PAGES and {*options.sizes} == {*SIZES}
    try:
        results = published_or(
            options.results,
            PUBLISHED,
            of=f"{DESKHAND_TINY}, {PAGES} pages of every size",
            other=not usual,
        )
        with model_folder(options.model) as model:
            refuse_unfit(model)
            pages, changes = asyncio.run(draw(options.sizes, options.pages))
            marks = examine(model, pages, changes, unseen=True, progress=_say)
            found = figures(
                marks,
                command=" ".join(
                    (COMMAND, options.model, "--pages", str(options.pages), "--sizes", *options.sizes)
                ),
                model=model_named(manifest_of(model)),
                sizes=options.sizes,
                pages=options.pages,
            )
    except (AgentError, FlywheelError, SandboxError, ResultsError, ValueError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 1
    for each in found:
        print(f"{each.name:18} {each.value:.3f}  {each.low:.3f} to {each.high:.3f}  {each.note}")
    write_figures(results / "base.json", found)
    write_results_page(results)
    return 0


def _say(done: int, total: int) -> None:
    end = "\n" if done == total else "\r"
    print(f"{done} of {total} questions", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
