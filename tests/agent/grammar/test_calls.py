from __future__ import annotations

import pytest

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar.calls import scan_calls


def test_calls_are_those_of_the_sandbox_package() -> None:
    (call,) = scan_calls(" f(a='x', b=2)", 1)
    assert (call.name, call.arguments, call.position) == ("f", {"a": "x", "b": 2}, 1)


def test_what_is_wrong_keeps_its_place_and_becomes_the_agents_fault() -> None:
    with pytest.raises(ActionSyntaxError, match=r"expected ',' or '\)' at position 8") as caught:
        scan_calls("f(a='x' b='y')")
    assert (caught.value.position, caught.value.expected) == (8, "',' or ')'")
