"""The process behind a run: `python -m deskhand_trainer.run RUN_DIR` (see `runs` for the folder).

Exit status: 0 finished, 1 crashed, 2 refused, 3 stopped by a signal with its state safe. Started again
after any death it goes on from its own checkpoint.

A PPO run can be trained by several processes, one for each GPU, on a CPU as many as are wanted:

    torchrun --nproc-per-node 2 -m deskhand_trainer.run RUN_DIR

Rank 0 does the run, the others help it compute (`ranks`). Started with more or fewer, it goes on as well.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deskhand_sandbox import logs
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import CRASHED, FINISHED, REFUSED, guarded
from deskhand_trainer.runs import RunKind, RunResult, RunSpec

if TYPE_CHECKING:
    from deskhand_trainer.ranks import Ranks

CONFIGS = {
    RunKind.COLLECT: "CollectConfig",
    RunKind.LABEL: "LabelConfig",
    RunKind.SCORE: "ScoreConfig",
    RunKind.PRETRAIN: "PretrainConfig",
    RunKind.SFT: "SftConfig",
    RunKind.PREFER: "PreferenceConfig",
    RunKind.PPO: "PpoConfig",
    RunKind.EVALUATE: "EvaluateConfig",
}
PR_SET_PDEATHSIG = 1
M_ARENA_MAX, ARENAS = -8, 2

Work = Callable[[Any, Any], Awaitable[tuple[str | None, dict[str, JsonValue]]]]


def main(argv: list[str] | None = None) -> int:
    """Do the run of the folder named on the command line."""
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 1:
        print("usage: python -m deskhand_trainer.run RUN_DIR", file=sys.stderr)
        return REFUSED
    path = Path(arguments[0])
    if not path.is_dir():
        print(f"{path} is no folder: name the folder of a run", file=sys.stderr)
        return REFUSED
    form = logs.asked_form()
    # for a person the run's own lines say how it goes, and a line for each episode would hide them
    logs.configure(form, process="run", level=logging.INFO if form == "json" else logging.WARNING)
    _die_with_parent()
    _share_arenas()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from deskhand_trainer.ranks import join, leave

        leave(_together(RunFolder(path), join()))
    return _guarded(RunFolder(path))


def _together(folder: RunFolder, ranks: Ranks) -> int:
    """Do the run, or on the other ranks help with it."""
    if ranks.rank > 0:
        return _helped(ranks)
    try:
        return _guarded(folder, ranks)
    finally:
        ranks.close()


def _helped(ranks: Ranks) -> int:
    """Compute what rank 0 tells of, until it is done."""
    from deskhand_trainer.company import Company

    # torchrun sends signals to all: rank 0 says when it is the end
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    Company(ranks)
    reason = ranks.follow()
    if reason is None:
        return FINISHED
    print(reason, file=sys.stderr, flush=True)
    return CRASHED


def _guarded(folder: RunFolder, ranks: Ranks | None = None) -> int:
    lost = (lambda: None) if ranks is None else ranks.lost
    return guarded(folder, partial(_run, folder, ranks), lost=lost)


async def _run(folder: RunFolder, ranks: Ranks | None) -> None:
    spec = folder.spec()
    with logs.about(round=spec.labels.get("round"), run=spec.id):
        await _work(folder, spec, ranks)


async def _work(folder: RunFolder, spec: RunSpec, ranks: Ranks | None) -> None:
    began = time.time()
    config = config_of(spec)
    if ranks is not None and spec.kind is not RunKind.PPO:
        raise RunRefused(f"a {spec.kind.value} run is done by one process: start it without torchrun")
    # torch and the model only now: a bad spec is refused at once
    from deskhand_trainer.ranks import ALONE
    from deskhand_trainer.run_kinds.context import open_context

    work = cast(Work, import_module(f"deskhand_trainer.run_kinds.{spec.kind.value}").run)
    before = folder.seconds_before()
    async with open_context(folder, spec, ranks=ranks or ALONE) as context:
        folder.begin_life(began, before)
        await context.reporter.state("run", {"state": "running", "kind": spec.kind.value})
        policy_out, metrics = await work(context, config)
        seconds = before + time.time() - began
        folder.finish(RunResult(policy_out=policy_out, metrics=metrics, seconds=seconds))
        await context.reporter.state("run", {"state": "finished", "policy_out": policy_out})


def config_of(spec: RunSpec) -> Any:
    """The config record of a run's kind, from what its spec says.

    Raises:
        ConfigError: a setting is none, or has no such value.
    """
    from deskhand_trainer import config

    return parse_config(getattr(config, CONFIGS[spec.kind]), spec.config)


def _die_with_parent() -> None:
    """Ask the kernel to end this process when the one that started it dies (Linux)."""
    parent = os.getppid()
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel was told
        os._exit(CRASHED)


def _share_arenas() -> None:
    """Let threads share what glibc keeps of freed memory: many small threads kept gigabytes between them."""
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, ARENAS)


if __name__ == "__main__":
    sys.exit(main())
