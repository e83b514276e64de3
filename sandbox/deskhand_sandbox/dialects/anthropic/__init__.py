"""Anthropic's computer, bash and text editor tools (docs: agents-and-tools/tool-use/computer-use-tool; the
input types of the `anthropic` package; the reference tools of anthropic-quickstarts).

    {"name": "computer", "input": {"action": "left_click", "coordinate": [500, 300], "text": "shift"}}
    {"name": "left_click", "toolset_name": "computer", "input": {"coordinate": [500, 300]}}
    {"action": "scroll", "coordinate": [500, 400], "scroll_direction": "down", "scroll_amount": 3}
    {"command": "ls"}

Whole `tool_use` blocks and bare inputs are read, of every version. Versions differ in what is written: the
first has no scrolling, waiting or triple clicks and clicks where the pointer is; the toolset of 2026 names
the action in the block, and waits whole seconds. Coordinates are pixels of the picture the model was shown:
where that was shrunk, say so with `coordinates.shown_at`.

`screenshot`, `cursor_position` and `zoom` ask to look, not to act: they are read as a wait of no seconds,
after which the observation is the answer (`zoom_region` says which part of it): their coordinates stay those
of the whole screenshot, where after our `Zoom` they are the part's. `restart` ends the shell, and the next
command has a new one. The text editor's `insert`
and `undo_edit` have no counterpart here and are refused. These models end by ending their turn: there is
nothing to write for that. Lengths of the wheel are whole notches.
"""

from __future__ import annotations

from functools import partial

from deskhand_sandbox.dialects.anthropic.reading import read_call, zoom_region
from deskhand_sandbox.dialects.anthropic.writing import write_action, write_held
from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.dialects.dialect import Dialect

__all__ = ["V20241022", "V20250124", "V20251124", "V20260801", "zoom_region"]


def _version(version: int) -> Dialect:
    return Dialect(
        read=read_call,
        write=partial(write_action, version=version),
        frame=pixels,
        hold=partial(write_held, version=version),
    )


V20241022 = _version(20241022)
V20250124 = _version(20250124)
V20251124 = _version(20251124)
V20260801 = _version(20260801)
