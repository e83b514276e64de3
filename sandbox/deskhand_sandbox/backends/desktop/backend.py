"""The desktop backend: what its sandboxes need has to be installed; they share what is made in advance."""

from __future__ import annotations

import importlib.util
import shutil

from deskhand_sandbox.backends.desktop.sandbox import DesktopSandbox
from deskhand_sandbox.backends.desktop.settings import DesktopSettings
from deskhand_sandbox.backends.desktop.stock import Stock
from deskhand_sandbox.base import Backend
from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.isolation import Confinement

PROGRAMS = ("Xvfb", "openbox", "nsenter", "setpriv", "prlimit", "dbus-daemon")
MODULES = ("mss", "pyautogui")


class DesktopBackend(Backend):
    """See `Backend`."""

    kind = "desktop"

    def __init__(self, settings: DesktopSettings) -> None:
        self._settings = settings
        self._stock = Stock(settings.spares, settings.limits, start_s=settings.reset_deadline_s)
        if not Confinement.available():
            raise BackendMissing("a desktop needs bubblewrap, on a machine with namespaces: run `make setup`")
        if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
            raise BackendMissing(f"a desktop needs {', '.join(missing)}: run `make setup`")
        if missing := [name for name in MODULES if importlib.util.find_spec(name) is None]:
            raise BackendMissing(
                f"a desktop needs the modules {', '.join(missing)}: pip install 'deskhand[desktop]'"
            )

    async def create(self) -> DesktopSandbox:
        sandbox = DesktopSandbox(self._settings, self._stock)
        try:
            await sandbox.start()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    async def close(self) -> None:
        await self._stock.close()
