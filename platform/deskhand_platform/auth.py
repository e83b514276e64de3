"""The token of a platform's owner: made at first start, kept hashed, compared in constant time.

`HOME/token.hash` is what the server checks against. `HOME/token` (mode 0600) holds the token itself for the
command line on this machine; removing it leaves the server locked to whoever noted the token down.
"""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

TOKEN_FILE = "token"
HASH_FILE = "token.hash"
OWNER = "owner"
"""Who comes with this token; everybody else is one of the `annotators`."""


def hash_token(token: str) -> str:
    """What is kept of a token: it has 256 random bits, so a plain hash needs no stretching."""
    # what arrives may hold half a character: it is wrong, and no more than that
    given = token.encode(errors="surrogatepass")
    return blake2b(given, digest_size=32, person=b"deskhand-token").hexdigest()


def session_value(token_hash: str) -> str:
    """What the page's cookie carries: derived, so that a cookie read by accident is not the token."""
    return blake2b(token_hash.encode(), digest_size=32, person=b"deskhand-cookie").hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """Decides who may come in."""

    token_hash: str

    @property
    def cookie(self) -> str:
        """Name of the session cookie: cookies ignore ports, so two platforms on one host need two names."""
        return f"deskhand_{self.token_hash[:8]}"

    @property
    def session(self) -> str:
        """Value of the session cookie."""
        return session_value(self.token_hash)

    def knows_token(self, token: str) -> bool:
        """The token is the right one."""
        return hmac.compare_digest(hash_token(token), self.token_hash)

    def knows_session(self, value: str) -> bool:
        """The cookie's value is the right one."""
        return hmac.compare_digest(value.encode(), self.session.encode())


def open_gate(home: Path) -> tuple[Gate, str | None]:
    """The home's gate, and the token if it was made just now (to be printed once)."""
    kept = home / HASH_FILE
    if kept.exists():
        return Gate(token_hash=kept.read_text().strip()), None
    token = secrets.token_urlsafe(32)
    write_private(home / TOKEN_FILE, token)
    write_private(kept, hash_token(token))
    return Gate(token_hash=hash_token(token)), token


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
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
