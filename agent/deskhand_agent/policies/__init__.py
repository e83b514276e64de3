"""Policies by name, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from deskhand_agent.types import Policy
from deskhand_sandbox.errors import BackendMissing, UnknownName

_POLICIES = {
    "scripted": ("deskhand_agent.policies.scripted", "ScriptedPolicy", "browser"),
    "local": ("deskhand_agent.policies.local", "LocalPolicy", "vlm"),
    "person": ("deskhand_agent.policies.person", "PersonPolicy", ""),
    "openai": ("deskhand_agent.policies.openai", "OpenAIPolicy", ""),
    "openai_computer": ("deskhand_agent.policies.openai_computer", "OpenAIComputerPolicy", ""),
    "anthropic_computer": ("deskhand_agent.policies.anthropic_computer", "AnthropicComputerPolicy", ""),
}
"""Name to module, class, and the extra that brings what the module imports; empty: none is needed."""

_SETTINGS = {
    "openai": "OpenAISettings",
    "openai_computer": "OpenAIComputerSettings",
    "anthropic_computer": "AnthropicComputerSettings",
}
"""Name to the record of what it is told in JSON, in the same module."""

_ANSWERING = ("local", "openai")
"""Those whose class has `Answering.ask`."""


def policy_names() -> tuple[str, ...]:
    """Every name `create_policy` knows."""
    return tuple(_POLICIES)


def settings_of(name: str) -> type[Any] | None:
    """The record of the settings that a policy reads from JSON; None: it reads none."""
    record = _SETTINGS.get(name)
    return None if record is None else cast("type[Any]", getattr(import_module(_POLICIES[name][0]), record))


def answers_questions(name: str) -> bool:
    """Whether the policy can be asked something about its episode beside acting in it."""
    return name in _ANSWERING


def create_policy(name: str, **settings: Any) -> Policy:
    """A policy by name.

    Args:
        settings: the arguments of the policy's class.

    Raises:
        UnknownName: no policy has this name.
        BackendMissing: the extra the policy needs is not installed; says the command that mends it.
        TypeError: a setting the policy does not have.
    """
    if name not in _POLICIES:
        raise UnknownName("policy", name, _POLICIES)
    module, class_name, extra = _POLICIES[name]
    try:
        factory = cast("Callable[..., Policy]", getattr(import_module(module), class_name))
    except ModuleNotFoundError as error:
        missing = error.name or "a module"
        if missing.startswith("deskhand") or not extra:
            raise
        raise BackendMissing(
            f'policy {name!r} needs {missing}: run pip install "deskhand[{extra}]"'
        ) from error
    return factory(**settings)
