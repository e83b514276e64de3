"""Boards: proven, seeded, of one split; oracles."""

from __future__ import annotations

import pytest

from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.oracles import next_actions
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.tasks.worlds import PROVEN, WORLDS
from deskhand_sandbox.tasks.worlds import next_actions as best_actions
from deskhand_sandbox.tasks.worlds.walks import values_of
from deskhand_sandbox.types import AskUser, Split

BOARDS = [name for name in WORLDS if "sokoban" in name or "lake" in name]


def board(task_id: str, seed: int) -> str:
    settings = make_task(task_id, seed).environment.settings
    return str(settings.get("board") or settings.get("ice"))


@pytest.mark.parametrize("task_id", PROVEN)
async def test_the_oracle_wins_within_the_limit(task_id: str) -> None:
    sandbox = WorldSandbox()
    for seed in range(25):
        task = make_task(task_id, seed)
        await sandbox.reset(task)
        for turn in range(task.limits.turns):
            (action,) = await next_actions(task, sandbox, turn)
            if isinstance(action, AskUser):
                assert task.details
                continue
            await sandbox.act(action)  # pyright: ignore[reportArgumentType]
            if await sandbox.evaluate("done"):
                break
        outcome = await create_verifier(task.verifier).score(sandbox, answer=None)
        assert outcome.success, (task_id, seed)


@pytest.mark.parametrize(
    "task_id",
    [pytest.param(name, marks=pytest.mark.slow if "sokoban-8x8" in name else ()) for name in BOARDS],
)
def test_no_board_of_one_split_is_one_of_another(task_id: str) -> None:
    # a board of the smaller splits takes ten drawings on average
    counts = {Split.TRAIN: 60, Split.VALIDATION: 12, Split.TEST: 12}
    boards = {
        split: {board(task_id, seed) for seed in seeds(task_id, split, n)} for split, n in counts.items()
    }
    assert not boards[Split.TRAIN] & boards[Split.TEST]
    assert not boards[Split.TRAIN] & boards[Split.VALIDATION]
    assert not boards[Split.VALIDATION] & boards[Split.TEST]
    assert len(boards[Split.TRAIN]) > 50
    assert board(task_id, 5) == board(task_id, 5)


def test_a_lake_of_a_train_seed_is_no_test_seed_s_of_another_task() -> None:
    lakes = ("worlds/frozen-lake-4x4", "worlds/frozen-lake-4x4-slippery")
    train, test = (
        {board(lake, seed) for lake in lakes for seed in seeds(lake, split, count)}
        for split, count in ((Split.TRAIN, 2000), (Split.TEST, 200))
    )
    assert len(train) > 2000 and len(test) > 300 and not train & test


def test_the_arm_a_user_means_stands_in_the_details_alone() -> None:
    tasks = [make_task("worlds/bandit-asking", seed) for seed in range(80)]
    assert {task.instruction for task in tasks} == {"Pull the arm I mean."}
    assert {task.details["arm"] for task in tasks} == {"1", "2", "3", "4"}
    for task in tasks:
        chances = task.environment.settings["chances"]
        assert isinstance(chances, list)
        assert chances.index(1.0) + 1 == int(task.details["arm"]) and sum(map(float, chances)) == 1.0


def test_sokoban_boards_are_of_their_sizes() -> None:
    for seed in range(20):
        small, large = board("worlds/sokoban-6x6-1", seed), board("worlds/sokoban-8x8-2", seed)
        assert (len(small.split()), small.count("$")) == (6, 1)
        assert (len(large.split()), large.count("$"), large.count(".")) == (8, 2, 2)


def test_the_best_walk_over_slippery_ice_is_as_good_as_known() -> None:
    """Gymnasium's own map: the best chance to arrive is 14/17, known for walks without an end."""
    ice = "-----O-O---OO--G"
    values = values_of(ice, 4, True)
    assert 0.5 < values[0] < 14 / 17
    assert values_of(ice, 4, False)[0] == pytest.approx(0.99**6)


async def test_slippery_ice_is_walked_at_its_best() -> None:
    sandbox, won = WorldSandbox(), 0
    for seed in range(60):
        task = make_task("worlds/frozen-lake-4x4-slippery", seed)
        await sandbox.reset(task)
        for turn in range(task.limits.turns):
            if await sandbox.evaluate("done"):
                break
            (action,) = await best_actions(task, sandbox, turn)
            await sandbox.act(action)  # pyright: ignore[reportArgumentType]
        won += await sandbox.evaluate("won") is True
    assert 15 <= won <= 59
