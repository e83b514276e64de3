"""Judges over a store, against a real HTTP server that speaks the protocol and does everything wrong."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, picture, write
from judge_replies import busy, chat, says
from PIL import Image as PilImage
from sqlalchemy import func
from starlette.responses import JSONResponse, PlainTextResponse, Response

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.errors import EndpointError
from deskhand_agent.types import Step
from deskhand_flywheel import tables
from deskhand_flywheel.errors import (
    FlywheelError,
    InvalidRubric,
    MalformedRecord,
    NoVerdict,
    UnknownSchemaVersion,
)
from deskhand_flywheel.judges import (
    JudgeSettings,
    OutcomeJudge,
    ProcessJudge,
    Rubric,
    judge_store,
    read_rubric,
)
from deskhand_flywheel.judges.judge import as_is
from deskhand_flywheel.judges.judging import GIVE_UP
from deskhand_flywheel.judges.prompts import MOST_TURNS
from deskhand_flywheel.review_types import DisagreementKind
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import JudgeTrouble, TrajectoryFilter
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import Action, Answer, Finish

Make = Callable[..., Any]


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    endpoint.reply = lambda: says(0.75)
    return endpoint


@pytest.fixture
async def make(endpoint: Any) -> AsyncIterator[Make]:
    made: list[Any] = []

    def judge(kind: Any = ProcessJudge, rubric: Rubric | None = None, **settings: Any) -> Any:
        chosen = {"model": "m", "base_url": endpoint.url, "timeout_s": 10.0, "retries": 1, **settings}
        made.append(kind(JudgeSettings(**chosen), rubric))
        return made[-1]

    yield judge
    for each in made:
        await each.close()


def shown(sent: dict[str, Any]) -> tuple[str, list[PilImage.Image]]:
    """The text of the user's message, and its pictures."""
    parts = sent["messages"][1]["content"]
    pictures = [
        PilImage.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
        for part in parts
        if part["type"] == "image_url"
    ]
    return "\n".join(part["text"] for part in parts if part["type"] == "text"), pictures


async def test_every_step_is_judged_once(store: Store, endpoint: Any, make: Make) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    judge = make(usd_per_million_prompt_tokens=10.0)
    report = await judge_store(store, judge)
    assert (report.judged, report.trajectories, report.failures, report.stopped) == (3, ("a",), {}, None)
    assert report.cost["prompt_tokens"] == 300.0 and report.cost["usd"] == pytest.approx(0.003)
    scores = await store.scores("a")
    assert [(s.step_index, s.score, s.scorer) for s in scores] == [(n, 0.75, judge.scorer) for n in range(3)]
    assert {s.rationale for s in scores} == {"It clicks the button asked for."}
    again = await judge_store(store, make())
    assert (again.judged, len(endpoint.sent)) == (0, 3)


async def test_a_new_model_or_rubric_is_another_scorer(make: Make) -> None:
    first = make().scorer
    assert first.startswith("judge:m@") and make().scorer == first
    kind = Rubric(text="Be kind.")
    others = {make(model="n").scorer, make(rubric=kind).scorer, make(OutcomeJudge).scorer}
    # what it is shown of an episode counts too
    assert len({first, *others, make(OutcomeJudge, rubric=kind).scorer}) == 5
    assert len(make(model="x" * 500).scorer) <= 160


