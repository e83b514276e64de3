from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.memory import WindowMemory
from deskhand_agent.memory.constant import REMEMBER, Constant
from deskhand_agent.prompt import PLAN, build_prompt
from deskhand_agent.types import Context, Step


def test_the_last_thought_and_turn_are_all_there_is(step: Callable[..., Step]) -> None:
    steps = [step(0, "a", thought="first"), step(1, "b", thought="second"), step(2, "c")]
    first, last = Constant().recall(steps[:1]), Constant().recall(steps)
    assert Constant().recall(()).written == ""
    assert first.written == "first" and first.steps == (steps[0],)
    assert last.written == "second"  # a turn without a thought leaves it
    assert last.steps == (steps[2],) and last.dropped == 2
    assert not Constant().due(steps)


@pytest.mark.parametrize("screens", [1, 4])
def test_the_model_is_shown_it_once_and_told_to_write_the_next(
    stub: SimpleNamespace, step: Callable[..., Step], screens: int
) -> None:
    steps = tuple(step(n, f"did {n}", thought=f"mind {n}") for n in range(5))
    now = Context(task=stub.task(), instruction="Do it.", steps=steps, observation=stub.observation())
    memory = WindowMemory(strategy="constant", n_screenshots=screens)
    shown = build_prompt(now, memory=memory, coordinates=CoordinateSystem(), thoughts=True)
    text = "".join(message.text for message in shown)
    assert "What you keep in mind:\nmind 4\n" in text
    assert text.count("mind 4") == text.count("did 4") == 1 and text.endswith(REMEMBER)
    assert "mind 3" not in text and "did 3" not in text and "(4 earlier left out)\n" in text
    planning = build_prompt(now, memory=memory, coordinates=CoordinateSystem(), asking=PLAN)
    assert REMEMBER not in planning[-1].text and planning[-1].text.endswith(PLAN)
