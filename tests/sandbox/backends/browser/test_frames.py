"""Frames: worked in like the page itself, and waited for, whatever their origin."""

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.types import Click, TypeText

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


def framed(url: str, inside: str = "") -> str:
    return (
        f"document.body.innerHTML = `<iframe style='position:absolute;left:20px;top:30px;width:160px;"
        f"height:90px;border:2px solid' src='{url}' {inside}></iframe>`; 1"
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_clicks_and_keys_reach_a_frame(sandbox: BrowserSandbox, visit, site: str, host: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(framed(f"{site.replace('127.0.0.1', host)}/frame"))
    await sandbox.observe()
    await sandbox.act(Click(x=40, y=42))
    assert 'button "pressed"' in ((await sandbox.observe(text_tree=True)).text_tree or "")
    await sandbox.act(Click(x=60, y=64))
    await sandbox.act(TypeText(text="grüße 漢"))
    assert 'value="grüße 漢"' in ((await sandbox.observe(text_tree=True)).text_tree or "")


@pytest.mark.parametrize("inside", ["", "sandbox='allow-scripts'"], ids=["plain", "sandboxed"])
async def test_a_frame_of_another_origin_is_waited_for(
    sandbox: BrowserSandbox, visit, site: str, inside: str
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(framed(f"{site.replace('127.0.0.1', 'localhost')}/later", inside))
    await sandbox.observe()
    seen = await sandbox.act(Click(x=40, y=42))
    after = await sandbox.observe(text_tree=True)
    assert 'button "done"' in (after.text_tree or "")
    assert seen.settled and seen.screenshot.digest == after.screenshot.digest
    await sandbox.evaluate("document.body.innerHTML = 'no frames'; 1")
    assert (await sandbox.observe()).settled
