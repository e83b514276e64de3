"""A small computer, policy, source of computers and chat endpoint, each made to fail at a chosen moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction, LeaseUnavailable
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import (
    Action,
    Click,
    DeviceAction,
    EnvironmentSpec,
    Image,
    Limits,
    Observation,
    Outcome,
    Start,
    StepReward,
    Task,
    VerifierSpec,
)

HANG = "hang"
Trouble = Exception | str


def picture(name: str) -> Image:
    data = f"picture of {name}".encode()
    return as_image(data, (100, 80))


def observation(name: str = "0", **fields: Any) -> Observation:
    return Observation(screenshot=picture(name), captured_at_s=1.0, settled_ms=3.0, **fields)


async def trouble(what: Trouble | None) -> None:
    if isinstance(what, Exception):
        raise what
    if what == HANG:
        await asyncio.Event().wait()


class StubSandbox(Sandbox):
    """Counts clicks at (10, 10); the task's seed says how many are wanted."""

    def __init__(
        self, id_: str = "stub-0", kind: str = "stub", **troubles: Trouble | dict[int, Trouble]
    ) -> None:
        self.id, self.kind = id_, kind
        self.troubles = troubles
        """"reset" to trouble, "act" to {number of the action: trouble}."""
        self.clicks = self.acted = self.wanted = self.looks = 0
        self.resets: list[Task] = []
        self.actions: list[DeviceAction] = []
        self.closed = False

    async def reset(self, task: Task) -> Start:
        self.clicks = self.acted = 0
        self.wanted = task.seed
        self.resets.append(task)
        await trouble(self.troubles.get("reset"))  # type: ignore[arg-type]
        return Start(instruction=f"Click {task.seed} times", observation=observation("start"))

    async def observe(self, *, text_tree: bool = False) -> Observation:
        self.looks += 1
        return observation(str(self.acted), text_tree=f'text "{self.acted}"' if text_tree else None)

    async def act(self, action: DeviceAction) -> Observation:
        number, self.acted = self.acted, self.acted + 1
        await trouble(self.troubles.get("act", {}).get(number))  # type: ignore[union-attr]
        if isinstance(action, Click):
            if not (0 <= action.x < 100 and 0 <= action.y < 80):
                raise InvalidAction(f"({action.x}, {action.y}) is off the screen")
            self.clicks += (action.x, action.y) == (10, 10)
        self.actions.append(action)
        return observation(str(self.acted))

    async def close(self) -> None:
        self.closed = True


class StubVerifier:
    """Done when the wanted clicks are made, or when the answer is the number of them."""

    def __init__(self, *, score: Trouble | None = None) -> None:
        self.trouble = score
        self.answers: list[str | None] = []

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        self.answers.append(answer)
        await trouble(self.trouble)
        assert isinstance(sandbox, StubSandbox)
        done = sandbox.clicks == sandbox.wanted or answer == str(sandbox.wanted)
        return Outcome(score=float(done), success=done)


class StubRewards(StubVerifier):
    """One point per right click; ends the episode when all are made."""

    def __init__(self, *, step: Trouble | None = None) -> None:
        super().__init__()
        self.step = step
        self.asked = 0

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        self.asked += 1
        await trouble(self.step)
        assert isinstance(sandbox, StubSandbox)
        return StepReward(reward=1.0, terminated=sandbox.clicks >= sandbox.wanted)


class StubPolicy:
    """Decides what it is told to, turn by turn; the last entry again and again."""

    id = "stub-policy"

    def __init__(self, *turns: Sequence[Action] | Trouble | Decision) -> None:
        self.turns = turns or ((Click(x=10, y=10),),)
        self.contexts: list[Context] = []

    async def act(self, context: Context) -> Decision:
        self.contexts.append(context)
        turn = self.turns[min(len(context.steps), len(self.turns) - 1)]
        if isinstance(turn, Decision):
            return turn
        await trouble(turn if isinstance(turn, Exception | str) else None)
        await asyncio.sleep(0)
        return Decision(actions=tuple(turn), text="…")


class StubSource:
    """Lends sandboxes made on demand, up to `capacity` at once."""

    def __init__(
        self,
        make: Callable[[int], Sandbox] | None = None,
        *,
        capacity: int = 100,
        refuse: Sequence[Exception] = (),
    ) -> None:
        self.make = make or (lambda number: StubSandbox(f"stub-{number}"))
        self.capacity = capacity
        self.refuse = list(refuse)
        """Errors for the first leases."""
        self.made: list[Sandbox] = []
        self.out = self.most_out = 0
        self.give_back: Trouble | None = None

    def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AbstractAsyncContextManager[Sandbox]:
        return self._lease(kind, wait_s)

    @asynccontextmanager
    async def _lease(self, kind: str, wait_s: float) -> AsyncIterator[Sandbox]:
        if self.refuse:
            raise self.refuse.pop(0)
        ends = time.monotonic() + wait_s
        while self.out >= self.capacity:
            if time.monotonic() > ends:
                raise LeaseUnavailable(f"no {kind} sandbox became free within {wait_s:g} s")
            await asyncio.sleep(0.005)
        sandbox = self.make(len(self.made))
        self.made.append(sandbox)
        self.out += 1
        self.most_out = max(self.most_out, self.out)
        try:
            yield sandbox
        finally:
            self.out -= 1
            await trouble(self.give_back)


def task(clicks: int = 3, *, turns: int = 10, seconds: float = 30.0, kind: str = "stub") -> Task:
    return Task(
        id="stub/click",
        environment=EnvironmentSpec(kind=kind),
        verifier=VerifierSpec(name="stub"),
        seed=clicks,
        limits=Limits(turns=turns, seconds=seconds),
    )


def past(index: int, decision: Decision, **fields: Any) -> Step:
    """A turn that is over."""
    return Step(
        index=index,
        observation=observation(f"before {index}"),
        decision=decision,
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
        **fields,
    )


@pytest.fixture
def stub() -> SimpleNamespace:
    return SimpleNamespace(
        HANG=HANG,
        Policy=StubPolicy,
        Rewards=StubRewards,
        Sandbox=StubSandbox,
        Source=StubSource,
        Verifier=StubVerifier,
        observation=observation,
        past=past,
        picture=picture,
        task=task,
    )
