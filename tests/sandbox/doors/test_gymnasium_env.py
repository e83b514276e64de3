"""The gymnasium door, by gymnasium's own checker: on the fake computer, and on a page in a real Chromium."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from deskhand_sandbox.backends.fake import FakeBackend, FakeSandbox  # noqa: E402
from deskhand_sandbox.backends.fake.screen import FakeSettings, button_boxes  # noqa: E402
from deskhand_sandbox.base import Sandbox  # noqa: E402
from deskhand_sandbox.deadlines import Deadlines  # noqa: E402
from deskhand_sandbox.dialects import usual_frame, write  # noqa: E402
from deskhand_sandbox.doors.gymnasium_env import SandboxEnv  # noqa: E402
from deskhand_sandbox.errors import InvalidTask, SandboxDied, SandboxTimeout, UnknownName  # noqa: E402
from deskhand_sandbox.tasks import splits  # noqa: E402
from deskhand_sandbox.tasks.fake import make  # noqa: E402
from deskhand_sandbox.tasks.splits import split_of  # noqa: E402
from deskhand_sandbox.types import (  # noqa: E402
    Answer,
    AskUser,
    Click,
    DeviceAction,
    EnvironmentSpec,
    Fail,
    Finish,
    JsonValue,
    KeyDown,
    KeyUp,
    Observation,
    Run,
    Split,
    Task,
    VerifierSpec,
    Wait,
    Zoom,
)

press_button = partial(make, "fake/press-button")
press_in_order = partial(make, "fake/press-in-order")


def with_settings(**settings: JsonValue) -> Task:
    """A fake task of seed 0 that misbehaves."""
    task = press_button(0)
    spec = EnvironmentSpec(kind="fake", settings={**task.environment.settings, **settings})
    return replace(task, environment=spec)


def click_on(env: SandboxEnv, label: str) -> Click:
    episode = env._episode
    assert episode is not None
    labels = tuple(episode.task.environment.settings["buttons"])  # type: ignore[arg-type]
    left, top, right, bottom = button_boxes(FakeSettings(buttons=labels, goal=()))[label]
    return Click(x=(left + right) // 2, y=(top + bottom) // 2)


def goal_of(env: SandboxEnv) -> list[str]:
    episode = env._episode
    assert episode is not None
    return list(episode.task.environment.settings["goal"])  # type: ignore[arg-type]


@pytest.fixture
def env() -> Iterator[SandboxEnv]:
    env = SandboxEnv(press_in_order, render_mode="rgb_array")
    yield env
    env.close()


@pytest.mark.filterwarnings("ignore:.*due to the environment not having a spec.*")
@pytest.mark.parametrize("dialect", [None, "ui_tars", "browsergym"])
def test_gymnasium_finds_nothing_wrong(dialect: str | None) -> None:
    env = SandboxEnv(press_button, render_mode="rgb_array", dialect=dialect)
    check_env(env)
    env.close()


def test_gymnasium_makes_it_by_name_and_finds_it_deterministic() -> None:
    gymnasium.register("Deskhand-v0", entry_point="deskhand_sandbox.doors.gymnasium_env:SandboxEnv")
    env = gymnasium.make("Deskhand-v0", task=press_button, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_an_episode_is_played_to_its_end(env: SandboxEnv) -> None:
    observation, info = env.reset(seed=3)
    assert observation["instruction"] == info["instruction"] == press_in_order(3).instruction
    assert info["task_seed"] == 3
    assert observation["screenshot"].shape == (200, 160, 3)
    first, second = goal_of(env)
    _, reward, terminated, truncated, info = env.step(click_on(env, first))
    assert (reward, terminated, truncated, info["error"], info["outcome"]) == (0.0, False, False, "", None)
    observation, reward, terminated, truncated, info = env.step(click_on(env, second))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["outcome"]["success"] is True
    screen = env.render()
    assert screen is not None
    assert (screen == observation["screenshot"]).all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(Wait(seconds=0))


def test_seeds_name_start_states_and_none_draws_from_the_env(env: SandboxEnv) -> None:
    drawn = []
    for _ in range(2):
        assert env.reset(seed=5)[1]["task_seed"] == 5
        drawn.append([env.reset()[1]["task_seed"] for _ in range(3)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 3


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_seeds_are_drawn_of_the_split_that_is_asked_for(
    split: Literal["train", "validation", "test"],
) -> None:
    given = {} if split == "train" else {"split": split}  # train unless another is asked for
    env = SandboxEnv(press_button, **given)
    env.reset(seed=1)
    drawn = [env.reset()[1] for _ in range(12)]
    assert {split_of("fake/press-button", info["task_seed"]) for info in drawn} == {Split(split)}
    assert {info["split"] for info in drawn} == {split}
    env.close()


def test_a_held_out_task_is_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "HELD_OUT_TASKS", frozenset({"fake/press-button"}))
    with pytest.raises(InvalidTask, match="held out"):
        SandboxEnv(press_button)
    env = SandboxEnv(press_button, split="test")
    assert env.reset()[1]["split"] == "test"
    env.close()


def test_samples_of_the_space_are_played(env: SandboxEnv) -> None:
    env.reset(seed=1)
    click = click_on(env, goal_of(env)[0])
    sample = env.action_space.sample()
    sample |= {"kind": env.kinds.index("click"), "point": [click.x, click.y]}
    env.step(sample)
    observation, _ = env.reset(seed=1)
    after, *_ = env.step(sample)
    assert (after["screenshot"] != observation["screenshot"]).any()


def test_a_closer_look_is_the_callers_own(env: SandboxEnv) -> None:
    env.reset(seed=1)
    *_, info = env.step(Zoom(start=(0, 0), end=(9, 9)))
    assert "crop it yourself" in info["error"]


def test_what_cannot_be_done_costs_a_turn_and_says_why(env: SandboxEnv) -> None:
    before, _ = env.reset(seed=1)
    for action, said in (
        (Click(x=999, y=0), "off the screen"),
        (Run(command="ls"), "has no Run"),
        (AskUser(question="?"), "nobody to ask"),
        (3, "sample of the action space, not a int"),
        ({"kind": 77}, "no action of the action space"),
    ):
        after, reward, terminated, truncated, info = env.step(action)
        assert said in info["error"]
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert (after["screenshot"] == before["screenshot"]).all()
    # the sixth turn is the last
    *_, truncated, info = env.step(Wait(seconds=0))
    assert truncated is True
    assert info["outcome"]["success"] is False


@pytest.mark.parametrize("last", [Finish(text="done"), Fail(reason="no")])
def test_the_agent_may_end_the_episode(env: SandboxEnv, last: Finish | Fail) -> None:
    env.reset(seed=1)
    env.step(Answer(text="42"))
    _, reward, terminated, _, info = env.step(last)
    assert (reward, terminated) == (0.0, True)
    assert info["outcome"]["detail"] == "not finished"


def test_replies_of_other_agents_are_played() -> None:
    env = SandboxEnv(press_in_order, dialect="ui_tars")
    env.reset(seed=3)
    ours = [click_on(env, label) for label in goal_of(env)]
    calls = [write("ui_tars", click, usual_frame("ui_tars", (160, 200)))[0] for click in ours]
    reply = "Thought: both.\nAction: " + "\n\n".join(map(str, calls))
    _, reward, terminated, _, info = env.step(reply)
    assert (reward, terminated, info["error"]) == (1.0, True, "")
    env.reset()
    assert "expected" in env.step("I would rather not.")[4]["error"]
    env.close()


def test_things_are_named_as_the_screen_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    observe = FakeSandbox.observe

    async def outlined(self: FakeSandbox, *, text_tree: bool = False) -> Observation:
        seen = await observe(self, text_tree=text_tree)
        if seen.text_tree is None:
            return seen
        middles = {
            label: ((left + right) // 2, (top + bottom) // 2)
            for label, (left, top, right, bottom) in button_boxes(
                FakeSettings(buttons=self._task.buttons, goal=())
            ).items()
        }
        return replace(seen, text_tree="\n".join(f'button "{label}" {at}' for label, at in middles.items()))

    monkeypatch.setattr(FakeSandbox, "observe", outlined)
    env = SandboxEnv(press_in_order, dialect="browsergym")
    _, info = env.reset(seed=3)
    numbers = {line.split('"')[1]: line.partition("]")[0][1:] for line in info["elements"].splitlines()}
    first, second = (numbers[label] for label in goal_of(env))
    assert "unknown element" in env.step("click('99')")[4]["error"]
    _, reward, terminated, _, info = env.step(f"click('{first}')\ncheck('{second}')")
    assert (reward, terminated, info["error"]) == (1.0, True, "")
    env.close()
    other = SandboxEnv(press_in_order, dialect="ui_tars")
    assert other.reset(seed=3)[1]["elements"] == ""
    other.close()


def test_what_was_held_for_a_refused_click_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    env = SandboxEnv(press_button, dialect="openai")
    env.reset(seed=7)
    episode = env._episode
    assert episode is not None
    done: list[object] = []
    act = episode.sandbox.act

    async def noting(action: DeviceAction) -> Observation:
        done.append(action)
        return await act(action)

    monkeypatch.setattr(episode.sandbox, "act", noting)
    *_, info = env.step('{"type": "click", "x": 999, "y": 10, "keys": ["SHIFT", "CTRL"]}')
    assert "off the screen" in info["error"]
    assert done[:2] == [KeyDown(key="Shift"), KeyDown(key="Control")]
    assert done[3:] == [KeyUp(key="Control"), KeyUp(key="Shift")]
    env.close()


def test_what_each_action_of_a_reply_returned_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    env = SandboxEnv(press_button, dialect="openai")
    env.reset(seed=7)
    episode = env._episode
    assert episode is not None
    act = episode.sandbox.act

    async def telling(action: DeviceAction) -> Observation:
        seen = await act(action)
        return replace(seen, output=f"at {action.x}") if isinstance(action, Click) else seen

    monkeypatch.setattr(episode.sandbox, "act", telling)
    clicks = ", ".join(f'{{"type": "click", "x": {x}, "y": 190}}' for x in (1, 2))
    several = f'{{"type": "computer_call", "actions": [{clicks}, {{"type": "move", "x": 9, "y": 9}}]}}'
    assert env.step(several)[4]["output"] == "at 1\nat 2"
    assert env.step('{"type": "move", "x": 9, "y": 9}')[4]["output"] is None
    env.close()


def test_a_verdict_at_the_end_is_the_reward_where_there_is_no_other() -> None:
    spec = VerifierSpec(name="expression", settings={"expression": "acts"})
    env = SandboxEnv(lambda seed: replace(press_button(seed), verifier=spec))
    env.reset(seed=0)
    assert env.step(Wait(seconds=0))[1] == 0.0
    assert env.step(Finish())[1] == 1.0
    env.close()


@pytest.mark.parametrize(("last", "score"), [(Fail(), 1.0), (Finish(), 0.0)])
def test_saying_so_is_right_where_a_task_cannot_be_done(last: Finish | Fail, score: float) -> None:
    spec = VerifierSpec(name="osworld", settings={"evaluator": {"func": "infeasible"}})
    env = SandboxEnv(lambda seed: replace(press_button(seed), verifier=spec))
    env.reset(seed=0)
    _, reward, *_, info = env.step(last)
    assert (reward, info["outcome"]["score"]) == (score, score)
    env.close()


def test_a_broken_sandbox_is_raised_and_replaced() -> None:
    tasks = iter([press_button(0), with_settings(crash_at=0), press_button(0)])
    env = SandboxEnv(lambda seed: next(tasks))
    env.reset()
    with pytest.raises(SandboxDied):
        env.step(Wait(seconds=0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(Wait(seconds=0))
    env.reset()
    assert env.step(Wait(seconds=0))[4]["error"] == ""
    env.close()


def test_a_sandbox_that_hangs_is_given_up() -> None:
    env = SandboxEnv(lambda seed: with_settings(hang_at=0), deadlines=Deadlines(call_s=0.05))
    env.reset()
    with pytest.raises(SandboxTimeout):
        env.step(Click(x=1, y=1))
    env.reset()
    env.close()


def test_a_computer_may_take_longer_to_be_made_than_to_be_reset() -> None:
    class Slow(FakeBackend):
        async def create(self) -> Sandbox:
            await asyncio.sleep(0.6)
            return await super().create()

    env = SandboxEnv(press_button, backend=Slow({}), deadlines=Deadlines(reset_s=0.5))
    env.close()


def test_nothing_is_left_of_an_env_that_never_began_or_was_closed() -> None:
    def threads() -> int:
        return sum(thread.name == "deskhand-gymnasium" for thread in threading.enumerate())

    gc.collect()
    before = threads()
    with pytest.raises(UnknownName, match="did you mean fake/press-button"):
        SandboxEnv("fake/press-buton")
    with pytest.raises(UnknownName, match="did you mean ui_tars"):
        SandboxEnv(press_button, dialect="ui_tras")
    with pytest.raises(InvalidTask):
        SandboxEnv(lambda seed: with_settings(width_px=3))
    with pytest.raises(SandboxDied):
        SandboxEnv(lambda seed: with_settings(fail_reset=True))
    env = SandboxEnv(press_button)
    env.close()
    env.close()
    with pytest.raises(SandboxDied, match="what held the sandbox is closed"):
        env.reset()
    forgotten = SandboxEnv(press_button)
    del forgotten
    gc.collect()
    assert threads() == before


def test_without_gymnasium_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from deskhand_sandbox.errors import BackendMissing\n"
        "try:\n    import deskhand_sandbox.doors.gymnasium_env\n"
        "except BackendMissing as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "the gymnasium door needs gymnasium: pip install 'deskhand[gym]'"


def test_a_backend_that_was_lent_stays_open() -> None:
    backend = FakeBackend({})
    for _ in range(2):
        env = SandboxEnv(press_button, backend=backend)
        env.reset()
        env.close()


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore:.*due to the environment not having a spec.*")
def test_a_page_in_a_real_browser_passes_too() -> None:
    env = SandboxEnv("miniwob/click-test", render_mode="rgb_array")
    try:
        check_env(env)
        observation, _ = env.reset(seed=1)
        assert observation["instruction"] == "Click the button."
        reward = 0.0
        # the one button is grey, on a white page below the instruction
        for y in range(60, 200, 12):
            for x in range(10, 160, 24):
                if (observation["screenshot"][y, x] != 255).any() and reward == 0.0:
                    _, reward, terminated, truncated, _ = env.step(Click(x=x, y=y))
                    if terminated or truncated:
                        break
            if reward:
                break
        assert reward == 1.0
    finally:
        env.close()
