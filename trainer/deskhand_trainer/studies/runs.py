"""Runs of a study: each in a folder of its own, done once, gone on with after a stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from blake3 import blake3

from deskhand_flywheel.policies import DESCRIBING
from deskhand_flywheel.store import Store
from deskhand_trainer.base import HEADS_FILE
from deskhand_trainer.errors import RunRefused, TrainerError, TrainingDiverged
from deskhand_trainer.results import current_commit, this_machine
from deskhand_trainer.run_folder import RunFolder, hold, read_state, write_json
from deskhand_trainer.runs import RunKind, RunSpec
from deskhand_trainer.studies.publishing import made_by
from deskhand_trainer.studies.spec_differences import differences, summary

T = TypeVar("T")
TOLD_EVERY_S = 60.0
"""How often a run that goes on is told of."""
NOT_ACTING = (*DESCRIBING, HEADS_FILE)
"""Files of a model's folder that change nothing of what it does."""


class StudyStopped(RuntimeError):
    """The study was told to stop, or another process works at it, or a run ended without a result."""


class StudyDiffers(StudyStopped):
    """A run in the study's folder was told something else than is asked now; says what, and the mend."""


class RunFailed(StudyStopped):
    """A run ended without a result and said why."""

    def __init__(self, message: str, *, kind: str, reason: str) -> None:
        super().__init__(message)
        self.kind = kind
        """Name of the error's class."""
        self.reason = reason

    @property
    def diverged(self) -> bool:
        """Whether it was its training, and neither the machine nor a mistake in what it was told."""
        return self.kind == TrainingDiverged.__name__


class NotDone(StudyStopped):
    """What is asked for was not done yet, and only what is done was wanted."""


def if_done(work: Callable[[], T]) -> T | None:
    """What some work comes to; None where runs of it are not done."""
    try:
        return work()
    except NotDone:
        return None


def until_done(study: Callable[[], object], *refused: type[Exception]) -> int:
    """Do a study for a command line: Ctrl-C, or being told to end, lets its runs end first.

    Args:
        refused: errors that are told in a sentence, beside `StudyStopped` and `TrainerError`.

    Returns:
        the exit status.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study()
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except (StudyStopped, TrainerError, *refused) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


class StudyRuns:
    """The folder of a study: one store, and a folder per run.

    Safe to use from several threads; runs of one name wait for one another.
    """

    def __init__(
        self, folder: Path, *, store: tuple[str, str] | None = None, only_done: bool = False
    ) -> None:
        """
        Args:
            store: URLs of a database and of its blobs; None: both are in the folder.
            only_done: nothing is begun: `run` has the results that are there, and raises `NotDone` otherwise.
        """
        self.folder = folder.resolve()
        self.only_done = only_done
        self.store = store or (
            f"sqlite+aiosqlite:///{self.folder / 'store.db'}",
            f"file://{self.folder / 'blobs'}",
        )
        """URLs of the study's database and of its blobs."""
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._locks: dict[Path, threading.Lock] = {}

    async def policy_named(self, name: str) -> str:
        """Id of a policy of the study's store, or of the package's by its name.

        Raises:
            AgentError, FlywheelError: it cannot be had.
            NotDone: only what is done is wanted, and there is no such folder.
        """
        if self.only_done and not self.folder.is_dir():
            raise NotDone(f"{self.folder} is no folder of a study: nothing is done there")
        self.folder.mkdir(parents=True, exist_ok=True)
        async with await Store.open(*self.store) as opened:
            return (await opened.policy_named(name)).id

    async def model_of(self, policy: str) -> str:
        """A policy's name by what acts: the same wherever the same weights were trained.

        Raises:
            AgentError, FlywheelError: it cannot be had.
        """
        async with await Store.open(*self.store) as opened:
            return model_named((await opened.policy_named(policy)).manifest)

    def work(self, jobs: Iterable[Callable[[], object]], *, workers: int = 1) -> None:
        """Do jobs that call `run`, several at a time.

        Where a training diverges that a job cannot do without, the others are done first.

        Raises:
            StudyStopped: a run ended without a result, or another process works at the study; says where.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        held = nullcontext() if self.only_done else hold(self.folder, busy=partial(refuse, self.folder))
        with held:
            self._stopped.clear()
            pool = ThreadPoolExecutor(workers)
            try:
                diverged = [each for each in [pool.submit(job) for job in jobs] if _diverged(each)]
                for each in diverged:
                    each.result()
            finally:
                # a thread between two runs must not begin the next, and a run under way keeps a checkpoint
                self._stopped.set()
                with self._guard:
                    for process in self._running:
                        process.terminate()
                pool.shutdown(cancel_futures=True)

    def run(
        self,
        name: str,
        kind: RunKind,
        config: Mapping[str, Any],
        policy: str | None,
        *,
        reward_model: str | None = None,
        may_diverge: bool = False,
    ) -> dict[str, Any]:
        """Make sure a run is finished; its result.

        Args:
            name: of its folder below the study's.
            policy: id of the one it starts from.
            reward_model: id of the process reward model that pays it; None: the outcome alone does.
            may_diverge: a training that diverges is finished, too: it comes to the policy it started from,
                without metrics, and says after how many iterations and why under "diverged". It is not begun
                again.

        Raises:
            StudyStopped: it ended without a result; says where its log is. `RunFailed` where it said why.
            StudyDiffers: it was done, or begun, with another config or from another policy.
            NotDone: it is not finished, and only what is done is wanted.
        """
        folder = self.folder / name
        with self.lock(folder):
            store, blobs = self.store
            spec = RunSpec(
                id=run_id(name),
                kind=kind,
                config=dict(config),
                store_url=store,
                blobs_url=blobs,
                policy_in=policy,
                prm_in=reward_model,
                labels=labels_now(),
            )
            begun = begun_as(folder, spec)
            found = result_of(folder)
            if found is not None:
                return found
            if self.only_done:
                raise NotDone(f"the run in {folder} is not done")
            folder.mkdir(parents=True, exist_ok=True)
            # it finds what it played before by its labels
            spec = spec if begun is None else replace(spec, labels=begun.labels)
            write_json(folder / "spec.json", asdict(spec))
            print(f"running: {name}", flush=True)
            with (folder / "log.txt").open("ab") as log:
                self._wait(folder, log)
            found = result_of(folder)
            if found is None and self._stopped.is_set():
                raise StudyStopped("the study was stopped")
            if found is None:
                failure = _without_result(folder)
                if not (may_diverge and isinstance(failure, RunFailed) and failure.diverged):
                    raise failure
                state = read_state(folder)
                how = {"iterations": 0 if state is None else state.done, "reason": failure.reason}
                found = {"policy_out": policy, "metrics": {}, "diverged": how}
                write_json(folder / "result.json", found)
            return found

    def made(self, *names: str) -> dict[str, str]:
        """Day, commit and machine of a figure that stands on these, runs or what was `kept` of them."""
        folders = [self.folder / name for name in names]
        runs = [RunFolder(each).spec().labels for each in folders if (each / "spec.json").exists()]
        kept = [found["made"] for each in folders if "made" in (found := result_of(each) or {})]
        return made_by([*runs, *kept])

    def kept(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What is made of runs that are done: once, and found again as it was.

        Raises:
            NotDone: it was not made, and only what is done is wanted.
        """
        place = self.folder / name
        found = result_of(place)
        if found is None and self.only_done:
            raise NotDone(f"{place} is not done")
        if found is None:
            found = {**make(), "made": labels_now()}
            place.mkdir(parents=True, exist_ok=True)
            write_json(place / "result.json", found)
        return found

    def lock(self, folder: Path) -> threading.Lock:
        """Held by whoever works in a folder."""
        with self._guard:
            return self._locks.setdefault(folder, threading.Lock())

    def _wait(self, folder: Path, log: BinaryIO) -> None:
        """Work a run to its end, or until the study is stopped; now and then it is told how far it is."""
        command = [sys.executable, "-m", "deskhand_trainer.run", str(folder)]
        with self._guard:
            if self._stopped.is_set():
                return
            process = subprocess.Popen(command, stdout=log, stderr=log)
            self._running.add(process)
        while _goes_on(process):
            if (state := read_state(folder)) is not None:
                print(f"  {folder.relative_to(self.folder)}: {state}", file=sys.stderr, flush=True)
        with self._guard:
            self._running.discard(process)


