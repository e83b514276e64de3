"""What OpenAI itself is asked, and what other servers are, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse

from deskhand_agent import chat
from deskhand_agent.apis import ApiSettings
from deskhand_agent.chat import REASONED_TOKENS, ChatEndpoint


@pytest.mark.parametrize("told", [None, "/"])
async def test_openai_is_asked_as_its_reasoning_models_are(
    endpoint: Any, monkeypatch: pytest.MonkeyPatch, told: str | None
) -> None:
    monkeypatch.setattr(chat, "BASE_URL", endpoint.url)
    sent = await bodies(endpoint, None if told is None else f"{endpoint.url}{told}")
    assert [sorted(each) for each in sent] == [
        ["max_completion_tokens", "messages", "model"],
        ["max_completion_tokens", "messages", "model", "temperature"],
    ]
    # what it reasons counts
    assert [each["max_completion_tokens"] for each in sent] == [REASONED_TOKENS, 9000]


async def test_other_servers_are_asked_in_the_words_all_of_them_know(endpoint: Any) -> None:
    first, second = await bodies(endpoint, endpoint.url)
    assert (first["max_tokens"], first["temperature"]) == (9, 0.0)
    assert (second["max_tokens"], second["temperature"]) == (9000, 0.7)
    assert "max_completion_tokens" not in first


async def bodies(endpoint: Any, base_url: str | None) -> list[dict[str, Any]]:
    """What is sent for a short reply that is to be steady, and for a long one that is not."""
    endpoint.reply = lambda: JSONResponse({"choices": [{"message": {"content": "Yes."}}]})
    asked = ChatEndpoint(ApiSettings(model="m", base_url=base_url, api_key="k"))
    await asked.ask([{"role": "user", "content": "?"}], temperature=asked.steady, max_tokens=9)
    await asked.ask([{"role": "user", "content": "?"}], temperature=0.7, max_tokens=9000)
    await asked.close()
    return endpoint.sent
