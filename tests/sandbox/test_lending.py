"""Pools as settings give them: what a host is started with, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import InvalidPool, UnknownName
from deskhand_sandbox.host.__main__ import read_options, settings_by_hand
from deskhand_sandbox.manager import LeaseTerms, Lending, PoolSettings
from deskhand_sandbox.manager.lending import as_json, read_lending


def test_a_kind_has_the_pools_that_are_given_of_it_else_one_of_the_defaults() -> None:
    lending = Lending(
        pools={
            "browser": {"settings": {"isolation": "process"}},
            "office": {"kind": "vm", "labels": {"image": "office"}, "max_sandboxes": 2},
        }
    )
    assert lending.kinds == ("browser", "vm")
    assert lending.pools_of(["fake", "browser", "vm"], most=8) == {
        "fake": PoolSettings(max_sandboxes=8),
        "browser": PoolSettings(max_sandboxes=8, settings={"isolation": "process"}),
        "office": PoolSettings(kind="vm", labels={"image": "office"}, max_sandboxes=2),
    }


def test_a_pool_that_keeps_some_ready_has_places_for_them() -> None:
    [pool] = Lending(pools={"fake": {"min_sandboxes": 3}}).pools_of(["fake"], most=1).values()
    assert (pool.min_sandboxes, pool.max_sandboxes) == (3, 3)


def test_one_sandbox_is_of_a_pool_by_its_name_or_of_a_kind() -> None:
    lending = Lending(
        pools={"wide": {"kind": "fake", "min_sandboxes": 2, "settings": {"width_px": 90, "height_px": 70}}}
    )
    tried = PoolSettings(kind="fake", max_sandboxes=1, settings={"width_px": 80, "height_px": 70})
    assert lending.pool("wide", {"width_px": 80}) == lending.pool("fake", {"width_px": 80}) == tried
    assert lending.pool("world", {}) == PoolSettings(kind="world", max_sandboxes=1)
    with pytest.raises(UnknownName, match="did you mean fake"):
        lending.pool("fak", {})


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        ({"androd": {}}, "pool 'androd': unknown kind of sandbox 'androd'; did you mean android"),
        ({"android": {"setings": {}}}, "unknown setting of a pool 'setings'; did you mean settings"),
        ({"browser": {"kind": "vm"}}, "name of another kind"),
        ({"vm": {"max_sandboxes": "4"}}, "max_sandboxes must be a whole number"),
        ({"vm": {"min_sandboxes": 3, "max_sandboxes": 2}}, "0 <= min_sandboxes <= max_sandboxes"),
        ({"vm": {"owner_quota": 0}}, "owner_quota"),
        ({"browser": {"leases_per_backend": 0}}, "leases_per_backend"),
        ({"vm": {"create_s": 1801}}, "create_s must be at most 1800"),
        ({"vm": {"idle_s": "long"}}, "idle_s must be a positive number"),
        ({"vm": {"labels": {"image": 3}}}, "labels must be texts"),
        ({"vm": {"settings": ["image"]}}, "settings must be a mapping"),
        ({"vm": 3}, "must be a mapping"),
    ],
)
def test_what_is_no_pool_is_refused(pools: Any, said: str) -> None:
    with pytest.raises(InvalidPool, match=said):
        Lending(pools=pools)


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("android", {"machin": "attached"}, "pool 'android': .*did you mean machine"),
        ("android", {"machine": "attached"}, "serials must name the devices"),
        ("android", {"machine": "emulator", "emulator": {"profil": "x"}}, "did you mean profile"),
        ("android", {"machine": "emulator", "emulator": {"avd": 3}}, "avd must be text"),
        ("browser", {"isolation": "none"}, "isolation must be shared or process"),
        ("browser", {"recordings": 3}, "recordings must be text"),
        ("browser", {"arguments": "--x"}, "arguments must be a list of texts"),
        ("browser", {"reset_deadline_s": 0}, "reset_deadline_s must be a positive number"),
        ("desktop", {"limits": {"memory": 4096}}, "did you mean memory_mb"),
        ("desktop", {"limits": {"memory_mb": "4 GB"}}, "memory_mb must be a whole number"),
        ("vm", {"image": "/nowhere/disk.qcow2"}, "no disk image at /nowhere/disk.qcow2"),
        ("world", {"speed": 2}, "speed"),
    ],
)
def test_a_backend_looks_at_its_settings_when_its_pool_is_opened(
    kind: str, settings: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(InvalidPool, match=said):
        Lending(pools={kind: {"settings": settings}}).pools_of([kind], most=1)


def test_settings_in_json_are_those_of_the_backends() -> None:
    given: dict[str, Any] = {
        "android": {"settings": {"machine": "attached", "serials": ["emulator-5554"]}},
        "browser": {"settings": {"network": ["example.com"], "arguments": ["--lang=de"]}},
        "desktop": {"settings": {"limits": {"memory_mb": 4096, "cpus": 3}}},
    }
    assert set(Lending(pools=given).pools_of(given, most=1)) == set(given)


def test_it_travels_as_plain_values() -> None:
    lending = Lending(
        pools={"fake": {"max_sandboxes": 2}}, terms=LeaseTerms(ttl_s=60), deadlines=Deadlines(reset_s=600)
    )
    assert read_lending(as_json(lending)) == lending
    assert read_lending({}) == Lending()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pool": {}}, "did you mean pools"),
        ({"terms": {"ttl": 1}}, "did you mean ttl_s"),
        ({"terms": {"ttl_s": 0}}, "ttl_s must be a positive number"),
        ({"terms": 3}, "must be a mapping"),
        ({"deadlines": {"call_s": "long"}}, "deadlines must be positive"),
        ({"pools": []}, "pools must be a mapping"),
        ([], "must be a mapping"),
    ],
)
def test_what_says_nothing_of_sandboxes_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidPool, match=said):
        read_lending(given)


def test_a_host_by_hand_takes_pools(tmp_path: Path) -> None:
    phone = 'phone={"kind": "android", "settings": {"machine": "attached", "serials": ["x"]}}'
    told = settings_by_hand(read_options(["--kind", "fake=2", "--pool", phone, "--state", str(tmp_path)]))
    assert told.kinds == {
        "fake": PoolSettings(max_sandboxes=2),
        "phone": PoolSettings(kind="android", settings={"machine": "attached", "serials": ["x"]}),
    }
    with pytest.raises(ValueError, match="give NAME=JSON"):
        settings_by_hand(read_options(["--pool", "phone", "--state", str(tmp_path)]))
