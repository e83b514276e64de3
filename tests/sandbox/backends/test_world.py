"""The world sandbox and the rules of its worlds."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import gymnasium
import pytest
from PIL import Image as Picture

from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.backends.world.rules import make_world
from deskhand_sandbox.backends.world.rules.tiles import TILE_PX
from deskhand_sandbox.backends.world.sandbox import EncodedPictures
from deskhand_sandbox.conformance import CHECKS, check_backend
from deskhand_sandbox.errors import InvalidAction, InvalidTask, SandboxDied, VerifierError
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    JsonValue,
    Outcome,
    Press,
    StepReward,
    Task,
    TypeText,
    VerifierSpec,
)

BOARD = "######\n#@---#\n#-$--#\n#--.-#\n#----#\n######"


def task(world: str, seed: int = 0, **settings: JsonValue) -> Task:
    return Task(
        id=f"worlds/{world}",
        environment=EnvironmentSpec(kind="world", settings={"world": world, **settings}),
        verifier=VerifierSpec(name="world"),
        seed=seed,
    )


def press(key: str) -> Press:
    return Press(keys=(f"Arrow{key}",))


async def shown(task: Task, *keys: str) -> tuple[str, StepReward, Outcome, WorldSandbox]:
    sandbox = WorldSandbox()
    seen = (await sandbox.reset(task)).observation
    for key in keys:
        seen = await sandbox.act(press(key))
    verifier: Any = create_verifier(task.verifier)
    reward = await verifier.step_reward(sandbox)
    return seen.terminal or "", reward, await verifier.score(sandbox, answer=None), sandbox


def test_no_more_is_kept_of_a_picture_than_its_encoding() -> None:
    shown = EncodedPictures(50)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for shade in range(50):
            shown.of(Picture.new("RGB", (400, 250), (shade, 0, 0)))
        assert tracemalloc.get_traced_memory()[0] - before < 50 * 400 * 250 * 3 / 10
    finally:
        tracemalloc.stop()


def test_the_pictures_shown_last_are_encoded_once() -> None:
    shown = EncodedPictures(2)
    red, green, blue = (Picture.new("RGB", (4, 4), name) for name in ("red", "green", "blue"))
    first = shown.of(red)
    assert first == encoded(red)
    other = shown.of(green)
    assert shown.of(red.copy()) is first
    shown.of(blue)  # in the place of the green one
    assert shown.of(red) is first
    assert shown.of(green) == other and shown.of(green) is not other
    assert shown.of(Picture.new("RGB", (2, 8), "green")).height_px == 8


@pytest.mark.parametrize(
    "name",
    ["worlds/sokoban-6x6-1", "worlds/frozen-lake-4x4-slippery", "worlds/bandit", "worlds/corridor"],
)
async def test_it_conforms(name: str) -> None:
    assert await check_backend(create_backend("world"), make_task(name, 3)) == tuple(CHECKS)


async def test_sokoban_by_hand() -> None:
    board = task("sokoban", board=BOARD)
    text, reward, outcome, _ = await shown(board, "Right")
    assert text.splitlines()[1] == "#-@--#"
    assert reward == StepReward(reward=pytest.approx(-0.01), terminated=False)
    assert outcome == Outcome(score=0.0, success=False, detail="not finished")
    text, reward, _, _ = await shown(board, "Down", "Right")
    assert text.splitlines()[2] == "#-@$-#"
    text, reward, outcome, sandbox = await shown(board, "Down", "Right", "Up", "Right", "Down")
    assert text.splitlines()[2:4] == ["#--@-#", "#--*-#"]
    assert reward == StepReward(reward=pytest.approx(0.1 - 5 * 0.01), terminated=True)
    assert outcome == Outcome(score=1.0, success=True, detail="won")
    assert (await sandbox.act(press("Up"))).terminal == text


async def test_boxes_stop_at_walls_and_at_each_other_and_a_goal_can_be_lost() -> None:
    text, reward, _, _ = await shown(task("sokoban", board="######\n#@$$-#\n#-..-#\n######"), "Right")
    assert text.splitlines()[1] == "#@$$-#"
    assert reward.reward == pytest.approx(-0.01)
    text, reward, _, _ = await shown(task("sokoban", board="######\n#@*--#\n#-$.-#\n######"), "Right")
    assert text.splitlines()[1] == "#-+$-#"
    assert reward.reward == pytest.approx(-0.01 - 0.1)


@pytest.mark.parametrize(
    ("board", "why"),
    [
        ("", "lines of one length"),
        ("####\n#@#", "lines of one length"),
        ("#####\n#@?.#\n#####", "written in"),
        ("#####\n#@@.#\n#####", "one player"),
        ("#####\n#@$-#\n#####", "as many goals"),
        ("#####\n#@$.-\n#####", "walled in"),
        (7, "lines of one length"),
    ],
)
async def test_boards_that_are_none_are_refused(board: JsonValue, why: str) -> None:
    with pytest.raises(InvalidTask, match=why):
        await WorldSandbox().reset(task("sokoban", board=board))


@pytest.mark.parametrize(
    ("world", "settings"),
    [
        ("frozen_lake", {"ice": "@O\nO"}),
        ("frozen_lake", {"ice": "@-\n--"}),
        ("chain", {"places": 1}),
        ("chain", {"places": 4, "slip": 1.0}),
        ("corridor", {"rooms": 3, "digits": 4}),
        ("corridor", {"rooms": 0}),
        ("corridor", {"rooms": 1001}),
        ("bandit", {"chances": []}),
        ("bandit", {"chances": [2.0]}),
        ("bandit", {}),
        ("nowhere", {}),
    ],
)
async def test_wrong_settings_are_refused(world: str, settings: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidTask):
        await WorldSandbox().reset(task(world, **settings))


def test_slippery_ice_is_gymnasiums() -> None:
    """From every place, each key: the same places with the same chances as Gymnasium's transition table."""
    desc = ["SFHF", "FFFF", "FHFG", "FFFF"]
    table = gymnasium.make("FrozenLake-v1", desc=desc, is_slippery=True).unwrapped.P  # pyright: ignore[reportAttributeAccessIssue]
    keys = ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp")
    for at, cell in enumerate("".join(desc)):
        if cell in "HG":
            continue
        flat = ["-" if c in "SF" else "O" if c == "H" else "G" for c in "".join(desc)]
        flat[at] = "@"
        ice = "\n".join("".join(flat[row : row + 4]) for row in range(0, 16, 4))
        for action, key in enumerate(keys):
            expected: Counter[int] = Counter()
            for chance, place, _, _ in table[at][action]:
                expected[place] += round(3 * chance)
            found: Counter[int] = Counter()
            for seed in range(150):
                world = make_world("frozen_lake", seed, {"ice": ice})
                world.press(key)
                found[int(str(world.state()["at"]))] += 1
            assert set(found) == set(expected)
            for place, thirds in expected.items():
                assert found[place] / 150 == pytest.approx(thirds / 3, abs=0.16)


