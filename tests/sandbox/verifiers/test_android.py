from __future__ import annotations

import pytest

from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import JsonValue, VerifierSpec

NOTES = "content://org.deskhand.notes/notes"


class Phone(FakeSandbox):
    """Answers commands with what stands in `told`."""

    def __init__(self, **told: JsonValue) -> None:
        super().__init__({})
        self.told = told
        self.asked: list[str] = []

    async def evaluate(self, expression: str) -> JsonValue:
        self.asked.append(expression)
        return next((answer for word, answer in self.told.items() if word in expression), "No result found.")


def spec(**settings: JsonValue) -> VerifierSpec:
    return VerifierSpec(name="android", settings=settings)


async def test_rows_are_counted() -> None:
    verifier = create_verifier(spec(rows=[{"uri": NOTES, "where": "title = 'a b'", "count": 2}]))
    phone = Phone(notes="Row: 0 _id=1\nRow: 1 _id=4")
    assert (await verifier.score(phone, answer=None)).success
    assert phone.asked == [
        f"content query --uri {NOTES} --projection _id --where 'title = '\"'\"'a b'\"'\"''"
    ]
    outcome = await verifier.score(Phone(notes="Row: 0 _id=1"), answer=None)
    assert not outcome.success and outcome.detail == f"{NOTES}: 1 rows where title = 'a b', not 2"
    assert not (await verifier.score(Phone(), answer=None)).success


async def test_settings_are_compared_as_text() -> None:
    verifier = create_verifier(spec(settings={"global/wifi_on": "0"}))
    assert (await verifier.score(Phone(wifi_on="0"), answer=None)).success
    outcome = await verifier.score(Phone(wifi_on="1"), answer=None)
    assert not outcome.success and outcome.detail == "global/wifi_on is 1, not 0"


async def test_what_is_no_answer_is_no_verdict() -> None:
    rows = create_verifier(spec(rows=[{"uri": NOTES, "count": 0}]))
    with pytest.raises(VerifierError, match="Error while accessing provider"):
        await rows.score(Phone(notes="Error while accessing provider: gone"), answer=None)
    with pytest.raises(VerifierError, match="global/wifi_on was asked for"):
        await create_verifier(spec(settings={"global/wifi_on": "0"})).score(Phone(wifi_on=None), answer=None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "needs rows or settings"),
        ({"rows": "all"}, "rows must be a list"),
        ({"rows": [{"uri": NOTES}]}, "has uri, where and count"),
        ({"rows": [{"uri": NOTES, "count": -1}]}, "has uri, where and count"),
        ({"rows": [{"uri": NOTES, "count": 1, "were": "x"}]}, "has uri, where and count"),
        ({"settings": {"wifi_on": "1"}}, "names like global/wifi_on"),
        ({"settings": {"global/wifi_on": 1}}, "names like global/wifi_on"),
        ({"checks": []}, "refuses its settings"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, JsonValue], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        create_verifier(spec(**settings))
