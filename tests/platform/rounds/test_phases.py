from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from deskhand_flywheel.errors import StorageFull, StoreError, StoreUnavailable
from deskhand_flywheel.routing import read_routes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.errors import RoundFailed
from deskhand_platform.rounds.book import PhaseRecord, RoundBook, RoundRecord
from deskhand_platform.rounds.config import RoundConfig
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.phases import Phases, routed_to
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.rounds.promoted import PromotedPolicies
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_kinds.context import open_context
from deskhand_trainer.runs import RunKind, RunSpec


def curated(name: str, metrics: Mapping[str, JsonValue]) -> PhaseRecord:
    return PhaseRecord(
        position=0, name=name, kind="curate", state=WorkState.DONE, run_id=None, policy_in=None,
        policy_out=None, metrics=metrics, reason=None, seconds=None, started_at_s=None, ended_at_s=None,
    )  # fmt: skip


def round_of(*phases: PhaseRecord) -> RoundRecord:
    return RoundRecord(
        id=4, preset="x", config={}, state=WorkState.RUNNING, reason=None, cancel_requested=False,
        policy_in=None, policy_out=None, promoted=None, created_at_s=0.0, started_at_s=None,
        ended_at_s=None, phases=phases,
    )  # fmt: skip


def test_a_phase_learns_from_the_version_its_round_curated_last() -> None:
    first = curated("curate", {"sft": 3, "sft_version": 1, "rejected": 0})
    later = curated("curate-explored", {"sft": 5, "sft_version": 2, "rejected": 4, "rejected_version": 1})
    assert routed_to(round_of(first), "sft") == "round-4/sft@1"
    assert routed_to(round_of(first), "pretrain") is None
    assert routed_to(round_of(first, later), "rejection") == "round-4/sft@2"
    assert routed_to(round_of(first, later), "pretrain") == "round-4/rejected@1"
    assert routed_to(round_of(first, later), "ppo") is None
    assert routed_to(round_of(curated("curate", {})), "sft") is None
    left_out = curated("curate-explored", {"sft": 0, "rejected": 0, "pool": 9, "pool_version": 3})
    assert routed_to(round_of(first, left_out), "rejection") is None
    assert routed_to(round_of(first, left_out), "score") == "round-4/pool@3"


async def test_a_round_replaces_no_policy_that_it_was_not_measured_beside(
    settings: Settings, store: Store
) -> None:
    book = RoundBook(store.database)
    phases: Any = Phases(settings, store, book, cast("Any", None))
    promoted = PromotedPolicies(store)
    config = RoundConfig(ppo={}, evaluate={"tasks": ["fake/press-button"]})

    async def begun(key: str) -> int:
        number, _ = await book.create("x", config, key)
        await phases.begin(number, 0)
        return number

    async def promotion(number: int, policy: str, success: float) -> dict[str, Any]:
        for name, whose, reached in (("start", "first", 0.3), ("ppo", policy, success)):
            figures: dict[str, JsonValue] = {
                "success_sampled": reached,
                "success_sampled_low": reached - 0.02,
                "success_sampled_high": reached + 0.02,
                "episodes": 2000,
            }
            done: dict[str, Any] = {"state": WorkState.DONE, "policy_in": whose, "metrics": figures}
            await book.update_phase(number, f"validate-{name}", **done)
        return await phases._promote(await book.get(number))

    assert await promoted.by_gate("first", await begun("0"), "it is the first", beside=()) is None
    paused, quick = await begun("1"), await begun("2")
    assert (await promotion(quick, "better", 0.9))["promoted"]
    assert (await promotion(quick, "better", 0.9))["promoted"], "done again after a death"
    late = await promotion(paused, "worse", 0.5)
    assert (late["promoted"], late["policy"]) == (False, "first")
    assert "better was promoted meanwhile, and worse was not measured beside it" in late["why"]
    record = await book.get(paused)
    assert (record.promoted, record.policy_out, record.reason) == (False, "first", late["why"])
    assert [one.policy_id for one in await promoted.list()] == ["better", "first"]


