"""Which kinds of sandbox are lent here: what the settings `sandbox.kinds` and `sandbox.pools` name."""

from __future__ import annotations

from collections.abc import Collection

from deskhand_platform.errors import InvalidField
from deskhand_platform.naming import named_in
from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.registry import backend_kinds


def check_lent(kind: str, lent: Collection[str], field: str) -> None:
    """
    Raises:
        InvalidField: sandboxes of that kind are not lent here.
    """
    if kind in lent:
        return
    with named_in(field):
        if kind not in backend_kinds():
            raise UnknownName("kind of sandbox", kind, lent)
    here = ", ".join(sorted(lent))
    told = f"sandboxes of kind {kind!r} are not lent here; there are: {here}"
    raise InvalidField(field, f"{told} (the settings sandbox.kinds and sandbox.pools)")
