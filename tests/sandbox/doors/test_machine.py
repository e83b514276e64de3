from __future__ import annotations

import pytest

from deskhand_sandbox.backends.fake import FakeBackend
from deskhand_sandbox.doors.machine import Machine
from deskhand_sandbox.errors import SandboxDied


def run(machine: Machine, work: object) -> object:
    return machine.loop.run(work, limit_s=60)  # type: ignore[arg-type]


def test_the_sandbox_is_kept_until_it_is_broken_or_dropped() -> None:
    machine = Machine(FakeBackend({}), owned=True)
    first = run(machine, machine.sandbox())
    assert run(machine, machine.sandbox()) is first
    machine.broken = True
    second = run(machine, machine.sandbox())
    assert second is not first
    assert machine.broken is False
    with pytest.raises(SandboxDied):
        run(machine, first.observe())  # type: ignore[attr-defined]
    run(machine, machine.drop())
    assert run(machine, machine.sandbox()) is not second
    machine.close()


@pytest.mark.parametrize("owned", [True, False])
async def test_a_backend_is_closed_only_where_it_is_owned(owned: bool) -> None:
    backend = FakeBackend({})
    machine = Machine(backend, owned=owned)
    run(machine, machine.sandbox())
    machine.close()
    machine.close()
    with pytest.raises(SandboxDied, match="closed"):
        run(machine, machine.sandbox())
    if owned:
        with pytest.raises(SandboxDied):
            await backend.create()
    else:
        assert await backend.create()
