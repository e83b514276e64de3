"""Secrets of this home: the token for the command line of this machine, and how tokens are hashed.

`HOME/token` (mode 0600) holds a token of the first administrator; the server keeps its hash, as of every one.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from threading import get_ident

TOKEN_FILE = "token"
HASH_FILE = "token.hash"
"""What platforms from before there were accounts kept of it."""
OWNER = "owner"
"""The first administrator."""


def hash_token(token: str) -> str:
    """What is kept of a token: it has 256 random bits, so a plain hash needs no stretching."""
    # what arrives may hold half a character: it is wrong, and no more than that
    given = token.encode(errors="surrogatepass")
    return blake2b(given, digest_size=32, person=b"deskhand-token").hexdigest()


def read_token(home: Path) -> str | None:
    """The token for this machine's own programs: from the environment, else from the home folder."""
    given = os.environ.get("DESKHAND_TOKEN")
    if given:
        return given
    try:
        return (home / TOKEN_FILE).read_text().strip() or None
    except FileNotFoundError:
        return None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
