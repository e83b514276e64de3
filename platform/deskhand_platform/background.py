"""What the loops share that a platform works by in the background: nothing that goes wrong ends one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

log = logging.getLogger(__name__)
ODD_S = 5.0
"""Pause after what nobody foresaw: the log is not to be filled with it."""


@asynccontextmanager
async def log_and_continue(what: str, *foreseen: type[Exception]) -> AsyncGenerator[None]:
    """What goes wrong in the block ends the block alone, and stands in the log.

    Args:
        what: is wrong then, e.g. "the alarms could not be looked at".
        foreseen: are told in one line; anything else is a bug: with its traceback, and a pause after it.
    """
    try:
        yield
    except foreseen as error:
        log.warning("%s: %s", what, error)
    except Exception:  # there may be no bug in what comes next
        log.exception("%s", what)
        await asyncio.sleep(ODD_S)
