"""What a VM is made of, as libvirt's domain XML (libvirt's documentation, "Domain XML format")."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from deskhand_sandbox.backends.vm.network import GuestNetwork

QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
CHANNEL = "org.deskhand.agent"
NETWORK = "guestnet"
"""QEMU's name of the network card: `set_link` pulls its plug."""
Xml.register_namespace("qemu", QEMU)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """A machine: whatever it consists of decides whether a saved state fits it."""

    accelerator: str
    """"kvm" or "qemu" (emulation)."""
    memory_mb: int
    cpus: int
    size_px: tuple[int, int]
    translation_cache_mb: int
    kernel: Path | None
    """None: the disk boots by itself, and the devices are ones any system knows."""
    initrd: Path | None

    @property
    def own_guest(self) -> bool:
        """Whether it runs the golden image."""
        return self.kernel is not None

    @property
    def command_line(self) -> str:
        """What the kernel is told."""
        width, height = self.size_px
        return (
            "console=ttyS0 quiet loglevel=4 panic=-1 rw mitigations=off random.trust_cpu=on net.ifnames=0 "
            f"deskhand.size={width}x{height}"
        )


def domain_xml(
    hardware: Hardware,
    name: str,
    folder: Path,
    *,
    vnc_password: str,
    network: GuestNetwork | None = None,
) -> str:
    """The XML of one VM, with its files in a folder: disk.qcow2, agent.sock, vnc.sock, console.log.

    Args:
        network: where QEMU runs; None: on this machine's own network.
    """
    domain = Xml.Element("domain", type=hardware.accelerator)
    _text(domain, "name", name)
    _text(domain, "uuid", str(uuid.uuid4()))
    _text(domain, "memory", str(hardware.memory_mb), unit="MiB")
    _text(domain, "vcpu", str(hardware.cpus))
    _boot(domain, hardware)
    features = Xml.SubElement(domain, "features")
    Xml.SubElement(features, "acpi")
    Xml.SubElement(features, "apic")
    if hardware.accelerator == "kvm":
        Xml.SubElement(domain, "cpu", mode="host-passthrough", migratable="on")
    else:
        cache = Xml.SubElement(features, "tcg")
        _text(cache, "tb-cache", str(hardware.translation_cache_mb), unit="MiB")
    Xml.SubElement(domain, "clock", offset="utc")
    _text(domain, "on_poweroff", "destroy")
    # a golden guest that restarts has lost its lease's token; another one may well have to
    _text(domain, "on_reboot", "destroy" if hardware.own_guest else "restart")
    _text(domain, "on_crash", "destroy")
    devices = Xml.SubElement(domain, "devices")
    if network is not None:
        _text(devices, "emulator", str(network.emulator))
    _devices(devices, hardware, folder)
    # always there, on a socket nobody else reaches: it cannot be added to a machine that runs
    screen = Xml.SubElement(devices, "graphics", type="vnc", passwd=vnc_password)
    Xml.SubElement(screen, "listen", type="socket", socket=str(folder / "vnc.sock"))
    _command_line(domain, hardware, network)
    return Xml.tostring(domain, encoding="unicode")


def _boot(domain: Xml.Element, hardware: Hardware) -> None:
    system = Xml.SubElement(domain, "os")
    _text(system, "type", "hvm", arch="x86_64", machine="q35" if hardware.own_guest else "pc")
    if hardware.kernel is not None and hardware.initrd is not None:
        _text(system, "kernel", str(hardware.kernel))
        _text(system, "initrd", str(hardware.initrd))
        _text(system, "cmdline", hardware.command_line)
    else:
        Xml.SubElement(system, "boot", dev="hd")


def _devices(devices: Xml.Element, hardware: Hardware, folder: Path) -> None:
    disk = Xml.SubElement(devices, "disk", type="file", device="disk")
    # nothing of a clone has to survive a power cut
    Xml.SubElement(disk, "driver", name="qemu", type="qcow2", cache="unsafe", discard="unmap")
    Xml.SubElement(disk, "source", file=str(folder / "disk.qcow2"))
    bus = "virtio" if hardware.own_guest else "ide"
    Xml.SubElement(disk, "target", dev="vda" if hardware.own_guest else "hda", bus=bus)
    serial = Xml.SubElement(devices, "serial", type="file")
    Xml.SubElement(serial, "source", path=str(folder / "console.log"))
    Xml.SubElement(serial, "target", port="0")
    video = Xml.SubElement(devices, "video")
    Xml.SubElement(video, "model", type="vga", vram="32768")
    Xml.SubElement(devices, "memballoon", model="none")
    if not hardware.own_guest:
        Xml.SubElement(devices, "controller", type="usb", model="piix3-uhci")
        Xml.SubElement(devices, "input", type="tablet", bus="usb")
        return
    Xml.SubElement(devices, "controller", type="usb", model="none")
    Xml.SubElement(devices, "input", type="tablet", bus="virtio")
    Xml.SubElement(devices, "input", type="keyboard", bus="virtio")
    rng = Xml.SubElement(devices, "rng", model="virtio")
    _text(rng, "backend", "/dev/urandom", model="random")
    channel = Xml.SubElement(devices, "channel", type="unix")
    Xml.SubElement(channel, "source", mode="bind", path=str(folder / "agent.sock"))
    Xml.SubElement(channel, "target", type="virtio", name=CHANNEL)


def _command_line(domain: Xml.Element, hardware: Hardware, network: GuestNetwork | None) -> None:
    """A card on QEMU's own network, by its command line: libvirt's way to it takes a daemon."""
    line = Xml.Element(f"{{{QEMU}}}commandline")
    if hardware.own_guest:
        card = f"virtio-net-pci,netdev={NETWORK},id={NETWORK}-card,mac=52:54:00:12:34:56,addr=0x1d"
        for value in ("-netdev", f"user,id={NETWORK},ipv6=off", "-device", card):
            Xml.SubElement(line, f"{{{QEMU}}}arg", value=value)
    for name, value in ({} if network is None else network.environment).items():
        Xml.SubElement(line, f"{{{QEMU}}}env", name=name, value=value)
    if len(line):
        domain.append(line)


def _text(parent: Xml.Element, name: str, text: str, **attributes: str) -> None:
    Xml.SubElement(parent, name, attributes).text = text
