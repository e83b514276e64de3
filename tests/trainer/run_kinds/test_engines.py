"""Runs whose replies a server draws: the same as by themselves, refused where the server is another's."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from deskhand_agent.endpoint.client import TOKEN_VARIABLE, HttpEngine
from deskhand_agent.endpoint.server import create_endpoint
from deskhand_agent.endpoint.wire import Vocabulary
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.tiny import TinyConfig
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_trainer.acting import acting_engines
from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig, parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_kinds.context import UNTRAINED
from deskhand_trainer.run_kinds.engines import replies
from deskhand_trainer.run_kinds.executors import executing
from deskhand_trainer.run_process import FINISHED, REFUSED

TASK = "fake/press-button"


@contextmanager
def served(policy_id: str) -> Iterator[tuple[str, LocalEngine]]:
    """The untrained policy behind a socket, on a loop of its own."""
    bundle = build_tiny(TinyConfig(seed=0))
    engine = LocalEngine(bundle, policy_id=policy_id)
    ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
    app = create_endpoint(engine, ends, token="t")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        running = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        running.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", engine
        finally:
            server.should_exit = True
            running.join()
            engine.close()


def run(home: Path, kind: str, config: dict[str, Any]) -> tuple[int, RunFolder]:
    folder = home / kind
    folder.mkdir(parents=True)
    urls = {
        "store_url": f"sqlite+aiosqlite:///{home}/store.db",
        "blobs_url": f"file://{home}/blobs",
    }
    (folder / "spec.json").write_text(json.dumps({"id": kind, "kind": kind, "config": config, **urls}))
    return _guarded(RunFolder(folder)), RunFolder(folder)


def replies_kept(home: Path) -> set[tuple[int, ...]]:
    async def read() -> set[tuple[int, ...]]:
        async with await Store.open(f"sqlite+aiosqlite:///{home}/store.db", f"file://{home}/blobs") as store:
            ids = await store.trajectory_ids(TrajectoryFilter())
            every = [t async for t in store.each_trajectory(ids)]
        drawn = [step.decision.completion for t in every for step in t.steps]
        return {each.ids for each in drawn if each is not None}

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("collect", {"policy": "local", "episodes_per_task": 3, "temperature": 0.0}),
        ("evaluate", {"episodes": 3, "modes": ["greedy"]}),
    ],
)
def test_a_server_draws_what_the_run_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, config: dict[str, Any]
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "t")
    told = {"tasks": [TASK], "max_tokens": 4, **config}
    with served(UNTRAINED) as (url, engine):
        assert run(tmp_path / "far", kind, {**told, "engine": url})[0] == FINISHED
        assert engine.replies >= 3
    assert run(tmp_path / "near", kind, told)[0] == FINISHED
    far = replies_kept(tmp_path / "far")
    assert far and far == replies_kept(tmp_path / "near")


@pytest.mark.parametrize(
    ("kind", "config"),
    [("collect", {"policy": "local", "episodes_per_task": 1}), ("evaluate", {"episodes": 1})],
)
def test_a_run_taken_up_again_draws_other_replies(tmp_path: Path, kind: str, config: dict[str, Any]) -> None:
    """Otherwise a second try at a start state is the first one over again, and two count for what one is."""
    told = {"tasks": [TASK], "max_tokens": 12, "concurrency": 1, **config}
    told |= {"modes": ["sampled"]} if kind == "evaluate" else {}
    status, folder = run(tmp_path, kind, told)
    assert status == FINISHED
    first = replies_kept(tmp_path)
    # it died before its second try
    (folder.path / "result.json").unlink()
    spec = json.loads((folder.path / "spec.json").read_text())
    spec["config"]["tries"] = 2
    (folder.path / "spec.json").write_text(json.dumps(spec))
    assert _guarded(folder) == FINISHED
    assert len(replies_kept(tmp_path)) == 2 * len(first)


class Patience:
    """What whoever draws was told of how long a reply may take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
        heard = self.heard = set[float]()

        class Engine(LocalEngine):
            def __init__(self, *args: Any, **settings: Any) -> None:
                super().__init__(*args, **settings)
                heard.add(self.settings.deadline_s)

        for module in modules:
            monkeypatch.setattr(f"deskhand_trainer.{module}.LocalEngine", Engine)


@pytest.mark.parametrize(
    ("kind", "module", "config"),
    [
        ("collect", "run_kinds.engines", {"policy": "local", "episodes_per_task": 1}),
        ("evaluate", "run_kinds.engines", {"episodes": 1, "modes": ["greedy"]}),
        ("label", "run_kinds.label", {}),
    ],
)
def test_a_reply_may_take_as_long_as_the_run_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: str, config: dict[str, Any]
) -> None:
    patience = Patience(monkeypatch, module)
    told = {"tasks": [TASK], "max_tokens": 4, "decision_s": 900.0, **config}
    assert run(tmp_path, kind, told)[0] == FINISHED
    assert patience.heard == {900.0}


