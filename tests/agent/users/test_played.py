"""A user played by a model behind a chat endpoint, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from deskhand_agent.apis import ApiSettings
from deskhand_agent.chat import ChatEndpoint
from deskhand_agent.errors import EndpointError
from deskhand_agent.users import NOBODY, UNREACHABLE, Conversation, Question, Reply
from deskhand_agent.users.played import CALLED, PlayedUser
from deskhand_sandbox.tasks import make_task

TASK = make_task("store/buy-asking", 0)
QUESTION = Question(
    text="Which color?", task=TASK, instruction="Buy a blanket.", before=(("", "Hm?"), ("Size?", "Medium."))
)


def said(text: str) -> Response:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 100, "completion_tokens": 4}
    return JSONResponse(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    )


@pytest.fixture
async def user(endpoint: Any) -> AsyncIterator[PlayedUser]:
    endpoint.reply = lambda: said("Gray,\n please. ")
    chat = ChatEndpoint(ApiSettings(model="m", base_url=endpoint.url, api_key="k", retries=0, timeout_s=5))
    yield PlayedUser(chat)
    await chat.close()


async def test_it_knows_what_was_left_out_and_what_was_said(user: PlayedUser, endpoint: Any) -> None:
    cost = {"prompt_tokens": 100.0, "completion_tokens": 4.0, "usd": 0.0}
    assert await user(QUESTION) == Reply(text="Gray, please.", cost=cost)
    (sent,) = endpoint.sent
    system, *talk = sent["messages"]
    assert "Buy a blanket." in system["content"]
    assert "- color: gray\n- size: medium\n" in system["content"]
    assert [(each["role"], each["content"]) for each in talk] == [
        ("user", CALLED),
        ("assistant", "Hm?"),
        ("user", "Size?"),
        ("assistant", "Medium."),
        ("user", "Which color?"),
    ]
    assert (sent["model"], sent["temperature"]) == ("m", 0.0)


async def test_a_task_without_details_asks_no_model(user: PlayedUser, endpoint: Any) -> None:
    assert await user(replace(QUESTION, task=replace(TASK, details={}))) == Reply(text=NOBODY)
    assert endpoint.sent == []


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"error": {"message": "no"}}, status_code=401),
        Response(b"{}"),
        JSONResponse({"choices": []}),
    ],
)
async def test_an_endpoint_that_breaks_leaves_a_note(
    user: PlayedUser, endpoint: Any, answer: Response
) -> None:
    endpoint.queue = [answer, answer]
    with pytest.raises(EndpointError):
        await user(QUESTION)
    talk = Conversation(user, TASK, "Buy it.", answer_s=5.0)
    missed = await talk.ask("Which color?", remaining_s=5.0)
    assert missed.text == UNREACHABLE and sum(missed.cost.values()) == 1.0  # request that came to nothing
    assert (await talk.ask("Which color?", remaining_s=5.0)).text == "Gray, please."
    assert "cannot be reached" in json.dumps(endpoint.sent[-1]["messages"])
