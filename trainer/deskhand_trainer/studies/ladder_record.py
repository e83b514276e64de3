"""What is kept of every arm that is done: enough for the figures and the curves, without its folder.

    {"arms": {"sokoban/ppo-0": {"base": id, "start": id, "before", "after", "greedy", …}},
     "failed": {"sokoban/grpo-0": {"base": id, "start": id, "iterations", "reason", …}}}

The file travels with the results, so that a study that takes days goes on where its folder is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from deskhand_trainer.config import PpoConfig
from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.errors import ResultsError
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.studies.done_elsewhere import same_settings

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Turns played, and sampled success on validation seeds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmRecord:
    """One seed of an arm, trained and measured."""

    base: str | None
    """Id of the model that its start was made of; None: a new one."""
    start: str
    """What it began from: a trained policy by what acts, which is the same wherever training came to the same
    weights, and the `base` by its id. Arms of a seed are compared where it is one."""
    before: float
    """Sampled success on test seeds, of that policy."""
    after: float
    greedy: float | None = None
    """Greedy success after; None where it was not asked for."""
    minutes: float
    """Of training."""
    turns: int
    curve: Curve = ()
    critic: Mapping[str, float] | None = None
    """Share of the variance of returns that a critic explains: "real" and "shuffled" ones by a head on the
    policy's states, and by a "separate" model; of controls only."""
    config: Mapping[str, Any]
    """What its training was told."""
    commit: str
    date: str
    machine: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedArm:
    """One seed of an arm whose training diverged; a result, too."""

    base: str | None
    start: str
    iterations: int
    """Done before the one it failed in; 0: in the first, or in value pretraining."""
    reason: str
    config: Mapping[str, Any]
    """`base`, `start` and this: as in `ArmRecord`."""
    commit: str
    date: str
    machine: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderRecord:
    """All arms that are done, those that failed among them."""

    arms: Mapping[str, ArmRecord] = field(default_factory=dict[str, ArmRecord])
    """By the name of the arm's folder."""
    failed: Mapping[str, FailedArm] = field(default_factory=dict[str, FailedArm])
    """By the same names; none is in both."""

    @property
    def seeds(self) -> frozenset[int]:
        """Of any arm."""
        ends = (name.rpartition("-")[2] for name in (*self.arms, *self.failed))
        return frozenset(int(end) for end in ends if end.isdecimal())

    def made_of(self, bases: Mapping[str, str | None]) -> LadderRecord:
        """The arms that are of these models.

        Args:
            bases: rung -> id of the model that its starts are made of; arms of other rungs stay.
        """
        return self._those(lambda name, arm: bases.get(name.partition("/")[0], arm.base) == arm.base)

    def have(self, name: str, config: Mapping[str, Any]) -> ArmRecord | FailedArm | None:
        """The arm, where it is done by these settings; one that came since has its default in the record."""
        found = self.arms.get(name) or self.failed.get(name)
        asked = parse_config(PpoConfig, config)
        return found if found is not None and same_settings(found.config, asked) else None

    def told(self, configs: Mapping[str, Mapping[str, Any]]) -> LadderRecord:
        """The arms of these names that are done by these settings: others cannot be compared with them."""
        return self._those(lambda name, arm: name in configs and self.have(name, configs[name]) is arm)

    def have_all(self, configs: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether these arms are done by these settings, all from one start."""
        found = [self.have(name, config) for name, config in configs.items()]
        return None not in found and len({each.start for each in found if each is not None}) == 1

    def with_arm(self, name: str, arm: ArmRecord | FailedArm) -> LadderRecord:
        """The same with an arm more, or done again."""
        rest = self._those(lambda each, _: each != name)
        if isinstance(arm, FailedArm):
            return replace(rest, failed={**rest.failed, name: arm})
        return replace(rest, arms={**rest.arms, name: arm})

    def without_failed(self, names: Collection[str]) -> LadderRecord:
        """The same as if those of these arms that failed had never been tried."""
        return self._those(lambda name, arm: not (name in names and isinstance(arm, FailedArm)))

    def _those(self, keep: Callable[[str, ArmRecord | FailedArm], bool]) -> LadderRecord:
        return LadderRecord(
            arms={name: arm for name, arm in self.arms.items() if keep(name, arm)},
            failed={name: arm for name, arm in self.failed.items() if keep(name, arm)},
        )


def common_seeds(arms: Sequence[Mapping[int, ArmRecord]]) -> list[int]:
    """Seeds in which all of these arms are done, from one start."""
    shared = set.intersection(*(set(arm) for arm in arms))
    return sorted(seed for seed in shared if len({arm[seed].start for arm in arms}) == 1)


def read_record(path: Path) -> LadderRecord:
    """What is kept in a file; nothing where there is none.

    Raises:
        ResultsError: the file is not in this form.
    """
    if not path.exists():
        return LadderRecord()
    try:
        whole = json.loads(path.read_text())
        arms = {name: _arm(**arm) for name, arm in whole["arms"].items()}
        failed = {name: FailedArm(**arm) for name, arm in whole.get("failed", {}).items()}
        return LadderRecord(arms=arms, failed=failed)
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path} is not a record of the ladder ({error}); mend or remove it") from error


def _arm(*, curve: Sequence[tuple[float, float]], **others: Any) -> ArmRecord:
    return ArmRecord(curve=tuple((turns, success) for turns, success in curve), **others)


def write_record(path: Path, record: LadderRecord) -> None:
    """Replace the file in one move.

    Raises:
        DiskFull: no room; the old one stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    arms = {name: asdict(record.arms[name]) for name in sorted(record.arms)}
    failed = {name: asdict(record.failed[name]) for name in sorted(record.failed)}
    write_json(path, {"arms": arms, "failed": failed})
