"""Work of several turns on small pages drawn from a seed: what is next shows once the step before is done.

The pages are those of `deskhand_sandbox.tasks.generated`, with `workflows.js` and `chains.js`. The base model
of the package is trained on none of them: they are for learning by doing.
"""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_sandbox.tasks.generated import Drawn, next_actions, page_task
from deskhand_sandbox.types import Task

__all__ = ["PROVEN", "make", "next_actions", "task_ids"]

FAMILY = "workflows"
SIZE_PX = (160, 210)
TURNS = 10
"""Of an episode; the oracle needs six at most."""
DESCRIPTIONS: Mapping[str, str] = {
    "approve": "Press two buttons and say of each that you are sure.",
    "ask": "Answer two questions, then press a button.",
    "banner": "Answer what lies over a page's foot, then press a button.",
    "cart": "Add some of a list's rows by the buttons beside them.",
    "colors": "Press every button of a colour.",
    "confirm": "Press a button and say that you are sure.",
    "cycle": "Change a value until it is the one asked for.",
    "drawer": "Open the menu behind an icon and press one of its items.",
    "file": "Open a file in a folder and say that you are sure.",
    "folders": "Open a folder in a folder in a folder in a folder.",
    "folds": "Open every section of a page.",
    "inbox": "Open two mails and answer, file or delete each.",
    "instead": "Press a button, take it back and press another.",
    "interrupt": "Press buttons and close the messages that come between.",
    "keypad": "Enter a number by its digits.",
    "lock": "Unlock a page, then press a button.",
    "mail": "Open a mail and answer it, file it, forward it or delete it.",
    "menu": "Open a menu and press one of its items.",
    "menus": "Open two menus and press an item of each.",
    "more": "Have more rows shown until the one to press is there.",
    "notice": "Press a button and close the message that comes of it.",
    "order": "Press buttons one after another.",
    "pages": "Leaf through pages to the one asked for.",
    "panels": "Press a button under each of two tabs.",
    "popup": "Close what lies over a page, then press a button.",
    "remove": "Remove some of a list's rows by the buttons beside them.",
    "search": "Search for a word and open what is found.",
    "section": "Open a section and press the button in it.",
    "slides": "Go on through pictures to the one asked for.",
    "sort": "Sort a table by a column and click its first row.",
    "steps": "Press buttons of which the next come once one was pressed.",
    "survey": "Answer questions one after another.",
    "tabs": "Find a button under one of several tabs.",
    "tick": "Tick every box.",
    "times": "Press a button so many times.",
    "undo": "Press a button, then take it back.",
    "untick": "Untick every box.",
    "wizard": "Make a choice on each of two sheets.",
}
LONG = "-long"
LONGER: Mapping[str, str] = {
    "cart": "Add three of a list's rows by the buttons beside them.",
    "confirm": "Press a button and say twice that you are sure.",
    "drawer": "Open the menu behind an icon, one of its menus, and press an item.",
    "order": "Press four buttons one after another.",
    "popup": "Close three or four messages that lie over a page, then press a button.",
    "section": "Open two sections and press the button in each.",
    "steps": "Press four buttons of which the next come once one was pressed.",
}
"""Those that there are with more steps, under their name and `LONG`."""
PROVEN = tuple(sorted(f"{FAMILY}/{name}" for name in (*DESCRIPTIONS, *(f"{name}{LONG}" for name in LONGER))))
"""Tasks with an oracle: all of them."""


def task_ids() -> tuple[str, ...]:
    """Every task, sorted."""
    return PROVEN


def make(task_id: str, seed: int) -> Task:
    """One start state of a task of `task_ids()`."""
    called = task_id.removeprefix(f"{FAMILY}/")
    name, long = called.removesuffix(LONG), called.endswith(LONG)
    drawn = Drawn(
        options={"task": "work", "workflow": name, **({"long": True} if long else {})},
        turns=TURNS,
        description=(LONGER if long else DESCRIPTIONS)[name],
    )
    return page_task(task_id, seed, drawn, SIZE_PX)
