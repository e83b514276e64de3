"""Plain transformers answers questions, and right answers are counted as such."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PilImage

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import BUNDLE_FILE, ModelBundle, save_bundle
from deskhand_agent.models.images import sized_pixels
from deskhand_sandbox.types import Click
from deskhand_trainer.base import examination
from deskhand_trainer.base.change_questions import CHANGE_KINDS
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.examination import examine, refuse_unfit
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception
from deskhand_trainer.base.questions import Kind, Question

KINDS = (Kind.POINT_NAMED, Kind.POINT_WORD, Kind.READ_AT)


def test_a_fresh_model_answers_and_is_wrong(
    bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "model")
    told: list[tuple[int, int]] = []
    marks = examine(tmp_path / "model", pages[:3], kinds=KINDS, batch=4, progress=lambda *at: told.append(at))
    assert set(marks) == set(KINDS)
    assert all(mark.rate.count == 3 and mark.rate.value < 1 for mark in marks.values())
    assert marks[Kind.POINT_NAMED].chance == 0.5
    assert told == [(4, 9), (8, 9), (9, 9)]
    assert marks == examine(tmp_path / "model", pages[:3], kinds=KINDS, batch=4)


def test_right_answers_count(
    bundle: ModelBundle, pages: list[SeenPage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With replies put in the model's place: pointing is right, reading is not even a reply."""
    save_bundle(bundle, tmp_path / "model")

    def replies(_bundle: Any, _processor: Any, _asker: Any, chunk: Any) -> list[str]:
        return [
            format_reply(None, (question.reply,)) if isinstance(question.reply, Click) else "nothing"
            for _, question in chunk
        ]

    monkeypatch.setattr(examination, "_replies", replies)
    marks = examine(tmp_path / "model", pages, kinds=KINDS)
    assert [marks[kind].rate.value for kind in KINDS] == [1.0, 1.0, 0.0]


def test_kinds_that_came_later_leave_the_others_as_they_were(
    bundle: ModelBundle,
    pages: list[SeenPage],
    changes: list[SeenChange],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same questions side by side, so the same answers; what a kind asks depends on no other."""
    save_bundle(bundle, tmp_path / "model")
    first, second = pages[1].things
    field = replace(first, role="field", box=(0.0, 0.0, 20.0, 12.0), point=(10, 6))
    shown = [
        *pages[:5],
        replace(pages[1], things=(field, second), task_id="generated/press", content_top_px=0.0),
    ]
    chunks: list[list[Question]] = []

    def replies(_bundle: Any, _processor: Any, _asker: Any, chunk: Any) -> list[str]:
        chunks.append([question for _, question in chunk])
        return [format_reply(None, question.actions) for _, question in chunk]

    monkeypatch.setattr(examination, "_replies", replies)
    before = tuple(kind for kind in Kind if kind not in examination.LATER_KINDS)
    marks = examine(tmp_path / "model", shown, changes[:6], kinds=before, batch=4)
    alone, chunks = chunks, []
    more = examine(tmp_path / "model", shown, changes[:6], batch=4)
    assert chunks[: len(alone)] == alone
    assert {kind: mark for kind, mark in more.items() if kind in before} == marks
    assert set(more) - set(marks) == set(examination.LATER_KINDS)
    boxes = [question for chunk in chunks for question in chunk if question.kind is Kind.READ_BOX]
    chunks = []
    assert more[Kind.READ_BOX] == examine(tmp_path / "model", shown, kinds=(Kind.READ_BOX,))[Kind.READ_BOX]
    assert [question for chunk in chunks for question in chunk] == boxes
    assert all(mark.rate.value == 1.0 for mark in more.values())
    assert more[Kind.COPY_INTO].rate.count == 1
    assert more[Kind.COPY_INTO].chance == 0.5


def test_no_model_is_said(pages: list[SeenPage], tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match="no model folder"):
        examine(tmp_path / "nothing", pages)
    with pytest.raises(ModelFilesError, match="no model folder"):
        refuse_unfit(tmp_path / "nothing")


def test_what_cannot_be_examined_is_known_before_there_are_pages(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "model")
    refuse_unfit(tmp_path / "model")
    (tmp_path / "model" / BUNDLE_FILE).unlink()
    with pytest.raises(ValueError, match="a released one already sees"):
        refuse_unfit(tmp_path / "model")


def test_changes_are_asked_about_with_both_pictures(
    bundle: ModelBundle, pages: list[SeenPage], changes: list[SeenChange], tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "model")
    marks = examine(tmp_path / "model", pages[:2], changes[:6], kinds=(Kind.READ_AT, *CHANGE_KINDS), batch=4)
    assert set(marks) == {Kind.READ_AT, *CHANGE_KINDS}
    assert marks[Kind.CHANGE].rate.count == 6
    assert marks[Kind.CHANGE].chance == pytest.approx(2 / 6)
    assert marks[Kind.ACTION].rate.count == 4
    assert marks[Kind.ACTION].chance == pytest.approx(2 / 4)


def test_the_processor_gives_the_ids_that_training_has(
    bundle: ModelBundle, changes: list[SeenChange], tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "model")
    from transformers import AutoProcessor

    processor: Any = AutoProcessor.from_pretrained(tmp_path / "model")
    perception = Perception(bundle)
    for change in changes[:3]:
        studied = perception.study_change(change)
        asked, (prefix,) = perception.ask([studied], random.Random(0), questions=1, examined=True)
        images = examination._images(change)
        for each in asked.asked:
            text = perception.asker.text(each.question, (64, 64)) + "\n"
            messages = examination._messages(images, text)
            pictures = [PilImage.fromarray(sized_pixels(image, bundle.images).numpy()) for image in images]
            told = processor.apply_chat_template(messages, add_generation_prompt=True)
            given = processor(text=[told], images=pictures, return_tensors="pt")
            assert tuple(given["input_ids"][0].tolist()) == prefix.ids + each.ids
