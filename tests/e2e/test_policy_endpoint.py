"""A kept policy works a task through the platform's own chat endpoint, as any model behind one does."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from served_platform import Platform

from deskhand_platform.auth import HASH_FILE, TOKEN_FILE, hash_token, write_private
from deskhand_platform.client import Deskhand
from deskhand_platform.states import WorkState


@pytest.mark.slow
def test_an_episode_by_the_agent_s_chat_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "a token that was there before"
    write_private(tmp_path / TOKEN_FILE, token)
    write_private(tmp_path / HASH_FILE, hash_token(token))
    monkeypatch.setenv("OPENAI_API_KEY", token)
    monkeypatch.delenv("DESKHAND_TOKEN", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}/v1"
    platform = Platform(tmp_path, endpoints=[endpoint], port=port)
    try:
        with Deskhand(platform.url, home=tmp_path) as client:
            settings: dict[str, Any] = {
                "model": "deskhand-tiny",
                "base_url": endpoint,
                "temperature": 0.0,
                "max_tokens": 32,
                "memory": {"n_screenshots": 1},
            }
            sent = client.submit("fake/press-button", seed=1, policy="openai", settings=settings)
            over = client.wait(sent.id, timeout_s=150)
            assert over.state is WorkState.DONE and over.trajectory_id is not None, over
            episode = client.trajectory(over.trajectory_id)
            steps = list(client.steps(episode.id))
        assert episode.policy_id == "openai:deskhand-tiny" and episode.failure is None
        assert len(steps) == episode.turns > 0
        assert all(step.text and not step.trainable for step in steps)
    finally:
        platform.stop()
