"""Guests reach what others reach of this machine, and nothing of its loopback; with Python for QEMU."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm.network import GuestNetwork
from deskhand_sandbox.errors import BackendMissing

ASK = """
import socket, sys
try:
    print(socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20).recv(9).decode())
except OSError as error:
    print(type(error).__name__)
"""


@contextmanager
def served(host: str) -> Generator[int]:
    """A port at which somebody says hello."""
    with socket.create_server((host, 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello")

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def own_address() -> str:
    """An address of this machine that others reach it at."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> GuestNetwork:
    folder = tmp_path_factory.mktemp("network")
    return GuestNetwork.open(folder, folder / "kept", qemu=sys.executable)


def said(network: GuestNetwork, *arguments: str, inside: bool = True) -> str:
    environment = {**os.environ, **(network.environment if inside else {})}
    command = [str(network.emulator), "-c", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_of_the_loopback_is_reached_and_the_rest_is(network: GuestNetwork) -> None:
    address = own_address()
    with served("127.0.0.1") as hidden, served(address) as shown:
        for host in ("127.0.0.1", "10.0.2.2"):
            assert said(network, ASK, host, str(hidden)) != "hello"
        assert said(network, ASK, address, str(shown)) == "hello"
        assert said(network, ASK, "127.0.0.1", str(hidden), inside=False) == "hello"


def test_names_are_asked_for_through_the_way_out(network: GuestNetwork) -> None:
    assert said(network, "print(open('/etc/resolv.conf').read())") == "nameserver 10.0.2.3"
    assert "10.0.2.3" not in said(network, "print(open('/etc/resolv.conf').read())", inside=False)


def test_the_process_stays_the_one_that_was_started(network: GuestNetwork) -> None:
    command = [str(network.emulator), "-c", "import os; print(os.getpid())"]
    environment = {**os.environ, **network.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.read()) == process.pid


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendMissing, match="nsenter is not installed: run `make setup`"):
        GuestNetwork.open(tmp_path, tmp_path, qemu=sys.executable)


def test_where_the_emulator_cannot_start_there_is_no_network(tmp_path: Path) -> None:
    broken = tmp_path / "qemu"
    broken.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(BackendMissing, match="apart from this machine's: no room"):
        GuestNetwork.open(tmp_path, tmp_path / "kept", qemu=str(broken))
