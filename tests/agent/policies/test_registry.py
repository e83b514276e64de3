from __future__ import annotations

import sys

import pytest

from deskhand_agent.policies import answers_questions, create_policy, policy_names
from deskhand_agent.policies.anthropic_computer import AnthropicComputerPolicy
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.openai import OpenAIPolicy
from deskhand_agent.policies.openai_computer import OpenAIComputerPolicy
from deskhand_agent.policies.person import PersonPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.types import Oracle
from deskhand_sandbox.errors import BackendMissing, UnknownName


def test_policies_by_name() -> None:
    apis = ("openai", "openai_computer", "anthropic_computer")
    assert policy_names() == ("scripted", "local", "person", *apis)
    assert isinstance(create_policy("scripted"), Oracle)


def test_it_is_known_of_every_policy_whether_it_answers_questions() -> None:
    classes = {
        "scripted": ScriptedPolicy,
        "local": LocalPolicy,
        "person": PersonPolicy,
        "openai": OpenAIPolicy,
        "openai_computer": OpenAIComputerPolicy,
        "anthropic_computer": AnthropicComputerPolicy,
    }
    assert set(classes) == set(policy_names())
    for name, made in classes.items():
        assert answers_questions(name) is hasattr(made, "ask"), name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean scripted"):
        create_policy("scriptd")


def test_a_setting_the_policy_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        create_policy("openai", model="m", colour="red")


def test_a_missing_extra_is_named_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("deskhand_agent.policies.local", "deskhand_agent.models.bundle"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(BackendMissing, match=r'pip install "deskhand\[vlm\]"'):
        create_policy("local")
