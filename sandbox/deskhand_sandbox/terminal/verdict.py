"""What a shell command says as a verdict, for verifiers."""

from __future__ import annotations

import json
from typing import cast

from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue


def verdict(code: int, out: bytes, err: bytes) -> JsonValue:
    """False at exit status 1, as `test` and `grep` mean it; else the output, as JSON where it is JSON, as
    text otherwise, and true where there is none.

    Raises:
        VerifierError: another exit status than 0 and 1.
    """
    if code == 1:
        return False
    if code:
        said = (err or out).decode(errors="replace").strip()[-500:]
        raise VerifierError(f"the command ended with exit status {code}: {said}")
    text = out.decode(errors="replace").strip()
    try:
        return cast("JsonValue", json.loads(text)) if text else True
    except (ValueError, RecursionError):  # RecursionError: nested beyond all reason
        return text
