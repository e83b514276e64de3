"""What an integrity check found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Progress = Callable[[str, int, int], None]
"""Told what is being looked at, how many of it are done, and how many there are."""


def quiet(_what: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


class FindingKind(StrEnum):
    """What can be wrong with a store."""

    DAMAGED_DATABASE = "damaged_database"
    """SQLite's own check complains, or a row refers to one that is not there."""
    UNREADABLE_RECORD = "unreadable_record"
    """A row does not hold the record it should."""
    UNKNOWN_SCHEMA = "unknown_schema"
    """A row was written in a form this version cannot read."""
    MISSING_STEP = "missing_step"
    """A trajectory has a later step and not this one."""
    DUPLICATE_STEP = "duplicate_step"
    """Two rows say that they are the same step."""
    MISPLACED_STEP = "misplaced_step"
    """A row's step says that it is another one, which has no row."""
    WRONG_LENGTH = "wrong_length"
    """A trajectory that has ended has more or fewer steps than it counts."""
    UNCLOSED_TRAJECTORY = "unclosed_trajectory"
    """It has no end, and its time is long over: its process died."""
    MISSING_BLOB = "missing_blob"
    """A record or policy cites it, and it is not stored."""
    TRUNCATED_BLOB = "truncated_blob"
    """Its bytes end too early."""
    CHANGED_BLOB = "changed_blob"
    """Its bytes have another digest, and are not just cut short."""
    ORPHANED_BLOB = "orphaned_blob"
    """It is stored, and nothing cites it; or a part of it is, which a killed process left."""

    @property
    def harmless(self) -> bool:
        """What a killed process leaves behind: nothing recorded is lost."""
        return self in (FindingKind.ORPHANED_BLOB, FindingKind.UNCLOSED_TRAJECTORY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    kind: FindingKind
    subject: str
    """Digest of the blob, name of a part of one, id of the trajectory or policy; "" for the database."""
    detail: str
    """In words."""
    done: str = ""
    """What the repair did; "" when it did nothing."""
    mended: bool = False
    """Nothing is wrong with the subject any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The whole check."""

    trajectories: int
    steps: int
    policies: int
    blobs: int
    bytes: int
    """Of all blobs, damaged and orphaned ones and parts included."""
    findings: tuple[Finding, ...] = field(default=())

    @property
    def counts(self) -> Mapping[FindingKind, int]:
        """Findings of each kind; kinds that were not found are left out."""
        return Counter(finding.kind for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Nothing is lost: what was found is mended, or harmless."""
        return all(finding.mended or finding.kind.harmless for finding in self.findings)
