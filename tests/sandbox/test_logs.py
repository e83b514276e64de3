from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from deskhand_sandbox import logs

log = logging.getLogger("deskhand_sandbox.tried")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    for name in logs.PACKAGES:
        logging.getLogger(f"deskhand_{name}").setLevel(logging.NOTSET)


async def test_lines_carry_the_ids_of_their_block_and_of_no_other(stream: io.StringIO) -> None:
    logs.configure("json", process="tried", stream=stream)

    async def episode(task: str, trajectory: str) -> None:
        with logs.about(task=task, round=None):
            await asyncio.sleep(0)
            inner = asyncio.create_task(learn(trajectory))
            await inner
            log.info("ended %s", task)

    async def learn(trajectory: str) -> None:
        logs.note(trajectory=trajectory)
        await asyncio.sleep(0)

    await asyncio.gather(episode("a", "1"), episode("b", "2"))
    logs.note(trajectory="nowhere")
    log.info("after")
    first, second, after = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["task"], first["trajectory"], first["message"]) == ("a", "1", "ended a")
    assert (second["task"], second["trajectory"]) == ("b", "2")
    assert "round" not in first and "task" not in after and "trajectory" not in after
    assert (first["process"], first["level"], first["logger"]) == ("tried", "info", log.name)
    assert first["at"].endswith("+00:00")


def test_a_traceback_and_line_breaks_stay_in_one_line(stream: io.StringIO) -> None:
    logs.configure("json", process="tried", stream=stream)
    try:
        raise ValueError("a\nb")
    except ValueError:
        log.exception("it\nbroke")
    [line] = stream.getvalue().splitlines()
    said = json.loads(line)
    assert said["message"] == "it\nbroke" and "ValueError: a\nb" in said["traceback"]


def test_a_person_reads_the_ids_at_the_end(stream: io.StringIO) -> None:
    logs.configure("text", process="tried", level=logging.WARNING, stream=stream)
    with logs.about(task="a"):
        log.info("hidden")
        log.warning("shown")
    logging.getLogger("elsewhere").info("hidden")
    [line] = stream.getvalue().splitlines()
    assert line.endswith("WARNING deskhand_sandbox.tried: shown [task=a]")
