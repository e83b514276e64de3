import asyncio
import io
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.layout import CharacterBox, PageLayout, page_layout
from deskhand_sandbox.types import Click, EnvironmentSpec, Task, TypeText, VerifierSpec

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def show(sandbox: BrowserSandbox, html: str) -> PageLayout:
    url = "data:text/html;charset=utf-8," + ("<!doctype html>" + html).replace("#", "%23")
    await sandbox.reset(
        Task(
            id="layout/test",
            environment=EnvironmentSpec(kind="browser", settings={"url": url, "viewport_px": [200, 150]}),
            verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
            instruction="Look.",
        )
    )
    return await page_layout(sandbox)


def words(layout: PageLayout) -> list[str]:
    found: dict[int, str] = {}
    for each in layout.characters:
        found[each.word] = found.get(each.word, "") + each.character
    return list(found.values())


async def test_boxes_are_pixels_of_the_screenshot(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<body style='margin:0'><div id=d class='a b' style='position:absolute;left:30px;top:40px;width:50px;"
        "height:20px;background:#f00'></div>",
    )
    box = next(each for each in layout.elements if each.id == "d")
    assert (box.tag, box.classes, box.box, box.point) == ("div", ("a", "b"), (30, 40, 80, 60), (55, 50))
    data = (await sandbox.observe()).screenshot.data
    with Picture.open(io.BytesIO(data or b"")) as picture:
        red = [
            (x, y)
            for x in range(200)
            for y in range(150)
            if picture.convert("RGB").getpixel((x, y)) == (255, 0, 0)
        ]
    assert (min(red), max(red)) == ((30, 40), (79, 59))


async def test_every_visible_character_has_ink_in_its_box(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<body style='margin:4px;font:14px sans-serif'>Hello <b>big</b> world<br><button>Save it</button>"
        "<input value='typed in' style='width:90px'>"
        "<select><option>First</option><option>Second</option></select>",
    )
    assert words(layout) == ["Hello", "big", "world", "Save", "it", "typed", "in", "First"]
    data = (await sandbox.observe()).screenshot.data
    with Picture.open(io.BytesIO(data or b"")) as opened:
        picture = opened.convert("L")
    for each in layout.characters:
        left, top, right, bottom = each.box
        patch = picture.crop((int(left), int(top), int(right) + 1, int(bottom) + 1))
        low, high = patch.getextrema()
        assert high - low > 60, each


async def test_letters_of_a_field_are_where_text_of_its_style_has_them(sandbox: BrowserSandbox) -> None:
    style = "position:absolute;left:0;padding:0;border:0;width:190px;font:13px DejaVu Sans;"
    spaced = "letter-spacing:1px;word-spacing:6px;"
    for more in (spaced, "", spaced, "letter-spacing:-0.5px;"):
        layout = await show(
            sandbox,
            f"<body style='margin:0'><input style='{style}{spaced}top:100px' value='before it'>"
            f"<input style='{style}{more}top:0' value='two illustrations'>"
            f"<span style='{style}{more}top:40px'>two illustrations</span>",
        )
        field = [each for each in layout.characters if each.box[1] < 30]
        text = [each for each in layout.characters if 30 < each.box[1] < 90]
        assert [each.character for each in field] == [*"twoillustrations"]
        for one, other in zip(field, text, strict=True):
            assert (one.box[0], one.box[2]) == pytest.approx((other.box[0], other.box[2]), abs=0.6)


async def test_hidden_covered_and_scrolled_text_is_not_seen(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<body style='margin:0'>seen <span style='display:none'>none</span>"
        "<span style='visibility:hidden'>hid</span>"
        "<span style='opacity:0'>clear</span>"
        "<div style='height:20px;overflow:hidden'>top<br>cut</div>"
        "<div style='position:absolute;left:0;top:60px'>under</div>"
        "<div style='position:absolute;left:0;top:55px;width:100px;height:40px;background:gray'></div>"
        "<div style='position:absolute;left:0;top:400px'>below</div>",
    )
    assert words(layout) == ["seen", "top"]


