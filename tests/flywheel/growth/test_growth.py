"""New tasks: what is proposed for a page, what of it is admitted, and what becomes of the rest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from flywheel_episodes import make_end, make_trajectory, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskhand_flywheel.errors import HeldOutRefused
from deskhand_flywheel.growth import (
    Nursery,
    Page,
    Proposal,
    Refusal,
    Source,
    from_templates,
    measured_instructions,
)
from deskhand_flywheel.growth.exploring import WORDS, changes, written
from deskhand_flywheel.growth.proposing import read_proposals
from deskhand_flywheel.growth.templates import page_templates
from deskhand_flywheel.store import Store
from deskhand_sandbox.accessibility.outline import read_outline
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.families import FolderFamily
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS
from deskhand_sandbox.tasks.splits import seeds, split_of
from deskhand_sandbox.tasks.written.actions import read_action
from deskhand_sandbox.types import Click, Split, TypeText
from deskhand_sandbox.verifiers.outline import Condition

BEFORE = """\
RootWebArea "page" (224, 224)
  checkbox "Salt" (10, 10)
  checkbox "Pepper" [checked] (10, 30)
  radio "Small" [checked] (10, 50)
  radio "Large" (10, 70)
  textbox "Name" value="Ann" (10, 90)
  textbox "Twice" (10, 110)
  textbox "Twice" (10, 130)
  checkbox "Grey" [disabled] (10, 150)
  button "Send" (10, 170)
"""
BASE = make_task("generated/fill-2-large", seeds("generated/fill-2-large", Split.TRAIN, 1)[0])
PAGE = Page(task=BASE, nodes=read_outline(BEFORE))
SALT = Condition(role="checkbox", name="Salt", has=("checked",))


def proposal(**changed: object) -> Proposal:
    given = {
        "source": Source.EXPLORED,
        "by": "trajectory-1",
        "base": BASE,
        "instruction": 'Tick "Salt".',
        "conditions": [SALT],
        "actions": [{"Click": {"x": 10, "y": 10}}],
    }
    return Proposal(**(given | changed))  # type: ignore[arg-type]


async def passes(family: FolderFamily, task_id: str) -> str:
    return ""


async def fails(family: FolderFamily, task_id: str) -> str:
    return "it passes when nothing is done"


def test_templates_fit_what_a_page_shows() -> None:
    found = from_templates(PAGE, count=100)
    alone = {each.instruction for each in found if len(each.conditions) == 1}
    entered = {each for each in alone if each.startswith("Enter")}
    assert alone - entered == {'Tick "Salt".', 'Untick "Pepper".', 'Choose "Large".'}
    assert len(entered) == 1 and entered.pop().endswith('into "Name".')
    pairs = [each for each in found if len(each.conditions) == 2]
    assert pairs and all(" and " in each.instruction and "Choose" not in each.instruction for each in pairs)
    assert from_templates(PAGE, count=100) == found and from_templates(PAGE, count=2) == found[:2]
    assert {each.by for each in found if len(each.conditions) == 1} == {"tick", "untick", "choose", "enter"}


def test_no_word_of_these_tasks_is_one_that_test_pages_alone_show() -> None:
    pages = files("deskhand_sandbox.tasks").joinpath("pages", "generated", "words.js")
    shown = set(re.findall(r"\w+", pages.read_text(encoding="utf-8").lower()))
    ours = {*WORDS, *(word for template in page_templates() for word in template.words)}

    def of_the_test(word: str) -> bool:
        """As the pages' `isTestWord`."""
        hashed = 2166136261
        for character in word:
            hashed = (hashed ^ ord(character)) * 16777619 % 2**32
        return (hashed ^ (hashed >> 15)) % 10 == 0

    assert of_the_test("birch") and "birch" in shown
    assert not [word for word in ours & shown if of_the_test(word)]


