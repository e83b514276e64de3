"""BrowserGym's high-level actions (arXiv 2412.05467; `browsergym.core.action.functions`): read, never run.

    click('a51')
    mouse_click(250, 120, 'right')
    keyboard_press('Control+a')

One call or several, with literal arguments by position or name; `View.boxes` says where elements are by their
id, and `View.checked` which are ticked. Coordinates are CSS pixels: with a HiDPI screenshot, give the frame
`coordinates.hidpi`.

An element is focused by clicking in the middle of its box, and filled by selecting all that is in it and
typing; `check` and `uncheck` click it where it is not so yet. `select_option` takes labels of `View.choices`:
one that drops down is chosen by keys, others are clicked. What acts on the document instead of by pointer and
keys (`get_element_html`) is refused.
`scroll` turns the wheel where the pointer is: at first, as in Playwright, in the corner.
"""

from __future__ import annotations

from deskhand_sandbox.dialects.browsergym.reading import read_calls
from deskhand_sandbox.dialects.browsergym.writing import write_action
from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.dialects.dialect import Dialect

__all__ = ["DIALECT", "read_calls", "write_action"]

DIALECT = Dialect(read=read_calls, write=write_action, frame=pixels)
