from __future__ import annotations

import ipaddress

import pytest

from deskhand_platform.errors import InvalidField
from deskhand_platform.webhooks.destinations import Refused, checked_url, reachable, resolve

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::1",
    ],
)  # fmt: skip
def test_what_is_not_public_is_not_reached(address: str) -> None:
    assert not reachable(ipaddress.ip_address(address), ())


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
def test_what_is_public_is_reached(address: str) -> None:
    assert reachable(ipaddress.ip_address(address), ())


async def test_a_setting_lets_more_in() -> None:
    there = await resolve("http://127.0.0.1:9/x?y=1", LOOPBACK)
    assert (str(there.url), there.host, there.name) == (
        "http://127.0.0.1:9/x?y=1",
        "127.0.0.1:9",
        "127.0.0.1",
    )
    named = await resolve("https://localhost/x", LOOPBACK)
    assert (str(named.url), named.host, named.name) == ("https://127.0.0.1/x", "localhost", "localhost")


@pytest.mark.parametrize(
    "url", ["http://localhost/", "http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/"]
)
async def test_other_ways_to_write_an_address_lead_nowhere_else(url: str) -> None:
    with pytest.raises(Refused):
        await resolve(url, ())


async def test_a_refusal_does_not_say_where_a_name_leads() -> None:
    with pytest.raises(Refused, match="localhost is at no public address") as refused:
        await resolve("http://localhost/", ())
    assert "127." not in str(refused.value) and "::1" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nothing",
        "ftp://example.com",
        "file:///etc/passwd",
        "http://",
        "http://u:p@example.com/",
        "http://1.1.1.1:99999/",
        "http://1.1.1.1:0/",
        "http://xn--/",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidField, match="url: "):
        checked_url(url)
