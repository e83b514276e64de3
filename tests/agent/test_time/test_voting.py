from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deskhand_agent.test_time.voting import majority
from deskhand_agent.types import Decision
from deskhand_sandbox.types import Action, Click, Drag, Finish, TypeText


def said(*actions: Action) -> Decision:
    return Decision(actions=actions, text="…")


def click(x: int, y: int, **more: int) -> Decision:
    return said(Click(x=x, y=y, **more))


def test_the_middle_of_the_largest_cluster_is_done() -> None:
    """By hand: 10, 14 and 17 lie within 8 of one another, 40 alone; 14 is 4 + 3 from the others."""
    clicks = [click(40, 0), click(10, 0), click(17, 0), click(14, 0), said(Finish())]
    assert majority(clicks, radius_px=8) == (3, (0.2, 0.6, 0.6, 0.6, 0.2))


def test_the_first_of_equal_clusters_counts() -> None:
    assert majority([click(0, 0), click(50, 0)], radius_px=3)[0] == 0
    assert majority([click(50, 0), click(0, 0), click(1, 0), click(51, 0)], radius_px=3)[0] == 0


def test_what_does_something_else_is_no_vote_for_it() -> None:
    others = [click(0, 0), click(0, 0, count=2), said(Click(x=0, y=0, button="right"))]
    assert majority([said(TypeText(text="a")), *others, said(TypeText(text="a"))], radius_px=99)[0] == 0
    turn = (Click(x=1, y=1), TypeText(text="b"))
    assert majority([click(1, 1), said(*turn), said(*turn)], radius_px=5) == (1, (1 / 3, 2 / 3, 2 / 3))


def test_every_position_has_to_be_near() -> None:
    drags = [said(Drag(path=((0, 0), end))) for end in ((90, 0), (50, 0), (52, 0))]
    assert majority(drags, radius_px=5)[0] == 1


def test_a_reply_without_an_action_is_done_only_where_none_has_one() -> None:
    assert majority([said(), said(), click(1, 1)], radius_px=5) == (2, (0.0, 0.0, 1 / 3))
    assert majority([said(), said()], radius_px=5) == (0, (1.0, 1.0))


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=9), st.integers(0, 30)
)
def test_nobody_has_more_votes_within_the_radius_than_the_chosen_clusters_centre(
    points: list[tuple[int, int]], radius: int
) -> None:
    chosen, shares = majority([click(*point) for point in points], radius_px=radius)
    near = [sum((a - x) ** 2 + (b - y) ** 2 <= radius**2 for a, b in points) for x, y in points]
    assert [round(share * len(points)) for share in shares] == near
    x, y = points[chosen]
    centres = [n for n, count in enumerate(near) if count == max(near)]
    assert any((points[n][0] - x) ** 2 + (points[n][1] - y) ** 2 <= radius**2 for n in centres)
