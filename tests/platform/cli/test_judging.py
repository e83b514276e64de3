"""`deskhand flywheel judge` from the command line, against an endpoint in this process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse

from deskhand_flywheel import tables
from deskhand_flywheel.store import Store

Run = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def says(text: str) -> JSONResponse:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return JSONResponse({"choices": [{"message": {"content": text}}], "usage": usage})


async def test_steps_and_outcomes_are_judged_once(
    store: Store, record_episode: Any, endpoint: Any, beside: Run
) -> None:
    kept = await record_episode(store, run="1")
    await record_episode(store)
    endpoint.reply = lambda: says('{"rationale": "Fine.", "score": "90%"}')
    own = ("--endpoint", endpoint.url, "--model", "m", "--label", "run=1")
    status, said, told = await beside("flywheel", "judge", "steps", *own)
    assert status == 0 and "2 steps judged" in said and said.startswith("judge:m@")
    assert "200 prompt_tokens" in told and "2 number repairs" in told
    status, said, _ = await beside("flywheel", "judge", "outcomes", *own, "--json")
    report = json.loads(said)
    assert (report["judged"], report["trajectories"]) == (1, [kept])
    assert (await beside("flywheel", "judge", "steps", *own))[1].endswith(": 0 steps judged\n")
    assert [s.score for s in await store.scores(kept)] == [0.9, 0.9]
    assert [s.rationale for s in await store.outcome_scores(kept)] == ["Fine."]


async def test_what_it_comes_to_no_verdict_on_is_said(
    store: Store, record_episode: Any, endpoint: Any, beside: Run
) -> None:
    await record_episode(store)
    endpoint.reply = lambda: says("no")
    status, said, told = await beside(
        "flywheel", "judge", "steps", "--endpoint", endpoint.url, "--model", "m", "--set", "asks=2"
    )
    assert status == 1 and "0 steps judged" in said
    assert "no verdict on 2 steps: nonsense" in told and "4 replies held no verdict" in told


async def test_an_episode_that_cannot_be_read_is_named_and_the_others_are_judged(
    store: Store, record_episode: Any, endpoint: Any, beside: Run
) -> None:
    broken, whole = [await record_episode(store) for _ in range(2)]
    async with store.database.write() as connection:
        heads = tables.trajectories
        await connection.execute(heads.update().where(heads.c.id == broken).values(start="no JSON"))
    endpoint.reply = lambda: says('{"rationale": "Fine.", "score": 1}')
    own = ("--endpoint", endpoint.url, "--model", "m")
    status, said, told = await beside("flywheel", "judge", "steps", *own)
    assert status == 0 and "2 steps judged" in said
    assert f"left out {broken}: " in told
    assert "no verdict on 1 episodes whose record cannot be read; they are tried again" in told
    assert len(await store.scores(whole)) == 2
    status, said, _ = await beside("flywheel", "judge", "outcomes", *own, "--json")
    report = json.loads(said)
    assert (status, report["judged"], report["failures"]) == (0, 1, {"record": 1})


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (("--set", "retris=1"), 2, "retris"),
        (("--set", "asks=0"), 2, "give 1 or more"),
        (("--set", "api_key=x"), 2, "OPENAI_API_KEY"),
        (("--rubric", "/nowhere.md"), 2, "/nowhere.md"),
        (("--label", "run"), 2, "name=value"),
        ((), 1, "OPENAI_API_KEY"),
    ],
)
async def test_what_is_asked_wrongly_is_one_sentence(
    beside: Run, more: tuple[str, ...], status: int, said: str
) -> None:
    ended, _, told = await beside("flywheel", "judge", "steps", "--model", "m", *more)
    assert (ended, said in told) == (status, True), told
