"""Who disagrees with whom, and how that becomes a person's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from flywheel_episodes import Urls, make_end, make_start, make_step, make_trajectory, picture, write
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import review_queue, tables
from deskhand_flywheel.errors import InvalidQuery, InvalidReviewRules, StoreUnavailable, UnknownTrajectory
from deskhand_flywheel.review_rules import (
    Opinions,
    disagreements_of,
    load_review_rules,
    read_review_rules,
    review_values,
)
from deskhand_flywheel.review_types import DisagreementKind, FoundBy, Rule, Said
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore, StepScore, TrajectoryFilter
from deskhand_flywheel.upkeep import RetentionRule, collect
from deskhand_flywheel.upkeep.retention import Drop
from deskhand_flywheel.writer import GroupWriter, Write

DATABASES = ("sqlite", "postgresql")
RULES = read_review_rules({})


def steps(scorer: str, scores: Sequence[float], trajectory_id: str = "a") -> tuple[StepScore, ...]:
    return tuple(
        StepScore(trajectory_id=trajectory_id, step_index=n, score=score, scorer=scorer)
        for n, score in enumerate(scores)
    )


def outcome(score: float, trajectory_id: str = "a", scorer: str = "judge:m@1") -> OutcomeScore:
    return OutcomeScore(trajectory_id=trajectory_id, score=score, scorer=scorer, rationale="I saw it.")


def found(
    verifier: float | None, judge: float | None, *scores: tuple[StepScore, ...], rules: object = None
) -> dict[tuple[str, int | None], float]:
    said = Opinions(
        trajectory_id="a", verifier=verifier, judge=None if judge is None else outcome(judge), steps=scores
    )
    chosen = RULES if rules is None else read_review_rules(rules)  # type: ignore[arg-type]
    return {(d.kind.value, d.step_index): round(d.strength, 6) for d in disagreements_of(said, chosen)}


def test_each_kind_from_its_threshold_on() -> None:
    assert found(1.0, 0.51) == {} and found(1.0, 0.5) == {("verifier_judge", None): 0.5}
    assert found(0.0, 0.9) == {("verifier_judge", None): 0.9}
    assert found(None, 0.0) == found(1.0, None) == found(None, None) == {}
    low = steps("prm:1", (1.0, 0.4, 0.4, 0.4))
    assert found(1.0, None, low) == {("verifier_steps", None): 0.42}  # .7 · .6, the first step does not count
    assert found(None, 1.0, low) == {("judge_steps", None): 0.42}
    assert found(0.0, 0.0, low) == {}
    both = (steps("prm:1", (0.9, 0.2)), steps("judge:m@1", (0.2, 0.3)))
    assert found(None, None, *both) == {("step_scorers", 0): 0.35}
    assert found(None, None, steps("prm:1", ()), steps("judge:m@1", (0.5,))) == {}


@pytest.mark.parametrize(("scored", "entries"), [(3, 0), (4, 1), (7, 1)])
async def test_who_came_to_none_of_the_last_steps_says_nothing_of_the_end(
    store: Store, scored: int, entries: int
) -> None:
    turns = tuple(make_step(n) for n in range(6))
    await write(store, make_trajectory("a", steps=turns, end=make_end(success=True)))
    await store.add_scores(steps("judge:m@1", (0.1,) * min(scored, 6)))
    assert await store.find_disagreements_of("a", RULES) == entries


def test_people_contradict_each_other_on_a_step_or_on_the_whole() -> None:
    marks = (*steps("human:ada", (1.0, 0.5)), *steps("human:bob", (0.2, 0.4)), *steps("human:cyd", (0.6,)))
    whole = (outcome(0.0, scorer="human:ada"), outcome(0.7, scorer="human:bob"))
    said = Opinions(trajectory_id="a", verifier=1.0, judge=None, steps=(), marks=(*marks, *whole))
    step, episode = disagreements_of(said, RULES)
    assert (step.kind, step.step_index, round(step.strength, 6)) == ("people", 0, 0.72)  # .9 · .8
    assert [side.scorer for side in step.said] == ["human:bob", "human:ada"]
    assert (episode.step_index, round(episode.strength, 6)) == (None, 0.63)


def test_the_strongest_of_several_scorers_is_told_with_both_sides() -> None:
    said = Opinions(
        trajectory_id="a",
        verifier=1.0,
        judge=None,
        steps=(steps("prm:1", (0.3,)), steps("judge:m@1", (0.1,))),
    )
    (one,) = disagreements_of(said, RULES)
    assert one.said == (Said(scorer="judge:m@1", score=0.1), Said(scorer="verifier", score=1.0))


def test_rules_are_laid_on_those_of_the_package(tmp_path: Path) -> None:
    assert found(1.0, 0.5, rules={"verifier_judge": {"threshold": 0.6}}) == {}
    assert found(1.0, 0.5, rules={"verifier_judge": {"weight": 0.5}}) == {("verifier_judge", None): 0.25}
    assert found(1.0, 0.0, rules={"verifier_judge": None}) == {}
    ends = steps("prm:1", (0.0, 0.0, 1.0))
    assert found(0.0, None, ends, rules={"last_steps": 1}) == {("verifier_steps", None): 0.7}
    file = tmp_path / "rules.yaml"
    file.write_text("last_steps: 2\n")
    assert load_review_rules(file).last_steps == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verifier_juge: {threshold: 1}", "did you mean verifier_judge"),
        ("everything: 1", "there are verifier_judge"),
        ("verifier_judge: 1", "rule verifier_judge"),
        ("verifier_judge: {threshold: 0}", "threshold is 0"),
        ("verifier_judge: {weight: 1.1}", "weight is 1.1"),
        ("verifier_judge: {treshold: 1}", "treshold"),
        ("verifier_judge: {threshold: high}", "rule verifier_judge"),
        ("last_steps: 0", "last_steps is 0"),
        ("last_steps: null", "last_steps"),
        ("1: {threshold: 0.5}", "no rule 1"),
        ("on: {threshold: 0.5}", "no rule True"),
        ("verifier_judge: {1: 0.5}", "rule verifier_judge"),
        ("- a", "expected a mapping"),
        ("{", "no YAML"),
        (None, "cannot be read"),
    ],
)
def test_rules_that_are_none_are_named(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "rules.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidReviewRules, match=said):
        load_review_rules(file)


async def test_a_queue_is_found_ranked_and_resolved_by_marks(store: Store) -> None:
    for name in "abc":
        await write(store, make_trajectory(name, end=make_end(), labels={"run": name}))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    await store.add_outcome_scores([outcome(0.0, "a"), outcome(0.4, "b"), outcome(0.9, "c")])
    await store.add_scores(steps("prm:1", (0.9, 0.9, 1.0), "b"))
    await store.add_scores(steps("judge:m@1", (0.9, 0.1, 1.0), "b"))
    assert await store.find_disagreements(RULES) == 3
    page = await store.review_queue(limit=2)
    first, second = page.items
    assert (first.disagreement.trajectory_id, first.disagreement.strength) == ("a", 1.0)
    assert [(side.scorer, side.score, side.rationale) for side in first.disagreement.said] == [
        ("judge:m@1", 0.0, "I saw it."),
        ("verifier", 1.0, None),
    ]
    assert (first.task_id, first.instruction) == ("miniwob/click-test", "Click the button.")
    assert (second.disagreement.trajectory_id, second.disagreement.step_index) == ("b", None)
    rest = await store.review_queue(limit=2, cursor=page.next_cursor)
    assert [(i.disagreement.step_index, i.disagreement.kind) for i in rest.items] == [(1, "step_scorers")]
    assert rest.next_cursor is None

    await store.mark("b", 1, "ada", 0.0)
    await store.mark("a", None, "ada", 1.0)
    await store.mark("a", None, "bob", 1.0)
    assert [i.disagreement.trajectory_id for i in (await store.review_queue()).items] == ["b"]
    resolved = (await store.review_queue("resolved")).items
    assert [i.resolved_by for i in resolved] == [("ada", "bob"), ("ada",)]
    await store.unmark("b", 1, "ada")
    assert len((await store.review_queue()).items) == 2


@pytest.mark.parametrize("index", [0, None])
async def test_between_two_people_a_third_decides(store: Store, index: int | None) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.mark("a", index, "ada", 1.0, "It got there.")
    assert await store.find_disagreements(RULES) == 0
    await store.mark("a", index, "bob", 0.0)
    assert await store.find_disagreements(RULES) == 1
    (open_,) = (await store.review_queue()).items
    assert (open_.disagreement.kind, open_.resolved_by) == ("people", ("ada", "bob"))
    assert open_.disagreement.said[1] == Said(scorer="human:ada", score=1.0, rationale="It got there.")
    await store.mark("a", index, "cyd", 1.0)
    assert (await store.review_queue()).items == ()
    (resolved,) = (await store.review_queue("resolved")).items
    assert resolved.resolved_by == ("ada", "bob", "cyd")
    await store.unmark("a", index, "cyd")
    assert (await store.review_queue()).items == (open_,)
    await store.mark("a", index, "bob", 0.0, "It went another way.")
    assert len((await store.review_queue()).items) == 1
    await store.mark("a", index, "bob", 0.9)
    assert (await store.review_queue()).items == ()
    assert len((await store.review_queue("resolved")).items) == 1
    await store.mark("a", index, "bob", 0.0)
    assert (await store.review_queue()).items == (open_,)
    await store.unmark("a", index, "bob")
    assert (await store.review_queue()).items == ()
    await store.mark("a", index, "bob", 0.9)
    assert await store.find_disagreements(RULES) == 0
    assert (await store.review_queue()).items == (await store.review_queue("resolved")).items == ()


@pytest.mark.parametrize("weight", [0.9, 0.3])
async def test_two_people_agree_more_than_they_did_whatever_their_kind_weighs(
    store: Store, weight: float
) -> None:
    rules = read_review_rules({"people": {"weight": weight}})
    await write(store, make_trajectory("a", end=make_end()))
    await store.mark("a", 0, "ada", 1.0, "\0")
    await store.mark("a", 0, "bob", 0.0)
    assert await store.find_disagreements_of("a", rules) == 1
    for score, waiting in ((0.05, 0), (0.75, 0), (0.0, 1)):
        await store.mark("a", 0, "bob", score)
        assert len((await store.review_queue()).items) == waiting


async def test_of_two_that_find_at_once_neither_drops_what_the_other_found(
    store: Store, urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.add_scores(steps("prm:1", (0.1, 0.1, 0.1)))
    meanwhile: list[asyncio.Task[int]] = []

    async with await Store.open(urls.database, urls.blobs) as other:

        async def judged() -> int:
            await other.add_outcome_scores([outcome(0.0)])
            return await other.find_disagreements_of("a", RULES, keep_standing=True)

        async def submit(self: GroupWriter, write: Write[int]) -> int:
            if self is store._writer and not meanwhile:  # pyright: ignore[reportPrivateUsage]
                meanwhile.append(asyncio.create_task(judged()))
                await asyncio.wait(meanwhile)
            return await whole(self, write)

        whole = GroupWriter.submit
        monkeypatch.setattr(GroupWriter, "submit", submit)
        await store.find_disagreements_of("a", RULES, keep_standing=True)
    entries = {item.disagreement.kind.value for item in (await store.review_queue()).items}
    assert len(entries) == await meanwhile[0] == 2


@pytest.mark.parametrize("kind", ["steps", "whole"])
async def test_what_is_said_is_kept_with_what_it_contradicts(
    store: Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Or not at all: nobody would look for it later."""

    async def fails(*_: object) -> Opinions:
        raise StoreUnavailable("not now")

    said = outcome(0.0) if kind == "whole" else steps("prm:1", (0.1, 0.1, 0.1))
    await write(store, make_trajectory("a", end=make_end()))
    with monkeypatch.context() as broken:
        broken.setattr(review_queue, "_opinions", fails)
        with pytest.raises(StoreUnavailable):
            await store.add_and_compare(said)
    assert await store.scores("a") == await store.outcome_scores("a") == ()
    await store.add_and_compare(said)
    assert len((await store.review_queue()).items) == 1
    await store.add_and_compare([])
    with pytest.raises(UnknownTrajectory):
        await store.add_and_compare([replace(each, trajectory_id="b") for each in steps("prm:1", (0.1,))])


