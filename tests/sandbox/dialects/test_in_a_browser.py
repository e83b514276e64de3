"""Every dialect in a real Chromium: a page notes what pointer and keys do, and finds no difference."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import quote

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.browser import create
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.dialects import dialect_names, read, usual_frame, write
from deskhand_sandbox.dialects.coordinates import Frame, fractions, pixels, thousandths
from deskhand_sandbox.dialects.pointing import pointer_after
from deskhand_sandbox.doors.elements import elements_of
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    DeviceAction,
    Drag,
    EnvironmentSpec,
    MovePointer,
    Point,
    Press,
    Scroll,
    Task,
    TypeText,
    VerifierSpec,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

SIZE = (950, 530)
START: Point = (400, 300)
PAGE = """<!doctype html><body style="margin:0;height:3000px;overflow:hidden">
<textarea id="t" style="position:absolute;left:40px;top:40px;width:200px;height:80px"></textarea>
<script>
window.seen = [];
const note = (...what) => window.seen.push(what);
for (const kind of ["mousedown", "mouseup"])
  addEventListener(kind, (e) => note(kind, e.clientX, e.clientY, e.button, e.detail, e.shiftKey));
addEventListener("wheel", (e) => note("wheel", e.clientX, e.clientY, e.deltaX, e.deltaY));
for (const kind of ["keydown", "keyup"]) addEventListener(kind, (e) => note(kind, e.key, e.ctrlKey));
addEventListener("contextmenu", (e) => e.preventDefault());
</script>"""
COMPUTERS = tuple(name for name in dialect_names() if "mobile" not in name and name != "android_world")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def page() -> AsyncIterator[Sandbox]:
    backend = create()
    try:
        async with await backend.create() as sandbox:
            yield sandbox
    finally:
        await backend.close()


async def begin(page: Sandbox, html: str = PAGE) -> None:
    settings = {"url": f"data:text/html,{quote(html)}", "viewport_px": list(SIZE)}
    task = Task(
        id="dialects/notes",
        environment=EnvironmentSpec(kind="browser", settings=settings),
        verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
        instruction="Nothing to do.",
    )
    await page.reset(task)
    await page.act(MovePointer(x=START[0], y=START[1]))


async def noted(page: Sandbox) -> list[list[object]]:
    """What the page has seen since last asked."""
    return cast("list[list[object]]", await page.evaluate("seen.splice(0)"))


async def say(page: Sandbox, dialect: str, action: Action, frame: Frame, pointer: Point) -> Point:
    """Write an action, read it back through JSON where it is no text, and carry it out."""
    for written in write(dialect, action, frame, pointer=pointer):
        sent = written if isinstance(written, str) else json.loads(json.dumps(written))
        for each in read(dialect, sent, frame, pointer=pointer):
            await page.act(cast("DeviceAction", each))
            pointer = pointer_after((each,), pointer) or pointer
    return pointer


@pytest.mark.parametrize("dialect", COMPUTERS)
async def test_a_click_is_seen_at_the_same_place(page: Sandbox, dialect: str) -> None:
    await begin(page)
    places = [(0, 0), (SIZE[0] - 1, SIZE[1] - 1), (1, SIZE[1] - 1), (333, 77), (479, 269), (480, 270)]
    whole_numbers = dialect in ("pyautogui", "computer_13")
    frames = [usual_frame(dialect, SIZE), pixels(SIZE), thousandths(SIZE)]
    for frame in frames if whole_numbers else [*frames, fractions(SIZE)]:
        # of a screen this small every pixel can be said (resized, it is 952 x 532)
        assert frame.exact
        for place in places:
            await say(page, dialect, Click(x=place[0], y=place[1]), frame, START)
            assert [each[:3] for each in await noted(page)] == [
                ["mousedown", *place],
                ["mouseup", *place],
            ]


ACTIONS: tuple[DeviceAction, ...] = (
    Click(x=100, y=80),
    TypeText(text="it's 5 > 4\n\\ é"),
    Press(keys=("Control", "a")),
    Press(keys=("Delete",)),
    Click(x=301, y=201, count=2),
    Click(x=301, y=201, button="right"),
    Drag(path=((500, 100), (600, 200))),
    Scroll(x=700, y=300, dy_px=500),
    Scroll(x=700, y=300, dx_px=-500),
)


@pytest.mark.parametrize("dialect", COMPUTERS)
async def test_the_page_finds_no_difference(page: Sandbox, dialect: str) -> None:
    frame = usual_frame(dialect, SIZE)
    pointer = START
    said = 0
    await begin(page)
    for action in ACTIONS:
        await noted(page)
        await page.act(action)
        meant = await noted(page)
        try:
            pointer = await say(page, dialect, action, frame, pointer)
        except InvalidAction:
            continue
        assert await noted(page) == meant != []
        said += 1
    # the first of Anthropic's has no wheel, and everybody has the rest
    assert said == len(ACTIONS) - (2 if dialect == "anthropic_20241022" else 0)


async def test_keys_held_in_a_call_are_held_for_the_click(page: Sandbox) -> None:
    await begin(page)
    for dialect, call in (
        ("anthropic", {"action": "left_click", "coordinate": [301, 201], "text": "shift"}),
        ("openai", {"type": "click", "button": "left", "x": 301, "y": 201, "keys": ["SHIFT"]}),
        ("browsergym", "click('7', modifiers=['Shift'])"),
    ):
        boxes = {"7": (300, 200, 302, 202)}
        for action in read(dialect, call, pixels(SIZE), boxes=boxes):
            await page.act(cast("DeviceAction", action))
        assert [each for each in await noted(page) if each[0] == "mousedown"] == [
            ["mousedown", 301, 201, 0, 1, True]
        ]


async def test_a_filled_element_holds_what_was_said(page: Sandbox) -> None:
    await begin(page)
    boxes = {"a1": (40.0, 40.0, 240.0, 120.0)}
    for value in ("first", "second\nline", ""):
        for action in read("browsergym", f"fill('a1', {value!r})", pixels(SIZE), boxes=boxes):
            await page.act(cast("DeviceAction", action))
        assert await page.evaluate("t.value") == value


LISTS = """<body><form id=f onsubmit="window.sent = 1; return false">
<select id=count aria-label=Count><option>2<option>10<option disabled>1x<option>1</select>
<select id=city aria-label=City><optgroup label=G><option>New York City</optgroup><option>Rome</select></form>
<select id=tea aria-label=Tea multiple><option>green<option>black<option>white</select>"""


@pytest.mark.parametrize(
    ("element", "options", "chosen"),
    [
        ("Count", "1", "count.value == '1'"),
        ("Count", "10", "count.value == '10'"),
        ("City", "Rome", "city.value == 'Rome'"),
        ("Tea", ["white", "green"], "[...tea.selectedOptions].map((o) => o.text) == 'green,white'"),
    ],
)
async def test_options_are_chosen_in_lists_of_a_page(
    page: Sandbox, element: str, options: object, chosen: str
) -> None:
    await begin(page, LISTS)
    seen = await page.observe(text_tree=True)
    named = elements_of(seen.text_tree or "", kind="browser")
    (line,) = (each for each in named.text.splitlines() if f'"{element}"' in each)
    number = line.split("]")[0].strip(" [")
    call = f"select_option('{number}', {options!r})"
    for action in read("browsergym", call, pixels(seen.size_px), boxes=named.boxes, choices=named.choices):
        await page.act(cast("DeviceAction", action))
    assert await page.evaluate(chosen) is True
    assert await page.evaluate("window.sent ?? 0") == 0
