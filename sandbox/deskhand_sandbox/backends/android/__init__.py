"""Android devices by adb: real ones, the SDK's emulator, and a simulator where neither is to be had."""

from __future__ import annotations

from deskhand_sandbox.backends.android.backend import AndroidBackend
from deskhand_sandbox.backends.android.sandbox import AndroidSandbox
from deskhand_sandbox.backends.android.settings import AndroidSettings, DeviceSettings
from deskhand_sandbox.backends.settings_checks import backend_settings

__all__ = ["AndroidBackend", "AndroidSandbox", "AndroidSettings", "DeviceSettings", "create"]


def create(**settings: object) -> AndroidBackend:
    """The backend `android`; settings as in `AndroidSettings`.

    Raises:
        BackendMissing: there is no adb, or what the chosen kind of device needs is not installed.
        InvalidTask: an unknown or wrong setting.
    """
    return AndroidBackend(backend_settings("android", AndroidSettings, settings))
