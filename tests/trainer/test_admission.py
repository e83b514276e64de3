import pytest

from deskhand_sandbox.tasks import list_tasks
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.admission import refuse_held_out, refuse_unproven
from deskhand_trainer.errors import RunRefused

PROVEN = "miniwob/click-test"
UNPROVEN = "miniwob/stock-market"


def test_held_out_tasks_are_never_trained_on() -> None:
    held = min(HELD_OUT_TASKS)
    with pytest.raises(RunRefused, match=held):
        refuse_held_out((PROVEN, held))
    refuse_held_out((PROVEN, UNPROVEN))


def test_a_task_nothing_solves_is_taken_only_when_asked_for() -> None:
    assert UNPROVEN in {each.id for each in list_tasks()}
    with pytest.raises(RunRefused, match=rf"^{UNPROVEN}: .*unproven=true"):
        refuse_unproven((PROVEN, UNPROVEN), allowed=False)
    refuse_unproven((PROVEN, UNPROVEN), allowed=True)
    refuse_unproven((PROVEN,), allowed=False)
