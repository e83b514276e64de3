"""Things described by their role alone, where a page has no other of it: "the checkbox"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deskhand_sandbox.tasks.generated import Description, Thing
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import read_shard

SOLE = "sole"
"""Kind of such a description; it says no name."""


def with_sole_roles(page: SeenPage) -> SeenPage:
    """A page with those descriptions, too, where all that is on it is known.

    A radio button is a button to who looks for one: it must not answer to the words either.
    """
    if not page.complete:
        return page

    def told(thing: Thing) -> Thing:
        if sum(each.role.endswith(thing.role) for each in page.things) > 1:
            return thing
        sole = Description(kind=SOLE, words=f"the {thing.role}")
        return replace(thing, descriptions=(*thing.descriptions, sole))

    return replace(page, things=tuple(map(told, page.things)))


def read_pages(shard: Path, *, sole_roles: bool) -> list[SeenPage]:
    """As `read_shard`, with or without them."""
    pages = read_shard(shard)
    return [with_sole_roles(page) for page in pages] if sole_roles else pages