async def test_a_lake_ends_in_a_hole_or_at_the_flag() -> None:
    lake = task("frozen_lake", ice="@-G\n-O-", slippery=False)
    text, reward, outcome, _ = await shown(lake, "Right", "Down")
    assert text == "--G\n-X-"
    assert reward.terminated
    assert outcome == Outcome(score=0.0, success=False, detail="lost")
    text, reward, outcome, _ = await shown(lake, "Right", "Right")
    assert text == "--!\n-O-"
    assert outcome.success


async def test_a_chain_and_a_bandit() -> None:
    text, _, outcome, _ = await shown(task("chain", places=4), "Right", "Left", "Left", "Right", "Right")
    assert (text, outcome.success) == ("--@G", False)
    assert (await shown(task("chain", places=3), "Right", "Right"))[2].success
    slips = [(await shown(task("chain", seed, places=3, slip=0.5), "Right"))[0] for seed in range(200)]
    assert 0.4 < slips.count("-@G") / 200 < 0.6
    sandbox = WorldSandbox()
    paid = 0
    for seed in range(200):
        await sandbox.reset(task("bandit", seed, chances=[0.0, 0.7]))
        await sandbox.act(TypeText(text="x2"))
        paid += await sandbox.evaluate("won") is True
        assert await sandbox.evaluate("done") is True
    assert 0.6 < paid / 200 < 0.8


