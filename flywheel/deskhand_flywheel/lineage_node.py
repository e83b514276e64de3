"""What lineage is drawn of: a tree of policies, datasets and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from deskhand_sandbox.types import JsonValue


class LineageKind(StrEnum):
    """What a node stands for."""

    POLICY = "policy"
    DATASET = "dataset"
    TRAJECTORIES = "trajectories"
    """Those of one dataset, or of one run, that one policy played."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LineageNode:
    """Something, and what it came of."""

    kind: LineageKind
    name: str
    """Id of a policy, NAME@VERSION of a dataset, id of the policy that played."""
    relation: str = ""
    """What it was to the node above: "continued", "scored by", "learned from", "played in the run", …"""
    details: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    sources: tuple[LineageNode, ...] = ()
    above: bool = False
    """Drawn before: its sources stand there."""
    cut: bool = False
    """So deep that its sources are not drawn: its own lineage shows them."""
    kept: bool = True
    """It is in the store. Oracles and policies behind endpoints are not."""
