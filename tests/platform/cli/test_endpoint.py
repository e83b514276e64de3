"""A policy served by the command, asked over its socket."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from deskhand_agent.endpoint.client import EndpointSettings, HttpEngine
from deskhand_agent.endpoint.wire import Vocabulary
from deskhand_agent.inference import CompletionRequest, Sampling
from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import PromptMessage, Text
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model


async def test_a_policy_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deskhand_platform.cli.app", "policies", "serve", DESKHAND_TINY]
    command += ["--decision-s", "900"]
    environment = {**os.environ, "DESKHAND_HOME": str(tmp_path), "COLUMNS": "400"}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert server.stdout is not None
        said = server.stdout.readline().decode() + server.stdout.readline().decode()
        found = re.search(r"(\S+) is served at (http://127\.0\.0\.1:\d+)", said)
        token = re.search(r"DESKHAND_ENGINE_TOKEN=(\S+)", said)
        assert found and token, said
        bundle = load_bundle(shipped_model())
        prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=(Text(text="Click"),))])
        request = CompletionRequest(
            prompt_ids=prompt.ids,
            images=(),
            processor_hash=bundle.processor_hash,
            sampling=Sampling(temperature=0.0, max_tokens=5),
        )
        settings = EndpointSettings(url=found[2], token=token[1])
        ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
        async with HttpEngine(settings, ends, policy_id=found[1]) as engine:
            reply = await engine.generate(request)
        assert 1 <= len(reply.ids) == len(reply.logprobs) <= 5
        assert (reply.policy_id, reply.policy_update) == (found[1], 0)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 128 + signal.SIGTERM
    finally:
        server.kill()
        server.communicate()
