"""Where a host is connected to, and where not, whatever its name leads to."""

import socket

import pytest

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools.addresses import on_loopback, places, way_out
from deskhand_sandbox.tools.policy import Neighbours, Network, Policy


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names lead to the address they begin with."""

    def found(host: str, port: int, *_: object, **__: object) -> list[object]:
        address = host.removesuffix(".example").replace("-", ".")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("host", "neighbours", "rule", "trusted", "reached"),
    [
        ("93-184-216-34.example", "named", "allow", (), "93.184.216.34"),
        ("10-1-2-3.example", "named", "allow", (), None),
        ("10-1-2-3.example", "named", ("10-1-2-3.example",), (), "10.1.2.3"),
        ("10-1-2-3.example", "named", ("*.example",), (), None),
        ("10-1-2-3.example", "named", "allow", ("10-1-2-3.example",), "10.1.2.3"),
        ("10-1-2-3.example", "deny", "allow", ("10-1-2-3.example",), None),
        ("10-1-2-3.example", "allow", "allow", (), "10-1-2-3.example"),
        ("169-254-169-254.example", "named", "allow", ("169-254-169-254.example",), None),
        ("169-254-169-254.example", "allow", "allow", (), "169-254-169-254.example"),
        ("::1", "named", "allow", ("::1",), "::1"),
        ("localhost", "named", "allow", ("::1",), "127.0.0.1"),
        ("::1", "deny", "allow", ("127.0.0.1",), None),
        ("127-0-0-1.example", "named", "allow", ("127.0.0.1",), None),
        ("fd00:ec2::254", "named", "allow", ("fd00:ec2::254",), None),
        ("pages.localhost", "deny", "allow", (), "127.0.0.1"),  # a site of ours
    ],
)
async def test_near_by_a_host_has_to_be_named(
    host: str, neighbours: Neighbours, rule: Network, trusted: tuple[str, ...], reached: str | None
) -> None:
    sites = {"pages.localhost": 80}
    policy = Policy(rules=(rule,), neighbours=neighbours, trusted=trusted, sites=sites)
    if reached is None:
        with pytest.raises(InvalidAction, match=f"{host} is "):
            await places(host, 80, policy)
    else:
        assert (await places(host, 80, policy))[0] == (reached, 80)


async def test_a_proxy_of_the_environment_looks_names_up_and_reaches_nothing_written_near() -> None:
    policy = Policy(rules=("allow",))
    assert await places("nobody-knows.invalid", 80, policy, relayed=True) == [("nobody-knows.invalid", 80)]
    for near in ("10.1.2.3", "localhost", "a.localhost", "169.254.169.254", "::ffff:127.0.0.1"):
        with pytest.raises(InvalidAction):
            await places(near, 80, policy, relayed=True)


def test_no_proxy_is_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "proxy.lan:3128")
    assert way_out("http://example.com/a") == "http://proxy.lan:3128"
    assert way_out("http://127.0.0.1:8000/") is way_out("http://localhost/") is None
    monkeypatch.setenv("http_proxy", "socks5://proxy.lan:1080")
    assert way_out("http://example.com/a") is None
    assert [on_loopback(host) for host in ("127.9.9.9", "::1", "LOCALHOST.", "10.0.0.1", "lan")] == [
        True, True, True, False, False,
    ]  # fmt: skip
