"""The regular expressions of tasks, which may be broken or run away."""

from __future__ import annotations

import time
from collections.abc import Iterable

import regex

from deskhand_sandbox.errors import VerifierError

SEARCH_S = 5.0
"""How long one expression may search."""


def found(pattern: str, texts: Iterable[str], flags: Iterable[str] = ()) -> bool:
    """Whether one of the texts holds a match.

    Args:
        pattern: as `re` takes it; `regex` reads the same, and can be stopped.
        texts: where it is looked for.
        flags: their names in `re`, such as `I`.

    Raises:
        VerifierError: it is no regular expression, there is no such flag, or it does not end in time.
    """
    try:
        compiled = regex.compile(pattern, sum(regex.RegexFlag[name] for name in flags))
    except (regex.error, KeyError, ValueError, RecursionError) as error:
        raise VerifierError(f"{pattern!r:.200} is no regular expression: {error}") from error
    end = time.monotonic() + SEARCH_S
    try:
        return any(
            compiled.search(each, concurrent=True, timeout=max(0.0, end - time.monotonic())) for each in texts
        )
    except TimeoutError as error:
        raise VerifierError(f"the search for {pattern!r:.200} has no end within {SEARCH_S:g} s") from error
