"""`deskhand tasks proposals` and `answer` against a platform that listens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from PIL import Image as Picture

from deskhand_agent.types import Context, Decision
from deskhand_flywheel.store import Store
from deskhand_platform.proposals import Proposals
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import AskUser, Click, EnvironmentSpec, Observation, Task, VerifierSpec


async def test_a_proposal_is_listed_and_replaced(
    services: Services, store: Store, person: Any, beside: Callable[..., Awaitable[Any]]
) -> None:
    ada = await person("ada")
    seen = Observation(screenshot=encoded(Picture.new("RGB", (40, 30))), captured_at_s=1.0, settled_ms=1.0)
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    context = Context(task=task, instruction="Do it.", steps=(), observation=seen, trajectory_id="a")
    decision = Decision(actions=(Click(x=1, y=1),), text="click")
    question = Decision(actions=(AskUser(question="Which?"),), text="call_user")
    asking = asyncio.create_task(Proposals(store).review(context, decision, within_s=600.0))

    async def waiting() -> None:
        async with asyncio.timeout(60):
            while not await Proposals(store).waiting():
                await asyncio.sleep(0.01)

    listener = listen("127.0.0.1", 0)
    try:
        async with serve_api(services, listener):
            signed = partial(beside, DESKHAND_URL=address_of(listener), DESKHAND_TOKEN=ada)
            await waiting()
            status, shown, _ = await signed("tasks", "proposals")
            row = shown.splitlines()[1]
            assert status == 0 and "Do it." in row and "click(point='<point>1 1</point>')" in row
            own = ("--replace", "click(point='<point>5 6</point>')", "--reason", "It missed.")
            assert await signed("tasks", "answer", row.split()[0], *own) == (0, "answered\n", "")
            status, _, said = await signed("tasks", "answer", row.split()[0])
            assert status == 1 and "ada has answered already" in said
            asked = asyncio.create_task(Proposals(store).review(context, question, within_s=600.0))
            await waiting()
            row = (await signed("tasks", "proposals"))[1].splitlines()[1]
            assert "call_user(content='Which?')" in row
            own = ("--answer", "The blue one.")
            assert await signed("tasks", "answer", row.split()[0], *own) == (0, "answered\n", "")
    finally:
        listener.close()
    answer = await asking
    assert answer is not None and (answer.by, answer.reason) == ("ada", "It missed.")
    assert answer.actions == (Click(x=5, y=6),)
    told = await asked
    assert told is not None and (told.actions, told.answer) == (None, "The blue one.")
