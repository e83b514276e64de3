from __future__ import annotations

import pytest

from deskhand_sandbox.backends.android.tree import read_nodes, text_tree
from deskhand_sandbox.errors import InfrastructureError

# what `uiautomator dump /dev/tty` of Android 13 writes, cut to a few nodes
DUMP = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<hierarchy rotation="0"><node index="0" text=""
 resource-id="" class="android.widget.FrameLayout" package="com.android.settings" content-desc=""
 checkable="false" checked="false" clickable="false" enabled="true" focusable="false" focused="false"
 scrollable="false" long-clickable="false" password="false" selected="false" bounds="[0,0][1080,2400]">
<node index="0" text="Search &quot;settings&quot;&#10;now" resource-id="com.android.settings:id/search_bar"
 class="android.widget.EditText" package="com.android.settings" content-desc="Search" checkable="false"
 checked="false" clickable="true" enabled="true" focusable="true" focused="true" scrollable="false"
 long-clickable="true" password="false" selected="false" bounds="[42,100][1038,220]" />
<node index="1" text="" resource-id="" class="android.widget.Switch" package="com.android.settings"
 content-desc="" checkable="true" checked="false" clickable="false" enabled="false" focusable="false"
 focused="false" scrollable="false" long-clickable="false" password="false" selected="false"
 bounds="[900,300][1000,360]" /></node></hierarchy>UI hierchary dumped to: /dev/tty
"""


def test_a_dump_is_read() -> None:
    field, switch = read_nodes(DUMP.encode())
    assert (field.kind, field.text, field.description, field.name) == (
        "EditText",
        'Search "settings"\nnow',
        "Search",
        "search_bar",
    )
    assert field.states == ("clickable", "long-clickable", "focused")
    assert field.point == (540, 160)
    assert switch.states == ("unchecked", "disabled")
    assert text_tree([field, switch]).splitlines() == [
        '- EditText "Search \'settings\' now" desc="Search" id=search_bar [42,100][1038,220]'
        " clickable long-clickable focused",
        "- Switch [900,300][1000,360] unchecked disabled",
    ]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"ERROR: could not get idle state.", "could not get idle state"),
        (b"", "no tree"),
        (b"<hierarchy><node></hierarchy>", "broken tree"),
        (b"<hierarchy>" + b" " * (9 << 20) + b"</hierarchy>", "no tree"),
    ],
)
def test_what_is_no_dump_is_said(document: bytes, said: str) -> None:
    with pytest.raises(InfrastructureError, match=said):
        read_nodes(document)


def test_entities_of_the_devices_making_are_not_read() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><hierarchy><node text="&a;" bounds="[0,0][1,1]"/></hierarchy>'
    with pytest.raises(InfrastructureError, match="undefined entity"):
        read_nodes(bomb)
