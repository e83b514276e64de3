"""UI-TARS's replies (arXiv 2501.12326; github.com/bytedance/UI-TARS, prompts and `action_parser`).

    Thought: The form wants a name first.
    Action: click(point='<point>197 525</point>')

Two grammars, one for computers, one for touch screens; two spellings of each:

    1.0   click(start_box='<|box_start|>(235,512)<|box_end|>'), 0..1000 in both directions
    1.5   click(point='<point>197 525</point>') or start_box='(197,525)', pixels of the smart-resized picture

Either spelling is read in either version: a box of four numbers stands for its middle, and what comes before
the last `Action:` is left out. Which frame the numbers are in only the caller knows (`frame` of a dialect has
the version's usual one; hosted 1.5 models count to 1000).

A direction says no distance: `scroll` turns the wheel by five notches, as the published code does, and longer
turns are written as several calls. `wait()` is five seconds, of which the length is not kept.
"""

from __future__ import annotations

from functools import partial

from deskhand_sandbox.dialects.coordinates import CoordinateSystem, thousandths
from deskhand_sandbox.dialects.dialect import Dialect
from deskhand_sandbox.dialects.ui_tars.reading import read_reply
from deskhand_sandbox.dialects.ui_tars.writing import write_action

RESIZED = CoordinateSystem(kind="resized", factor=28, min_pixels=100 * 28 * 28, max_pixels=16384 * 28 * 28)
"""The frame of UI-TARS 1.5, with the bounds of its published code."""

COMPUTER = Dialect(
    read=partial(read_reply, touch=False),
    write=partial(write_action, touch=False, boxes=False),
    frame=RESIZED.frame,
)
COMPUTER_1_0 = Dialect(
    read=partial(read_reply, touch=False),
    write=partial(write_action, touch=False, boxes=True),
    frame=thousandths,
)
MOBILE = Dialect(
    read=partial(read_reply, touch=True),
    write=partial(write_action, touch=True, boxes=False),
    frame=RESIZED.frame,
)
MOBILE_1_0 = Dialect(
    read=partial(read_reply, touch=True),
    write=partial(write_action, touch=True, boxes=True),
    frame=thousandths,
)
