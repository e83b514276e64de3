"""Everything that can go wrong in this package.

TrainerError
├── ConfigError              a run's config has an unknown field, a wrong type or a value out of range
├── RunRefused               the run cannot begin: bad spec, unknown task, damaged policy
├── RunStopped               a signal asked the run to stop; its state is safe
├── CheckpointError
│   ├── CheckpointDamaged    a checkpoint on disk is incomplete or altered; the message says the mend
│   ├── CheckpointMismatch   a checkpoint is of a model of another architecture
│   └── DiskFull             no room for the next checkpoint; the last good one is kept
├── ShardDamaged             a file of pages is cut short, altered or of another version
├── NoTrainableTurns         an iteration's episodes gave nothing to train on
├── TrainingDiverged         no finite gradient, or none for so many steps that going on makes no sense
├── RankLost                 another of the processes that learn together failed
├── RolloutsStalled          so many episodes in a row broke that going on makes no sense
└── ResultsError             a results file is not in the form it should have
"""

from __future__ import annotations


class TrainerError(Exception):
    """Root of this package's errors."""


class ConfigError(TrainerError):
    """A run's config has an unknown field, a wrong type or a value out of range; names the field."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field
        """Its dotted name; empty where it is none of one record."""


class RunRefused(TrainerError):
    """The run cannot begin; says why and what to do."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field
        """Setting of the run's config that it is about; empty where none was named."""


class RunStopped(TrainerError):
    """A signal asked the run to stop; what it had is safe on disk."""


class CheckpointError(TrainerError):
    """Something about keeping or restoring the state of a run."""


class CheckpointDamaged(CheckpointError):
    """A checkpoint is incomplete or altered; names the folder and the mend."""


class CheckpointMismatch(CheckpointError):
    """A checkpoint is of a model of another architecture; names a part that differs and the mend."""


class DiskFull(CheckpointError):
    """No room for what is to be written; the last good checkpoint is kept."""


class ShardDamaged(TrainerError):
    """A file of pages is cut short, altered or of another version; names the file and the mend."""


class NoTrainableTurns(TrainerError):
    """An iteration's episodes gave nothing to train on; says how they ended."""


class TrainingDiverged(TrainerError):
    """A step, or so many that going on makes no sense, had no finite gradient; no weight was touched."""


class RankLost(TrainerError):
    """Another of the processes that learn together failed; says which and why."""


class RolloutsStalled(TrainerError):
    """So many episodes broke that going on makes no sense; says how they broke."""


class ResultsError(TrainerError):
    """A results file is not in the form it should have."""
