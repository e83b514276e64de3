"""Who answers the questions of a run's episodes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from deskhand_agent.apis import ApiSettings
from deskhand_agent.chat import ChatEndpoint
from deskhand_agent.users import User, by_rule
from deskhand_agent.users.played import PlayedUser
from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig


@asynccontextmanager
async def answering(config: CollectConfig | EvaluateConfig | PpoConfig) -> AsyncGenerator[User]:
    """The user, for the length of the block."""
    if not config.user:
        yield by_rule
        return
    endpoint = ChatEndpoint(ApiSettings(model=config.user_model, base_url=config.user))
    try:
        yield PlayedUser(endpoint)
    finally:
        await endpoint.close()
