"""Search and filters: what they find, on a new database and on one from before them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from alembic import command
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, write
from sqlalchemy import Connection, Text, cast, select, text

from deskhand_agent.types import Failure, Step, StopReason
from deskhand_flywheel import tables, trajectories
from deskhand_flywheel.database import Database, alembic_config
from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.records import dumps
from deskhand_flywheel.search import fts5_query, terms_of, tsquery
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_flywheel.upkeep import Drop, RetentionRule, collect

DATABASES = ("sqlite", "postgresql")


def _thinks(index: int, thought: str | None, summary: str | None = None) -> Step:
    step = make_step(index)
    return replace(step, decision=replace(step.decision, thought=thought, summary=summary))


async def _found(store: Store, query: str) -> list[str]:
    return list(await store.trajectory_ids(TrajectoryFilter(text=query)))


@pytest.fixture
async def library(store: Store) -> Store:
    steps = (_thinks(0, "I should sign in first."), _thinks(1, None), _thinks(2, "Is it example.com/login?"))
    await write(store, make_trajectory("a", instruction="Log in as Ada, then e-mail Bob", steps=steps))
    steps = (_thinks(0, "in the sign there is nothing"), _thinks(1, "Größe: 12 px", "so far: nothing"))
    await write(store, make_trajectory("b", instruction="Set the PASSWORD\0 to 'hunter2'", steps=steps))
    await write(store, make_trajectory("c", instruction="Passe die Seite an \ud800", steps=()))
    return store


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ada", ["a"]),
        ("password", ["b"]),
        ("pass*", ["b", "c"]),
        ("sign in", ["a", "b"]),
        ('"sign in"', ["a"]),
        ("sign -first", ["b"]),
        ('sign -"sign in"', ["b"]),
        ("login", ["a"]),
        ("e-mail", ["a"]),
        ("mail", ["a"]),
        ("größe 12", ["b"]),
        ("GRÖSSE", []),
        ("far", ["b"]),
        ("nothing far", ["b"]),
        # words of two thoughts are not found together
        ("first login", []),
        ("hunter2'); DROP TABLE steps; --", []),
        ('said : "ada" OR NEAR(x)', []),
        # an id is no word
        ("a", []),
    ],
)
async def test_words_are_found_in_instructions_and_thoughts(
    library: Store, query: str, found: list[str]
) -> None:
    assert await _found(library, query) == found
    page = await library.trajectories(TrajectoryFilter(text=query))
    assert [item.id for item in page.items] == found[::-1]
    assert await library.count_trajectories(TrajectoryFilter(text=query)) == len(found)


async def test_an_episode_played_elsewhere_is_found_as_one_played_here(store: Store) -> None:
    episode = make_trajectory(
        "here", instruction="Open the door", steps=(_thinks(0, "the handle"),), end=make_end()
    )
    await write(store, episode)
    await store.add_trajectory(replace(episode, start=replace(episode.start, id="elsewhere")))
    both = ("elsewhere", "here")
    assert await store.trajectory_ids(TrajectoryFilter(text="door")) == both
    assert await store.trajectory_ids(TrajectoryFilter(text="handle", min_steps=1, max_steps=1)) == both
    assert await store.trajectory_ids(TrajectoryFilter(min_score=1.0, max_score=1.0)) == both


@pytest.mark.parametrize(
    "word",
    [
        "re\u0301sume\u0301",
        "Vie\u0323\u0302t",
        "か\u3099き\u3099",
        "שָׁלוֹם",
        "مُحَمَّد",
        "हिन्दी",
        "தமிழ்",
        "ภาษาดี",
        "क्\u200dष",
    ],
)
async def test_words_with_marks_on_their_letters_are_found(store: Store, word: str) -> None:
    await write(store, make_trajectory("marked", instruction=f"Open the {word} file"))
    await write(store, make_trajectory("other", instruction="Open the other file"))
    for query in (word, f'"the {word} file"', f"{word[:-1]}*", f"open {word}"):
        assert await _found(store, query) == ["marked"]
    assert await _found(store, f"file -{word}") == ["other"]


@pytest.mark.parametrize("query", ["", "  ", '"', "-ada", "... !", '-"sign in" -x'])
async def test_a_query_without_a_word_is_refused(library: Store, query: str) -> None:
    with pytest.raises(InvalidQuery, match="at least one word"):
        await _found(library, query)


async def test_both_languages_say_the_same(store: Store) -> None:
    for query, in_fts5, in_postgresql in (
        (
            'log-in "sign  in" pass* -admin',
            'said : (("log-in" AND "sign  in" AND "pass*"*) NOT "admin")',
            ["'log' <-> 'in'", "'sign' <-> 'in'", "'pass':*", "!'admin'"],
        ),
        ("re\u0301sume\u0301*", 'said : (("re\u0301sume\u0301*"*))', ["'re' <-> 'sume':*"]),
        ('a"b \0 -²*', 'said : (("a b" AND "\\x00") NOT "²*"*)', ["'a' <-> 'b'", "'x00'", ""]),
    ):
        terms = terms_of(query)
        assert fts5_query(terms) == in_fts5
        if not store.database.is_sqlite:
            asked = select(*(cast(tsquery(term), Text) for term in terms))
            async with store.database.read() as connection:
                assert [*(await connection.execute(asked)).one()] == in_postgresql


async def test_a_query_of_many_words_is_one(store: Store) -> None:
    await write(store, make_trajectory("a", instruction="a b c"))
    assert await _found(store, "a b* -d " * 150) == ["a"]


async def test_what_is_dropped_is_not_found(library: Store) -> None:
    await write(library, make_trajectory("ab", instruction="Ada again", steps=(), end=make_end()))
    assert await _found(library, "ada") == ["a", "ab"]
    everything = RetentionRule(drop=(Drop(older_than_days=0),))
    assert (await collect(library, everything, apply=True)).trajectories == ("ab",)
    assert await _found(library, "ada") == ["a"]


async def test_writing_twice_is_found_once(store: Store) -> None:
    for _ in range(2):
        await write(store, make_trajectory("a", instruction="Once", end=make_end()))
    assert await _found(store, "once") == ["a"]
    if store.database.is_sqlite:
        async with store.database.read() as connection:
            assert await connection.scalar(text("SELECT count(*) FROM words")) == 4


async def test_a_step_that_is_put_elsewhere_is_found_there_and_makes_room(store: Store) -> None:
    await write(store, make_trajectory("a", steps=(_thinks(0, "first"), _thinks(5, "misplaced"))))
    steps = tables.steps
    async with store.database.write() as connection:
        # as the integrity check's repair does
        await connection.execute(steps.update().where(steps.c.step_index == 5).values(step_index=1))
    await store.step("a", _thinks(5, "later"))
    assert [await _found(store, word) for word in ("first", "misplaced", "later")] == [["a"]] * 3
    await store.end("a", make_end())
    everything = RetentionRule(drop=(Drop(older_than_days=0),))
    assert (await collect(store, everything, apply=True)).trajectories == ("a",)
    assert [await _found(store, word) for word in ("first", "misplaced", "later")] == [[]] * 3


async def test_a_database_that_goes_back_a_revision_is_searched_as_before(urls: Urls) -> None:
    async with await Store.open(urls.database, urls.blobs) as store:
        await write(store, make_trajectory("one", instruction="Find Ada", end=make_end()))
    database = await Database.open(urls.database)
    async with database.write() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "0004"))
    await database.close()
    async with await Store.open(urls.database, urls.blobs) as store:
        await write(store, make_trajectory("two", instruction="Ada again"))
        assert await _found(store, "ada") == ["one", "two"] and await _found(store, "button") == [
            "one",
            "two",
        ]


async def test_filters_narrow(store: Store) -> None:
    await write(store, make_trajectory("good", end=make_end(), started_at_s=100.0))
    await write(store, make_trajectory("bad", end=make_end(success=False), steps=(), started_at_s=200.0))
    broken = make_end(success=None, stop_reason=StopReason.INFRASTRUCTURE, failure=Failure.SANDBOX_DIED)
    await write(store, make_trajectory("broken", end=broken, steps=(make_step(0),), started_at_s=300.0))
    await write(store, make_trajectory("running", started_at_s=400.0))

    async def ids(**chosen: object) -> set[str]:
        return set(await store.trajectory_ids(TrajectoryFilter(**chosen)))  # pyright: ignore[reportArgumentType]

    assert await ids(failure=Failure.SANDBOX_DIED) == {"broken"}
    assert await ids(failure=Failure.VERIFIER) == set()
    assert await ids(min_score=0.5) == {"good"}
    assert await ids(max_score=0.5) == {"bad"}
    assert await ids(min_steps=1) == {"good", "broken"}
    assert await ids(max_steps=1) == {"bad", "broken"}
    assert await ids(min_steps=3, max_steps=3) == {"good"}
    assert await ids(since_s=200.0, until_s=400.0) == {"bad", "broken"}
    assert await ids(text="button", min_steps=1, until_s=300.0) == {"good"}


async def test_a_database_from_before_the_search_is_searched_too(urls: Urls) -> None:
    await _make_old(urls)
    async with await Store.open(urls.database, urls.blobs) as store:
        assert await _found(store, "ada") == ["old"]
        assert await _found(store, '"sign in"') == ["old"]
        whole = TrajectoryFilter(min_steps=2, max_steps=2, min_score=1.0)
        assert await store.trajectory_ids(whole) == ("old",)
        await write(store, make_trajectory("new", instruction="Ada again"))
        assert await _found(store, "ada") == ["new", "old"]
        # a row that cannot be read is left to the integrity check
        assert await store.count_trajectories() == 3


async def _make_old(urls: Urls) -> None:
    database = await Database.open(urls.database)
    old = make_trajectory(
        "old",
        instruction="Find Ada \0",
        steps=(_thinks(0, "sign in"), _thinks(1, None)),
        end=make_end(),
    )
    async with database.write() as connection:
        await connection.run_sync(_downgrade)
        insert = text(
            "INSERT INTO trajectories (id, task_id, seed, policy_id, split, started_at_s, start, ended_at_s,"
            " \"end\") VALUES (:id, 't', 0, 'p', 'train', 0.0, :start, 1.0, :end)"
        )
        assert old.end is not None
        await connection.execute(insert, {"id": "old", "start": dumps(old.start), "end": dumps(old.end)})
        await connection.execute(insert, {"id": "unreadable", "start": "no JSON", "end": "[]"})
        for step in old.steps:
            insert = text(
                "INSERT INTO steps (trajectory_id, step_index, reward, step) VALUES ('old', :at, 0.0, :step)"
            )
            await connection.execute(insert, {"at": step.index, "step": dumps(step)})
    await database.close()


def _downgrade(connection: Connection) -> None:
    command.downgrade(alembic_config(connection), "0003")


@pytest.mark.parametrize("reaches", [(), (0,), (1, 3), (2, 100)])
async def test_a_page_holds_the_newest_however_far_back_they_are(
    store: Store, monkeypatch: pytest.MonkeyPatch, reaches: tuple[int, ...]
) -> None:
    monkeypatch.setattr(trajectories, "_REACHES", reaches)
    for name in "abcdefghij":
        steps = (_thinks(0, "rare" if name in "bf" else "common"),)
        instruction = "Press the rare button" if name == "i" else "Press it"
        await write(store, make_trajectory(name, instruction=instruction, steps=steps))
    assert await _paged(store, TrajectoryFilter(text="press"), limit=3) == list("jihgfedcba")
    assert await _paged(store, TrajectoryFilter(text="common"), limit=2) == list("jihgedca")
    assert await _paged(store, TrajectoryFilter(text="rare"), limit=2) == list("ifb")
    assert await _paged(store, TrajectoryFilter(text="rare", max_score=-1.0), limit=2) == []


async def _paged(store: Store, chosen: TrajectoryFilter, *, limit: int) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = await store.trajectories(chosen, cursor=cursor, limit=limit)
        found += [item.id for item in page.items]
        if (cursor := page.next_cursor) is None:
            return found