async def test_a_judge_is_as_steady_as_its_model_can_be(
    make: Make, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, trajectory = make(), make_trajectory("a", end=make_end())
    assert judge.scorer == make(temperature=0.0).scorer
    await judge.score_step(trajectory, 0, as_is)
    monkeypatch.setattr("deskhand_agent.chat.BASE_URL", endpoint.url)
    await make().score_step(trajectory, 0, as_is)
    await make(temperature=0.5).score_step(trajectory, 0, as_is)
    assert [sent.get("temperature") for sent in endpoint.sent] == [0.0, None, 0.5]


async def test_what_a_process_judge_is_shown(store: Store, endpoint: Any, make: Make) -> None:
    endpoint.reply = lambda: says(1)
    await write(store, make_trajectory("a", end=make_end()))
    await judge_store(store, make(), concurrency=1)
    first, second, last = endpoint.sent
    assert "Score from 0 to 1" in first["messages"][0]["content"]
    assert '"rationale"' in first["messages"][0]["content"]
    text, pictures = shown(first)
    assert "Click the button." in text and "It has done nothing before." in text
    assert "160 × 210 pixels" in text and "The button says so." in text
    before, after = pictures
    ring = [before.convert("RGB").getpixel((70 + dx, 92)) for dx in range(-8, 9)]
    assert (255, 0, 0) in ring
    assert after.convert("RGB").tobytes() == opened(1).tobytes()
    text, pictures = shown(second)
    assert "1. click(point='<point>70 92</point>')" in text and len(pictures) == 2
    _, (_, end) = shown(last)
    assert end.convert("RGB").tobytes() == opened(99).tobytes()


def opened(number: int) -> PilImage.Image:
    data = picture(number).data
    assert data is not None
    return PilImage.open(io.BytesIO(data)).convert("RGB")


async def test_before_another_attempt_there_is_no_screen_afterwards(endpoint: Any, make: Make) -> None:
    steps = (make_step(0, answer=TRY_AGAIN), make_step(1))
    await make().score(make_trajectory("a", steps=steps))
    assert [len(shown(sent)[1]) for sent in endpoint.sent] == [1, 1]


async def test_large_screens_are_shown_smaller(endpoint: Any, make: Make) -> None:
    step = make_step(0, image=picture(0, (1600, 1200)))
    await make(longest_px=400).score(make_trajectory("a", steps=(step,)))
    text, (seen,) = shown(endpoint.sent[0])
    assert seen.size == (400, 300) and "1600 × 1200 pixels" in text


async def test_what_an_outcome_judge_is_shown(store: Store, endpoint: Any, make: Make) -> None:
    steps = tuple(make_step(n) for n in range(7))
    said = replace(steps[6].decision, actions=(Finish(text="It costs 7 €."),))
    await write(
        store, make_trajectory("a", steps=(*steps[:6], replace(steps[6], decision=said)), end=make_end())
    )
    report = await judge_store(store, make(OutcomeJudge))
    text, pictures = shown(endpoint.sent[0])
    assert "7. finished(content='It costs 7 €.')" in text
    assert "What it said in the end: It costs 7 €." in text and "looked" not in text
    assert [p.convert("RGB").tobytes() for p in pictures] == [
        opened(number).tobytes() for number in (3, 4, 5, 6, 99)
    ]
    (score,) = await store.outcome_scores("a")
    assert (score.score, score.scorer, report.judged) == (0.75, report.scorer, 1)
    assert (await judge_store(store, make(OutcomeJudge))).judged == 0


def saying(number: int, *actions: Action, answer: str | None = None) -> Step:
    step = make_step(number, answer=answer)
    return replace(step, decision=replace(step.decision, actions=actions))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        # an end without words leaves the answer as it was, as it does for the verifier
        ((saying(0, Answer(text="7 €")), saying(1, Finish())), "What it said in the end: 7 €"),
        ((saying(0, Answer(text="7 €"), Finish()),), "What it said in the end: 7 €"),
        ((saying(0, Answer(text="7 €")), saying(1, Finish(text="8 €"))), "What it said in the end: 8 €"),
        # of an attempt that failed nothing counts
        ((saying(0, Answer(text="7 €"), Finish(), answer=TRY_AGAIN), make_step(1)), "It said nothing in the"),
        ((saying(0, Finish()),), "It said nothing in the end."),
    ],
)
async def test_an_outcome_judge_is_told_what_was_said_last(
    endpoint: Any, make: Make, steps: tuple[Step, ...], told: str
) -> None:
    await make(OutcomeJudge).score(make_trajectory("a", steps=steps, end=make_end()))
    assert told in shown(endpoint.sent[0])[0]


async def test_an_outcome_judge_is_shown_every_turn_of_a_long_episode(endpoint: Any, make: Make) -> None:
    steps = tuple(make_step(n, image=picture(0)) for n in range(MOST_TURNS + 2))
    trajectory = make_trajectory("a", steps=steps, end=make_end())
    await make(OutcomeJudge).score(trajectory)
    await make().score_step(trajectory, MOST_TURNS + 1, as_is)
    (whole, _), (past, _) = map(shown, endpoint.sent)
    assert "\n1. " in whole and f"\n{MOST_TURNS + 2}. " in whole and "left out" not in whole
    assert "(1 earlier turns left out)\n2. " in past


