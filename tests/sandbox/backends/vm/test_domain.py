from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

from deskhand_sandbox.backends.vm.domain import CHANNEL, Hardware, domain_xml
from deskhand_sandbox.backends.vm.network import GuestNetwork

HARDWARE = Hardware(
    accelerator="qemu",
    memory_mb=512,
    cpus=1,
    size_px=(1280, 720),
    translation_cache_mb=64,
    kernel=Path("/images/vmlinuz"),
    initrd=Path("/images/initrd.img"),
)


def read(hardware: Hardware) -> Xml.Element:
    return Xml.fromstring(domain_xml(hardware, "a name", Path("/vms/one"), vnc_password="secret12"))


def test_a_golden_guest_boots_its_kernel_and_has_a_channel_of_its_own() -> None:
    domain = read(HARDWARE)
    assert domain.findtext("os/kernel") == "/images/vmlinuz"
    assert "deskhand.size=1280x720" in (domain.findtext("os/cmdline") or "")
    source, target = domain.find("devices/channel/source"), domain.find("devices/channel/target")
    assert source is not None and source.get("path") == "/vms/one/agent.sock"
    assert target is not None and target.get("name") == CHANNEL
    assert domain.findtext("features/tcg/tb-cache") == "64"


def test_every_domain_has_a_name_and_number_of_its_own() -> None:
    assert read(HARDWARE).findtext("uuid") != read(HARDWARE).findtext("uuid")


def test_the_screen_is_served_on_a_socket_with_a_password_and_on_no_port() -> None:
    (screen,) = read(HARDWARE).findall("devices/graphics")
    assert (screen.get("type"), screen.get("passwd"), screen.get("port")) == ("vnc", "secret12", None)
    (listen,) = screen.findall("listen")
    assert (listen.get("type"), listen.get("socket")) == ("socket", "/vms/one/vnc.sock")


def test_no_guest_is_on_a_network_of_libvirt() -> None:
    assert read(HARDWARE).find("devices/interface") is None


def test_a_guest_is_apart_where_there_is_somewhere_to_be() -> None:
    apart = GuestNetwork(
        emulator=Path("/kept/qemu-1"), environment={"NAMESPACES": "/proc/7/ns", "NAMES": "/n"}
    )
    for hardware in (HARDWARE, replace(HARDWARE, kernel=None, initrd=None)):
        text = domain_xml(hardware, "a name", Path("/vms/one"), vnc_password="secret12", network=apart)
        domain = Xml.fromstring(text)
        assert domain.findtext("devices/emulator") == "/kept/qemu-1"
        (line,) = [each for each in domain.iter() if each.tag.endswith("commandline")]
        told = [(each.get("name"), each.get("value")) for each in line if each.tag.endswith("env")]
        assert told == [("NAMESPACES", "/proc/7/ns"), ("NAMES", "/n")]
    assert read(HARDWARE).find("devices/emulator") is None


def test_a_disk_of_ones_own_boots_by_itself_on_devices_any_system_knows() -> None:
    domain = read(replace(HARDWARE, kernel=None, initrd=None))
    assert domain.find("os/kernel") is None
    target = domain.find("devices/disk/target")
    assert target is not None and target.get("bus") == "ide"
    assert domain.find("devices/channel") is None
    assert not [each for each in domain.iter() if each.tag.endswith("commandline")]


def test_kvm_guests_have_the_processor_of_the_machine() -> None:
    domain = read(replace(HARDWARE, accelerator="kvm"))
    cpu = domain.find("cpu")
    assert cpu is not None and cpu.get("mode") == "host-passthrough"
    assert domain.find("features/tcg") is None
