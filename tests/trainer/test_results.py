from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

import pytest

from deskhand_trainer.bench import decoding, memory
from deskhand_trainer.errors import ResultsError
from deskhand_trainer.results import (
    Figure,
    published_or,
    read_figures,
    results_file,
    write_figures,
    write_results_page,
)
from deskhand_trainer.studies import prm, test_time


def figure(name: str, value: float, **more: object) -> Figure:
    return Figure(name=name, value=value, unit="share", command="deskhand bench x", **more)  # type: ignore[arg-type]


def test_merges_by_name_and_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "results" / "loop.json"
    write_figures(path, [figure("a", 0.1), figure("b", 0.2, seeds=[1, 2], low=0.1, high=0.3)])
    write_figures(path, [figure("a", 0.7)])
    table = json.loads(path.read_text())["figures"]
    assert {n: f["value"] for n, f in table.items()} == {"a": 0.7, "b": 0.2}
    keys = "value unit low high goal note command config seeds date commit machine"
    assert set(table["a"]) == set(keys.split())
    assert read_figures(path)[1].seeds == [1, 2]
    assert [p.name for p in path.parent.iterdir()] == ["loop.json"]


def test_page_shows_missed_goals_as_missed(tmp_path: Path) -> None:
    write_figures(
        tmp_path / "loop.json", [figure("good", 0.95, goal=">= 0.9"), figure("bad", 0.2, goal=">= 0.9")]
    )
    rows = {line.split(" | ")[0]: line for line in write_results_page(tmp_path).read_text().splitlines()}
    assert "met" in rows["| good"]
    assert "missed" not in rows["| good"]
    assert "**missed**" in rows["| bad"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"figures": {"a": {"value": 1}}}', '{"figures": {"a": {"nonsense": 1}}}']
)
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "loop.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=r"loop\.json is not a results file"):
        write_figures(path, [figure("a", 1.0)])
    assert path.read_text() == text


def test_a_goal_is_a_comparison_and_a_number(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="comparison and a number"):
        write_figures(tmp_path / "x.json", [figure("a", 1.0, goal="about 3")])


def test_what_is_published_is_of_one_thing_alone() -> None:
    folder, file, mine = Path("docs/results"), Path("docs/results/base.json"), Path("mine")
    assert published_or(None, folder, of="the usual", other=False) == folder
    for other in (True, False):
        assert published_or(mine, folder, of="the usual", other=other) == mine
    for published, such in ((folder, "my-results"), (file, r"my-results/base\.json")):
        with pytest.raises(ResultsError, match=rf"are of the usual: .* such as --results {such}$"):
            published_or(None, published, of="the usual", other=True)


def test_a_command_line_names_a_file_of_figures_there_or_to_be(tmp_path: Path) -> None:
    write_figures(tmp_path / "loop.json", [figure("a", 0.1)])
    for name in ("loop.json", "none.json"):
        assert results_file(str(tmp_path / name)) == tmp_path / name
    with pytest.raises(ArgumentTypeError, match="is a folder: name a file in it"):
        results_file(str(tmp_path))
    (tmp_path / "other.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ArgumentTypeError, match=r"other\.json is not a results file"):
        results_file(str(tmp_path / "other.json"))


@pytest.mark.parametrize(
    ("main", "asked"),
    [
        (decoding.main, ["MODEL"]),
        (memory.main, ["MODEL"]),
        (prm.main, ["STUDY", "--policy", "policy-0"]),
        (prm.main, ["STUDY", "--turns", "10"]),
        (prm.main, ["STUDY", "--seeds", "7"]),
        (test_time.main, ["STUDY", "--reward-model", "MODEL"]),
        (test_time.main, ["STUDY", "--tasks", "miniwob/click-test"]),
    ],
)
def test_what_is_measured_otherwise_is_not_published(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    main: Callable[[list[str]], int],
    asked: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(asked) == 1
    assert "name another place for others, such as --results my-results" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