async def test_nonsense_is_asked_for_again_and_near_misses_are_counted(
    store: Store, endpoint: Any, make: Make
) -> None:
    await write(store, make_trajectory("a", steps=(make_step(0),), end=make_end()))
    endpoint.queue = [
        chat("I would rather not."),
        chat(None),
        chat('```json\n{"reason": "Fine.", "score": "50%"}\n```'),
    ]
    report = await judge_store(store, make())
    assert (report.judged, report.unreadable, report.failures) == (1, 2, {})
    assert report.repairs == {"fence": 1, "name": 1, "number": 1}
    assert [s.score for s in await store.scores("a")] == [0.5]
    asked = endpoint.sent[1]["messages"]
    assert asked[2] == {"role": "assistant", "content": "I would rather not."}
    assert "could not be read" in asked[3]["content"]
    assert len(endpoint.sent[2]["messages"]) == 4  # the last try alone, not all of them
    assert report.cost["prompt_tokens"] == 300.0


async def test_lasting_nonsense_is_a_failure_that_is_kept_and_tried_again(
    store: Store, endpoint: Any, make: Make
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    endpoint.queue = [says(1), *[chat("no")] * 3, says(0)]
    judge = make()
    report = await judge_store(store, judge, concurrency=1)
    assert (report.judged, report.failures, report.unreadable) == (2, {"nonsense": 1}, 3)
    (failure,) = await store.judge_failures(judge.scorer)
    assert (failure.step_index, failure.trouble, failure.attempts) == (1, JudgeTrouble.NONSENSE, 1)
    assert "3 replies held no verdict" in failure.detail
    endpoint.queue = [chat("no")] * 3
    assert (await judge_store(store, make())).failures == {"nonsense": 1}
    assert [f.attempts for f in await store.judge_failures(judge.scorer)] == [2]
    assert (await judge_store(store, make())).judged == 1
    assert await store.judge_failures(judge.scorer) == ()
    assert [s.score for s in await store.scores("a")] == [1.0, 0.75, 0.0]


async def test_passing_trouble_costs_no_step(store: Store, endpoint: Any, make: Make) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    endpoint.queue = [busy(429), busy(500), PlainTextResponse("<html>"), says(1)]
    report = await judge_store(store, make(retries=5), concurrency=1)
    assert (report.judged, report.failures) == (3, {})
    assert [report.cost[name] for name in ("rate_limited", "server_error", "nonsense")] == [1.0] * 3


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (lambda: busy(429), JudgeTrouble.RATE_LIMITED),
        (lambda: busy(503), JudgeTrouble.SERVER_ERROR),
        (lambda: busy(400), JudgeTrouble.REFUSED),
        (lambda: PlainTextResponse("<html>"), JudgeTrouble.NONSENSE),
        (None, JudgeTrouble.TIMEOUT),
    ],
)
async def test_lasting_trouble_is_a_failure_of_its_kind(
    store: Store, endpoint: Any, make: Make, answer: Callable[[], Response] | None, trouble: JudgeTrouble
) -> None:
    await write(store, make_trajectory("a", steps=(make_step(0),), end=make_end()))
    silent = asyncio.Event()

    async def hang() -> Response:
        await silent.wait()
        return Response()

    endpoint.queue = [hang if answer is None else answer()] * 2
    judge = make(retries=0, timeout_s=0.2 if answer is None else 10.0, asks=1)
    report = await judge_store(store, judge)
    silent.set()
    assert (report.judged, report.failures) == (0, {trouble: 1})
    assert report.cost[trouble] == 1.0
    (failure,) = await store.judge_failures(judge.scorer)
    assert failure.trouble is trouble and await store.scores("a") == ()


