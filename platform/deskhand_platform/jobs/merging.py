"""One policy of several: the mean of their weights."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import PolicyRecord
from deskhand_platform.api.job_models import MergeOrder
from deskhand_platform.errors import InvalidField
from deskhand_platform.jobs.place import Outcome, Place, Progress
from deskhand_platform.naming import named_in
from deskhand_sandbox.types import JsonValue


async def merge(place: Place, order: MergeOrder, progress: Progress) -> Outcome:
    """Keep the weighted mean of some policies; its id, as `policy`.

    Raises:
        InvalidField: one is not in the store, or only for being measured.
        ModelFilesError: one is damaged, or another kind of model than the first.
    """
    from deskhand_agent.models.bundle import load_bundle, save_bundle
    from deskhand_agent.models.merging import merged

    weights = order.weights or [1.0] * len(order.policies)
    with tempfile.TemporaryDirectory(prefix="deskhand-merge-") as scratch:
        made = Path(scratch) / "merged"
        async with place.store() as store:
            records = await mergeable(store, order.policies)
            folders: list[Path] = []
            for number, record in enumerate(records):
                progress("policies", number, len(records))
                folders.append(await store.materialise_policy(record.id, Path(scratch) / record.id))

            def mean() -> None:
                save_bundle(merged([load_bundle(each) for each in folders], weights), made)

            await asyncio.to_thread(mean)
            parts: dict[str, JsonValue] = {r.id: w for r, w in zip(records, weights, strict=True)}
            kept = await store.keep_policy(
                made, parent_id=records[0].id, metadata={"kind": "merge", "merged": parts}
            )
    return {"policy": kept.id}


async def mergeable(store: Store, named: Sequence[str]) -> list[PolicyRecord]:
    """The policies, which may be made into another.

    Raises:
        InvalidField: as `merge`.
    """
    from deskhand_trainer.admission import is_probe, only_measured

    records: list[PolicyRecord] = []
    for number, name in enumerate(named):
        with named_in(f"policies.{number}"):
            records.append(record := await store.policy_named(name))
        if is_probe(record.metadata):
            raise InvalidField(f"policies.{number}", only_measured(record.id))
    return records
