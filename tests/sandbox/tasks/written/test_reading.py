"""Tasks as YAML: what they become, and what is said when they are wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks.setup import SETUP
from deskhand_sandbox.tasks.written import TaskFolder, read_tasks
from deskhand_sandbox.tasks.written.actions import AnswerOf, WaitUntil, read_action
from deskhand_sandbox.tasks.written.parameters import Parameter, draw, fill, holes
from deskhand_sandbox.types import Click, Fail, Limits, Press, Run, TypeText, Wait

GREET = """\
family: notes
environment: {kind: desktop, settings: {applications: [[xterm]], size_px: [640, 420]}}
limits: {turns: 10, seconds: 120}
labels: {apps: terminal}
tasks:
  - name: greet
    description: Write a word into a file.
    instruction: "Write {word} into {file}."
    parameters: {word: [apple, plum], file: [a.txt, b.txt], n: {from: 1, to: 9}}
    environment: {settings: {size_px: [800, 600], prepare: "mkdir ${HOME}/{word} && echo {unknown}"}}
    setup:
      - execute: touch {file}
      - write: {path: "{word}.txt", content: hello}
    verifier: {name: checks, checks: {"{file} has it": "grep -q {word} {file}"}}
    limits: {turns: 4}
    oracle:
      - TypeText: "echo {word} > {file}\\n"
      - Click: {x: "{n}", y: 2}
      - Press: Control+s
      - AnswerOf: cat {file}
      - WaitUntil: test -s {file}
      - Fail
  - name: plain
    description: Do it.
    instruction: Do it.
    verifier: {name: expression, expression: "true"}
