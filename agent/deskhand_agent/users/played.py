"""A user played by a chat model that knows what the instruction leaves out (MUA-RL, arXiv:2508.18669)."""

from __future__ import annotations

from deskhand_agent.chat import ChatEndpoint, ChatMessage
from deskhand_agent.users import NOBODY, Question, Reply

CALLED = "(The assistant calls you.)"
"""What stands for a question without words."""
LONGEST = 200
"""Tokens of an answer."""


class PlayedUser:
    """Answers by asking a chat endpoint; see `User`. A task without details has nobody to ask."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, question: Question) -> Reply:
        """One answer, on one line.

        Raises:
            InferenceError: the endpoint did not give one.
        """
        if not question.task.details:
            return Reply(text=NOBODY)
        reply = await self._endpoint.ask(
            messages(question), temperature=self._endpoint.steady, max_tokens=LONGEST
        )
        return Reply(text=" ".join(reply.content.text.split()), cost=reply.cost)


def messages(question: Question) -> list[ChatMessage]:
    """What the model is shown: who it is, what it knows, and the conversation so far."""
    known = "\n".join(f"- {topic}: {detail}" for topic, detail in question.task.details.items())
    shown: list[ChatMessage] = [
        {
            "role": "system",
            "content": (
                "You play a person who has told an assistant to do something at a computer:\n"
                f"{question.instruction}\n\nWhat you did not tell it:\n{known}\n\n"
                "The assistant may ask you. Answer its question in one short sentence, and tell it nothing "
                "that it did not ask. What is not written here is up to the assistant."
            ),
        }
    ]
    for asked, answered in question.before:
        shown.append({"role": "user", "content": asked or CALLED})
        shown.append({"role": "assistant", "content": answered})
    shown.append({"role": "user", "content": question.text or CALLED})
    return shown
