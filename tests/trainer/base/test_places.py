"""Words for places, and boxes around text, fit one thing or are not given."""

from __future__ import annotations

import random
from dataclasses import replace

from deskhand_sandbox.tasks.layout import Box
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.places import box_around, placed
from deskhand_trainer.base.questions import Kind, ask


def holding(page: SeenPage, **boxes: Box) -> SeenPage:
    """A generated page of 64x64 with nothing but things of such roles, each named by its place here."""
    things = (
        replace(page.things[0], role=name.rstrip("0123456789").replace("_", " "), name=name, box=box)
        for name, box in boxes.items()
    )
    return replace(page, task_id="generated/press", content_top_px=0.0, things=tuple(things))


def called(page: SeenPage, role: str) -> dict[str, str]:
    return {words: thing.name for thing, words in placed(page, role)}


def test_the_farthest_is_called_so_where_it_is_clearly(pages: list[SeenPage]) -> None:
    page = holding(pages[0], link1=(4, 2, 30, 12), link2=(10, 11, 40, 22), link3=(4, 40, 50, 50))
    assert called(page, "link") == {"the topmost link": "link1", "the lowest link": "link3"}
    nearly = holding(pages[0], link1=(4, 2, 30, 12), link2=(10, 10, 40, 22), link3=(4, 40, 50, 50))
    assert called(nearly, "link") == {"the lowest link": "link3"}


def test_neighbours_share_a_line(pages: list[SeenPage]) -> None:
    page = holding(pages[0], tab1=(4, 2, 24, 12), tab2=(23, 2, 44, 12), tab3=(43, 2, 60, 12))
    assert called(page, "tab") == {"the leftmost tab": "tab1", "the rightmost tab": "tab3"}


def test_one_alone_is_not_the_topmost_of_its_like(pages: list[SeenPage]) -> None:
    assert called(holding(pages[0], link=(4, 25, 30, 30)), "link") == {}


def test_what_stands_in_a_corner_or_the_middle_has_no_rival_near(pages: list[SeenPage]) -> None:
    page = holding(pages[0], icon=(2, 2, 12, 12), switch=(50, 50, 62, 60), field=(4, 28, 60, 36))
    found = called(page, "icon") | called(page, "switch") | called(page, "field")
    assert found == {
        "the icon in the top left corner": "icon",
        "the switch in the bottom right corner": "switch",
        "the field in the middle": "field",
    }
    rival = holding(pages[0], icon1=(2, 2, 12, 12), icon2=(4, 28, 14, 38))
    assert "the icon in the top left corner" not in called(rival, "icon")
    away = holding(pages[0], icon1=(2, 2, 12, 12), icon2=(4, 34, 14, 44))
    assert called(away, "icon")["the icon in the top left corner"] == "icon1"


def test_a_radio_button_is_a_button_to_who_looks_for_one(pages: list[SeenPage]) -> None:
    page = holding(pages[0], radio_button=(2, 2, 12, 12), button1=(2, 22, 30, 32), button2=(2, 42, 30, 52))
    assert called(page, "button") == {
        "the lowest button": "button2",
        "the button in the bottom left corner": "button2",
    }
    assert called(page, "radio button") == {"the radio button in the top left corner": "radio_button"}


def test_places_are_asked_for_where_everything_on_a_page_is_told(pages: list[SeenPage]) -> None:
    page = holding(pages[0], link1=(4, 2, 30, 12), link2=(4, 40, 50, 50))
    draw = random.Random(0)
    assert ask(page, Kind.POINT_PLACED, draw) is not None
    assert ask(replace(page, task_id="miniwob/click-test"), Kind.POINT_PLACED, draw) is None
    assert ask(holding(pages[0], link=(4, 25, 30, 30)), Kind.POINT_PLACED, draw) is None


def test_a_box_goes_outwards_to_the_grid_and_holds_no_other_letter(pages: list[SeenPage]) -> None:
    letters = tuple(replace(pages[0].characters[0], box=(x, 21.0, x + 5, 33.0)) for x in (5.5, 11.0, 16.0))
    page = replace(pages[0], characters=letters)
    places = tuple(each.box for each in letters)
    assert box_around(page, places) == (4, 20, 24, 36)
    assert box_around(page, places[:2]) == (4, 20, 16, 36)
    near = replace(letters[0], box=(20.5, 21.0, 23.5, 33.0))
    assert box_around(replace(page, characters=(*letters, near)), places) is None
    assert box_around(replace(page, characters=(*letters, near)), places[:2]) == (4, 20, 16, 36)


def test_a_box_ends_where_coordinates_do(pages: list[SeenPage]) -> None:
    """The last of 64 pixels that a model can name is 60."""
    for right, found in [(64.0, (52, 48, 60, 60)), (66.0, None)]:
        letter = replace(pages[0].characters[0], box=(55.0, 50.0, right, 62.0))
        assert box_around(replace(pages[0], characters=(letter,)), (letter.box,)) == found