def _diverged(job: Future[object]) -> bool:
    """Whether a job ended because a training diverged.

    Raises:
        StudyStopped: it ended for another reason.
    """
    try:
        job.result()
    except RunFailed as failure:
        if not failure.diverged:
            raise
        return True
    return False


def _goes_on(process: subprocess.Popen[bytes]) -> bool:
    """Whether it is still at work after a while."""
    try:
        process.wait(TOLD_EVERY_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _without_result(folder: Path) -> StudyStopped:
    ended = f"the run in {folder} ended without a result: see {folder / 'log.txt'}"
    reason = folder / "error.json"
    if not reason.exists():  # it was killed
        return StudyStopped(ended)
    error = json.loads(reason.read_text())
    return RunFailed(f"{ended} ({error['message']})", kind=error["type"], reason=error["message"])


def refuse(folder: Path) -> NoReturn:
    """Raises:
    StudyStopped: another process works in the folder.
    """
    raise StudyStopped(f"another process works at the study in {folder}: wait or stop it")


def begun_as(folder: Path, asked: RunSpec) -> RunSpec | None:
    """What the run in a folder was told, finished or not; None where none was begun.

    Raises:
        StudyDiffers: it was something else than is asked now, or cannot be read.
    """
    if not (folder / "spec.json").exists():
        return None
    try:
        found = RunFolder(folder).spec()
    except RunRefused as error:
        raise StudyDiffers(f"what the run was told is not known: {error}") from error
    if differ := differences(found, asked):
        raise StudyDiffers(
            f"the run in {folder} is not the one asked for: {summary(differ)}. "
            "Ask for the same again, or give the study another folder"
        )
    return found


def labels_now() -> dict[str, str]:
    """Commit, day and machine of what is done now."""
    return {
        "commit": current_commit(),
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": this_machine(),
    }


def model_named(manifest: Mapping[str, str]) -> str:
    """The same for a model whose card has learned of its figures: by weights, tokenizer and settings alone.

    Args:
        manifest: of a policy, file to digest.
    """
    acting = {name: digest for name, digest in manifest.items() if name not in NOT_ACTING}
    return f"model-{blake3(json.dumps(acting, sort_keys=True).encode()).hexdigest()[:16]}"


def run_id(name: str) -> str:
    """Id of the run in the folder of that name."""
    return "study-" + name.replace("/", "-")


def result_of(folder: Path) -> dict[str, Any] | None:
    """What a finished run left; None before."""
    path = folder / "result.json"
    return json.loads(path.read_text()) if path.exists() else None
