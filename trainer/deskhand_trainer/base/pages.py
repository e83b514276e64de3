"""Pages a model learns to see from: screenshots, and all that is on them.

Generated pages tell themselves what they hold (see `deskhand_sandbox.tasks.generated`; no word, font, theme
or layout that only test seeds show is on the page of a train seed). Of others it is read from the layout.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.tasks.generated import FAMILY, SIZES_PX, Description, Thing, make, things
from deskhand_sandbox.tasks.layout import Box, CharacterBox, ElementBox, PageLayout, page_layout
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Image, Split, Task
from deskhand_trainer.base.shapes import is_shape, shapes

TASK = f"{FAMILY}/press"
SIZES = tuple(SIZES_PX)
"""Ends of the task's name: "" (160x210), "-wide", "-large"."""
LONGEST_NAME = 24
"""Characters of the name of a thing that a layout tells of, at most."""
_INSTRUCTION = "query"
"""Id of the element MiniWoB++ writes the instruction into."""
_PRESSED = ("submit", "button", "reset")
"""Kinds of input whose value is what stands on them."""
_ROLES = {"button": "button", "a": "link"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """Characters that stand together."""

    text: str
    box: Box
    letters: tuple[Box, ...]
    """Of each character its place."""


@dataclass(frozen=True, kw_only=True)
class SeenPage:
    """One page as it looked."""

    task_id: str
    seed: int
    image: Image
    """With its bytes."""
    things: tuple[Thing, ...]
    characters: tuple[CharacterBox, ...]
    """In reading order of the document."""
    content_top_px: float = 0.0
    """Questions are asked of what lies below: a task's instruction may stand above."""

    @property
    def told(self) -> bool:
        """Whether it is known what is on it; of episodes only pictures are kept."""
        return bool(self.things or self.characters)

    @property
    def complete(self) -> bool:
        """Whether `things` are all whose middle is seen; on other pages they have names of their own."""
        return _is_generated(self.task_id)

    def words(self) -> tuple[list[Word], list[int]]:
        """See `_words`: found once, for many questions are about them."""
        return self._words

    @cached_property
    def _words(self) -> tuple[list[Word], list[int]]:
        """The page's words in reading order of the document, and for every character the index of its word.

        A word that goes on in another line is two.
        """
        words: list[Word] = []
        belongs: list[int] = []
        before: CharacterBox | None = None
        for each in self.characters:
            same_line = (
                before is not None
                and abs(each.box[1] - before.box[1]) <= 2
                and each.box[0] >= before.box[0] - 3
            )
            if before is not None and each.word == before.word and same_line:
                begun = words[-1]
                words[-1] = Word(
                    text=begun.text + each.character,
                    box=_around(begun.box, each.box),
                    letters=(*begun.letters, each.box),
                )
            else:
                words.append(Word(text=each.character, box=each.box, letters=(each.box,)))
            belongs.append(len(words) - 1)
            before = each
        return words, belongs

    def shows(self, text: str) -> bool:
        """Whether every word of a text is to be read on the page; a colon after one is no part of it."""
        return set(text.split()) <= self._written

    @cached_property
    def _written(self) -> frozenset[str]:
        words, _ = self.words()
        return frozenset(text for word in words for text in (word.text, word.text.removesuffix(":")))

    def letters(self, text: str, box: Box) -> tuple[Box, ...]:
        """Where each character of a text is to be seen that is all that is written in a box.

        A blank is where the next letter is. None at all where something else, or more, is written there.
        """
        words, _ = self.words()
        inside = [word for word in words if within(word.box, box)]
        if " ".join(word.text for word in inside) != text:
            return ()
        first, *others = ([*word.letters] for word in inside)
        return (*first, *(place for each in others for place in (each[0], *each)))


def page_tasks(
    size: str, split: Split, count: int, offset: int = 0, *, unseen_layouts: bool = False
) -> list[Task]:
    """The tasks that show `count` generated pages of a size and split, after the first `offset` of them.

    Args:
        unseen_layouts: those of the test have no layout that others have.

    Raises:
        InvalidTask: a negative number.
    """
    name = TASK + size
    return [make(name, seed, unseen_layouts=unseen_layouts) for seed in seeds(name, split, count, offset)]


async def look(sandbox: Sandbox, task: Task) -> SeenPage:
    """The start page of a task in a browser.

    Raises:
        InfrastructureError: the computer failed.
    """
    start = await sandbox.reset(task)
    return await seen(sandbox, task, start.observation.screenshot)


async def seen(sandbox: Sandbox, task: Task, image: Image) -> SeenPage:
    """The page of a task as it stands, of which there is a screenshot.

    Raises:
        InfrastructureError: the computer failed.
    """
    layout = await page_layout(sandbox)
    return SeenPage(
        task_id=task.id,
        seed=task.seed,
        image=image,
        things=await things(sandbox) if _is_generated(task.id) else _things(layout),
        characters=layout.characters,
        content_top_px=_content_top_px(layout),
    )


def within(inner: Box, outer: Box) -> bool:
    """Whether the middle of one box is in the other."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _is_generated(task_id: str) -> bool:
    return task_id.startswith(f"{FAMILY}/")


def _things(layout: PageLayout) -> tuple[Thing, ...]:
    """Outside the instruction: what can be clicked and single texts, each by a name no other has; shapes."""
    parents = {element.parent for element in layout.elements}
    instruction = _inside(layout, _asked(layout))
    below = [(i, each) for i, each in enumerate(layout.elements) if i not in instruction]
    found = [
        (each, each.text or (each.value if each.kind in _PRESSED else ""))
        for index, each in below
        if each.point is not None
        and not is_shape(each)
        and (each.clickable or (each.text and index not in parents))
    ]
    often = Counter(name for _, name in found)
    named = tuple(
        _thing(element, name)
        for element, name in found
        if often[name] == 1 and 0 < len(name) <= LONGEST_NAME and "\n" not in name and len(name.split()) <= 3
    )
    return named + shapes([each for _, each in below])


def _thing(element: ElementBox, name: str) -> Thing:
    assert element.point is not None
    role = _ROLES.get(element.tag, "text")
    words = [Description(kind="text", words=f'"{name}"')]
    if role != "text":
        words.append(Description(kind="role", words=f'the "{name}" {role}'))
    return Thing(
        role=role,
        name=name,
        tone="",
        state="",
        value="",
        box=element.box,
        point=element.point,
        descriptions=tuple(words),
    )


def _asked(layout: PageLayout) -> int | None:
    return next((i for i, element in enumerate(layout.elements) if element.id == _INSTRUCTION), None)


def _content_top_px(layout: PageLayout) -> float:
    asked = _asked(layout)
    return 0.0 if asked is None else layout.elements[asked].box[3]


def _inside(layout: PageLayout, root: int | None) -> set[int]:
    """The element at `root` and everything in it."""
    found: set[int] = set() if root is None else {root}
    for index, element in enumerate(layout.elements):
        if element.parent in found:
            found.add(index)
    return found


def _around(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])
