"""Virtual machines: libvirt on QEMU, by KVM where guests run on it and by emulation elsewhere.

An image is booted once and saved; every sandbox is a clone of that state and goes back to it for each task.
The golden image (`image/`) has a screen, applications and our agent inside; a disk of your own runs without.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.settings_checks import backend_settings
from deskhand_sandbox.backends.vm.settings import GuestSettings, VmSettings
from deskhand_sandbox.errors import BackendMissing

if TYPE_CHECKING:
    from deskhand_sandbox.backends.vm.backend import VmBackend

__all__ = ["GuestSettings", "VmSettings", "create"]

# what libvirt fails at is raised, and not printed as well; it reads this when it is loaded
os.environ.setdefault("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null")

PROGRAMS = ("qemu-system-x86_64", "qemu-img")


def create(**settings: object) -> VmBackend:
    """The backend `vm`; settings as in `VmSettings`.

    Raises:
        BackendMissing: QEMU or libvirt is not installed.
        InvalidTask: an unknown or wrong setting.
    """
    own = backend_settings("vm", VmSettings, settings)
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        raise BackendMissing(
            f"a VM needs {', '.join(missing)}: run `make setup`, or on Debian "
            "apt-get install qemu-system-x86 qemu-utils libvirt-daemon libvirt-daemon-driver-qemu"
        )
    if importlib.util.find_spec("libvirt") is None:
        raise BackendMissing("a VM needs the module libvirt: pip install 'deskhand[vm]'")
    # libvirt is loaded no earlier than a VM is asked for
    from deskhand_sandbox.backends.vm.backend import VmBackend

    return VmBackend(own)
