from __future__ import annotations

from dataclasses import replace

import pytest

from deskhand_sandbox.backends.vm import GuestSettings, VmSettings, create
from deskhand_sandbox.backends.vm.settings import guest_settings
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import EnvironmentSpec, Task, VerifierSpec

TASK = Task(
    id="vm/test",
    environment=EnvironmentSpec(kind="vm", settings={"applications": [["xterm"]]}),
    verifier=VerifierSpec(name="expression"),
    instruction="Work.",
)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"memory_mb": 1}, "memory_mb must be a whole number from 16"),
        ({"memory_mb": True}, "memory_mb must be a whole number"),
        ({"cpus": 0}, "cpus must be a whole number from 1"),
        ({"size_px": (1366, 768)}, "multiples of 8"),
        ({"size_px": (0, 0)}, "from 320 to 8192"),
        ({"accelerator": "hvf"}, "auto, kvm, emulation"),
        ({"boot_deadline_s": 0}, "boot_deadline_s must be a positive number"),
        ({"image": "/no/such/disk.qcow2"}, "no disk image at /no/such/disk"),
        ({"image": 3}, "image must be text"),
        ({"memory": 3}, "did you mean memory_mb"),
    ],
)
def test_wrong_settings_of_the_backend_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        create(**settings)


def test_sizes_may_come_as_lists() -> None:
    assert VmSettings(size_px=[800, 600]).size_px == (800, 600)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"applications": "xterm"}, "lists of words"),
        ({"network": 1}, "network must be true or false"),
        ({"image_format": "gif"}, "png, jpeg or webp"),
        ({"size_px": [1366, 768]}, "multiples of 8"),
        ({"still_ms": -1}, "still_ms must be a positive number"),
        ({"prepare": ["echo"]}, "prepare must be text"),
        ({"aplications": []}, "did you mean applications"),
    ],
)
def test_wrong_settings_of_a_task_are_refused(settings: dict[str, object], said: str) -> None:
    task = replace(TASK, environment=EnvironmentSpec(kind="vm", settings=settings))  # type: ignore[arg-type]
    with pytest.raises(InvalidTask, match=said):
        guest_settings(task, agent=True)


def test_a_guest_without_an_agent_takes_no_task_that_needs_one() -> None:
    assert guest_settings(TASK, agent=True).applications == (("xterm",),)
    with pytest.raises(InvalidTask, match="take an agent in the guest"):
        guest_settings(TASK, agent=False)
    bare = replace(TASK, environment=EnvironmentSpec(kind="vm"))
    assert guest_settings(bare, agent=False) == GuestSettings()
