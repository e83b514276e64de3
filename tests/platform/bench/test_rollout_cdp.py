import json
from pathlib import Path

import pytest

from deskhand_platform.bench.rollout_cdp import bench_rollouts, main


@pytest.mark.slow
@pytest.mark.browser
async def test_every_way_is_measured_beside_the_bare_loop(temporary: Path) -> None:
    said: list[str] = []
    figures = {
        each.name: each for each in await bench_rollouts((2,), seconds=0.4, repeats=2, say=said.append)
    }
    assert set(figures) == {
        "rollout_bare_cdp_2",
        "rollout_steps_2",
        "rollout_host_steps_2",
        "rollout_vs_cdp_2",
        "rollout_host_vs_cdp_2",
    }
    for each in figures.values():
        assert each.low is not None
        assert each.high is not None
        assert 0 < each.low <= each.value <= each.high
    assert len(said) == 2
    assert list(temporary.glob("deskhand-b*")) == []


@pytest.mark.parametrize("wrong", ["four", "0", "1,,2"])
def test_wrong_options_are_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--pages", wrong])
    assert ended.value.code == 2
    assert "pages" in capsys.readouterr().err


def test_no_chromium_is_a_sentence_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], temporary: Path
) -> None:
    monkeypatch.setenv("DESKHAND_CHROMIUM", str(tmp_path / "none"))
    assert main(["--pages", "1", "--seconds", "0.1", "--results", str(tmp_path)]) == 1
    assert "make setup" in capsys.readouterr().err
    assert list(tmp_path.glob("*.json")) == []
    assert list(temporary.glob("deskhand-b*")) == []


@pytest.mark.browser
def test_figures_are_written(tmp_path: Path) -> None:
    told = ["--part", "pages", "--pages", "1", "--seconds", "0.2", "--repeats", "1"]
    assert main([*told, "--results", str(tmp_path)]) == 0
    figures = json.loads((tmp_path / "rollouts.json").read_text())["figures"]
    assert figures["rollout_vs_cdp_1"]["value"] > 0
    assert figures["rollout_vs_cdp_1"]["command"] == "deskhand bench rollouts"
