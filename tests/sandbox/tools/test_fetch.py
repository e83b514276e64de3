"""What is fetched, what is not, and what goes along; against a real server on this machine."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools import addresses
from deskhand_sandbox.tools import fetch as fetching
from deskhand_sandbox.tools.fetch import fetch
from deskhand_sandbox.tools.policy import Policy
from deskhand_sandbox.types import Fetch


class Site(BaseHTTPRequestHandler):
    """Tells what it was asked; /to?URL leads on, /slow says nothing, /strange speaks in no charset."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/to":
            self.send_response(302)
            self.send_header("Location", query)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "/slow":
            self.rfile.read(1)  # until the visitor has gone
            return
        size = int(self.headers.get("Content-Length", "0"))
        given = self.rfile.read(size).decode()
        names = ("Host", "Authorization", "X-Own")
        seen = " ".join(f"{name}={self.headers.get(name)}" for name in names)
        body = b"x" * 200_000 if path == "/long" else f"{self.command} {self.path} {seen} {given}".encode()
        self.send_response(200)
        self.send_header(
            "Content-Type", "text/plain; charset=" + ("martian" if path == "/strange" else "utf-8")
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def site(serve) -> Iterator[str]:
    with serve(Site) as place:
        yield place


async def test_what_is_listed_answers(site: str) -> None:
    policy = Policy(rules=((site,),))
    told = await fetch(
        Fetch(url=f"http://{site}/a?b", method="POST", headers={"X-Own": "1"}, body="é"), policy
    )
    assert told == f"200 OK\nPOST /a?b Host={site} Authorization=None X-Own=1 é"
    assert (await fetch(Fetch(url=f"http://{site}/to?/a"), policy)).startswith("200 OK\nGET /a ")
    assert (await fetch(Fetch(url=f"http://{site}/strange"), policy)).startswith("200 OK\nGET /strange ")
    assert (await fetch(Fetch(url=f"http://{site}/long"), policy)).endswith("x\n[cut after 65536 bytes]")


async def test_secrets_stay_with_the_place_they_are_for(site: str) -> None:
    other = site.replace("127.0.0.1", "localhost")
    policy = Policy(rules=((site, other),))
    headers = {"authorization": "Bearer s", "X-Own": "1"}
    kept = await fetch(Fetch(url=f"http://{site}/to?/a", headers=headers), policy)
    assert "Authorization=Bearer s X-Own=1" in kept
    away = await fetch(Fetch(url=f"http://{site}/to?http://{other}/a", headers=headers), policy)
    assert f"Host={other} Authorization=None X-Own=1" in away


@pytest.mark.parametrize(
    ("url", "rule", "said"),
    [
        ("http://{site}/", "deny", "does not allow 127.0.0.1"),
        ("http://{site}/", "allow", "lists it by name"),
        ("http://localhost:{port}/", "allow", "lists it by name"),
        ("http://{site}/", ("*.0.0.1",), "lists it by name"),
        ("http://[::ffff:127.0.0.1]:{port}/", "allow", "lists it by name"),
        ("http://2130706433:{port}/", "allow", "lists it by name"),
        ("http://169.254.169.254/", "allow", "nothing there is reached"),
        ("http://169.254.169.254/", ("169.254.169.254",), "nothing there is reached"),
        ("http://[::ffff:a9fe:a9fe]/", "allow", "nothing there is reached"),
        ("http://{site}/to?http://localhost:{port}/", ("127.0.0.1",), "does not allow localhost"),
        ("http://{site}/to?file:///etc/passwd", ("127.0.0.1",), "starts with http"),
        ("http://{site}/to?/to?/to?/to?/to?/to?/to?/to?/a", ("127.0.0.1",), "more than 5 times"),
        ("ftp://{site}/", ("127.0.0.1",), "starts with http"),
        ("http://{site}:7/", ("127.0.0.1",), "cannot be fetched"),
        ("http://", "allow", "starts with http"),
        ("http://[::1", "allow", "cannot be fetched"),
    ],
)
async def test_what_is_refused(site: str, url: str, rule, said: str) -> None:
    port = site.partition(":")[2]
    with pytest.raises(InvalidAction, match=said):
        await fetch(Fetch(url=url.format(site=site, port=port)), Policy(rules=(rule,)))


async def test_the_host_is_that_of_the_address(site: str) -> None:
    with pytest.raises(InvalidAction, match="header Host"):
        await fetch(Fetch(url=f"http://{site}/", headers={"Host": "other"}), Policy(rules=((site,),)))


async def test_a_place_that_says_nothing(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "FETCH_S", 0.3)
    with pytest.raises(InvalidAction, match=r"did not answer within 0.3 s"):
        await fetch(Fetch(url=f"http://{site}/slow"), Policy(rules=((site,),)))


@pytest.mark.parametrize(
    ("address", "far"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.20.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_which_addresses_are_of_the_internet(address: str, far: bool) -> None:
    assert addresses.far(address) is far


async def test_a_found_address_is_the_one_connected_to(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # a public name, looked up once: what a second look-up would say plays no part
    port = site.partition(":")[2]
    monkeypatch.setattr(addresses, "far", lambda address: True)
    told = await fetch(Fetch(url=f"http://localhost:{port}/a"), Policy(rules=("allow",)))
    assert f"Host=localhost:{port} " in told
