"""Apps by the names their launcher shows."""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.errors import InvalidAction, UnknownName

LAUNCHER = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
OTHER_NAMES = {
    "camera2": "camera",
    "deskclock": "clock",
    "documentsui": "files",
    "gm": "gmail",
    "googlequicksearchbox": "google",
    "messaging": "messages",
    "mms": "messages",
    "dialer": "phone",
    "vending": "play store",
    "apps.photos": "photos",
    "apps.messaging": "messages",
    "gallery3d": "gallery",
}
"""Last part of a package's name -> what its launcher shows, where the two differ."""


def app_names(components: list[str]) -> dict[str, str]:
    """Name in lower case -> component ("package/activity") of what a launcher can start."""
    names: dict[str, str] = {}
    for component in components:
        package = component.partition("/")[0]
        last = package.rpartition(".")[2]
        for name in (
            package,
            last,
            OTHER_NAMES.get(last),
            OTHER_NAMES.get(".".join(package.split(".")[-2:])),
        ):
            if name:
                names.setdefault(name.lower(), component)
    return names


async def open_app(device: Device, name: str, own: Mapping[str, str]) -> None:
    """Start an app, or bring it to the front.

    Args:
        own: name -> package or component, before any other.

    Raises:
        InvalidAction: no such app; says the nearest.
        InfrastructureError: the device failed.
    """
    listed = await device.told("cmd", "package", "query-activities", "--brief", "--components", *LAUNCHER)
    names = app_names([line.strip() for line in listed.splitlines() if "/" in line])
    chosen = {key.lower(): value for key, value in own.items()}
    component = chosen.get(name.strip().lower()) or names.get(name.strip().lower())
    if component is None:
        raise InvalidAction(
            str(UnknownName("app", name, [*chosen, *(key for key in names if "." not in key)]))
        )
    if "/" not in component:
        component = names.get(component.lower(), component)
    if "/" in component:
        await device.told("am", "start", "-W", *LAUNCHER, "-n", component)
    else:
        await device.told("monkey", "-p", component, "-c", LAUNCHER[-1], "1")
