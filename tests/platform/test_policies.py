"""Policies by name, and the model that comes with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.errors import UnknownPolicy
from deskhand_flywheel.store import Store
from deskhand_platform.errors import InvalidField
from deskhand_platform.policies import PolicyMaker
from deskhand_platform.queue import PolicyRef


async def test_the_model_of_the_package_is_kept_once(store: Store, packaged: Path, tmp_path: Path) -> None:
    kept = await store.policy_named(DESKHAND_TINY)
    assert await store.policy_named(DESKHAND_TINY) == kept == await store.policy_named(kept.id)
    assert await store.policies() == (kept,)
    assert (kept.parent_id, kept.metadata) == (None, {"name": DESKHAND_TINY})
    bundle = load_bundle(await store.materialise_policy(kept.id, tmp_path / "copy"))
    assert bundle.processor_hash == load_bundle(packaged).processor_hash
    with pytest.raises(UnknownPolicy):
        await store.policy_named("deskhand-tin")


async def test_a_task_for_a_local_policy_gets_it_where_it_names_none(
    store: Store, packaged: Path, tmp_path: Path
) -> None:
    make = PolicyMaker(store, tmp_path / "policies").make
    policy = await make(PolicyRef(name="local", settings={}))
    assert isinstance(policy, LocalPolicy)
    assert policy.id == (await store.policy_named(DESKHAND_TINY)).id
    named = await make(PolicyRef(name="local", settings={"policy_id": DESKHAND_TINY}))
    assert isinstance(named, LocalPolicy) and named.id == policy.id
    by_path = await make(PolicyRef(name="local", settings={"path": str(packaged)}))
    assert isinstance(by_path, LocalPolicy) and by_path.id == "package"
    with pytest.raises(InvalidField, match="there are: policy_id"):
        await make(PolicyRef(name="local", settings={"polcy_id": "x"}))
