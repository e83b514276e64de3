"""The process behind a job: `python -m deskhand_platform.jobs.run FOLDER`.

Exit status: 0 finished, 1 crashed, 2 refused, 3 stopped by a signal. Started again after any death it does
the work anew: whatever a job does can be done twice.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from deskhand_agent.errors import EndpointError
from deskhand_flywheel.errors import JudgeError, NoLabels, NotFound, RewardModelError
from deskhand_platform.api.job_models import JobOrder
from deskhand_platform.errors import PlatformError
from deskhand_platform.jobs.place import Place
from deskhand_platform.jobs.work import WORK
from deskhand_platform.lifeline import die_with_parent
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import REFUSED, guarded
from deskhand_trainer.runs import RunResult

REFUSALS = (PlatformError, NotFound, NoLabels, RewardModelError, JudgeError, EndpointError, ValidationError)
"""Of a job alone."""


def main(argv: list[str] | None = None) -> int:
    """Do the job of the folder named on the command line."""
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m deskhand_platform.jobs.run FOLDER", file=sys.stderr)
        return REFUSED
    die_with_parent(os.getppid())
    folder = RunFolder(Path(arguments[0]))
    return guarded(folder, partial(_run, folder), also_refused=REFUSALS)


async def _run(folder: RunFolder) -> None:
    began = time.time()
    spec: dict[str, Any] = json.loads((folder.path / "spec.json").read_text())
    order = TypeAdapter[Any](JobOrder).validate_python(spec["order"])
    folder.progress("beginning", 0, 0)
    print(f"{spec['kind']} for {spec['by']}: {order.model_dump_json()}", flush=True)

    def tell(what: str, done: int, total: int | None) -> None:
        folder.progress(what, done, total or 0)

    place = Place(
        store_url=spec["store_url"],
        blobs_url=spec["blobs_url"],
        home=Path(spec["home"]),
        sandbox_url=spec["sandbox_url"],
    )
    outcome = await WORK[spec["kind"]](place, order, tell)
    folder.finish(RunResult(policy_out=outcome.get("model"), metrics=outcome, seconds=time.time() - began))
    print("done", flush=True)


if __name__ == "__main__":
    sys.exit(main())
