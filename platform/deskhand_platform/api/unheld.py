"""Which field of a request holds what the database cannot: a number beyond 64 bits, a text with a NUL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from starlette.requests import HTTPConnection

BOUND = 2**63


def unheld_field(connection: HTTPConnection) -> str | None:
    """Its name, of a part of the body with the way to it; None where none of them does."""
    values = (*connection.path_params.items(), *connection.query_params.multi_items())
    named = next((name for name, value in values if not _held(value)), None)
    # starlette keeps what it has read of a body with the request
    return named or next(_in_body(getattr(connection, "_json", None)), None)


def _in_body(value: Any, *way: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in cast("dict[str, Any]", value).items():
            if not _held(name):
                yield ".".join(way) or "body"
            yield from _in_body(each, *way, name)
    elif isinstance(value, list):
        for number, each in enumerate(cast("list[Any]", value)):
            yield from _in_body(each, *way, str(number))
    elif not _held(value):
        yield ".".join(way) or "body"


def _held(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    return not isinstance(value, int) or -BOUND <= value < BOUND