async def test_what_failed_is_paid_for_too(store: Store, endpoint: Any, make: Make) -> None:
    """An answer that is no reply, but was counted."""
    await write(store, make_trajectory("a", steps=(make_step(0),), end=make_end()))
    endpoint.queue = [JSONResponse({"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 5}})]
    report = await judge_store(store, make(retries=0, usd_per_million_prompt_tokens=10.0))
    assert report.failures == {"nonsense": 1}
    assert (report.cost["prompt_tokens"], report.cost["usd"]) == (70.0, pytest.approx(0.0007))


async def test_nobody_at_the_endpoint_ends_the_run_early(store: Store, make: Make) -> None:
    steps = tuple(make_step(n) for n in range(2 * GIVE_UP))
    await write(store, make_trajectory("a", steps=steps, end=make_end()))
    judge = make(base_url="http://127.0.0.1:9", retries=0)
    report = await judge_store(store, judge, concurrency=3)
    assert report.stopped is not None and "could not be asked" in report.stopped
    assert GIVE_UP <= report.failures[JudgeTrouble.UNREACHABLE] < GIVE_UP + 3
    assert len(await store.judge_failures(judge.scorer)) == report.failures[JudgeTrouble.UNREACHABLE]


async def test_a_damaged_or_missing_picture_costs_its_steps_alone(
    store: Store, endpoint: Any, make: Make
) -> None:
    broken = as_image(b"no picture at all", (160, 210))
    gone = picture(5)
    steps = (make_step(0), make_step(1, image=broken), make_step(2), make_step(3, image=gone), make_step(4))
    await write(store, make_trajectory("a", steps=steps, end=make_end()))
    await store.blobs.delete([gone.digest])
    judge = make()
    report = await judge_store(store, judge)
    assert (report.judged, report.failures) == (2, {"picture": 3})
    failed = await store.judge_failures(judge.scorer)
    # what is broken cannot be drawn on; what is gone is missed before and after the step
    assert [f.step_index for f in failed] == [1, 2, 3]


async def spoil(store: Store, trajectory_id: str, *, mend: bool = False) -> None:
    """A step of another form: unknown to this version, or as it was again."""
    forms = ['"schema_version":1', '"schema_version":9']
    steps = tables.steps
    async with store.database.write() as connection:
        of_it = steps.update().where(steps.c.trajectory_id == trajectory_id, steps.c.step_index == 0)
        await connection.execute(of_it.values(step=func.replace(steps.c.step, *sorted(forms, reverse=mend))))


@pytest.mark.parametrize("kind", [ProcessJudge, OutcomeJudge])
async def test_an_episode_that_cannot_be_read_is_one_failure_and_the_others_are_judged(
    store: Store, make: Make, kind: Any
) -> None:
    names = [f"{number:02}" for number in range(20)]
    for name in names:
        await write(store, make_trajectory(name, steps=(make_step(0),), end=make_end()))
    await spoil(store, "00")
    async with store.database.write() as connection:
        heads = tables.trajectories
        await connection.execute(heads.update().where(heads.c.id == "18").values(start="no JSON"))
    told: dict[str, FlywheelError] = {}
    seen: list[tuple[int, int]] = []
    judge = make(kind)
    report = await judge_store(
        store,
        judge,
        progress=lambda *counts: seen.append(counts),
        on_damaged=lambda name, why: told.update({name: why}),
    )
    assert (report.judged, report.failures, report.stopped) == (18, {"record": 2}, None)
    assert seen == [(number, 20) for number in range(1, 21)]
    assert {name: type(why) for name, why in told.items()} == {
        "00": UnknownSchemaVersion,
        "18": MalformedRecord,
    }
    failed = await store.judge_failures(judge.scorer)
    assert [(f.trajectory_id, f.step_index, f.trouble) for f in failed] == [
        ("00", None, JudgeTrouble.RECORD),
        ("18", None, JudgeTrouble.RECORD),
    ]
    assert "schema version 9" in failed[0].detail
    await spoil(store, "00", mend=True)
    again = await judge_store(store, make(kind))
    assert (again.trajectories, again.failures) == (("00",), {"record": 1})
    assert [(f.trajectory_id, f.attempts) for f in await store.judge_failures(judge.scorer)] == [("18", 2)]


async def test_many_that_cannot_be_read_do_not_end_the_run(store: Store, make: Make) -> None:
    for number in range(GIVE_UP + 2):
        await write(store, make_trajectory(f"{number:02}", steps=(make_step(0),), end=make_end()))
        if number <= GIVE_UP:
            await spoil(store, f"{number:02}")
    report = await judge_store(store, make(), concurrency=1)
    assert (report.judged, report.failures, report.stopped) == (1, {"record": GIVE_UP + 1}, None)


async def test_what_fails_every_time_does_not_keep_a_limited_run_from_the_others(
    store: Store, make: Make
) -> None:
    for name in "abcd":
        step = make_step(0, image=as_image(b"no picture at all", (160, 210)) if name == "a" else None)
        await write(store, make_trajectory(name, steps=(step,), end=make_end()))
    await spoil(store, "b")
    runs = [await judge_store(store, make(), limit=1) for _ in range(6)]
    assert [run.failures or run.trajectories for run in runs] == [
        {"picture": 1},
        {"record": 1},
        ("c",),
        ("d",),
        {"picture": 1},
        {"record": 1},
    ]


async def test_a_limit_and_a_filter_choose_trajectories(store: Store, make: Make) -> None:
    for name in "abc":
        step = (make_step(0),)
        await write(store, make_trajectory(name, steps=step, end=make_end(), labels={"run": name}))
    assert (await judge_store(store, make(), TrajectoryFilter(labels={"run": "b"}))).trajectories == ("b",)
    assert (await judge_store(store, make(), limit=1)).trajectories == ("a",)
    assert (await judge_store(store, make())).trajectories == ("c",)


async def test_no_more_requests_are_under_way_than_told(store: Store, endpoint: Any, make: Make) -> None:
    under_way = most = 0
    several = asyncio.Event()

    async def slow() -> Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most > 1:
            several.set()
        await several.wait()
        await asyncio.sleep(0.02)
        under_way -= 1
        return says(1)

    endpoint.queue = [slow] * 12
    await write(store, make_trajectory("a", steps=tuple(make_step(n) for n in range(12)), end=make_end()))
    assert (await judge_store(store, make(), concurrency=3)).judged == 12
    assert 1 < most <= 3


async def test_an_end_in_the_middle_keeps_what_was_judged(store: Store, endpoint: Any, make: Make) -> None:
    """And what that contradicts waits for a person, which nobody would look for again."""
    await write(store, make_trajectory("a", end=make_end()))
    never = asyncio.Event()

    async def hang() -> Response:
        await never.wait()
        return Response()

    endpoint.queue = [says(0), hang]
    running = asyncio.create_task(judge_store(store, make(), concurrency=1))
    while len(await store.scores("a")) < 1:
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    never.set()
    (waiting,) = (await store.review_queue()).items
    assert waiting.disagreement.kind is DisagreementKind.VERIFIER_STEPS
    assert [side.score for side in waiting.disagreement.said] == [0.0, 1.0]
    endpoint.queue = []
    assert (await judge_store(store, make())).judged == 2


@pytest.mark.parametrize("reply", [says(1), chat("no")], ids=["verdict", "nonsense"])
async def test_an_episode_that_is_dropped_meanwhile_is_passed_over(
    store: Store, endpoint: Any, make: Make, reply: Response
) -> None:
    for name in "ab":
        await write(store, make_trajectory(name, end=make_end()))

    async def dropping() -> Response:
        async with store.database.write() as connection:
            for column in (tables.steps.c.trajectory_id, tables.trajectories.c.id):
                await connection.execute(column.table.delete().where(column == "a"))
        return reply

    endpoint.queue = [dropping, *[reply] * 8]
    report = await judge_store(store, make(), concurrency=1)
    assert (report.judged, report.failures, report.trajectories) == (3, {}, ("b",))


async def test_a_judge_of_one_trajectory_says_what_went_wrong(endpoint: Any, make: Make) -> None:
    endpoint.queue = [chat("no")] * 3
    with pytest.raises(NoVerdict, match="held no verdict") as caught:
        await make().score(make_trajectory("a"))
    assert caught.value.trouble is JudgeTrouble.NONSENSE
    without = make_trajectory("a", steps=(make_step(0, image=replace(picture(0), data=None)),))
    with pytest.raises(NoVerdict, match="no bytes") as caught:
        await make().score(without)
    assert caught.value.trouble is JudgeTrouble.PICTURE


def test_settings_and_rubrics_that_make_no_sense_are_refused(tmp_path: Any) -> None:
    for name in ("asks", "longest_px", "max_tokens", "timeout_s"):
        with pytest.raises(ValueError, match=name):
            JudgeSettings(model="m", **{name: 0})
    with pytest.raises(EndpointError, match="no key"):
        ProcessJudge(JudgeSettings(model="m"))
    with pytest.raises(InvalidRubric, match="cannot be read"):
        read_rubric(tmp_path / "none.md")
    (tmp_path / "empty.md").write_text(" \n")
    with pytest.raises(InvalidRubric, match="empty"):
        read_rubric(tmp_path / "empty.md")
    (tmp_path / "own.md").write_text("Be kind.")
    assert "Be kind.\n\nReply with one JSON object" in read_rubric(tmp_path / "own.md").system


async def test_the_words_sent_are_json_whatever_the_agent_wrote(endpoint: Any, make: Make) -> None:
    step = make_step(0)
    decision = replace(step.decision, actions=(), text="\ud800\0", error="nothing to read")
    await make().score(make_trajectory("a", steps=(replace(step, decision=decision),)))
    assert "no action" in json.dumps(endpoint.sent[0])
