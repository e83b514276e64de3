"""A training run as a folder: what to do, how far it is, what came of it.

    RUN_DIR/spec.json      RunSpec, written by whoever starts the run
    RUN_DIR/state.json     RunState, replaced atomically as the run goes on
    RUN_DIR/result.json    RunResult, present if and only if the run finished
    RUN_DIR/error.json     {"type", "message"}, present if the run refused or crashed
    RUN_DIR/checkpoint/    what the run resumes from
    RUN_DIR/log.txt        stdout and stderr

`python -m deskhand_trainer.run RUN_DIR` does the work; started again after any death it goes on from its
own checkpoint. Exit status: 0 finished, 1 crashed, 2 refused (bad spec, unknown task, damaged policy),
3 stopped by a signal with its state safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from deskhand_sandbox.types import JsonValue


class RunKind(StrEnum):
    """What a run does."""

    COLLECT = "collect"
    """Episodes with a policy (scripted demonstrations or rollouts) into the store."""
    LABEL = "label"
    """Label steps by Monte-Carlo continuation with a policy."""
    SCORE = "score"
    """Train the process reward model on what the store holds and score the round's trajectories."""
    PRETRAIN = "pretrain"
    """A base model: generated pages drawn, read, pointed at and told about."""
    SFT = "sft"
    """Warm start: perception, then demonstrations."""
    PREFER = "prefer"
    """Pairs of episodes already played: TDPO and REFUEL."""
    PPO = "ppo"
    """Value pretraining, then the online loop."""
    EVALUATE = "evaluate"
    """Held-out seeds, sampled and greedy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSpec:
    """What a run is to do."""

    id: str
    """Names the run in every record, e.g. "round-3-ppo"."""
    kind: RunKind
    config: Mapping[str, JsonValue]
    """The fields of this kind's config record (see `deskhand_trainer.config`); unknown ones are refused."""
    store_url: str
    """SQLAlchemy URL of the store, e.g. "sqlite+aiosqlite:////path/deskhand.db"."""
    blobs_url: str
    """obstore URL of the blob store, e.g. "file:///path/blobs"."""
    sandbox_url: str | None = None
    """Address of the sandbox host (its token comes in `DESKHAND_SANDBOX_TOKEN`); None: start one."""
    sandboxes: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """How the host that it starts lends: the fields of `deskhand_sandbox.manager.Lending`."""
    policy_in: str | None = None
    """Policy id in the store to start from; None: the tiny model built from its config."""
    prm_in: str | None = None
    """Process reward model (a policy record too) whose scores shape the reward; None: outcome only."""
    dataset: str | None = None
    """What the flywheel routed to it, as NAME@VERSION: it learns from no other episodes. None: from all that
    suit it, in its `folders` where it has some."""
    folders: tuple[str, ...] | None = None
    """Stamps of the folders of the runs whose episodes it looks at, its round's; None: it is of no round, and
    looks at everybody's."""
    near_frames: float | None = None
    """As `Store.open` takes it, of what a run plays and learns nothing from (collect, evaluate); PPO keeps
    the frames that its policy was shown. None: only equal bytes are kept once."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Copied onto every trajectory of the run: {"round": "3"}."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """How far a run is."""

    phase: str
    """What it does now, for a person: "collecting", "value pretraining", "PPO iteration 12 of 50"."""
    done: int
    """Units of work done, and in all; 0 of 0 when unknown."""
    total: int
    pid: int
    updated_at_s: float

    def __str__(self) -> str:
        return self.phase + (f"  {self.done}/{self.total}" if self.total else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """What came of a run."""

    policy_out: str | None
    """Policy (or process reward model) kept in the store; None for runs that make none."""
    metrics: Mapping[str, JsonValue]
    """Flat figures for tables: {"success_greedy": …, "success_greedy_low": …, "episodes": …}."""
    seconds: float
    """Wall clock of the run, earlier lives included."""
