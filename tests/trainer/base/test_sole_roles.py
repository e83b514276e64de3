"""Words for what is alone of its role, on real pages and only where they are asked for."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_sandbox.tasks.generated import Thing
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import Kind, ask, ask_many
from deskhand_trainer.base.shards import read_shard, write_shard
from deskhand_trainer.base.sole_roles import SOLE, read_pages, with_sole_roles


def sole(thing: Thing) -> list[str]:
    return [each.words for each in thing.descriptions if each.kind == SOLE]


@pytest.mark.browser
def test_only_what_is_alone_of_its_role_is_called_by_it(seen_pages: list[SeenPage]) -> None:
    called = 0
    for page in seen_pages:
        roles = Counter(thing.role for thing in page.things)
        for thing, before in zip(with_sole_roles(page).things, page.things, strict=True):
            assert replace(thing, descriptions=before.descriptions) == before
            assert thing.descriptions[: len(before.descriptions)] == before.descriptions
            if sole(thing):
                called += 1
                assert roles[thing.role] == 1 and sole(thing) == [f"the {thing.role}"]
            elif roles[thing.role] == 1:  # one of another role answers to the words as well
                assert any(each != thing.role and each.endswith(thing.role) for each in roles)
    assert called > 5


def test_a_radio_button_is_a_button_too(pages: list[SeenPage]) -> None:
    first, second = pages[1].things
    things = (replace(first, role="button"), replace(second, role="radio button"))
    page = replace(pages[1], task_id="generated/press", things=things)
    assert [sole(each) for each in with_sole_roles(page).things] == [[], ["the radio button"]]
    # of other pages it is not known what else is on them
    other = replace(page, task_id="miniwob/click-button")
    assert with_sole_roles(other) is other


def test_they_are_read_with_pages_only_where_they_are_asked_for(
    tmp_path: Path, pages: list[SeenPage]
) -> None:
    alone = [
        replace(
            page, task_id="generated/press", things=(replace(named, descriptions=named.descriptions[:1]),)
        )
        for page in pages
        for named in page.things[:1]
    ]
    shard = tmp_path / "press-train-0000000-12.tar"
    write_shard(shard, alone)
    assert read_pages(shard, sole_roles=False) == read_shard(shard) == alone
    told = read_pages(shard, sole_roles=True)
    assert [sole(page.things[0]) for page in told] == [[f"the {page.things[0].role}"] for page in alone]
    question = ask(told[0], Kind.POINT_DESCRIBED, random.Random(0))
    assert question is not None and f"the {alone[0].things[0].role}" in question.text
    assert ask(alone[0], Kind.POINT_DESCRIBED, random.Random(0)) is None
    assert ask_many(alone[0], 4, random.Random(1)) == ask_many(read_shard(shard)[0], 4, random.Random(1))
