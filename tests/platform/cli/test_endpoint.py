"""A policy served by the command, asked over its socket, and trained through it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.endpoint.client import TOKEN_VARIABLE, EndpointSettings, HttpEngine
from deskhand_agent.endpoint.wire import Vocabulary
from deskhand_agent.inference import Completion, CompletionRequest, Sampling
from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import PromptMessage, Text
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_platform.settings import load_settings
from deskhand_trainer.run import _guarded  # pyright: ignore[reportPrivateUsage]
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import FINISHED

CHAIN = {
    "tasks": ["worlds/chain"],
    "iterations": 2,
    "episodes_per_iteration": 4,
    "validation_episodes": 1,
    "epochs": 1,
    "lr_warmup_iterations": 0,
    "minutes": 0,
    "max_tokens": 8,
    "precision": "float32",
    "device": "cpu",
    "value_pretraining": {"enabled": False},
    "shaping": {"length": 1.0},  # without a success there is something to learn, too
}


@contextmanager
def served(home: Path, *options: str) -> Generator[tuple[subprocess.Popen[bytes], str, str, str]]:
    """The command's process; the policy's id, address and token."""
    command = [
        sys.executable,
        "-m",
        "deskhand_platform.cli.app",
        "policies",
        "serve",
        DESKHAND_TINY,
        *options,
    ]
    environment = {**os.environ, "DESKHAND_HOME": str(home), "COLUMNS": "400"}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert server.stdout is not None
        said = server.stdout.readline().decode() + server.stdout.readline().decode()
        found = re.search(r"(\S+) is served at (http://127\.0\.0\.1:\d+)", said)
        token = re.search(r"DESKHAND_ENGINE_TOKEN=(\S+)", said)
        assert found and token, said
        yield server, found[1], found[2], token[1]
    finally:
        server.kill()
        server.communicate()


async def answered(policy_id: str, settings: EndpointSettings) -> Completion:
    bundle = load_bundle(shipped_model())
    prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=(Text(text="Click"),))])
    request = CompletionRequest(
        prompt_ids=prompt.ids,
        images=(),
        processor_hash=bundle.processor_hash,
        sampling=Sampling(temperature=0.0, max_tokens=5),
    )
    ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
    async with HttpEngine(settings, ends, policy_id=policy_id) as engine:
        return await engine.generate(request)


def test_a_run_learns_through_a_server_that_takes_its_weights_until_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run := tmp_path / "run").mkdir()
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path))
    options = "--decision-s", "900", "--weights-from", str(run)
    with served(tmp_path, *options) as (server, policy_id, url, token):
        reply = asyncio.run(answered(policy_id, EndpointSettings(url=url, token=token)))
        assert 1 <= len(reply.ids) == len(reply.logprobs) <= 5
        assert (reply.policy_id, reply.policy_update) == (policy_id, 0)
        monkeypatch.setenv(TOKEN_VARIABLE, token)
        stores = {"store_url": load_settings().db_url, "blobs_url": load_settings().blobs_url}
        spec = {
            "id": "r",
            "kind": "ppo",
            "policy_in": policy_id,
            "config": {**CHAIN, "engine": url},
            **stores,
        }
        (run / "spec.json").write_text(json.dumps(spec))
        status = _guarded(RunFolder(run))
        server.send_signal(signal.SIGTERM)
        assert server.wait(120) == 128 + signal.SIGTERM
    assert status == FINISHED, (run / "error.json").read_text()
    steps, iterations = asyncio.run(_learned(stores))
    assert {each.policy_id for each in steps["0"] + steps["1"]} == {policy_id}
    assert {each.policy_update for each in steps["0"]} == {0}
    assert {each.policy_update for each in steps["1"]} == {1}
    assert len(iterations) == 2
    assert all(each["logprob_gap"] < 1e-5 for each in iterations), "each by the trainer's weights of then"
    assert not (run / "weights").exists()


async def _learned(stores: dict[str, str]) -> tuple[dict[str, list[Completion]], list[dict[str, Any]]]:
    """By iteration, the completions of its rollouts; and what was told of the iterations."""
    async with await Store.open(stores["store_url"], stores["blobs_url"]) as store:
        steps: dict[str, list[Completion]] = {}
        ids = await store.trajectory_ids(TrajectoryFilter(labels={"purpose": "rollout"}))
        async for t in store.each_trajectory(ids):
            drawn = [step.decision.completion for step in t.steps]
            steps.setdefault(t.start.labels["iteration"], []).extend(each for each in drawn if each)
        events = await store.events_after(0)
        return steps, [dict(e.data) for e in events if e.name == "ppo/iteration"]
