from __future__ import annotations

from deskhand_sandbox.dialects.dialect import Choice, Option
from deskhand_sandbox.doors.elements import elements_of

PAGE = """RootWebArea "Shop" (400, 300)
  heading "Say (1, 2)" [level=1] [off the screen]
  checkbox "News [checked]" (20, 40)
  checkbox "Terms" [checked] (20, 60)
  img alt="a" src="b" (7, 8)"""
DEVICE = """- FrameLayout [0,0][400,800]
  - CheckBox "on [1,2][3,4]" id=wifi [10,20][30,40] clickable checked
  - CheckBox desc="checked" [10,50][30,70] clickable unchecked
  - nothing"""


def test_what_is_on_the_screen_has_a_number() -> None:
    found = elements_of(PAGE, kind="browser")
    assert found.text.splitlines() == [
        '[0] RootWebArea "Shop" (400, 300)',
        '  heading "Say (1, 2)" [level=1] [off the screen]',
        '  [2] checkbox "News [checked]" (20, 40)',
        '  [3] checkbox "Terms" [checked] (20, 60)',
        '  [4] img alt="a" src="b" (7, 8)',
    ]
    assert found.boxes == {
        "0": (400, 300, 400, 300),
        "2": (20, 40, 20, 40),
        "3": (20, 60, 20, 60),
        "4": (7, 8, 7, 8),
    }
    assert found.checked == {"3"}


FORM = """RootWebArea "t" (640, 360)
  combobox "City" value="Rome" [focused] [expanded] (18, 62)
    MenuListPopup [off the screen]
      group "G" [off the screen]
        option "Ro \\"me\\"" [selected] [off the screen]
      option "Oslo" [disabled] [off the screen]
  listbox "Tea" (168, 35)
    option "a" (168, 9)
    option "b" [off the screen]
  combobox "Off" [disabled] [collapsed] (18, 82)
    MenuListPopup [off the screen]
      option "x" [off the screen]
  combobox "Search" (18, 99)
  option "alone" (3, 4)"""


def test_what_may_be_chosen_is_told_of_its_element() -> None:
    assert elements_of(FORM, kind="browser").choices == {
        "1": Choice(
            options=(Option(label='Ro "me"'), Option(label="Oslo", enabled=False)),
            drops_down=True,
            opened=True,
        ),
        "6": Choice(options=(Option(label="a", box=(168, 9, 168, 9)), Option(label="b"))),
    }


def test_things_of_a_device_have_their_bounds() -> None:
    found = elements_of(DEVICE, kind="android")
    assert found.boxes == {"0": (0, 0, 400, 800), "1": (10, 20, 30, 40), "2": (10, 50, 30, 70)}
    assert found.checked == {"1"}
    assert elements_of("", kind="android").boxes == {}
