"""The text tree: what it names, and that its points are where the things are."""

import re

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.types import Click, Scroll

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

FORM = """<title>Order</title><body style='margin:0'><h1>Tea</h1>
<p>Two <b>cups</b> of it</p>
<label>Name <input id=n value=Ada></label><br>
<input type=checkbox checked aria-label=Loud><input type=checkbox disabled aria-label=Quiet>
<select id=s aria-label=Size><option>small<option selected>big</select>
<button id=b onclick="this.textContent='gone'">Send it</button>
<div style='display:none'>never shown</div><div><div><span></span></div></div>"""


CUT = (
    "<body style='margin:0;overflow:auto;height:20px'><div id=list style='height:60px;overflow:auto'>"
    + "".join(f"<div style='height:20px'><button>Item {n}</button></div>" for n in range(9))
    + """</div>
<div style='height:20px;overflow:hidden'><button style='margin-top:60px'>Cut off</button>
<div style='position:absolute;top:100px'><button>Absolute</button></div>
<div style='position:fixed;top:130px'><button>Fixed</button></div></div>
<div style='height:20px;overflow:hidden;position:relative'>
<div style='position:absolute;top:90px'><button>Cut absolute</button></div>
<span style='overflow:hidden'><button>Inline</button></span></div>
<div style='height:2px;overflow:hidden;transform:translateX(0)'>
<div style='position:fixed;top:60px'><button>Cut fixed</button></div>
<div popover id=top style='inset:150px 0 auto 0;margin:0;padding:0'><button>On top</button></div></div>
<select size=3 style='position:absolute;left:90px;top:0'>
<option>a<option>b<option>c<option>d<option>e<option>f</select>
<div style='position:absolute;left:90px;top:70px;width:80px;height:25px;overflow:auto'>
<iframe style='border:0;width:60px;height:120px' srcdoc="<body style='margin:0'>
<button>Near</button><button style='position:absolute;top:80px'>Far</button>"></iframe></div>"""
)
"""Things in boxes that scroll them or cut them off, and things that lie outside the boxes they are in."""


async def tree_of(sandbox: BrowserSandbox) -> str:
    tree = (await sandbox.observe(text_tree=True)).text_tree
    assert tree is not None
    return tree


def point_of(tree: str, what: str) -> Click:
    found = re.search(re.escape(what) + r".*\((\d+), (\d+)\)", tree)
    assert found is not None, tree
    return Click(x=int(found[1]), y=int(found[2]))


async def test_it_names_roles_values_states_and_places(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(FORM, viewport_px=[300, 200]))
    await sandbox.act(point_of(await tree_of(sandbox), 'textbox "Name"'))
    tree = await tree_of(sandbox)
    assert tree.splitlines()[0].startswith('RootWebArea "Order"')
    for line in (
        r'  heading "Tea" \[level=1\] \(\d+, \d+\)',
        r'text "cups"',
        r'textbox "Name" value="Ada" \[focused\]',
        r'checkbox "Loud" \[checked\]',
        r'checkbox "Quiet" \[disabled\]',
        r'combobox "Size" value="big"',
        r'button "Send it" \(',
    ):
        assert re.search(line, tree), f"{line} is not in\n{tree}"
    for absent in ("never shown", "generic", "none", "InlineTextBox"):
        assert absent not in tree
    assert tree.count("Send it") == 1
    await sandbox.act(point_of(tree, 'button "Send it"'))
    assert await sandbox.evaluate("b.textContent") == "gone"


async def test_points_are_where_things_are_after_scrolling_and_none_is_off_the_screen(
    sandbox: BrowserSandbox, page
) -> None:
    tall = (
        "<body style='margin:0;height:2000px'><button onclick='window.top=1'>First</button>"
        "<button style='position:absolute;left:150px;top:600px;width:200px'"
        " onclick='window.hit=1'>Half</button>"
    )
    await sandbox.reset(page(tall))
    assert 'button "Half" [off the screen]' in await tree_of(sandbox)
    await sandbox.act(Scroll(x=50, y=50, dy_px=550))
    tree = await tree_of(sandbox)
    assert 'button "First" [off the screen]' in tree
    at = point_of(tree, 'button "Half"')
    assert 150 < at.x < 200
    await sandbox.act(at)
    assert await sandbox.evaluate("window.hit") == 1


