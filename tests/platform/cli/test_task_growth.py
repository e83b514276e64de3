"""`deskhand tasks grow` on real pages, by each of its ways."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_platform.settings import load_settings
from deskhand_sandbox.tasks.families import FolderFamily

TASK = "generated/fill-2-large"


@pytest.fixture
def grow(deskhand: Any) -> Any:
    """Runs the command at a home; its exit status and what it reported."""

    def run(*arguments: str) -> tuple[int, Any]:
        status, out, err = deskhand("tasks", "grow", *arguments, "--json")
        return status, json.loads(out) if out else err

    return run


class Model(BaseHTTPRequestHandler):
    """Speaks OpenAI's protocol; says what it was told to say, in turn."""

    said: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": self.said.pop(0)}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        choice = {"message": message, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def model() -> Iterator[tuple[str, type[Model]]]:
    saying = type("Saying", (Model,), {"said": []})
    with HTTPServer(("127.0.0.1", 0), saying) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", saying
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_templates_and_explored_states_become_tasks_that_prove_themselves(grow: Any, tmp_path: Path) -> None:
    status, first = grow(TASK, "--pages", "2", "--each", "2")
    assert status == 0 and first["admitted"]
    folder = Path(first["folder"])
    assert folder == tmp_path / "home" / "tasks" / "grown"
    assert set(FolderFamily(folder).task_ids()) == set(first["admitted"])
    # the same again is not there twice
    status, again = grow(TASK, "--pages", "2", "--each", "2")
    assert (status, again["admitted"]) == (1, [])
    assert again["refused"]["duplicate"] == len(first["admitted"])

    status, explored = grow(TASK, "--pages", "2", "--each", "6", "--by", "explored")
    assert status == 0 and explored["admitted"]
    family = FolderFamily(folder)
    by = {family.make(task, 0).labels["grown_by"] for task in explored["admitted"]}

    async def recorded() -> set[str]:
        settings = load_settings(home=tmp_path / "home")
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            return set(await store.trajectory_ids(TrajectoryFilter(labels={"purpose": "explore"})))

    # what a task was grown by is an episode of the store
    assert by <= asyncio.run(recorded())


@pytest.mark.parametrize("by", ["explored", "template"])
def test_a_page_that_cannot_be_seen_is_said_and_counted(
    grow: Any, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr("deskhand_platform.cli.task_growth.say", said.append)
    status, found = grow("worlds/chain", "--by", by, "--pages", "2")
    assert (status, found["admitted"], found["refused"]) == (1, [], {"failed": 2})
    assert len(said) == 2
    for line in said:
        assert line.startswith("! worlds/chain with seed ") and "a world has no text tree" in line


def test_a_model_s_tasks_are_proved_like_any_other(
    grow: Any, model: tuple[str, type[Model]], tmp_path: Path
) -> None:
    (url, saying), elsewhere = model, tmp_path / "elsewhere"
    ask = (TASK, "--pages", "1", "--by", "model", "--model", "m", "--base-url", url)
    status, grown = grow(TASK, "--pages", "1", "--each", "1", "--into", str(elsewhere))
    assert status == 0
    (task_id,) = grown["admitted"]
    assert grown["cost"] == {}
    template = _written(elsewhere, task_id)
    wrong = {**template, "actions": [{"Wait": {"seconds": 0.01}}]}
    saying.said = [json.dumps([wrong, "nonsense", template]), "no"]
    status, found = grow(*ask)
    assert status == 0 and len(found["admitted"]) == 1
    assert found["refused"] == {"broken": 1, "unreadable": 1}
    assert found["cost"] == {"prompt_tokens": 100, "completion_tokens": 20, "usd": 0}
    status, found = grow(*ask)
    assert (status, found["admitted"], found["refused"]) == (1, [], {"unreadable": 1})


def _written(folder: Path, task_id: str) -> dict[str, Any]:
    """A task of a folder, as a model would propose it."""
    (file,) = [file for file in folder.iterdir() if file.stem in task_id]
    (task,) = yaml.safe_load(file.read_text())["tasks"]
    return {
        "instruction": task["instruction"],
        "conditions": task["verifier"]["conditions"],
        "actions": task["oracle"],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["miniwob/click-menu"], "is held out"),
        (["generated/nothing"], "generated/"),
        (["--by", "chance"], "template"),
        (["--by", "model"], "--model"),
        (["--model", "m"], "--model"),
    ],
)
def test_what_makes_no_sense_is_refused(grow: Any, arguments: list[str], said: str) -> None:
    status, told = grow(*arguments)
    assert status not in (0, None) and said in told
