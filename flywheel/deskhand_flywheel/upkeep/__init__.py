"""Keeping a store sound and small: `fsck` finds and mends what broke, `collect` drops what a rule lets go."""

from deskhand_flywheel.upkeep.collection import Collected, collect
from deskhand_flywheel.upkeep.findings import Finding, FindingKind, Report
from deskhand_flywheel.upkeep.fsck import fsck
from deskhand_flywheel.upkeep.retention import Drop, RetentionRule, retention_rule

__all__ = [
    "Collected",
    "Drop",
    "Finding",
    "FindingKind",
    "Report",
    "RetentionRule",
    "collect",
    "fsck",
    "retention_rule",
]