def test_so_it_may_where_a_run_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Patience(monkeypatch, "acting")
    setting: Any = SimpleNamespace(
        config=parse_config(PpoConfig, {"decision_s": 900.0, "engines": 2}),
        policy_id="p",
        life=0,
        servers=None,
    )
    acting_engines(setting, build_tiny(TinyConfig(seed=0)), update=0, features=None).close()
    assert patience.heard == {900.0}


async def test_so_it_may_where_a_server_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    async def agreed(engine: HttpEngine, processor_hash: str) -> None:
        pass

    monkeypatch.setattr(HttpEngine, "agree", agreed)
    config = parse_config(EvaluateConfig, {"engine": "http://127.0.0.1:9", "decision_s": 900.0})
    context: Any = SimpleNamespace(policy_id="p")
    async with replies(context, build_tiny(TinyConfig(seed=0)), config) as engine:
        assert isinstance(engine, HttpEngine) and engine.settings.timeout_s == 900.0


async def test_so_it_may_where_another_carries_plans_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = Patience(monkeypatch, "run_kinds.executors")
    bundle = build_tiny(TinyConfig(seed=0))

    async def stored(policy_id: str, folder: Path) -> ModelBundle:
        return bundle

    context: Any = SimpleNamespace(stored_policy=stored, folder=SimpleNamespace(path=tmp_path))
    plans: Any = SimpleNamespace(memory=replace(bundle.memory, plan_tokens=3))
    config = parse_config(EvaluateConfig, {"executor": "policy-1", "decision_s": 900.0})
    async with executing(context, plans, config):
        assert patience.heard == {900.0}


def test_a_server_of_another_policy_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "t")
    with served("another") as (url, engine):
        status, folder = run(tmp_path, "evaluate", {"tasks": [TASK], "engine": url})
        assert engine.replies == 0
    assert status == REFUSED
    assert (
        f"serves another, not {UNTRAINED}" in json.loads((folder.path / "error.json").read_text())["message"]
    )


def test_a_run_that_learns_is_refused_by_a_server_that_keeps_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "t")
    with served("another") as (url, engine):
        status, folder = run(tmp_path, "ppo", {"tasks": ["worlds/chain"], "engine": url})
        assert engine.replies == engine.update == 0
    assert status == REFUSED
    told = json.loads((folder.path / "error.json").read_text())
    assert told["message"].startswith("field 'engine'") and "--weights-from" in told["message"]


@pytest.mark.parametrize("kind", ["evaluate", "ppo"])
def test_a_server_that_is_not_there_is_refused(tmp_path: Path, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    status, folder = run(tmp_path, kind, {"tasks": ["worlds/chain"], "engine": url})
    assert status == REFUSED
    assert "cannot be reached" in json.loads((folder.path / "error.json").read_text())["message"]


def test_a_token_that_no_header_takes_is_refused_unquoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "secr\u00e9t")
    status, folder = run(tmp_path, "evaluate", {"tasks": [TASK], "engine": "http://127.0.0.1:9"})
    said = json.loads((folder.path / "error.json").read_text())["message"]
    assert status == REFUSED
    assert TOKEN_VARIABLE in said and "secr" not in said


@pytest.mark.parametrize(
    ("cls", "values", "said"),
    [
        (CollectConfig, {"engine": "http://x"}, "scripted policy"),
        (CollectConfig, {"engine": "x:80", "policy": "local"}, "no http://"),
        (EvaluateConfig, {"engine": "http://x", "policy": "scripted"}, "scripted policy"),
        (EvaluateConfig, {"engine_form": "openai"}, "engine_form"),
        (
            CollectConfig,
            {"engine": "http://x:80x", "policy": "local"},
            "'http://x:80x' is no http://HOST:PORT",
        ),
        (EvaluateConfig, {"engine": "http://[::1"}, "no http://HOST:PORT"),
        (PpoConfig, {"engine": "http://x, y:80"}, "'y:80' is no http://"),
        (PpoConfig, {"engine": "http://x,http://y:70000"}, "'http://y:70000' is no http://HOST:PORT"),
        (PpoConfig, {"engine": "http://x,http://x"}, "names a server twice"),
        (PpoConfig, {"engine": "http://x", "engines": 2}, "engines: 2 engines of the run's own"),
    ],
)
def test_settings_that_do_not_go_together(cls: type, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_config(cls, values)
