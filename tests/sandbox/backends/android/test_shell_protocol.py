import pytest

from deskhand_sandbox.backends.android.shell_protocol import (
    CLOSE_IN,
    IN,
    LONGEST,
    OUT,
    WINDOW,
    frame,
    window,
    window_size,
)
from deskhand_sandbox.backends.android.simulator.packets import Packets


def test_a_window_s_size_is_rows_before_columns() -> None:
    assert window(100, 30) == b"30x100,0x0\0"
    assert window_size(b"30x100,640x480\0") == (100, 30)
    assert window_size(b"30x100,640x480") == (100, 30)


@pytest.mark.parametrize("data", [b"", b"30x100", b"-1x2,0x0", b"30x100,0x0 ", b"1e9x1,0x0", b"99999x1,0x0"])
def test_what_is_no_size_is_left_alone(data: bytes) -> None:
    assert window_size(data) is None


def packets(data: bytes, *, size: int) -> Packets:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    async def read() -> bytes:
        return pieces.pop(0) if pieces else b""

    return Packets(read)


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_packets_come_whole_in_any_pieces(size: int) -> None:
    sent = [(IN, b"ab"), (WINDOW, b"1x2,0x0\0"), (IN, b""), (OUT, b"not for us"), (IN, b"c")]
    reading = packets(b"".join(frame(*each) for each in sent), size=size)
    assert [await reading.next() for _ in range(6)] == [*sent, None]


async def test_input_ends_where_it_is_said_to_end() -> None:
    reading = packets(frame(IN, b"ab") + frame(WINDOW, b"") + frame(IN, b"c") + frame(CLOSE_IN, b""), size=4)
    assert [await reading.input() for _ in range(3)] == [b"ab", b"c", b""]


async def test_what_is_cut_off_or_endless_is_the_end() -> None:
    assert await packets(frame(IN, b"abc")[:-1], size=100).next() is None
    assert await packets(frame(IN, b"")[:1] + (LONGEST + 1).to_bytes(4, "little"), size=100).next() is None
