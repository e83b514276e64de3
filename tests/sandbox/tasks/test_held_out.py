from deskhand_sandbox.tasks import list_tasks
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS

# repeated here on purpose: whoever changes the list must change it twice, and knows what that spoils
PINNED = """
bisect-angle buy-ticket choose-date-easy click-checkboxes-transfer click-menu click-scroll-list
click-tab-2-hard count-sides drag-box email-inbox-forward enter-date enter-time find-greatest
form-sequence-2 guess-number
highlight-text multi-layouts odd-or-even read-table social-media-some
"""


def test_the_held_out_list_is_what_it_was() -> None:
    assert {f"miniwob/{name}" for name in PINNED.split()} == HELD_OUT_TASKS
    assert len(HELD_OUT_TASKS) == 20


def test_every_held_out_task_exists_and_is_marked() -> None:
    assert {each.id for each in list_tasks() if each.held_out} == HELD_OUT_TASKS
