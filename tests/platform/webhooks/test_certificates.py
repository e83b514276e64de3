"""Two names at one address: what goes to each goes over a connection whose certificate was checked for it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import certifi
import httpx
import httpx._transports.default as httpx_transports
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deskhand_flywheel.store import Store
from deskhand_platform.settings import Settings, WebhookSettings
from deskhand_platform.webhooks.sending import Sender

HERE = WebhookSettings(networks=(ipaddress.ip_network("127.0.0.0/8"),), first_pause_s=0.02, attempts=1)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhooks": HERE})


def certificate_of(name: str, path: Path) -> None:
    """One that it has signed itself, with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    kept = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(pem) + kept)


class Door:
    """Takes everything in, and keeps its connections open."""

    def __init__(self) -> None:
        self.port, self.hosts = 0, list[str]()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
                await reader.readexactly(int(fields["content-length"]))
                self.hosts.append(fields["host"].partition(":")[0])
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()


@pytest.fixture
async def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    """At one address by two names, with the certificate of the first alone."""
    certificate_of("a.example", tmp_path / "a.pem")
    monkeypatch.setattr(certifi, "where", lambda: str(tmp_path / "a.pem"))
    # the others' is read once for all tests of a process
    monkeypatch.setattr(httpx_transports, "create_ssl_context", httpx.create_ssl_context)

    async def known(_host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", known)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(tmp_path / "a.pem")
    made = Door()
    async with await asyncio.start_server(made.answer, "127.0.0.1", 0, ssl=shown) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


async def test_a_certificate_is_checked_for_each_name(
    client: httpx.AsyncClient, store: Store, door: Door
) -> None:
    hooks: dict[str, str] = {}
    for name in ("a", "b"):
        body = {"url": f"https://{name}.example:{door.port}/", "labels": {"of": name}}
        hooks[name] = (await client.post("/v1/webhooks", json=body)).json()["id"]

    async def told(name: str, count: int) -> list[Any]:
        """Of four more tasks, so many in all."""
        for _ in range(4):
            body = {"task_id": "fake/press-button", "labels": {"of": name}}
            id = (await client.post("/v1/tasks", json=body)).json()["id"]
            await client.delete(f"/v1/tasks/{id}")
        while True:
            found = (await client.get(f"/v1/webhooks/{hooks[name]}/deliveries")).json()["items"]
            if len(found) == count and not any(one["state"] == "pending" for one in found):
                return found
            await asyncio.sleep(0.02)

    async with asyncio.timeout(60), Sender(store, HERE).running():
        first = await told("a", 4)
        assert {one["state"] for one in first} == {"delivered"}, first
        await told("b", 4)
        arrived, refused = await asyncio.gather(told("a", 8), told("b", 8))
    assert {one["state"] for one in arrived} == {"delivered"}
    assert {one["state"] for one in refused} == {"dead"}
    assert all("Hostname mismatch" in one["reason"] for one in refused), refused
    assert door.hosts == ["a.example"] * 8
