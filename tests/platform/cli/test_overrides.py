"""Settings on the command line: names, values, and what cannot be read."""

import pytest

from deskhand_platform.cli import overrides
from deskhand_platform.errors import InvalidField


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lr=2e-4", 2e-4),
        ("lr=2E4", 2e4),
        ("lr=-1e+2", -100.0),
        ("lr=2.5e-4", 2.5e-4),
        ("lr=3", 3),
        ("lr=e-4", "e-4"),
        ("lr=2e", "2e"),
        ("lr='2e-4'", "2e-4"),
        ("lr=[1e-3, 5]", [1e-3, 5]),
        ("lr=", None),
    ],
)
def test_values_are_yaml_with_exponents(text: str, value: object) -> None:
    found = overrides.parse([text])["lr"]
    assert found == value
    assert type(found) is type(value)


def test_dotted_names_nest() -> None:
    assert overrides.parse(["ppo.lr=5e-4", "ppo.clip=1", "name=a"]) == {
        "ppo": {"lr": 5e-4, "clip": 1},
        "name": "a",
    }


@pytest.mark.parametrize(
    "pairs", [["lr"], ["=3"], ["a=1", "a.b=2"], ["a=[1"], ["a=!!python/name:os.system"], ["a=2001-99-99"]]
)
def test_what_cannot_be_read_is_refused(pairs: list[str]) -> None:
    with pytest.raises(InvalidField):
        overrides.parse(pairs)