@pytest.mark.parametrize("away", [StoreUnavailable, StorageFull])
async def test_a_phase_is_done_again_once_there_is_room(
    settings: Settings, store: Store, away: type[StoreError], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = RoundBook(store.database)
    phases: Any = Phases(settings, store, book, cast("Any", None))
    number, _ = await book.create("x", RoundConfig(ppo={}, evaluate={"tasks": ["fake/press-button"]}), "k")
    [name, *_] = await phases.begin(number, 0)
    troubles = [RoundFailed("it says \0 and \ud800"), away("not now")]

    async def work(record: RoundRecord, phase: PhaseRecord) -> dict[str, Any]:
        raise troubles.pop()

    monkeypatch.setattr(phases, "_work", work)
    with pytest.raises(away):
        await phases.do(number, name)
    assert (await book.get(number)).phases[0].state is WorkState.RUNNING
    ended = await phases.do(number, name)
    assert ended == (WorkState.FAILED, f"{name}: it says \\x00 and \\ud800")
    assert (await book.get(number)).phases[0].reason == ended[1]


async def test_what_a_workflow_of_an_earlier_life_says_changes_nothing(
    settings: Settings, store: Store
) -> None:
    book, controls = RoundBook(store.database), RoundControls(store.database)
    phases = Phases(settings, store, book, cast("Any", None))
    number, _ = await book.create("x", RoundConfig(ppo={}), "a")
    await controls.pause(number)
    await controls.resume(number)
    assert await phases.begin(number, 0) == []
    assert (await book.get(number)).state is WorkState.QUEUED
    assert "ppo" in await phases.begin(number, 1)
    await phases.close(number, WorkState.FAILED, "ppo: out of luck", 0)
    await phases.close(number, WorkState.PAUSED, None, 0)
    assert (await book.get(number)).state is WorkState.RUNNING
    await phases.close(number, WorkState.DONE, None, 1)
    told = await store.events_after(0, subjects=[f"round:{number}"])
    assert [event.data["state"] for event in told] == ["running", "done"]


async def test_a_round_takes_what_its_own_runs_played(
    settings: Settings, store: Store, record_episode: Callable[..., Awaitable[str]]
) -> None:
    """However many others say that they are of it: another home's, or what somebody submitted."""
    explored = replace(curated("explore", {}), kind="collect", attempt=1)
    record = round_of(explored, curated("curate", {}))
    phases: Any = Phases(settings, store, RoundBook(store.database), cast("Any", None))
    said = {"round": "4", "phase": "explore", "run": "round-4-explore-2", "purpose": "rollout"}
    await record_episode(store, **said)
    await record_episode(store, folder="of another home", **said)
    routes = read_routes({})
    assert await phases._curate(record, routes) == {route.name: 0 for route in routes}
    own: list[str] = []
    for run in ("round-4-explore", "round-4-explore-2"):
        (settings.runs / run).mkdir(parents=True)
        stamp = RunFolder(settings.runs / run).stamp()
        own.append(await record_episode(store, **{**said, "run": run, "folder": stamp}))
    await phases._curate(record, routes)
    assert (await store.dataset("round-4/sft")).trajectory_ids == tuple(own)


@pytest.mark.parametrize(
    "routes",
    [{"sft": {"most_success": 0.3}}, {"sft": None}, {"sft": None, "rejected": None, "pool": None}],
    ids=["all too easy", "without the route", "without any"],
)
async def test_what_a_route_left_out_is_learned_from_by_no_other_way(
    settings: Settings,
    store: Store,
    record_episode: Callable[..., Awaitable[str]],
    routes: dict[str, Any],
) -> None:
    explored = replace(curated("explore", {}), kind="collect")
    (settings.runs / "round-4-explore").mkdir(parents=True)
    stamp = RunFolder(settings.runs / "round-4-explore").stamp()
    played = await record_episode(store, run="round-4-explore", purpose="rollout", folder=stamp)
    phases: Any = Phases(settings, store, RoundBook(store.database), cast("Any", None))

    async def chosen(name: str, kind: str, config: dict[str, JsonValue], *done: PhaseRecord) -> set[str]:
        planned = PhasePlan(name=name, kind=kind, config=config)
        dataset, folders = await phases._material(round_of(explored, *done), planned)
        spec = RunSpec(
            id="r", kind=RunKind(kind), config=config, store_url=settings.db_url,
            blobs_url=settings.blobs_url, dataset=dataset, folders=folders,
        )  # fmt: skip
        async with open_context(RunFolder(settings.runs / "round-4-explore"), spec) as context:
            return {*await context.episodes(TrajectoryFilter(outcome=OutcomeFilter.SUCCESS))}

    routed = curated("curate-explored", await phases._curate(round_of(explored), read_routes(routes)))
    cloning: dict[str, JsonValue] = {"learn_from": ["rollout"]}
    assert await chosen("rejection", "sft", cloning) == {played}, "nothing was curated yet"
    assert await chosen("rejection", "sft", cloning, routed) == set()
    assert await chosen("pretrain", "pretrain", {"experience": True}, routed) == set()
    assert await chosen("score", "score", {}, routed) == (set() if "pool" in routes else {played})
    stored: dict[str, JsonValue] = {"value_pretraining": {"fitted_to": "rollouts_and_stored"}}
    assert await chosen("ppo", "ppo", stored, routed) == (set() if "pool" in routes else {played})


async def test_the_pool_is_named_to_those_alone_that_read_it(settings: Settings, store: Store) -> None:
    phases: Any = Phases(settings, store, RoundBook(store.database), cast("Any", None))
    record = round_of(curated("curate-explored", {"pool": 4, "pool_version": 2}))
    readers: list[tuple[str, dict[str, JsonValue], bool]] = [
        ("score", {}, True),
        ("score", {"runs": ["collect-1"]}, False),
        ("ppo", {}, False),
        ("ppo", {"rollouts": "recorded"}, True),
        ("label", {"tasks": ["fake/press-button"]}, False),
        ("evaluate", {}, False),
    ]
    for name, config, reads in readers:
        dataset, _ = await phases._material(record, PhasePlan(name=name, kind=name, config=config))
        assert dataset == ("round-4/pool@2" if reads else None)
