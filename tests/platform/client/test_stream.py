"""Streams as they come over the wire, without a server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace

import httpx
import pytest

from deskhand_platform.client import AsyncDeskhand, Deskhand, Unreachable, stream
from deskhand_platform.client.stream import LineReader, StreamPatience


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes a few bytes at a time."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return (self._body[at : at + 7] for at in range(0, len(self._body), 7))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def told(id: int, text: str) -> str:
    body = {"id": id, "at_s": 1.0, "subject": "round:1", "kind": "state", "name": "x", "data": {"why": text}}
    return f"id: {id}\nevent: state\ndata: {json.dumps(body, ensure_ascii=False)}\n\n"


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
async def test_a_text_with_a_rare_line_break_is_one_event(break_: str) -> None:
    texts = ["a\u2028b", "c\u2029d", "e\x85f"]
    body = "".join(map(told, (1, 2, 3), texts)).replace("\n", break_) + ":"
    network = httpx.MockTransport(lambda _: httpx.Response(200, stream=Pieces(body.encode())))
    async with AsyncDeskhand("http://127.0.0.1:9", "t", transport=network) as client:
        assert [one.data["why"] async for one in client.events(follow=False)] == texts
    with Deskhand("http://127.0.0.1:9", "t", transport=network) as blocking:
        assert [one.data["why"] for one in blocking.events(follow=False)] == texts


def test_lines_end_where_server_sent_events_end_them() -> None:
    lines = LineReader()
    pieces = ("a", "b\r", "\nc\x0bd\n\ne", "\r\rf")
    assert [[*lines.feed(piece)] for piece in pieces] == [[], [], ["ab", "c\x0bd", ""], ["e", ""]]


def test_how_long_a_stream_was_quiet_takes_nothing_from_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr(stream, "time", SimpleNamespace(monotonic=lambda: now_s))
    patience, lost = StreamPatience(3.0), Unreachable("lost")
    patience.heard()
    now_s = 100.0
    assert patience.pause_s(lost) > 0
    now_s = 102.0
    patience.heard()  # it was opened again, and breaks off again
    now_s = 200.0
    patience.pause_s(lost)
    now_s = 203.0
    with pytest.raises(Unreachable):
        patience.pause_s(lost)
