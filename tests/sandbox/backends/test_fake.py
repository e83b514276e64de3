import asyncio
import time
from dataclasses import replace

import pytest

from deskhand_sandbox.errors import (
    InvalidAction,
    InvalidTask,
    SandboxDied,
    UnknownName,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    JsonValue,
    Navigate,
    Observation,
    StepReward,
    Task,
    TypeText,
    VerifierSpec,
)


def task(**settings: JsonValue) -> Task:
    return Task(
        id="fake/test",
        environment=EnvironmentSpec(
            kind="fake", settings={"buttons": ["A", "B"], "goal": ["A", "B"], **settings}
        ),
        verifier=VerifierSpec(name="fake"),
        instruction="Press A, then B.",
    )


async def press(sandbox: object, label: str) -> Observation:
    from deskhand_sandbox.backends.fake import FakeSandbox

    assert isinstance(sandbox, FakeSandbox)
    boxes = await sandbox.evaluate("buttons")
    assert isinstance(boxes, dict)
    left, top, right, bottom = boxes[label]  # type: ignore[misc]
    return await sandbox.act(Click(x=(left + right) // 2, y=(top + bottom) // 2))


async def test_the_goal_in_order_is_a_success() -> None:
    sandbox = await create_backend("fake").create()
    verifier = create_verifier(task().verifier)
    start = await sandbox.reset(task())
    one = await press(sandbox, "A")
    assert await verifier.step_reward(sandbox) == StepReward(reward=0.0, terminated=False)  # type: ignore[attr-defined]
    two = await press(sandbox, "B")
    assert await verifier.step_reward(sandbox) == StepReward(reward=1.0, terminated=True)  # type: ignore[attr-defined]
    assert (await verifier.score(sandbox, answer=None)).success
    assert len({each.screenshot.digest for each in (start.observation, one, two)}) == 3


async def test_a_wrong_button_ends_it_with_nothing() -> None:
    sandbox = await create_backend("fake").create()
    verifier = create_verifier(task().verifier)
    await sandbox.reset(task())
    await press(sandbox, "B")
    assert await verifier.step_reward(sandbox) == StepReward(reward=0.0, terminated=True)  # type: ignore[attr-defined]
    ended = await press(sandbox, "A")
    assert await sandbox.evaluate("pressed") == ["B"]
    assert ended.screenshot == (await sandbox.observe()).screenshot


async def test_it_crashes_when_told_to() -> None:
    sandbox = await create_backend("fake").create()
    await sandbox.reset(task(crash_at=1))
    await sandbox.act(TypeText(text="still there"))
    with pytest.raises(SandboxDied, match="act 1"):
        await sandbox.act(TypeText(text="gone"))
    with pytest.raises(SandboxDied):
        await sandbox.observe()


async def test_it_hangs_and_is_slow_when_told_to() -> None:
    sandbox = await create_backend("fake").create()
    await sandbox.reset(task(slow_at=0, slow_s=0.05, hang_at=1))
    began = time.perf_counter()
    await sandbox.act(TypeText(text="slow"))
    assert time.perf_counter() - began >= 0.05
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await sandbox.act(TypeText(text="hangs"))


async def test_a_reset_fails_when_told_to() -> None:
    with pytest.raises(SandboxDied, match="reset"):
        await (await create_backend("fake").create()).reset(task(fail_reset=True))


async def test_refused_actions_change_nothing_and_count_nothing() -> None:
    sandbox = await create_backend("fake").create()
    await sandbox.reset(task(crash_at=0))
    with pytest.raises(InvalidAction, match=r"160 x 200"):
        await sandbox.act(Click(x=160, y=0))
    with pytest.raises(UnsupportedCapability, match="Navigate"):
        await sandbox.act(Navigate(url="http://example.com"))
    assert await sandbox.evaluate("acts") == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"crash_on": 3}, "did you mean crash_at"),
        ({"goal": ["C"]}, "must name some of the buttons"),
        ({"width_px": 3}, "3 x 200"),
        ({"slow_s": -1}, "negative"),
        ({"buttons": "AB"}, "list of labels"),
    ],
)
async def test_wrong_settings_are_refused(settings: dict[str, JsonValue], said: str) -> None:
    sandbox = await create_backend("fake").create()
    with pytest.raises(InvalidTask, match=said):
        await sandbox.reset(task(**settings))


async def test_snapshots_and_forks_are_apart() -> None:
    sandbox = await create_backend("fake").create()
    start = await sandbox.reset(task())
    kept = await sandbox.snapshot()
    await press(sandbox, "A")
    (copy,) = await sandbox.fork(1)
    assert (await sandbox.restore(kept)).screenshot == start.observation.screenshot
    assert await copy.evaluate("pressed") == ["A"]
    with pytest.raises(UnknownName, match="snapshot"):
        await sandbox.restore("nowhere")


async def test_an_unknown_value_is_named() -> None:
    sandbox = await create_backend("fake").create()
    with pytest.raises(VerifierError, match="did you mean pressed"):
        await sandbox.evaluate("presed")


async def test_the_same_seed_shows_the_same_screen() -> None:
    sandbox = await create_backend("fake").create()
    shown = [
        (await sandbox.reset(replace(make_task("fake/press-button", seed)))).observation.screenshot.digest
        for seed in (1, 2, 1)
    ]
    assert shown[0] == shown[2] != shown[1]
