"""Backends and verifiers by name; nothing of one is imported before it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from typing import cast

from deskhand_sandbox.base import Backend, Verifier
from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName
from deskhand_sandbox.types import JsonValue, VerifierSpec

GROUP = "deskhand.backends"
"""Entry points of installed packages that bring kinds of their own: kind = "module:factory"."""

BACKENDS: Mapping[str, str] = {
    "android": "deskhand_sandbox.backends.android:create",
    "browser": "deskhand_sandbox.backends.browser:create",
    "desktop": "deskhand_sandbox.backends.desktop:create",
    "fake": "deskhand_sandbox.backends.fake:create",
    "vm": "deskhand_sandbox.backends.vm:create",
    "world": "deskhand_sandbox.backends.world:create",
}
"""Kind of sandbox -> module and factory, of those that come with this package."""

VERIFIERS: Mapping[str, str] = {
    "android": "deskhand_sandbox.verifiers.android:create",
    "answer": "deskhand_sandbox.verifiers.answer:create",
    "checks": "deskhand_sandbox.verifiers.checks:create",
    "expression": "deskhand_sandbox.verifiers.expression:create",
    "fake": "deskhand_sandbox.verifiers.fake:create",
    "game": "deskhand_sandbox.verifiers.game:create",
    "miniwob": "deskhand_sandbox.verifiers.miniwob:create",
    "none": "deskhand_sandbox.verifiers.none:create",
    "osworld": "deskhand_sandbox.verifiers.osworld:create",
    "outline": "deskhand_sandbox.verifiers.outline:create",
    "store": "deskhand_sandbox.verifiers.store:create",
    "world": "deskhand_sandbox.verifiers.world:create",
}
"""Verifier -> module and factory."""

LEFT_BEHIND: Mapping[str, str] = {"vm": "deskhand_sandbox.backends.vm.places:end_left"}
"""Kind -> what ends sandboxes that outlived their process, where a journal misses them: QEMU is no child."""

EXTRAS: Mapping[str, str] = {
    "adbutils": "android",
    "libvirt": "vm",
    "miniwob": "browser",
    "playwright": "browser",
}
"""Third-party module -> the extra that brings it."""


def backend_kinds() -> tuple[str, ...]:
    """Every kind of sandbox there is, those of other packages included, sorted."""
    return tuple(sorted({*BACKENDS, *(point.name for point in entry_points(group=GROUP))}))


def create_backend(kind: str, **settings: object) -> Backend:
    """A backend of that kind; nothing is started before its first `create`.

    Raises:
        UnknownName: no such kind, here or in another installed package.
        BackendMissing: its extra is not installed; the message says the `pip install` that mends it.
        InvalidTask: a setting it does not know or accept.
    """
    factory = _load(_target(kind), f"the {kind} sandbox")
    try:
        return cast("Backend", factory(**settings))
    except TypeError as error:
        raise InvalidTask(f"the {kind} backend refuses its settings: {error}") from error


def check_kind(kind: str) -> None:
    """
    Raises:
        UnknownName: no such kind; says the nearest.
    """
    _target(kind)


def check_settings(kind: str, settings: Mapping[str, JsonValue]) -> None:
    """Have a backend's own record look at its settings; what is not installed here is not asked for.

    Raises:
        UnknownName: no such kind.
        InvalidTask: a setting it does not know or accept.
    """
    with suppress(BackendMissing):
        create_backend(kind, **settings)


def end_left_behind(pools: Iterable[tuple[str, Mapping[str, JsonValue]]]) -> int:
    """End what processes that are gone left running and a manager's journal does not know of.

    Args:
        pools: kind and settings of those to come: they may say where to look, beside the usual places.

    Returns:
        How many processes that were.
    """
    given = list(pools)
    ended = 0
    for kind, target in LEFT_BEHIND.items():
        end = cast("Callable[[Mapping[str, JsonValue]], int]", _load(target, f"the {kind} sandbox"))
        ended += end({}) + sum(end(settings) for each, settings in given if each == kind)
    return ended


def create_verifier(spec: VerifierSpec) -> Verifier:
    """The verifier a task names.

    Raises:
        UnknownName: no such verifier.
        InvalidTask: a setting it does not know or accept.
    """
    try:
        target = VERIFIERS[spec.name]
    except KeyError:
        raise UnknownName("verifier", spec.name, VERIFIERS) from None
    factory = _load(target, f"the {spec.name} verifier")
    try:
        return cast("Verifier", factory(**spec.settings))
    except TypeError as error:
        raise InvalidTask(f"the {spec.name} verifier refuses its settings: {error}") from error


def _target(kind: str) -> str:
    """Module and factory of a kind; no other package has one of ours."""
    if kind in BACKENDS:
        return BACKENDS[kind]
    for point in entry_points(group=GROUP, name=kind):
        return point.value
    raise UnknownName("kind of sandbox", kind, backend_kinds())


def _load(target: str, what: str) -> Callable[..., object]:
    module, _, name = target.partition(":")
    try:
        return cast("Callable[..., object]", getattr(importlib.import_module(module), name))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise BackendMissing(
            f"{what} needs the module {error.name!r}: pip install 'deskhand[{extra}]'"
        ) from error
