"""What is told of a reply as it grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.endpoint.talk import Spoken

LETTERS = st.text("abc", max_size=12)


def told(text: str, stop: list[str]) -> tuple[list[str], bool]:
    spoken, parts = Spoken(stop), []
    for end in range(1, len(text) + 1):
        parts.append(spoken.more(text[:end]))
        if spoken.stopped:
            return parts, True
    return [*parts, spoken.more(text, last=True)], spoken.stopped


@given(LETTERS, st.lists(st.text("abc", min_size=1, max_size=3), max_size=3))
def test_what_is_told_ends_before_the_first_stop_text(text: str, stop: list[str]) -> None:
    parts, stopped = told(text, stop)
    # the first stop text that is whole ends the reply; of several then, the one that began first
    ends = [end for end in range(len(text) + 1) if any(text[:end].endswith(one) for one in stop)]
    if not ends:
        assert ("".join(parts), stopped) == (text, False)
        return
    begun = min(at for at in (text[: ends[0]].find(one) for one in stop) if at >= 0)
    assert ("".join(parts), stopped) == (text[:begun], True)


def test_nothing_is_told_that_is_taken_back() -> None:
    spoken = Spoken(["stop"])
    assert spoken.more("a sto") == "a "
    assert spoken.more("a stole") == "stole"
    assert spoken.more("a stole\ufffd") == ""
    assert spoken.more("a stoleé") == "é"
    assert spoken.more("a stoleé\ufffd", last=True) == "\ufffd"
