from __future__ import annotations

from pathlib import Path

from deskhand_sandbox.backends.vm.image.customize import module_paths

MODULES_DEP = """kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko
kernel/drivers/virtio/virtio-pci.ko: kernel/drivers/virtio/virtio.ko
kernel/lib/crc16.ko:
"""


def test_a_module_comes_after_those_it_needs(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(MODULES_DEP)
    assert module_paths(tmp_path, "ext4") == [
        "kernel/fs/jbd2/jbd2.ko",
        "kernel/fs/mbcache.ko",
        "kernel/lib/crc16.ko",
        "kernel/fs/ext4/ext4.ko",
    ]
    assert module_paths(tmp_path, "virtio_pci")[-1] == "kernel/drivers/virtio/virtio-pci.ko"
    assert module_paths(tmp_path, "built_in") == []
