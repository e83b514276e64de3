"""Signatures of what a webhook receives, as Standard Webhooks have them (standardwebhooks.com).

Three headers come with a body: `webhook-id`, the same each time one delivery is sent; `webhook-timestamp`,
Unix seconds; `webhook-signature`, "v1," and the base64 HMAC-SHA256 of "ID.TIMESTAMP.BODY".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping

from deskhand_platform.client.errors import ClientError

PREFIX = "whsec_"
TOLERANCE_S = 300.0
"""How far a timestamp may be off: what was overheard cannot be sent again later."""


class WrongSignature(ClientError):
    """It was not sent by the platform that has the secret, or not now."""


def new_secret() -> str:
    """A secret for one webhook: 256 random bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def signed(secret: str, id: str, body: bytes, at_s: int) -> dict[str, str]:
    """The headers of a body."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{_digest(secret, id, str(at_s), body)}",
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """The delivery's id, which is the same when it is sent again.

    Args:
        headers: as they came; names in any case.
        body: the bytes as they came.

    Raises:
        WrongSignature: it was not sent by the platform that has the secret, or not now; says which.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, at = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split(" ")
        age_s = abs(time.time() - int(at))
    except (KeyError, ValueError) as error:
        raise WrongSignature(f"not signed: {error}") from error
    if age_s > TOLERANCE_S:
        raise WrongSignature(f"the timestamp is {age_s:.0f} s off")
    wanted = f"v1,{_digest(secret, id, at, body)}".encode()
    if not any(hmac.compare_digest(wanted, one.encode()) for one in signatures):
        raise WrongSignature("the signature is another's")
    return id


def _digest(secret: str, id: str, at: str, body: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise WrongSignature("the secret is none: it begins with whsec_") from error
    return base64.b64encode(hmac.digest(key, f"{id}.{at}.".encode() + body, hashlib.sha256)).decode()