def test_what_changed_is_told() -> None:
    after = (
        BEFORE.replace('"Salt"', '"Salt" [checked]')
        .replace('"Pepper" [checked]', '"Pepper"')
        .replace('"Small" [checked]', '"Small"')
        .replace('"Large"', '"Large" [checked]')
        .replace('value="Ann"', 'value="Bob"')
        .replace('  textbox "Twice" (10, 130)\n', "")
    )
    before = BEFORE.replace('  textbox "Twice" (10, 130)\n', "")
    told = changes(read_outline(before), read_outline(after))
    assert told is not None
    assert [words for words, _ in told] == [
        'Tick "Salt"',
        'Untick "Pepper"',
        'Choose "Large"',
        'Enter "Bob" into "Name"',
    ]
    now, was = read_outline(after), read_outline(before)
    assert all(condition.holds(now) and not condition.holds(was) for _, condition in told)
    assert changes(read_outline(after), read_outline(after)) == []
    emptied = changes(read_outline(before), read_outline(before.replace(' value="Ann"', "")))
    assert emptied == [('Empty "Name"', Condition(role="textbox", name="Name", value=""))]


def test_what_words_do_not_tell_is_no_task() -> None:
    # two of one name; another page
    assert changes(read_outline(BEFORE), read_outline(BEFORE)) is None
    other = BEFORE.replace('  textbox "Twice" (10, 130)\n', "")
    assert changes(read_outline(other), read_outline(other.replace('"Salt"', '"Sugar"'))) is None


@pytest.mark.parametrize("action", [Click(x=3, y=4, count=3), TypeText(text='a "word"\n')])
def test_actions_are_written_as_they_are_read(action: Click | TypeText) -> None:
    assert read_action(written(action)) == action


async def test_an_admitted_task_is_a_file_with_its_lineage(tmp_path: Path) -> None:
    nursery = Nursery(tmp_path / "grown")
    ruling = await nursery.admit(proposal(), passes)
    assert (ruling.refusal, nursery.counts) == (None, {"admitted": 1})
    (file,) = (tmp_path / "grown").iterdir()
    family = FolderFamily(file)
    assert family.task_ids() == (ruling.task_id,) and family.fixed(ruling.task_id)
    task = family.make(ruling.task_id, 5)
    assert task.instruction == 'Tick "Salt".' and task.verifier.name == "outline"
    assert task.verifier.settings["host"] == "pages.localhost"
    assert task.labels["grown"] == "explored" and task.labels["grown_by"] == "trajectory-1"
    assert task.labels["grown_from"] == f"{BASE.id}#{BASE.seed}"
    assert str(task.environment.settings["start"]).endswith(f"({BASE.seed})")
    assert family.oracle(ruling.task_id, 0) == (Click(x=10, y=10),)
    assert {split_of(ruling.task_id, seed) for seed in range(40)} == {Split.TRAIN}


