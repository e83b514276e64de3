"""Who is let in: the public key of an adb server, and whether a signature is its own.

adb keeps its public key as base64 of a C record (AOSP's `android_pubkey`): 32-bit words in the modulus, a
helper for Montgomery arithmetic, the modulus (little-endian), another helper, the exponent. It signs a token
of 20 bytes as if it were a SHA-1 digest, by RSA with PKCS #1 v1.5 padding.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
from dataclasses import dataclass

_WORDS = struct.Struct("<2I")
_SHA1 = bytes.fromhex("3021300906052b0e03021a05000414")


@dataclass(frozen=True, kw_only=True, slots=True)
class AdbKey:
    """An RSA public key."""

    modulus: int
    exponent: int
    size: int
    """Bytes of the modulus."""

    @classmethod
    def read(cls, text: str) -> AdbKey:
        """The key in a file `adbkey.pub`.

        Raises:
            ValueError: it is none.
        """
        try:
            data = base64.b64decode(text.split()[0], validate=True)
            words, _ = _WORDS.unpack_from(data)
            size = 4 * words
            modulus = data[_WORDS.size : _WORDS.size + size]
            (exponent,) = struct.unpack_from("<I", data, _WORDS.size + 2 * size)
        except (IndexError, struct.error, binascii.Error) as error:
            raise ValueError(f"this is no public key of adb: {text[:40]!r}") from error
        return cls(modulus=int.from_bytes(modulus, "little"), exponent=exponent, size=size)

    def signed(self, token: bytes, signature: bytes) -> bool:
        """Whether the key's owner signed the token."""
        if len(signature) != self.size:
            return False
        shown = pow(int.from_bytes(signature, "big"), self.exponent, self.modulus)
        digest = _SHA1 + token
        padded = b"\0\1" + b"\xff" * (self.size - len(digest) - 3) + b"\0" + digest
        return hmac.compare_digest(shown.to_bytes(self.size, "big"), padded)
