import builtins
import random
from collections.abc import Mapping
from typing import Any

import pytest

from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName
from deskhand_sandbox.registry import BACKENDS, VERIFIERS, backend_kinds, create_backend, create_verifier
from deskhand_sandbox.store.goals import draw_goal
from deskhand_sandbox.types import JsonValue, VerifierSpec

SETTINGS: Mapping[str, Mapping[str, JsonValue]] = {
    "android": {"settings": {"system/font_scale": "1.3"}},
    "answer": {"expected": "yes"},
    "checks": {"checks": {"it is so": "true"}},
    "expression": {"expression": "1"},
    "osworld": {"evaluator": {"func": "infeasible"}},
    "outline": {"conditions": [{"role": "button", "name": "Save"}]},
    "store": {"goal": draw_goal(random.Random(0)).settings()},
}
"""Settings of the verifiers that need some."""


def test_kinds_are_known_without_loading_them() -> None:
    known = ("android", "browser", "desktop", "fake", "vm", "world")
    assert backend_kinds() == tuple(sorted(BACKENDS)) == known


async def test_a_backend_is_made_by_name() -> None:
    backend = create_backend("fake", width_px=80)
    sandbox = await backend.create()
    assert (backend.kind, sandbox.kind) == ("fake", "fake")
    await backend.close()


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean browser"):
        create_backend("brwser")
    with pytest.raises(UnknownName, match="did you mean miniwob"):
        create_verifier(VerifierSpec(name="miniwb"))


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_verifier_loads(name: str) -> None:
    assert callable(create_verifier(VerifierSpec(name=name, settings=SETTINGS.get(name, {}))).score)


def test_a_verifier_refuses_settings_it_does_not_know() -> None:
    with pytest.raises(InvalidTask, match="sharpness"):
        create_verifier(VerifierSpec(name="miniwob", settings={"sharpness": 3}))


def test_a_backend_refuses_settings_it_does_not_know() -> None:
    with pytest.raises(InvalidTask, match="did you mean executable"):
        create_backend("browser", executible="/bin/true")
    with pytest.raises(InvalidTask, match="did you mean buttons"):
        create_backend("fake", button=["a"])


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without_playwright(name: str, scope: Mapping[str, Any] | None = None, *more: Any) -> Any:
        if name.partition(".")[0] == "playwright":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return really(name, scope, *more)

    import sys

    for name in [each for each in sys.modules if each.startswith("deskhand_sandbox.backends.browser")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_playwright)
    with pytest.raises(BackendMissing, match=r"pip install 'deskhand\[browser\]'"):
        create_backend("browser")