async def test_what_is_refused_is_counted_by_why_and_leaves_no_file(tmp_path: Path) -> None:
    async def breaks(family: FolderFamily, task_id: str) -> str:
        raise InfrastructureError("the browser is gone")

    nursery = Nursery(tmp_path, measured=["choose  LARGE!"])
    large = Condition(role="radio", name="Large", has=("checked",))
    refused = [
        (await nursery.admit(proposal(), fails)).refusal,
        (await nursery.admit(proposal(), breaks)).refusal,
        (await nursery.admit(proposal(instruction="Tick {this}."), passes)).refusal,
        (await nursery.admit(proposal(actions=[{"Clik": {}}]), passes)).refusal,
        (await nursery.admit(proposal(conditions=[]), passes)).refusal,
        (await nursery.admit(proposal(instruction='Choose "Large".', conditions=[large]), passes)).refusal,
    ]
    assert refused == [
        Refusal.BROKEN, Refusal.FAILED, *[Refusal.UNREADABLE] * 3, Refusal.CONTAMINATED
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    # what was refused may come again and be right
    assert (await nursery.admit(proposal(), passes)).refusal is None
    assert (await nursery.admit(proposal(instruction="Salt it."), passes)).refusal is Refusal.DUPLICATE
    again = Nursery(tmp_path)
    assert (await again.admit(proposal(source=Source.MODEL), passes)).refusal is Refusal.DUPLICATE
    assert again.counts == {"duplicate": 1}
    assert nursery.counts == {
        "admitted": 1, "broken": 1, "failed": 1, "unreadable": 3, "contaminated": 1, "duplicate": 1
    }  # fmt: skip


async def test_a_task_on_trial_is_none_yet_and_is_none_where_its_trial_was_cut_off(tmp_path: Path) -> None:
    async def looks_around(family: FolderFamily, task_id: str) -> str:
        assert family.task_ids() == (task_id,)
        assert FolderFamily(tmp_path).task_ids() == ()
        return ""

    cut_off = tmp_path / ".trying-before"
    cut_off.mkdir()
    (cut_off / "task.yaml").write_text(proposal().written())
    ruling = await Nursery(tmp_path).admit(proposal(), looks_around)
    assert ruling.refusal is None and FolderFamily(tmp_path).task_ids() == (ruling.task_id,)


async def test_nothing_grows_from_what_is_measured_by(tmp_path: Path, store: Store) -> None:
    nursery = Nursery(tmp_path)
    test_seed = seeds(BASE.id, Split.TEST, 1)[0]
    held_out = make_task(min(HELD_OUT_TASKS), 0)
    for base in (replace(BASE, seed=test_seed), held_out):
        with pytest.raises(HeldOutRefused, match="never trained on"):
            await nursery.admit(proposal(base=base), passes)
    for name, split, task, words in (
        ("a", Split.TEST, "generated/fill-1", "Of a test seed."),
        ("b", Split.TRAIN, held_out.id, "Of a held-out task."),
        ("c", Split.TRAIN, "generated/fill-1", "To learn from."),
    ):
        await write(
            store, make_trajectory(name, split=split, task_id=task, instruction=words, end=make_end())
        )
    assert await measured_instructions(store) == {"Of a test seed.", "Of a held-out task."}


GOOD = {
    "instruction": 'Tick "Salt".',
    "conditions": [{"role": "checkbox", "name": "Salt", "has": ["checked"]}],
    "actions": [{"Click": {"x": 10, "y": 10}}],
}


def test_a_model_s_proposals_are_read() -> None:
    for text in (json.dumps([GOOD]), f"```json\n{json.dumps([GOOD])}\n```"):
        assert read_proposals(text, PAGE, by="openai:m") == (
            [proposal(source=Source.MODEL, by="openai:m")],
            [],
        )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("Tick it", "nothing else"),
        ({**GOOD, "why": "because"}, "nothing else"),
        ({**GOOD, "instruction": " "}, "a sentence"),
        ({**GOOD, "instruction": "a" * 1000}, "a sentence"),
        ({**GOOD, "actions": []}, "something in it"),
        ({**GOOD, "actions": [{"Click": {"x": "here"}}]}, "x"),
        ({**GOOD, "actions": [{"Run": {"command": 3}}]}, "command"),
        ({**GOOD, "actions": [{"Wait": 0.1}] * 30}, "more than"),
        ({**GOOD, "conditions": [{"role": "checkbox"}]}, "role and name"),
        ({**GOOD, "conditions": {"role": "a", "name": "b"}}, "list"),
    ],
)
def test_an_entry_that_is_none_is_said_and_spoils_no_other(entry: object, said: str) -> None:
    read, (wrong,) = read_proposals(json.dumps([entry, GOOD]), PAGE, by="m")
    assert len(read) == 1 and said in wrong


@pytest.mark.parametrize("text", ["", "I would rather not.", "{}", "null", "[" * 100_000])
def test_a_reply_that_is_none_is_one_thing_unread(text: str) -> None:
    read, wrong = read_proposals(text, PAGE, by="m")
    assert read == [] and len(wrong) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda of: (
        st.lists(of, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "Click", "x"]) | st.text(), of)
    ),
    max_leaves=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.text() | st.lists(JSON | st.fixed_dictionaries(dict.fromkeys(GOOD, JSON))).map(json.dumps))
def test_no_reply_raises_anything(text: str) -> None:
    read_proposals(text, PAGE, by="m")
