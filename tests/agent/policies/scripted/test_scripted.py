from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Context, Oracle


def test_it_is_an_oracle() -> None:
    assert isinstance(ScriptedPolicy(), Oracle)


async def test_a_task_without_an_oracle_is_refused(stub: SimpleNamespace) -> None:
    context = Context(task=stub.task(), instruction="x", steps=(), observation=stub.observation())
    with pytest.raises(OracleError, match="no oracle for task 'stub/click'"):
        await ScriptedPolicy().act(context)


async def test_without_the_state_behind_the_screen_it_is_lost(stub: SimpleNamespace) -> None:
    task = replace(stub.task(), id="miniwob/click-test")
    context = Context(task=task, instruction="x", steps=(), observation=stub.observation())
    with pytest.raises(OracleError, match="reads the state behind the screen"):
        await ScriptedPolicy().act(context)
