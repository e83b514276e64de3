"""What a judge's model answers in tests, in the form of a chat completion."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse, Response


def chat(content: str | None) -> Response:
    """A reply of the model."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return JSONResponse({"choices": [{"message": {"content": content}}], "usage": usage})


def says(score: object, rationale: str = "It clicks the button asked for.") -> Response:
    """A verdict."""
    return chat(json.dumps({"rationale": rationale, "score": score}))


def busy(status: int) -> Response:
    """A refusal that asks to come back at once."""
    body = {"error": {"message": "busy"}}
    return JSONResponse(body, status_code=status, headers={"retry-after-ms": "1"})