async def test_tic_tac_toe_is_answered_and_a_taken_place_is_no_move() -> None:
    sandbox = WorldSandbox()
    start = (await sandbox.reset(task("tic_tac_toe", 3, side="O"))).observation
    assert (start.terminal or "").count("X") == 1
    taken = (start.terminal or "").replace("\n", "").index("X") + 1
    assert (await sandbox.act(TypeText(text=str(taken)))).terminal == start.terminal
    free = 1 if taken != 1 else 2
    seen = await sandbox.act(Press(keys=(str(free),)))
    assert ((seen.terminal or "").count("X"), (seen.terminal or "").count("O")) == (2, 1)
    with pytest.raises(InvalidTask, match="side must be X or O"):
        await sandbox.reset(task("tic_tac_toe", side="XO"))


async def test_the_picture_shows_what_the_terminal_says() -> None:
    sandbox = WorldSandbox()
    start = (await sandbox.reset(task("sokoban", board=BOARD))).observation
    assert start.size_px == (6 * TILE_PX, 6 * TILE_PX)
    moved = await sandbox.act(press("Right"))
    back = await sandbox.act(press("Left"))
    assert start.screenshot.digest == back.screenshot.digest != moved.screenshot.digest
    assert (await sandbox.act(Click(x=3, y=3))).screenshot == back.screenshot


async def test_a_fork_has_the_same_chances_and_its_own_way() -> None:
    sandbox = WorldSandbox()
    lake = "\n".join(["@" + "-" * 7, *["-" * 8] * 6, "-" * 7 + "G"])
    await sandbox.reset(task("frozen_lake", ice=lake))
    await sandbox.act(press("Down"))
    kept = await sandbox.snapshot()
    (copy,) = await sandbox.fork(1)
    ways = []
    for each in (sandbox, copy):
        ways.append([(await each.act(press("Right"))).terminal for _ in range(8)])
    assert ways[0] == ways[1]
    await sandbox.restore(kept)
    assert [(await sandbox.act(press("Right"))).terminal for _ in range(8)] == ways[0]


async def test_what_is_not_there() -> None:
    sandbox = WorldSandbox()
    with pytest.raises(SandboxDied, match="no task yet"):
        await sandbox.observe()
    await sandbox.reset(task("chain"))
    with pytest.raises(VerifierError, match="did you mean score"):
        await sandbox.evaluate("scor")
    with pytest.raises(InvalidAction, match="one key at a time"):
        await sandbox.act(Press(keys=("Control", "c")))


async def test_a_corridor_shows_each_digit_once_and_asks_for_all_at_its_door() -> None:
    world = make_world("corridor", 5, {"rooms": 12, "digits": 3})
    code, seen = str(world.state()["code"]), ""
    for room in range(1, 13):
        here, _, wall = world.text().partition("\non the wall: ")
        assert here == f"room {room} of 12"
        seen += wall
        world.press("7")  # digits mean nothing before the door
        world.press("ArrowLeft")
        world.press("ArrowRight")
    assert seen == code and len(code) == 3
    assert world.text() == "door: ___" and not world.done and world.score() == 0
    for digit in (code[0], "x", code[1], str((int(code[2]) + 1) % 10)):
        world.press(digit)
    assert world.done and not world.won and world.score() == pytest.approx(2 / 3)
    assert make_world("corridor", 5, {"rooms": 12, "digits": 3}).state()["code"] == code
    assert len({str(make_world("corridor", seed, {}).state()) for seed in range(50)}) == 50
