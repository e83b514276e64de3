"""Keeping a store sound: `fsck` finds and mends what broke."""

from deskhand_flywheel.upkeep.findings import Finding, FindingKind, Report
from deskhand_flywheel.upkeep.fsck import fsck

__all__ = ["Finding", "FindingKind", "Report", "fsck"]
