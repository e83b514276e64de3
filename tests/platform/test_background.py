from __future__ import annotations

import asyncio

import pytest

from deskhand_platform.background import log_and_continue


@pytest.mark.usefixtures("short_pauses")
async def test_what_is_foreseen_is_told_in_a_line_and_the_rest_with_where_it_comes_from(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for error in (FileNotFoundError("no book"), ZeroDivisionError("odd")):
        async with log_and_continue("the book could not be read", OSError, LookupError):
            raise error
    foreseen, odd = caplog.records
    assert (foreseen.levelname, foreseen.getMessage()) == ("WARNING", "the book could not be read: no book")
    assert foreseen.exc_info is None
    assert (odd.levelname, odd.getMessage()) == ("ERROR", "the book could not be read")
    assert odd.exc_info is not None and odd.exc_info[0] is ZeroDivisionError


async def test_who_cancels_is_heard(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(asyncio.CancelledError):
        async with log_and_continue("the book could not be read"):
            raise asyncio.CancelledError
    assert not caplog.records
