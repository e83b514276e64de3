"""What a VNC viewer's messages come to, whatever they are and however they are cut."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_platform import vnc
from deskhand_platform.errors import ScreenUnavailable
from deskhand_sandbox.vnc import VncAddress

FORMAT = b"\0" + bytes(3) + bytes(range(16))
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)
KEY = struct.pack(">BBxxI", 4, 1, 0xFF0D)
POINTER = struct.pack(">BBHH", 5, 1, 10, 20)
LARGEST = 2**16 - 1


def encodings(*asked: int) -> bytes:
    return struct.pack(f">BxH{len(asked)}i", 2, len(asked), *asked)


def cut_text(size: int) -> bytes:
    return struct.pack(">BxxxI", 6, size) + b"\3" * size


def fed(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


async def passed(data: bytes) -> list[bytes]:
    """What goes on of a viewer's bytes, which then end."""
    found: list[bytes] = []
    with suppress(asyncio.IncompleteReadError):
        async for message in vnc.requests(fed(data)):
            found.append(message)
    return found


async def test_pictures_are_asked_for_and_input_ends_here() -> None:
    sent = FORMAT + KEY + UPDATE + POINTER + cut_text(3 * vnc.PART_BYTES) + encodings(7, 0) + KEY + UPDATE
    assert await passed(sent) == [FORMAT, UPDATE, encodings(7, 0), UPDATE]


async def test_only_known_encodings_are_asked_for_in_the_viewers_order() -> None:
    clipboard, keys, buttons, power, fence, cursor = -0x3F5E1A32, -258, -316, -309, -312, -239
    asked = encodings(16, cursor, 7, clipboard, keys, -26, buttons, power, fence, 0, -223)
    assert await passed(asked) == [encodings(16, 7, -26, 0, -223)]
    assert await passed(encodings()) == [encodings()]
    assert await passed(encodings(*range(1000, 1000 + LARGEST))) == [encodings()]


@pytest.mark.parametrize("kind", sorted(set(range(256)) - {0, 2, 3, 4, 5, 6}))
async def test_what_was_not_agreed_upon_ends_it(kind: int) -> None:
    with pytest.raises(vnc.NotRfb, match=f"message {kind} "):
        await passed(UPDATE + bytes([kind]) + UPDATE)


KNOWN = st.one_of(
    st.sampled_from([FORMAT, UPDATE, KEY, POINTER]),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20).map(lambda asked: encodings(*asked)),
    st.integers(0, 200).map(cut_text),
)


@given(st.lists(KNOWN, max_size=20))
async def test_nothing_but_requests_goes_on(messages: list[bytes]) -> None:
    found = await passed(b"".join(messages))
    assert [each[0] for each in found] == [each[0] for each in messages if each[0] in (0, 2, 3)]
    assert [each for each in found if each[0] != 2] == [each for each in messages if each[0] in (0, 3)]


@given(st.binary(max_size=300))
async def test_no_bytes_at_all_are_taken_for_input(data: bytes) -> None:
    found: list[bytes] = []
    with suppress(asyncio.IncompleteReadError, vnc.NotRfb):
        async for message in vnc.requests(fed(data)):
            found.append(message)
    assert {each[0] for each in found} <= {0, 2, 3}


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (b"RFB 003.003\n", "only RFB 3.8"),
        (vnc.VERSION + b"\2", "only the security type None"),
        (b"GET / HTTP/1.1\r\n", "only RFB 3.8"),
    ],
)
async def test_who_is_no_viewer_is_not_greeted(said: bytes, wrong: str) -> None:
    async def send(data: bytes) -> None: ...

    with pytest.raises(vnc.NotRfb, match=wrong):
        await vnc.greet(fed(said), send)


@pytest.mark.parametrize(
    ("server", "wrong"),
    [
        (b"", "lets nobody in"),
        (b"HTTP/1.1 400 ", "does not speak RFB 3.8"),
        (vnc.VERSION + b"\1\1", "does not offer VNC authentication"),
        (vnc.VERSION + b"\1\2" + bytes(16) + b"\0\0\0\1", "does not take its password"),
    ],
)
async def test_a_server_that_is_none_is_said_to_be(server: bytes, wrong: str) -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(server)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        address = VncAddress(host="127.0.0.1", port=port, password="secret12")
        with pytest.raises(ScreenUnavailable, match=wrong):
            async with vnc.joined(address):
                pass
    with pytest.raises(ScreenUnavailable, match="gone"):
        async with vnc.joined(address):
            pass
