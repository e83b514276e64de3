"""Actions as other systems write them, to ours and back; nothing of theirs is ever executed.

frame = usual_frame("ui_tars", observation.size_px)
actions = read("ui_tars", "Action: click(point='<point>197 525</point>')", frame)
calls = write("openai", actions[0], usual_frame("openai", observation.size_px))
"""

from __future__ import annotations

from deskhand_sandbox.dialects.registry import dialect_names, read, usual_frame, write, write_all

__all__ = ["dialect_names", "read", "usual_frame", "write", "write_all"]