async def test_one_that_finds_while_another_does_hears_all_that_was_said(
    postgresql: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL lets two in at a time: the second waits where it would read what the first has not heard."""
    urls = Urls(folder=tmp_path, postgresql=postgresql())
    heard, other_is_there = asyncio.Event(), asyncio.Event()
    opinions = review_queue._opinions  # pyright: ignore[reportPrivateUsage]

    async def slow_at_first(connection: AsyncConnection, trajectory_id: str) -> Opinions:
        said = await opinions(connection, trajectory_id)
        if not heard.is_set():
            heard.set()
            await other_is_there.wait()
        return said

    monkeypatch.setattr(review_queue, "_opinions", slow_at_first)
    async with (
        await Store.open(urls.database, urls.blobs) as one,
        await Store.open(urls.database, urls.blobs) as other,
    ):
        await write(one, make_trajectory("a", end=make_end()))
        await one.add_scores(steps("prm:1", (0.1, 0.1, 0.1)))
        first = asyncio.create_task(one.find_disagreements_of("a", RULES))
        await heard.wait()
        await other.add_outcome_scores([outcome(0.0)])
        second = asyncio.create_task(other.find_disagreements_of("a", RULES))
        async with asyncio.timeout(60):
            while not second.done() and not await _somebody_waits(other):
                await asyncio.sleep(0.02)
        other_is_there.set()
        assert await asyncio.gather(first, second) == [1, 2]
        assert len((await one.review_queue()).items) == 2


async def _somebody_waits(store: Store) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with store.database.read() as connection:
        return await connection.scalar(text(waiting)) > 0


async def test_newer_scores_change_the_queue(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end(), labels={"run": "1"}))
    await store.add_outcome_scores([outcome(0.0)])
    await store.add_scores(steps("prm:1", (0.0, 0.0, 0.0)))
    assert await store.find_disagreements(RULES, TrajectoryFilter(labels={"run": "2"})) == 0
    assert await store.find_disagreements(RULES) == 2
    before = (await store.review_queue()).items
    await store.add_scores(steps("prm:2", (0.0, 0.0, 0.6)))
    assert await store.find_disagreements(RULES) == 2
    after = (await store.review_queue()).items
    assert [i.found_at_s for i in after] == [i.found_at_s for i in before]
    assert after[1].disagreement.strength == pytest.approx(0.56)
    await store.add_outcome_scores([outcome(1.0, scorer="judge:m@2")])
    await store.add_scores(steps("prm:3", (1.0, 1.0, 1.0)))
    assert await store.find_disagreements(RULES) == 0
    assert (await store.review_queue()).items == ()


async def test_what_other_rules_found_stays_while_its_sides_say_what_they_said(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.add_outcome_scores([outcome(0.6)])
    assert await store.find_disagreements(read_review_rules({"verifier_judge": {"threshold": 0.4}})) == 1
    await store.add_scores(steps("prm:1", (0.0, 0.0, 0.0)))
    assert await store.find_disagreements_of("a", RULES, keep_standing=True) == 2
    assert {i.disagreement.kind.value for i in (await store.review_queue()).items} == {
        "verifier_judge", "verifier_steps", "judge_steps"
    }  # fmt: skip
    await store.add_outcome_scores([outcome(0.9, scorer="judge:m@2")])
    await store.add_scores(steps("prm:2", (0.9, 0.9, 0.9)))
    people = (DisagreementKind.PEOPLE,)
    assert await store.find_disagreements_of("a", RULES, keep_standing=True, kinds=people) == 0
    assert len((await store.review_queue()).items) == 3, "entries of other kinds are not looked at"
    assert await store.find_disagreements_of("a", RULES, keep_standing=True) == 0
    assert (await store.review_queue()).items == ()


async def test_a_stores_own_rules_are_what_everything_goes_by(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.add_outcome_scores([outcome(0.6)])
    before = await store.review_rules()
    assert (before.rules, before.set_by, before.set_at_s) == (RULES, None, None)
    assert await store.find_disagreements() == 0
    wanted = read_review_rules({"verifier_judge": {"threshold": 0.4}, "step_scorers": None, "last_steps": 2})
    kept = await store.keep_review_rules(wanted, by="ada")
    assert kept == await store.review_rules() and (kept.rules, kept.set_by) == (wanted, "ada")
    assert await store.find_disagreements() == 1
    assert await store.find_disagreements_of("a", keep_standing=True) == 1
    (entry,) = (await store.review_queue()).items
    assert entry.found_by == FoundBy(threshold=0.4, weight=1.0, last_steps=2)
    assert (await store.keep_review_rules(RULES, by="bob")).set_by == "bob"
    assert await store.find_disagreements_of("a", keep_standing=True) == 0
    (stands,) = (await store.review_queue()).items
    assert stands == entry
    assert await store.find_disagreements() == 0


async def test_an_entry_of_a_version_without_rules_of_its_own(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.add_outcome_scores([outcome(0.0)])
    await store.find_disagreements()
    async with store.database.write() as connection:
        await connection.execute(update(tables.disagreements).values(found_by=None))
    (entry,) = (await store.review_queue()).items
    assert entry.found_by is None


def test_rules_are_laid_on_others() -> None:
    below = read_review_rules({"people": {"threshold": 0.2}, "step_scorers": None, "last_steps": 7})
    laid = read_review_rules({"people": {"weight": 0.1}}, below)
    assert laid.kinds[DisagreementKind.PEOPLE] == Rule(threshold=0.2, weight=0.1)
    assert DisagreementKind.STEP_SCORERS not in laid.kinds and laid.last_steps == 7
    assert read_review_rules(review_values(laid)) == laid


async def test_a_long_episode_on_whose_every_step_two_scorers_disagree(store: Store) -> None:
    image, count = picture(1), 1100
    await store.add_trajectory(
        make_trajectory("a", steps=tuple(make_step(n, image=image) for n in range(count)), end=make_end())
    )
    await store.add_scores(steps("judge:m@1", [0.0] * count))
    await store.add_scores(steps("prm:1", [1.0] * count))
    many = await store.find_disagreements(RULES)
    assert many >= count and await store.find_disagreements(RULES) == many
    await store.add_scores(steps("prm:2", [0.0] * (count - 1) + [1.0]))
    left = await store.find_disagreements(RULES)
    queue = await store.review_queue(limit=500)
    assert left < 10 and len(queue.items) == left and queue.next_cursor is None


async def test_what_goes_takes_its_entries_along(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.add_outcome_scores([outcome(0.0)])
    await store.find_disagreements(RULES)
    rule = RetentionRule(drop=(Drop(older_than_days=0),), orphans_after_hours=0)
    assert (await collect(store, rule, apply=True)).trajectories == ("a",)
    assert (await store.review_queue()).items == ()


@pytest.mark.parametrize("cursor", ["", "x", "1/2", "one/2/k/a", "1.0/two/k/a", f"1.0/{2**31}/k/a"])
async def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidQuery, match="cursor"):
        await store.review_queue(cursor=cursor)
    for limit in (0, 501):
        with pytest.raises(InvalidQuery, match="entries"):
            await store.review_queue(limit=limit)
