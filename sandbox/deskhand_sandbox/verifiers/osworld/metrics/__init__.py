"""Metrics by OSWorld's names: what was got against what is expected, 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_sandbox.verifiers.osworld.metrics import documents, places, records, tables, texts, trees
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric

__all__ = ["METRICS", "Metric"]

METRICS: Mapping[str, Metric] = {
    **texts.METRICS,
    **records.METRICS,
    **tables.METRICS,
    **documents.METRICS,
    **places.METRICS,
    **trees.METRICS,
}
"""Every metric."""
