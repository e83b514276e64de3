"""Lineage: every policy, dataset and player that led to a policy, each drawn once."""

from __future__ import annotations

from pathlib import Path

import pytest
from flywheel_episodes import make_end, make_trajectory, write

from deskhand_flywheel import tables
from deskhand_flywheel.errors import UnknownPolicy
from deskhand_flywheel.lineage import DEEPEST, trace_policy
from deskhand_flywheel.lineage_node import LineageKind, LineageNode
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule, TrajectoryFilter
from deskhand_flywheel.upkeep import Drop, RetentionRule, collect
from deskhand_sandbox.types import JsonValue

DATABASES = ("sqlite", "postgresql")


async def keep(store: Store, folder: Path, parent: str | None = None, /, **metadata: JsonValue) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    return (await store.keep_policy(folder, parent_id=parent, metadata=metadata)).id


def shape(node: LineageNode) -> tuple[str, str, list[object]]:
    return node.relation, f"{node.kind.value} {node.name}", [shape(each) for each in node.sources]


async def test_a_policy_is_traced_through_datasets_and_players(store: Store, tmp_path: Path) -> None:
    first = await keep(store, tmp_path / "p", name="first")
    await write(store, make_trajectory("a", end=make_end(), policy_id="scripted", labels={"round": "1"}))
    await write(store, make_trajectory("b", end=make_end(), policy_id=first, labels={"round": "1"}))
    await write(
        store, make_trajectory("c", end=make_end(success=False), policy_id=first, labels={"round": "1"})
    )
    chosen = TrajectoryFilter(labels={"round": "1"})
    await store.select_dataset("round-1/sft", SelectionRule.SUCCESS, chosen, held_out=())
    cloned = await keep(store, tmp_path / "p", first, run="round-1-sft", dataset="round-1/sft@1")
    for name, purpose in (("d", "rollout"), ("e", "evaluation")):
        labels = {"run": "round-1-ppo", "purpose": purpose}
        await write(store, make_trajectory(name, end=make_end(), policy_id=cloned, labels=labels))
    trained = await keep(store, tmp_path / "p", cloned, run="round-1-ppo")

    traced = await trace_policy(store, trained)
    assert shape(traced) == (
        "",
        f"policy {trained}",
        [
            (
                "continued",
                f"policy {cloned}",
                [
                    ("continued", f"policy {first}", []),
                    (
                        "learned from",
                        "dataset round-1/sft@1",
                        [
                            ("holds", f"trajectories {first}", [("played by", f"policy {first}", [])]),
                            ("holds", "trajectories scripted", []),
                        ],
                    ),
                ],
            ),
            ("played in the run", f"trajectories {cloned}", [("played by", f"policy {cloned}", [])]),
        ],
    )
    dataset = traced.sources[0].sources[1]
    assert dataset.details["trajectories"] == 2 and dataset.sources[0].details["ids"] == ["b"]
    # what a policy came of is drawn where it comes first; evaluation is no source
    assert dataset.sources[0].sources[0].above and not traced.sources[0].sources[0].above
    assert traced.sources[1].details["ids"] == ["d"]


async def test_many_generations_are_cut_and_go_on_in_their_own_lineage(store: Store, tmp_path: Path) -> None:
    rows = [
        {"id": f"p{n}", "parent_id": f"p{n - 1}" if n else None, "manifest": "{}", "metadata": "{}"}
        for n in range(DEEPEST + 500)
    ]
    async with store.database.write() as connection:
        await connection.execute(tables.policies.insert(), [{**row, "created_at_s": 0.0} for row in rows])

    def drawn(node: LineageNode) -> list[LineageNode]:
        return [node, *(each for source in node.sources for each in drawn(source))]

    *whole, last = drawn(await trace_policy(store, rows[-1]["id"] or ""))
    assert len(whole) == DEEPEST and not any(each.cut for each in whole) and last.cut
    assert (last.name, last.kept) == ("p499", True)
    assert [each.cut for each in drawn(await trace_policy(store, "p39"))] == [False] * 40


async def test_merges_executors_and_what_is_gone(store: Store, tmp_path: Path) -> None:
    left, right = (
        await keep(store, tmp_path / "p", name="left"),
        await keep(store, tmp_path / "p", name="right"),
    )
    weights: dict[str, JsonValue] = {left: 2.0, right: 1.0}
    merged = await keep(store, tmp_path / "p", left, merged=weights, executor=right, dataset="gone@1")
    traced = await trace_policy(store, merged)
    assert [(each.relation, each.name, each.kept) for each in traced.sources] == [
        ("merged, weight 2.0", left, True),
        ("merged, weight 1.0", right, True),
        ("plans for", right, True),
        ("learned from", "gone@1", False),
    ]
    assert traced.sources[3].kind is LineageKind.DATASET and traced.sources[2].above
    with pytest.raises(UnknownPolicy):
        await trace_policy(store, "nobody")


async def test_a_reward_model_shows_what_it_learned_from_and_that_is_not_collected(
    store: Store, tmp_path: Path
) -> None:
    base = await keep(store, tmp_path / "p", name="base")
    for name, player in (("a", base), ("b", "scripted"), ("c", base), ("d", base)):
        await write(store, make_trajectory(name, end=make_end(), policy_id=player))
    model = await keep(store, tmp_path / "p", base, reward_model=True, material=["a", "b", "c", "gone"])
    everything = RetentionRule(drop=(Drop(older_than_days=0),))
    assert (await collect(store, everything, apply=True)).trajectories == ("d",)
    traced = await trace_policy(store, model)
    assert [shape(each) for each in traced.sources] == [
        ("continued", f"policy {base}", []),
        ("learned from", f"trajectories {base}", [("played by", f"policy {base}", [])]),
        ("learned from", "trajectories scripted", []),
    ]
    assert traced.sources[1].details["ids"] == ["a", "c"] and "material" not in traced.details
