"""Answers in JSON, whatever text they hold: models and pages write halves of surrogate pairs, too."""

from __future__ import annotations

from typing import Any, cast

from fastapi.responses import JSONResponse
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json


class WholeText(JSONResponse):
    """JSON in UTF-8, which has no bytes for half a character: U+FFFD stands in its place."""

    def render(self, content: Any) -> bytes:
        return whole_json(content)


def whole_json(content: Any) -> bytes:
    """What a model dumped in JSON's types, on one line."""
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:
        return to_json(_mended(content), inf_nan_mode="null")


def as_sent(body: BaseModel) -> str:
    """What a request asked for, for the audit log."""
    return whole_json(body.model_dump(mode="json", exclude_unset=True)).decode()


def _mended(content: Any) -> Any:
    if isinstance(content, str):
        return content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(content, dict):
        values = cast("dict[Any, Any]", content)
        return {_mended(name): _mended(value) for name, value in values.items()}
    if isinstance(content, list):
        return [_mended(value) for value in cast("list[Any]", content)]
    return content
