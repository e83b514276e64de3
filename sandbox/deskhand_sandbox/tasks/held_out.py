"""The tasks nothing is ever trained on. This list is fixed: changing it would spoil every figure before."""

from __future__ import annotations

HELD_OUT_TASKS: frozenset[str] = frozenset(
    {
        "miniwob/bisect-angle",
        "miniwob/buy-ticket",
        "miniwob/choose-date-easy",
        "miniwob/click-checkboxes-transfer",
        "miniwob/click-menu",
        "miniwob/click-scroll-list",
        "miniwob/click-tab-2-hard",
        "miniwob/count-sides",
        "miniwob/drag-box",
        "miniwob/email-inbox-forward",
        "miniwob/enter-date",
        "miniwob/enter-time",
        "miniwob/find-greatest",
        "miniwob/form-sequence-2",
        "miniwob/guess-number",
        "miniwob/highlight-text",
        "miniwob/multi-layouts",
        "miniwob/odd-or-even",
        "miniwob/read-table",
        "miniwob/social-media-some",
    }
)
"""Twenty of MiniWoB++: geometry, dates, menus, lists, dragging, mail, forms, tables, selecting, guessing."""
