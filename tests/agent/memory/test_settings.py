from __future__ import annotations

from typing import Any

import pytest

from deskhand_agent.memory import WindowMemory

OLD = {"n_screenshots": 1, "action_chars": 2000, "screens": "picture"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"screens": "sound"}, "screens is 'sound': give picture, text, both, tree, tree_and_picture"),
        ({"strategy": "all"}, "strategy is 'all': give window, summary, episodic, constant, operations"),
        ({"n_screenshots": 0}, "n_screenshots is 0"),
        ({"action_chars": -1}, "action_chars is -1: give 0 or more"),
        ({"notes_chars": -1}, "notes_chars is -1: give 0 or more"),
        ({"tree_bytes": -1}, "tree_bytes is -1: give 0 or more"),
        ({"strategy": "summary"}, "strategy is summary: say in summary_after after how many turns"),
        ({"strategy": "operations"}, "strategy is operations: say in summary_after"),
        ({"strategy": "constant", "summary_after": 2}, "summary_after is 2: a constant memory asks for none"),
        ({"strategy": "constant", "plan_tokens": 9}, "a plan has no thought"),
        ({"text_bytes": 1023}, "text_bytes is 1023: give 1024 or more for 1 screens, or 0"),
        ({"text_bytes": 2047, "n_screenshots": 2}, "give 2048 or more for 2 screens"),
    ],
)
def test_what_does_not_go_together_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WindowMemory(**wrong)


def test_a_window_with_summaries_is_a_summary() -> None:
    assert WindowMemory(summary_after=3).strategy == "summary"
    assert WindowMemory(summary_after=3) == WindowMemory(summary_after=3, strategy="summary")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, OLD),
        ({"notes_chars": 9, "summary_tokens": 9, "tree_bytes": 9}, OLD),
        ({"screens": "tree"}, OLD | {"screens": "tree", "tree_bytes": 8192}),
        ({"summary_after": 2}, OLD | {"summary_after": 2, "summary_tokens": 128}),
        ({"plan_tokens": 7}, OLD | {"plan_tokens": 7}),
        ({"strategy": "constant"}, OLD | {"strategy": "constant"}),
        ({"text_bytes": 4096}, OLD | {"text_bytes": 4096}),
        (
            {"strategy": "episodic", "summary_after": 2},
            OLD | {"summary_after": 2, "summary_tokens": 128, "strategy": "episodic", "notes_chars": 2000},
        ),
    ],
)
def test_a_processor_is_named_by_what_is_in_use_as_ever(
    settings: dict[str, Any], named: dict[str, Any]
) -> None:
    assert WindowMemory(**settings).named() == named


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (
            {"summary_after": 4},
            {"summary_after": None, "screens": "both"},
            {"summary_after": 4, "screens": "both"},
        ),
        ({"summary_after": 4}, {"summary_after": 0}, {}),
        ({"summary_after": 4}, {"strategy": "constant"}, {"strategy": "constant"}),
        ({"summary_after": 4}, {"strategy": "episodic"}, {"summary_after": 4, "strategy": "episodic"}),
        ({"strategy": "constant"}, {"strategy": "window"}, {}),
        ({}, {"strategy": "operations", "summary_after": 2}, {"strategy": "operations", "summary_after": 2}),
        ({"strategy": "constant"}, {"summary_after": 0}, {"strategy": "constant"}),
    ],
)
def test_a_policy_is_told_another_memory(
    before: dict[str, Any], changes: dict[str, Any], after: dict[str, Any]
) -> None:
    assert WindowMemory(**before).told(**changes) == WindowMemory(**after)
