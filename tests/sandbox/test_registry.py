import builtins
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName
from deskhand_sandbox.manager import Lending
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


@pytest.fixture
def kiosk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a kind of its own, and with one that has a name of ours."""
    (tmp_path / "my_kiosk.py").write_text(
        "from deskhand_sandbox.backends.fake import FakeBackend\n\n\n"
        "def create(*, colour):\n    return FakeBackend({})\n"
    )
    about = tmp_path / "my_kiosk-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-kiosk\nVersion: 1.0\n")
    points = "[deskhand.backends]\nkiosk = my_kiosk:create\nworld = my_kiosk:create\n"
    (about / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("kiosk")
def test_other_packages_bring_kinds_of_their_own() -> None:
    assert "kiosk" in backend_kinds()
    assert create_backend("kiosk", colour="red").kind == "fake"
    with pytest.raises(InvalidTask, match="colours"):
        create_backend("kiosk", colours="red")
    with pytest.raises(UnknownName, match="did you mean kiosk"):
        create_backend("kiosks")
    assert type(create_backend("world")).__module__.startswith("deskhand_sandbox")
    pools = Lending(pools={"kiosk": {"settings": {"colour": "red"}}}).pools_of(["kiosk"], most=1)
    assert pools["kiosk"].settings == {"colour": "red"}


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
