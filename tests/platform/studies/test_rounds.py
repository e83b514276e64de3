"""The study of rounds: what it makes of what its arms came to, and how it goes on."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.rounds.config import merge
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.states import WorkState
from deskhand_platform.studies.rounds import PRESET, SEED_SPACING, WORK, RoundsStudy, main
from deskhand_platform.studies.rounds_figures import rounds_figures
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.studies.base_tasks import CANDIDATES, NEVER_SHOWN, train_tasks
from deskhand_trainer.studies.runs import StudyDiffers, StudyRuns, StudyStopped

TASKS = ("miniwob/one", "miniwob/two")
MADE = {"date": "2026-01-02", "commit": "abc", "machine": "a small one"}


def metrics(rates: Sequence[float], seconds: float) -> dict[str, Any]:
    return {"seconds": seconds} | {
        f"{name}_greedy:{task}{end}": value
        for task, rate in zip(TASKS, rates, strict=True)
        for name, end, value in (
            ("success", "", rate), ("success", "_low", rate - 0.1), ("success", "_high", rate + 0.1),
            ("episodes", "", 100),
        )
    }  # fmt: skip


def test_figures_are_means_over_tasks_and_their_differences() -> None:
    measured = [metrics((0.2, 0.4), 0), metrics((0.6, 0.8), 600), metrics((0.5, 0.5), 630)]
    found = {f.name: f for f in rounds_figures(TASKS, measured, rounds=3, config={}, made=MADE)}
    assert [found[f"rounds_{arm}_mean"].value for arm in ("before", "after", "cloned")] == [0.3, 0.7, 0.5]
    assert found["rounds_after_two"].value == 0.8
    assert {f"{f.date} {f.commit} {f.machine}" for f in found.values()} == {"2026-01-02 abc a small one"}
    gain = found["rounds_gain"]
    # two tasks of half width .1 each: that of a mean is .1/√2, of the difference of two means .1
    assert (gain.value, gain.low, gain.high) == pytest.approx((0.4, 0.3, 0.5))
    assert found["rounds_gain_low"].value == gain.low and found["rounds_gain_low"].met
    assert found["rounds_minus_cloning"].value == pytest.approx(0.2)
    assert found["rounds_after_mean"].low == pytest.approx(0.7 - 0.1 / math.sqrt(2), abs=1e-4)
    assert (found["rounds_after_minutes"].value, found["rounds_cloned_minutes"].value) == (10, 10.5)


def test_no_gain_is_shown_as_missed() -> None:
    measured = [metrics((0.5, 0.5), 0), metrics((0.5, 0.55), 600), metrics((0.5, 0.5), 600)]
    found = {f.name: f for f in rounds_figures(TASKS, measured, rounds=3, config={}, made=MADE)}
    assert found["rounds_gain_low"].value < 0 and found["rounds_gain_low"].met is False


def test_its_rounds_are_about_every_task_the_model_was_shown(tmp_path: Path) -> None:
    study = RoundsStudy(tmp_path, rounds=3, changed={})
    assert study.tasks == train_tasks()
    assert not {*study.tasks} & {*HELD_OUT_TASKS, *NEVER_SHOWN, *CANDIDATES}
    assert {name for name in WORK if getattr(study.config, name) is not None} == set(WORK)
    # whatever the environment says, the study's episodes go into no other store
    assert study.settings.db_url.startswith(f"sqlite+aiosqlite:///{tmp_path}")


def test_what_is_wrong_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "study"), "--set", "ppo.minuets=1"]) == 1
    assert "did you mean minutes" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path / "study"), "--rounds", "0"])
    assert "give 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("other", [["--rounds", "1"], ["--set", "ppo.minutes=5"]])
def test_other_rounds_are_not_published_as_the_usual_ones(
    tmp_path: Path, other: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: RoundsStudy) -> list[dict[str, Any]]:
        raise StudyStopped("it began")

    monkeypatch.setattr(RoundsStudy, "run", run)
    assert main([str(tmp_path / "study"), *other]) == 1
    assert "are of 3 rounds of the preset as it is: name another place" in capsys.readouterr().err
    for asked in ([], [*other, "--results", str(tmp_path / "base.json")]):
        assert main([str(tmp_path / "study"), *asked]) == 1
        assert "it began" in capsys.readouterr().err


class Retrying:
    """Begins no round; one that is tried again is done at once."""

    def __init__(self, book: RoundBook) -> None:
        self._book = book
        self.retried: list[int] = []

    async def retry(self, round_id: int, phase: str | None) -> RoundRecord:
        self.retried.append(round_id)
        await self._book.update(round_id, state=WorkState.DONE)
        return await self._book.get(round_id)


@asynccontextmanager
async def one_round(study: RoundsStudy, state: WorkState, changed: dict[str, Any]) -> AsyncGenerator[Any]:
    """A platform whose first round of the study is over."""
    study.settings.home.mkdir(parents=True, exist_ok=True)
    async with await Store.open(study.settings.db_url, study.settings.blobs_url) as store:
        book = RoundBook(store.database)
        seeds = {"explore": {"seed_offset": 20_000}, "ppo": {"seed_offset": 20_000 + SEED_SPACING // 2}}
        number, _ = await book.create(PRESET, checked_preset(PRESET, merge(changed, seeds)))
        await book.update(number, state=state)
        yield SimpleNamespace(services=SimpleNamespace(book=book, rounds=Retrying(book)))


async def test_a_round_of_other_settings_is_refused(tmp_path: Path) -> None:
    changed = {"ppo": {"minutes": 1}}
    async with one_round(RoundsStudy(tmp_path, rounds=1, changed=changed), WorkState.DONE, changed) as up:
        same = await RoundsStudy(tmp_path, rounds=1, changed=changed).round_over(up, 0)
        assert same.state is WorkState.DONE and not up.services.rounds.retried
        with pytest.raises(StudyDiffers, match=r"ppo.minutes is 1 there and .* now.*another folder"):
            await RoundsStudy(tmp_path, rounds=1, changed={}).round_over(up, 0)


@pytest.mark.parametrize("state", [WorkState.FAILED, WorkState.CANCELLED])
async def test_a_round_that_failed_is_tried_again(tmp_path: Path, state: WorkState) -> None:
    study = RoundsStudy(tmp_path, rounds=1, changed={})
    async with one_round(study, state, {}) as up:
        done = await study.round_over(up, 0)
        assert done.state is WorkState.DONE and up.services.rounds.retried == [done.id]


class Played(RoundsStudy):
    """Its rounds are done, each took ten minutes, and the last was promoted."""

    async def _rounds(self) -> tuple[str, str, float]:
        return "first", f"after-{self._count}", 600.0 * self._count


def test_more_rounds_in_the_same_folder_are_measured_beside_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []

    def leave(_: StudyRuns, folder: Path, log: object) -> None:
        played.append(folder.name)
        metrics = {"of": len(played), "training_seconds": 50.0}
        result = {"seconds": 60.0, "policy_out": f"by-{folder.name}", "metrics": metrics}
        (folder / "result.json").write_text(json.dumps(result))

    monkeypatch.setattr(StudyRuns, "_wait", leave)
    one = Played(tmp_path, rounds=1, changed={}).run()
    once = len(played)
    three = Played(tmp_path, rounds=3, changed={}).run()
    # the same demonstrations, the same first epoch and the same start
    assert len(played) == len({*played}) == once + 3 and three[0] == one[0]
    assert (one[1]["seconds"], three[1]["seconds"]) == (600.0, 1800.0)
    for rounds, epochs in ((1, 9), (3, 33)):
        # collecting and the first epoch took 60 s each, and a run takes 10 s besides its epochs
        told = json.loads((tmp_path / f"cloning-rest-{rounds}/spec.json").read_text())
        assert told["config"]["cloning_epochs"] == epochs
    assert Played(tmp_path, rounds=1, changed={}).run() == one and len(played) == once + 3
    measurements = Played(tmp_path, rounds=3, changed={}).measurements
    assert {*measurements.values()} <= {*played[once:], "measure-before"}
