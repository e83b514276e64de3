"""What stands behind a sandbox: where its device comes from, and how that begins anew."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod

from blake3 import blake3

from deskhand_sandbox.errors import InfrastructureError, UnsupportedCapability


class Machine(ABC):
    """A device that an adb server has taken up, for as long as its sandbox is there."""

    serial: str
    """How adb names it."""
    snapshots = False
    """Whether `save` and `load` work."""
    copies = False
    """Whether `copy` works."""

    @abstractmethod
    async def begin(self) -> None:
        """Bring the device to the state every task starts from.

        Raises:
            InfrastructureError: it failed.
        """

    async def save(self) -> str:
        """Keep the whole state; the name `load` takes.

        Raises:
            UnsupportedCapability: this device keeps none.
        """
        raise UnsupportedCapability("this Android device keeps no snapshots")

    async def load(self, name: str) -> None:
        """Go back to a kept state.

        Raises:
            UnknownName: nothing is kept under that name.
        """
        raise UnsupportedCapability("this Android device keeps no snapshots")

    async def forget(self, name: str) -> None:
        """Let go of a kept state, where there is one of that name.

        Raises:
            UnsupportedCapability: this device keeps none.
        """
        raise UnsupportedCapability("this Android device keeps no snapshots")

    async def copy(self) -> Machine:
        """Another device in the very state this one is in.

        Raises:
            UnsupportedCapability: this device cannot be copied.
            InfrastructureError: it failed.
        """
        raise UnsupportedCapability("this Android device cannot be copied")

    @abstractmethod
    def alive(self) -> bool:
        """False once it is known to be gone."""

    async def died(self) -> bool:
        """Whether a call that failed did so because it is gone."""
        return not self.alive()

    @abstractmethod
    async def close(self) -> None:
        """Let go of it; safe to call twice."""


class Attached(Machine):
    """A device that is there already; its apps and their data are left as they are.

    Only one sandbox of this machine has it at a time, whichever process it is in.
    """

    def __init__(self, serial: str) -> None:
        """
        Raises:
            InfrastructureError: another sandbox has it.
        """
        self.serial = serial
        self._hold = socket.socket(socket.AF_UNIX)
        try:
            # an abstract name: no file, and it goes with the process
            self._hold.bind(f"\0deskhand-device-{blake3(serial.encode()).hexdigest()[:32]}")
        except OSError as error:
            self._hold.close()
            raise InfrastructureError(f"the device {serial} is in use: {error.strerror}") from error

    async def begin(self) -> None:
        """A task's own settings say what is cleared."""

    def alive(self) -> bool:
        return self._hold.fileno() >= 0

    async def close(self) -> None:
        self._hold.close()
