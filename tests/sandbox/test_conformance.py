import pytest

from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.conformance import CHECKS, ConformanceError, check_backend, check_sandboxes
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import DeviceAction, Observation, Start, Task, TypeText

TASK = make_task("fake/press-button", 3)


async def test_the_fake_sandbox_conforms() -> None:
    assert await check_backend(create_backend("fake"), TASK) == tuple(CHECKS)


@pytest.mark.browser
@pytest.mark.parametrize(
    "task", ["miniwob/login-user", pytest.param("miniwob/choose-date", marks=pytest.mark.slow)]
)
async def test_the_browser_sandbox_conforms(task: str) -> None:
    backend = create_backend("browser")
    try:
        assert await check_backend(backend, make_task(task, 3)) == tuple(CHECKS)
    finally:
        await backend.close()


class Forgetful(FakeSandbox):
    """Keeps what was typed over a reset."""

    async def reset(self, task: Task) -> Start:
        text = str(await self.evaluate("text"))
        start = await super().reset(task)
        return Start(instruction=start.instruction, observation=await self.act(TypeText(text=text)))


class Misleading(FakeSandbox):
    """Takes any action and does nothing."""

    async def act(self, action: DeviceAction) -> Observation:
        return await self.observe()


async def test_the_suite_finds_what_is_wrong() -> None:
    async def create() -> FakeSandbox:
        return Misleading({})

    with pytest.raises(ConformanceError) as caught:
        await check_sandboxes(create, kind="fake", task=TASK)
    assert "off screen: a click at (160, 0) must raise InvalidAction and did not" in str(caught.value)
    assert "capabilities" in str(caught.value)


async def test_the_suite_finds_a_wrong_kind_and_a_shared_id() -> None:
    one = FakeSandbox({})

    async def create() -> FakeSandbox:
        return one

    with pytest.raises(ConformanceError, match="ids must be given and differ"):
        await check_sandboxes(create, kind="fake", task=TASK)


async def test_the_suite_finds_what_survives_a_reset() -> None:
    async def create() -> FakeSandbox:
        return Forgetful({})

    with pytest.raises(ConformanceError, match="another start state after another episode"):
        await check_sandboxes(create, kind="fake", task=TASK)
