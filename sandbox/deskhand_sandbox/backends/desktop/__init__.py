"""A desktop without a virtual machine: an X server, a window manager and programs, confined by bubblewrap.

The kernel is this machine's: it keeps an agent's programs from the machine's files, processes and network,
and it is no virtual machine.
"""

from __future__ import annotations

from deskhand_sandbox.backends.desktop.backend import DesktopBackend
from deskhand_sandbox.backends.desktop.sandbox import DesktopSandbox
from deskhand_sandbox.backends.desktop.settings import DesktopSettings, ScreenSettings
from deskhand_sandbox.backends.settings_checks import backend_settings

__all__ = ["DesktopBackend", "DesktopSandbox", "DesktopSettings", "ScreenSettings", "create"]


def create(**settings: object) -> DesktopBackend:
    """The backend `desktop`; settings as in `DesktopSettings`.

    Raises:
        BackendMissing: bubblewrap, Xvfb, openbox, mss or pyautogui is not installed.
        InvalidTask: an unknown setting, or a wrong value.
    """
    return DesktopBackend(backend_settings("desktop", DesktopSettings, settings))
