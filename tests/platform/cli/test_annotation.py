"""`deskhand flywheel review` and `agreement`, and `deskhand annotators`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore
from deskhand_platform.accounts.tokens import Tokens
from deskhand_platform.settings import Settings

Run = Callable[..., tuple[int, str, str]]


def played(settings: Settings, record_episode: Any) -> str:
    async def play() -> str:
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            kept = await record_episode(store)
            judged = OutcomeScore(trajectory_id=kept, score=0.1, scorer="judge:m@1")
            await store.add_outcome_scores([judged])
            for index, (ada, bob) in enumerate(((1.0, 1.0), (0.0, 0.0))):
                await store.mark(kept, index, "ada", ada)
                await store.mark(kept, index, "bob", bob)
            return kept

    return asyncio.run(play())


def test_disagreements_are_found_and_listed(
    settings: Settings, record_episode: Any, deskhand: Run, tmp_path: Path
) -> None:
    kept = played(settings, record_episode)
    status, said, _ = deskhand("flywheel", "review")
    row = said.splitlines()[1].split()
    assert status == 0 and row[:4] == [kept, "0.90", "judge:m@1", "0.10"]
    (entry,) = json.loads(deskhand("flywheel", "review", "--json")[1])
    assert entry["kind"] == "verifier_judge"
    assert deskhand("flywheel", "review", "--resolved")[1].splitlines()[1:] == []
    rules = tmp_path / "rules.yaml"
    rules.write_text("verifier_judge: null\n")
    assert deskhand("flywheel", "review", "--rules", str(rules))[1].splitlines()[1:] == []
    rules.write_text("verifier_juge: null\n")
    status, _, told = deskhand("flywheel", "review", "--rules", str(rules))
    assert status == 2 and "did you mean verifier_judge" in told


def test_rules_are_kept(settings: Settings, record_episode: Any, deskhand: Run, tmp_path: Path) -> None:
    played(settings, record_episode)
    status, own, _ = deskhand("flywheel", "review-rules")
    assert status == 0 and own.startswith("# the flywheel's own\nverifier_judge:\n  threshold: 0.5\n")
    rules = tmp_path / "rules.yaml"
    rules.write_text("verifier_judge: null\n")
    changed = deskhand("flywheel", "review-rules", str(rules))[1]
    assert changed.startswith("# set by owner ") and "\nverifier_judge: null\n" in changed
    assert deskhand("flywheel", "review-rules")[1] == changed
    assert deskhand("flywheel", "review")[1].splitlines()[1:] == []
    status, _, told = deskhand("flywheel", "review-rules", str(rules), "--reset")
    assert status == 2 and "without rules" in told
    back = json.loads(deskhand("flywheel", "review-rules", "--reset", "--json")[1])
    assert back["rules"] == own.partition("\n")[2] and back["set_by"] == "owner"
    assert len(deskhand("flywheel", "review")[1].splitlines()) == 2


def test_agreement_is_told(settings: Settings, record_episode: Any, deskhand: Run) -> None:
    played(settings, record_episode)
    said = deskhand("flywheel", "agreement")[1]
    assert "2 steps marked by several, 4 marks: alpha 1.000" in said
    assert said.splitlines()[2].split() == ["human:ada", "human:bob", "2", "100%", "1.000"]
    assert json.loads(deskhand("flywheel", "agreement", "--source", "judge", "--json")[1])["steps"] == 0


def test_annotators_come_and_go(settings: Settings, deskhand: Run) -> None:
    token = deskhand("annotators", "add", "ada")[1].strip()

    async def whose() -> str | None:
        async with await Store.open(settings.db_url, settings.blobs_url) as store:
            came = await Tokens(store.database).holder(token)
            return None if came is None else came.name

    assert asyncio.run(whose()) == "ada"
    assert deskhand("annotators", "list")[1].splitlines()[1].split()[0] == "ada"
    assert deskhand("annotators", "add", "ada")[0] == 1
    assert deskhand("annotators", "add", "owner")[0] == 1
    assert deskhand("annotators", "remove", "owner")[0] == 1
    assert deskhand("annotators", "remove", "ada")[0] == 0
    assert deskhand("annotators", "remove", "adda")[0] == 2
    assert asyncio.run(whose()) is None
    assert deskhand("annotators", "list")[1].splitlines()[1:] == []
    again = deskhand("annotators", "add", "ada")[1].strip()
    assert asyncio.run(whose()) is None
    token = again
    assert asyncio.run(whose()) == "ada"