"""


def test_what_the_user_has_to_be_asked_is_drawn_with_the_rest() -> None:
    asking = GREET.replace("Write {word} into", 'Write my word into').replace(
        "    parameters: {word", '    details: {word: "{word}", number: 3}\n    parameters: {word', 1
    ).replace("limits: {turns: 4}", "limits: {turns: 4, questions: 1}")  # fmt: skip
    greet, plain = read_tasks(asking, "notes.yaml")
    words = {greet.make(seed).details["word"] for seed in range(20)}
    assert words == {"apple", "plum"} and greet.make(0).details["number"] == "3"
    assert greet.make(0).limits.questions == 1 and plain.make(0).details == {}
    with pytest.raises(InvalidTask, match=r"\{wrod\} is no parameter"):
        read_tasks(asking.replace('{word: "{word}"', '{word: "{wrod}"'), "notes.yaml")
    with pytest.raises(InvalidTask, match=r"questions: must be a whole number, not 1\.5"):
        read_tasks(asking.replace("questions: 1", "questions: 1.5"), "notes.yaml")


def test_a_template_becomes_a_task() -> None:
    greet, plain = read_tasks(GREET, "notes.yaml")
    task = greet.make(3)
    word = task.instruction.split()[1]
    file = task.instruction.split()[-1].rstrip(".")
    assert word in ("apple", "plum") and file + "" in ("a.txt", "b.txt")
    assert (task.id, task.seed, task.limits) == ("notes/greet", 3, Limits(turns=4, seconds=120.0))
    assert task.labels == {"family": "notes", "description": "Write a word into a file.", "apps": "terminal"}
    settings = task.environment.settings
    assert settings["applications"] == [["xterm"]] and settings["size_px"] == [800, 600]
    assert settings["prepare"] == f"mkdir ${{HOME}}/{word} && echo {{unknown}}"
    assert settings[SETUP] == [
        {"type": "execute", "parameters": {"command": f"touch {file}", "shell": True}},
        {"type": "write", "parameters": {"path": f"{word}.txt", "content": "hello"}},
    ]
    assert task.verifier.settings == {"checks": {f"{file} has it": f"grep -q {word} {file}"}}
    typed, click, press, answer, wait, fail = greet.oracle(3) or ()
    assert (typed, press) == (TypeText(text=f"echo {word} > {file}\n"), Press(keys=("Control", "s")))
    assert isinstance(click, Click) and 1 <= click.x <= 9 and click.y == 2
    assert (answer, wait) == (AnswerOf(f"cat {file}"), WaitUntil(f"test -s {file}")) and fail == Fail()
    assert plain.fixed and not greet.fixed and plain.oracle(0) is None
    assert plain.make(0).environment.settings["size_px"] == [640, 420]


def test_seeds_differ_and_repeat() -> None:
    greet, _ = read_tasks(GREET, "notes.yaml")
    assert greet.make(5) == greet.make(5)
    assert len({greet.make(seed).instruction for seed in range(40)}) == 4


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("family: notes", "family: My Notes", 1, "small letters"),
        ("kind: desktop", "kind: desctop", 2, "kind must be one of"),
        ("tasks:\n", "tusks: 1\ntasks:\n", 5, "tusks: unknown; there is: family"),
        ("    instruction: Do it.\n", "", 23, "instruction is missing"),
        ("description: Do it.", "descripton: Do it.", 23, "description is missing"),
        ('Write {word} into {file}."', 'Write {wrod} into {file}."', 8, "{wrod} is no parameter"),
        ("n: {from: 1, to: 9}", "n: {from: 9, to: 1}", 9, "from not above to"),
        ("word: [apple, plum]", "word: []", 9, "nothing to choose from"),
        ("word: [apple, plum]", "word: apple", 9, "must be a list, {from, to}"),
        ("word: [apple, plum]", "word: {of: [a], unlike: file}", 9, "no parameter above it"),
        ("word: [apple, plum]", "old: [a], word: {of: [a, a], unlike: old}", 9, "too few values"),
        ("    limits: {turns: 4}", "    limits: {turns: 0}", 15, "number above zero"),
        ("    limits: {turns: 4}", "    limits: {turns: .inf}", 15, "finite number above zero"),
        ("    limits: {turns: 4}", "    limits: {seconds: .inf}", 15, "finite number above zero"),
        ("    limits: {turns: 4}", "    limits: {truns: 4}", 15, "truns: unknown"),
        ("name: expression, ", "name: expresion, ", 26, "name must be one of"),
        ('expression: "true"}', 'expresion: "true"}', 26, "refuses its settings"),
        ("- execute: touch", "- exekute: touch", 11, "did you mean execute"),
        ("- Press: Control+s", "- Pres: Control+s", 16, "did you mean Press"),
        ("y: 2}", "z: 2}", 16, "y is missing"),
        ("name: plain", "name: greet", 23, "two tasks notes/greet"),
        ("    instruction: Do it.", "    instruction: Do it.\n    instruction: Do it.", 26, "there twice"),
        ("labels: {apps: terminal}", "labels: [", 6, "expected"),
        ("labels: {apps: terminal}", "labels: [x]", 4, "must be a mapping"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(before: str, after: str, line: int, said: str) -> None:
    assert before in GREET
    with pytest.raises(InvalidTask) as refused:
        read_tasks(GREET.replace(before, after, 1), "notes.yaml")
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"notes.yaml line {line}:")


@pytest.mark.parametrize("text", ["", "[]", "3", "tasks: []", "family: x\ntasks: {}", "\x00", "a: &a [*a]"])
def test_files_that_hold_no_tasks(text: str) -> None:
    with pytest.raises(InvalidTask, match=r"x\.yaml"):
        read_tasks(text, "x.yaml")


@given(st.text(max_size=60))
def test_nothing_else_than_an_error_comes_of_any_text(text: str) -> None:
    with pytest.raises(InvalidTask):
        read_tasks(text, "x.yaml")


@pytest.mark.parametrize(
    ("written", "action"),
    [
        ("Fail", Fail()),
        ({"Press": "+"}, Press(keys=("+",))),
        ({"Press": {"keys": ["Control", "c"]}}, Press(keys=("Control", "c"))),
        ({"Wait": 2}, Wait(seconds=2.0)),
        ({"Run": {"command": "ls", "timeout_s": "3.5"}}, Run(command="ls", timeout_s=3.5)),
        ({"Click": {"x": "4", "y": 5, "count": 2}}, Click(x=4, y=5, count=2)),
    ],
)
def test_actions(written: object, action: object) -> None:
    assert read_action(written) == action


@pytest.mark.parametrize(
    "written", [3, {}, {"Click": 3}, {"Click": {"x": 1}}, {"Run": "a", "Wait": 1}, {"Tap": {}}]
)
def test_actions_that_are_none(written: object) -> None:
    with pytest.raises(InvalidTask):
        read_action(written)


@given(st.integers(0, 10_000))
def test_a_parameter_is_unlike_the_others(seed: int) -> None:
    one = Parameter(name="one", choices=["a", "b", "c"])
    two = Parameter(name="two", choices=["a", "b", "c"], unlike=("one",))
    three = Parameter(name="three", choices=range(4, 7))
    drawn = draw((one, two, three), random.Random(f"x/y\0{seed}"))
    assert drawn["one"] != drawn["two"] and drawn["three"] in (4, 5, 6)
    assert drawn == draw((one, two, three), random.Random(f"x/y\0{seed}"))


def test_what_is_drawn_never_changes() -> None:
    # pinned: another value here means every recorded task is another one
    word = Parameter(name="word", choices=["a", "b", "c", "d"])
    assert [draw((word,), random.Random(f"x/y\0{seed}"))["word"] for seed in range(8)] == PINNED


def test_one_of_many_numbers_is_drawn_without_a_look_at_all() -> None:
    class Many(list[int]):
        def __iter__(self) -> NoReturn:
            raise AssertionError("all were looked at")

    number = Parameter(name="number", choices=Many(range(9)))
    assert 0 <= int(str(draw((number,), random.Random("x/y\0 0"))["number"])) < 9


PINNED = ["a", "d", "b", "a", "b", "c", "c", "c"]


def test_filling_leaves_other_braces_alone() -> None:
    drawn = {"word": "plum", "pair": {"left": 1}}
    assert fill("{word} {pair.left} {pair} {pair.right} ${HOME} {other} {1}", drawn) == (
        "plum 1 {pair} {pair.right} ${HOME} {other} {1}"
    )
    assert fill({"{word}": ["{word}", 3, None, True]}, drawn) == {"plum": ["plum", 3, None, True]}
    assert holes("a {word} ${HOME} {pair.left}") == ["{word}", "{pair.left}"]


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_folder_of_tasks(tmp_path: Path) -> None:
    write(tmp_path, "deep/er/notes.yaml", GREET)
    write(tmp_path, "mine.json", '{"id": "one", "instruction": "Do.", "evaluator": {"func": "infeasible"}}')
    write(
        tmp_path, "other.json", '{"id": "two", "instruction": "Do.", "evaluator": {"func": "compare_videos"}}'
    )
    write(tmp_path, "test_all.json", '{"os": ["one"]}')
    write(tmp_path, "readme.md", "no task")
    folder = TaskFolder(tmp_path)
    assert folder.task_ids() == ("notes/greet", "notes/plain", "osworld/one")
    assert [Path(each).name for each in folder.refused] == ["other.json"]
    assert "compare_videos" in str(next(iter(folder.refused.values())))
    assert folder.proven("osworld/one") and folder.proven("notes/greet") and not folder.proven("notes/plain")
    assert folder.fixed("osworld/one") and not folder.fixed("notes/greet")
    with pytest.raises(UnknownName, match="did you mean notes/greet"):
        folder.make("notes/gret", 0)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: write(folder, "again.yaml", GREET), "two tasks notes/greet"),
        (lambda folder: write(folder, "bad.yaml", "x: 1"), "bad.yaml line 1"),
        (lambda folder: (folder / "latin.yaml").write_bytes(b"\xff\xfe\xfa"), "latin.yaml cannot be read"),
    ],
)
def test_a_folder_with_a_wrong_file(tmp_path: Path, spoil: Callable[[Path], object], said: str) -> None:
    write(tmp_path, "a.yaml", GREET)
    spoil(tmp_path)
    with pytest.raises(InvalidTask, match=said):
        TaskFolder(tmp_path).task_ids()


def test_a_single_file_that_is_not_supported_says_why(tmp_path: Path) -> None:
    file = write(
        tmp_path, "x.json", '{"id": "two", "instruction": "Do.", "evaluator": {"func": "compare_videos"}}'
    )
    with pytest.raises(InvalidTask, match="compare_videos"):
        TaskFolder(file).task_ids()
    with pytest.raises(InvalidTask, match="neither a file nor a folder"):
        TaskFolder(tmp_path / "nowhere").task_ids()