async def test_frames_of_any_origin_are_in_it(sandbox: BrowserSandbox, visit, site: str) -> None:
    elsewhere = site.replace("127.0.0.1", "localhost")
    await sandbox.reset(visit(f"{site}/", viewport_px=[300, 260]))
    near = "<iframe src='/next' style='left:5px;top:120px;height:90px'></iframe>"
    far = (
        f"<iframe src='{elsewhere}/frame' style='left:140px;top:110px;border:4px solid;padding:9px'></iframe>"
    )
    style = "<style>iframe { position: absolute; width: 120px; height: 120px }</style>"
    await sandbox.evaluate(f"document.body.insertAdjacentHTML('beforeend', `{style}{near}{far}`)")
    tree = await tree_of(sandbox)
    assert 'heading "next"' in tree
    await sandbox.act(point_of(tree, 'button "Inside"'))
    assert 'button "pressed"' in await tree_of(sandbox)


async def test_the_elements_themselves_are_there_by_setting(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(FORM, viewport_px=[300, 200], text_tree="dom"))
    tree = await tree_of(sandbox)
    for line in (
        r'<h1> "Tea" \(\d+, \d+\)',
        r'<input#n value="Ada"> \(',
        r'<input type="checkbox" aria-label="Loud" value="on" checked>',
        r'<input type="checkbox" aria-label="Quiet" value="on" disabled>',
        r'<button#b> "Send it" \(',
    ):
        assert re.search(line, tree), f"{line} is not in\n{tree}"
    assert "never shown" not in tree
    await sandbox.act(point_of(tree, "<button#b>"))
    assert await sandbox.evaluate("b.textContent") == "gone"


async def test_it_is_bounded_in_lines_and_in_time(sandbox: BrowserSandbox, page) -> None:
    many = "".join(f"<button>{number}</button>" for number in range(300))
    for kind in ("accessibility", "dom"):
        await sandbox.reset(page(many, text_tree=kind, text_tree_nodes=40))
        lines = (await tree_of(sandbox)).splitlines()
        assert len(lines) == 41
        assert re.fullmatch(r"\[\d+ more left out\]", lines[-1])
    await sandbox.reset(page(many, text_tree_deadline_ms=0.01))
    assert await tree_of(sandbox) == "[left out: the tree took longer than 0.01 ms]"
    assert (await sandbox.observe()).text_tree is None


@pytest.mark.parametrize("form", ["accessibility", "dom"])
async def test_no_point_is_given_to_what_its_box_cuts_off(sandbox: BrowserSandbox, page, form: str) -> None:
    await sandbox.reset(page(CUT, viewport_px=[200, 200], text_tree=form))
    await sandbox.evaluate("document.getElementById('top').showPopover()")
    await sandbox.evaluate("list.scrollTop = 40")
    tree = await tree_of(sandbox)
    seen = {"Item 2", "Item 3", "Item 4", "Absolute", "Fixed", "Inline", "On top", "Near"}
    hidden = {f"Item {n}" for n in (0, 5, 6, 7, 8)} | {"Cut off", "Cut absolute", "Cut fixed", "Far"}
    for name in seen:
        at = point_of(tree, f'"{name}"')
        if name != "Near":
            found = await sandbox.evaluate(f"document.elementFromPoint({at.x}, {at.y}).textContent")
            assert found == name
    for name in hidden:
        assert re.search(re.escape(f'"{name}"') + r".*\[off the screen\]", tree), f"{name}:\n{tree}"
    if form == "accessibility":
        assert 'option "f" [off the screen]' in tree and re.search(r'option "a" \(\d+, \d+\)', tree)