async def test_a_covered_element_has_no_point_or_one_beside_the_cover(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<body style='margin:0'>"
        "<button id=a style='position:absolute;left:0;top:0;width:60px;height:30px'>a</button>"
        "<button id=b style='position:absolute;left:0;top:50px;width:60px;height:30px'>b</button>"
        "<div style='position:absolute;left:0;top:0;width:60px;height:30px;background:#eee'></div>"
        "<div style='position:absolute;left:20px;top:50px;width:20px;height:30px;background:#eee'></div>",
    )
    a, b = (next(each for each in layout.elements if each.id == name) for name in "ab")
    assert a.point is None
    assert b.point is not None
    assert not 20 <= b.point[0] < 40
    await sandbox.evaluate("b.onclick = () => { window.hit = 1; }")
    await sandbox.act(Click(x=b.point[0], y=b.point[1]))
    assert await sandbox.evaluate("window.hit") == 1


async def test_states_and_kinds_are_told(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<input type=checkbox id=c checked><input type=radio id=r>"
        "<input type=password id=p value=abc autofocus>"
        "<a href=x id=l>link</a><span role=tab aria-selected=true id=t>Tab</span><p id=plain>text</p>",
    )
    at = {each.id: each for each in layout.elements if each.id}
    assert (at["c"].kind, at["c"].checked, at["r"].checked) == ("checkbox", True, False)
    assert (at["p"].kind, at["p"].value) == ("password", "abc")
    assert (at["t"].kind, at["t"].checked) == ("tab", True)
    assert [at[each].clickable for each in ("c", "l", "t", "plain")] == [True, True, True, False]
    assert [each.character for each in layout.characters if layout.elements[each.element or 0].id == "p"] == [
        "•"
    ] * 3


async def test_drawings_tell_their_shape_and_what_fills_them(sandbox: BrowserSandbox) -> None:
    layout = await show(
        sandbox,
        "<svg width=160 height=100><circle id=c cx=20 cy=20 r=10 fill=red />"
        "<text id=q x=40 y=30 fill=aqua>q</text><polygon id=t points='60,30 70,10 80,30' fill=blue />"
        "<polygon id=f points='90,30 90,10 99,10 99,30' /></svg>"
        "<p id=p fill=red>no drawing</p>",
    )
    at = {each.id: each for each in layout.elements if each.id}
    assert {name: (each.tag, each.kind, each.fill) for name, each in at.items()} == {
        "c": ("circle", "", "red"),
        "q": ("text", "", "aqua"),
        "t": ("polygon", "triangle", "blue"),
        "f": ("polygon", "", ""),
        "p": ("p", "", ""),
    }
    assert at["c"].point == (20 + int(at["c"].box[0] - 10), 20 + int(at["c"].box[1] - 10))


async def test_parents_come_before_their_children(sandbox: BrowserSandbox) -> None:
    layout = await show(sandbox, "<div id=o><div id=i><span>deep</span></div></div>")
    for index, each in enumerate(layout.elements):
        assert each.parent is None or each.parent < index
    deep = layout.elements[layout.characters[0].element or 0]
    assert deep.tag == "span"
    assert layout.elements[deep.parent or 0].id == "i"


async def test_typed_text_is_seen_where_it_shows(sandbox: BrowserSandbox) -> None:
    await sandbox.reset(make_task("miniwob/enter-text", 1))
    field = next(each for each in (await page_layout(sandbox)).elements if each.tag == "input")
    assert field.point is not None
    await sandbox.act(Click(x=field.point[0], y=field.point[1]))
    await sandbox.act(TypeText(text="Kay"))
    layout = await page_layout(sandbox)
    typed = [each for each in layout.characters if layout.elements[each.element or 0].tag == "input"]
    assert [each.character for each in typed] == ["K", "a", "y"]
    assert all(inside(each, field.box) for each in typed)
    assert typed[0].box[2] <= typed[1].box[0] + 0.2


def inside(character: CharacterBox, box: tuple[float, float, float, float]) -> bool:
    left, top, right, bottom = character.box
    return box[0] <= left < right <= box[2] and box[1] <= top < bottom <= box[3]


async def test_a_page_is_read_in_one_round_trip(
    sandbox: BrowserSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(make_task("miniwob/login-user", 1))
    session = sandbox.front.session
    send, sent = session.send, list[str]()

    def noted(method: str, *parameters: Any) -> asyncio.Future[Any]:
        sent.append(method)
        return send(method, *parameters)

    monkeypatch.setattr(session, "send", noted)
    assert (await page_layout(sandbox)).characters
    assert sent == ["Runtime.evaluate"]


async def test_a_sandbox_without_pages_says_so() -> None:
    with pytest.raises(VerifierError, match="unknown value of the fake sandbox"):
        await page_layout(FakeSandbox({}))
