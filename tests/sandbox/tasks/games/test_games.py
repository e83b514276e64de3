"""The games in a real browser: solvable, seeded, rewarded, worked by keys and by mouse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.games import GAMES
from deskhand_sandbox.tasks.games.merging import best_move, moved
from deskhand_sandbox.tasks.games.solvers import SOLVERS, shortest_way
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Click, Navigate, Outcome, Press, Split, StepReward, VerifierSpec

Play = Callable[[str, int], Awaitable[tuple[Outcome, float, int]]]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


def verifier() -> Any:
    return create_verifier(VerifierSpec(name="game"))


@pytest.mark.parametrize("task_id", sorted(GAMES))
async def test_the_oracle_wins(play: Play, task_id: str) -> None:
    outcome, rewards, _ = await play(task_id, 7)
    assert outcome == Outcome(score=1.0, success=True, detail="won, score 1")
    assert rewards == pytest.approx(1.0 if task_id != "games/2048" else rewards)
    assert 0.5 < rewards <= 1.0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("task_id", sorted(GAMES))
async def test_the_oracle_wins_on_many_seeds(play: Play, task_id: str) -> None:
    lost, turns = [], []
    for seed in range(100, 120):
        outcome, _, took = await play(task_id, seed)
        turns.append(took)
        if not outcome.success:
            lost.append((seed, outcome.detail))
    assert lost == []
    assert max(turns) <= GAMES[task_id].turns * 0.9


@pytest.mark.parametrize("task_id", sorted(GAMES))
async def test_seeds_draw_starts_and_a_used_page_starts_clean(sandbox: Sandbox, task_id: str) -> None:
    first = await sandbox.reset(make_task(task_id, 3))
    other = await sandbox.reset(make_task(task_id, 4))
    assert other.observation.screenshot.digest != first.observation.screenshot.digest
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft"):
        await sandbox.act(Press(keys=(key,)))
    again = await sandbox.reset(make_task(task_id, 3))
    assert again.observation.screenshot.digest == first.observation.screenshot.digest
    assert again.instruction == first.instruction


async def test_no_two_splits_share_a_sliding_puzzle(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("games/sliding", 5))

    async def tiles(options: str, split: Split) -> list[str]:
        return await sandbox.evaluate(  # type: ignore[return-value]
            f"{seeds('games/sliding', split, 300)}.map((seed) => "
            f"(game.start(seed, {options}), `${{game.state().tiles}}`))"
        )

    begun = {}
    for split in Split:
        seed = seeds("games/sliding", split, 1)[0]
        start = str(make_task("games/sliding", seed).environment.settings["start"])
        begun[split] = await tiles(start.removeprefix("(seed) => game.start(seed, ").removesuffix(")"), split)
    assert not {*begun[Split.TEST]} & {*begun[Split.TRAIN], *begun[Split.VALIDATION]}
    assert not {*begun[Split.TRAIN]} & {*begun[Split.VALIDATION]}
    before = await tiles("{ steps: 16 }", Split.TRAIN)
    same = sum(one == other for one, other in zip(before, begun[Split.TRAIN], strict=True))
    assert 0.7 < same / 300 < 0.9


async def test_buttons_do_what_keys_do(sandbox: Sandbox) -> None:
    task = make_task("games/2048", 5)
    await sandbox.reset(task)
    await sandbox.act(Press(keys=("ArrowDown",)))
    by_key: Any = await sandbox.evaluate("game.state()")
    await sandbox.reset(task)
    await sandbox.act(Click(x=195, y=366))
    assert await sandbox.evaluate("game.state()") == by_key


async def test_cells_can_be_clicked(sandbox: Sandbox) -> None:
    task = make_task("games/sliding", 5)
    await sandbox.reset(task)
    state: Any = await sandbox.evaluate("game.state()")
    action = SOLVERS["sliding"](state)
    assert isinstance(action, Press)
    dx, dy = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}[
        action.keys[0]
    ]
    gap = state["tiles"].index(0)
    x, y = gap % 3 - dx, gap // 3 - dy
    await sandbox.act(Click(x=12 + round((x + 0.5) * 296 / 3), y=36 + round((y + 0.5) * 296 / 3)))
    after: Any = await sandbox.evaluate("game.state()")
    assert after["tiles"][gap] == state["tiles"][y * 3 + x]


@pytest.mark.parametrize("seed", [5449, 20510])
async def test_the_first_field_of_minesweeper_never_opens_all(play: Play, seed: int) -> None:
    outcome, rewards, _ = await play("games/minesweeper", seed)
    assert outcome.success and rewards == pytest.approx(1.0)


async def test_a_mine_ends_the_game(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("games/minesweeper", 5))
    state: Any = await sandbox.evaluate("game.state()")
    mine = state["mines"][0]
    await sandbox.act(Click(x=12 + round((mine % 8 + 0.5) * 37), y=36 + round((mine // 8 + 0.5) * 37)))
    assert await verifier().step_reward(sandbox) == StepReward(reward=0.0, terminated=True)
    outcome = await verifier().score(sandbox, answer=None)
    assert not outcome.success and outcome.detail.startswith("lost")


async def test_moves_that_change_nothing_are_none(sandbox: Sandbox) -> None:
    start = await sandbox.reset(make_task("games/maze", 0))
    seen = await sandbox.act(Press(keys=("ArrowUp",)))
    assert seen.screenshot.digest == start.observation.screenshot.digest


async def test_an_agent_that_leaves_has_done_nothing(sandbox: Sandbox) -> None:
    await sandbox.reset(make_task("games/maze", 1))
    await sandbox.act(Navigate(url="about:blank"))
    assert await verifier().step_reward(sandbox) == StepReward(reward=0.0, terminated=False)
    assert (await verifier().score(sandbox, answer="won")).detail == "the page in front is not the game's"


@pytest.mark.parametrize("task_id", ["games/maze", "generated/press"])
async def test_no_other_page_says_that_the_game_is_won(sandbox: Sandbox, task_id: str) -> None:
    task = make_task(task_id, 1)
    name = str(task.verifier.settings.get("name", "game"))
    await sandbox.reset(task)
    won = "{done: true, won: true, score: () => 1, takeReward: () => 1}"
    await sandbox.act(Navigate(url=f"data:text/html,<script>var {name} = {won}</script>"))
    for made in (
        create_verifier(task.verifier),
        create_verifier(VerifierSpec(name="game", settings={"name": name})),
    ):
        assert isinstance(made, RewardingVerifier)
        assert await made.step_reward(sandbox) == StepReward(reward=0.0, terminated=False)
        assert (await made.score(sandbox, answer="won")).score == 0.0


async def test_sokoban_levels_can_be_solved(sandbox: Sandbox) -> None:
    """Another solver than the one that makes them: breadth-first over all states."""
    await sandbox.reset(make_task("games/sokoban-2", 0))
    for seed in range(12):
        start = make_task("games/sokoban-2", seed).environment.settings["start"]
        state: Any = await sandbox.evaluate(f"(({start})({seed}), game.state())")
        assert not set(state["boxes"]) & set(state["goals"])
        assert isinstance(SOLVERS["sokoban"](state), Press)


async def test_searching() -> None:
    def steps(n: int) -> list[tuple[str, int]]:
        return [("add", n + 1), ("double", n * 2)] if n < 50 else []

    assert shortest_way(3, steps, lambda n: n == 12) == ["double", "double"]
    assert shortest_way(5, steps, lambda n: n == 7) == ["add", "add"]


async def test_merging() -> None:
    tiles = (2, 2, 4, 0, *(0,) * 12)
    assert moved(tiles, 4, "ArrowLeft")[:4] == (4, 4, 0, 0)
    assert moved(tiles, 4, "ArrowRight")[:4] == (0, 0, 4, 4)
    assert moved((2, *(0,) * 3, 2, *(0,) * 11), 4, "ArrowUp")[0] == 4
    assert best_move((32, 32, *(0,) * 14), 4) in ("ArrowLeft", "ArrowRight")
