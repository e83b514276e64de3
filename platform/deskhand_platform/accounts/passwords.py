"""Passwords, kept as scrypt hashes (RFC 7914) of the standard library: salted, slow and hungry for memory."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from deskhand_platform.errors import InvalidField

WORK = 14
"""log2 of scrypt's N; with r = 8 and p = 5 it takes 16 MiB, the OWASP cheat sheet's second choice."""
BLOCK, LANES = 8, 5
SHORTEST, LONGEST = 10, 256
_HASHERS = ThreadPoolExecutor(2, thread_name_prefix="password")
"""However many sign in at once, two hash: the others wait, and the machine goes on."""


def generated() -> str:
    """A password that nobody guesses: 128 random bits."""
    return secrets.token_urlsafe(16)


def check_new(password: str, name: str) -> str:
    """A password that somebody chose.

    Raises:
        InvalidField: too short, too long, or the name itself.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidField("password", f"give {SHORTEST} to {LONGEST} characters")
    if password.strip().lower() == name:
        raise InvalidField("password", "must not be the name")
    return password


async def hashed(password: str) -> str:
    """What is kept of a password: parameters, salt and hash in one line."""
    salt = secrets.token_bytes(16)
    key = await _derive(password, salt, WORK)
    return "$".join(("scrypt", str(WORK), *(b64encode(part).decode() for part in (salt, key))))


async def matches(password: str, kept: str | None) -> bool:
    """Whether it is the password; takes as long where there is none to compare with."""
    _, work, salt, key = (kept or f"scrypt${WORK}$AAAA$AAAA").split("$")
    found = await _derive(password, b64decode(salt), int(work))
    return hmac.compare_digest(found, b64decode(key)) and kept is not None


async def _derive(password: str, salt: bytes, work: int) -> bytes:
    given = password.encode(errors="surrogatepass")
    room = 2 * 128 * BLOCK * (2**work + LANES)
    derive = partial(hashlib.scrypt, given, salt=salt, n=2**work, r=BLOCK, p=LANES, maxmem=room, dklen=32)
    return await asyncio.get_running_loop().run_in_executor(_HASHERS, derive)
