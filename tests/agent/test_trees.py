from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import run_episode
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies.openai import OpenAIPolicy
from deskhand_agent.prompt import ImageSegment, build_prompt
from deskhand_agent.reviewing import ReviewedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.steering import SteeredPolicy
from deskhand_agent.test_time.sampling import ManySamples, by_majority
from deskhand_agent.trees import in_frame, shortened, tells
from deskhand_agent.types import Context, Trajectory, reads_tree
from deskhand_sandbox.base import Capability
from deskhand_sandbox.types import Click, Split, Wait

PIXEL = CoordinateSystem()
PAGE = """\
RootWebArea "Form (1, 2)"
  button "go" [focused] (50, 40)
  link "more [3,4][5,6]" [off the screen]
  text "last" (99, 79)"""


def shown(stub: SimpleNamespace, tree: str | None, *, frame: CoordinateSystem = PIXEL, **memory: Any) -> Any:
    seen = stub.observation("now", text_tree=tree)
    now = Context(task=stub.task(), instruction="Click it.", steps=(), observation=seen)
    [message] = build_prompt(now, memory=WindowMemory(**memory), coordinates=frame)
    return message.text, any(isinstance(segment, ImageSegment) for segment in message.segments)


@pytest.mark.parametrize(
    ("screens", "tree", "pictured"),
    [
        ("picture", "", True),
        ("text", "", True),
        ("both", "", True),
        ("tree", f"On the screen:\n{PAGE}\n", False),
        ("tree_and_picture", f"On the screen:\n{PAGE}\n", True),
    ],
)
def test_a_screen_is_shown_by_its_tree_where_the_memory_has_it(
    stub: SimpleNamespace, screens: str, tree: str, pictured: bool
) -> None:
    assert shown(stub, PAGE, screens=screens) == (f"Click it.\n{tree}", pictured)


@pytest.mark.parametrize("tree", [None, "", "[left out: the tree took longer than 3000 ms]"])
def test_a_screen_whose_tree_tells_nothing_stays_a_picture(stub: SimpleNamespace, tree: str | None) -> None:
    text, pictured = shown(stub, tree, screens="tree")
    assert pictured and text.endswith(f"{tree}\n" if tree else "Click it.\n") and not tells(tree)


def test_a_terminal_is_told_beside_a_tree(stub: SimpleNamespace) -> None:
    seen = stub.observation("now", text_tree=PAGE, terminal="$ ls")
    now = Context(task=stub.task(), instruction="Click it.", steps=(), observation=seen)
    [message] = build_prompt(now, memory=WindowMemory(screens="tree"), coordinates=PIXEL)
    assert message.text == f"Click it.\n$ ls\nOn the screen:\n{PAGE}\n" and len(message.segments) == 1


def test_places_are_told_as_the_model_writes_them(stub: SimpleNamespace) -> None:
    text, _ = shown(stub, PAGE, frame=CoordinateSystem(kind="normalised"), screens="tree")
    assert 'button "go" [focused] (500, 500)\n' in text and '"last" (990, 988)\n' in text
    assert "Form (1, 2)" in text and "[3,4][5,6]" in text  # what a page says is no place
    frame = CoordinateSystem(kind="grid", step=4).frame((100, 80))
    boxed = '  - Button "at [1,2][3,4]" id=ok [8,9][21,30] clickable long-clickable'
    assert in_frame(boxed, frame) == '  - Button "at [1,2][3,4]" id=ok [8,8][20,32] clickable long-clickable'
    assert frame.to_screen(frame.to_model((21, 30))) == (20, 32)  # what a click there is read as


def test_a_long_tree_loses_what_is_off_the_screen_and_then_its_end() -> None:
    lines = [f'button "{n}" ({n}, 1)' if n % 2 else f'link "{n}" [off the screen]' for n in range(100)]
    tree = "\n".join(lines)
    assert shortened(tree, len(tree)) == tree
    some = shortened(tree, 1500).splitlines()
    assert len("\n".join(some)) <= 1500
    assert some[-1] == f"[{100 - len(some) + 1} lines left out]"
    assert [line for line in some if "button" in line] == lines[1::2] and "link" in some[0]
    few = shortened(tree, 300).splitlines()
    assert few[:-1] == lines[1::2][: len(few) - 1] and len(few) > 9
    assert len(shortened("漢" * 500, 100).encode()) <= 100


def test_a_tree_keeps_to_its_bytes_and_to_those_of_the_prompt(stub: SimpleNamespace) -> None:
    tree = "\n".join(f'text "{n}" ({n}, 1)' for n in range(1000))
    text, _ = shown(stub, tree, screens="tree", tree_bytes=500)
    assert len(text) <= 500 + len("Click it.\nOn the screen:\n\n") and text.endswith(" lines left out]\n")
    text, _ = shown(stub, tree, screens="tree", tree_bytes=0)
    assert 'text "999"' in text
    text, _ = shown(stub, tree, screens="tree", text_bytes=1024)
    assert 900 < len(text) <= 1024
    *told, note = text.splitlines()
    assert told[2:] == tree.splitlines()[: len(told) - 2]
    assert note == f"[{1002 - len(told)} lines left out]"


class Reads:
    """Acts as told, and reads trees."""

    id = "reads"
    reads_tree = True

    def __init__(self, inside: Any) -> None:
        self.act = inside.act


async def played(stub: SimpleNamespace, *turns: Any, reads: bool = True, able: bool = True) -> Any:
    sandbox, policy = stub.Sandbox(), stub.Policy(*turns)
    if able:
        sandbox.capabilities = frozenset({Capability.TEXT_TREE})
    episode = await run_episode(
        stub.task(2, turns=5),
        sandbox=sandbox,
        policy=Reads(policy) if reads else policy,
        verifier=stub.Rewards(),
        sink=MemorySink(),
        split=Split.TRAIN,
    )
    return episode, sandbox


def trees(episode: Trajectory) -> list[str | None]:
    assert episode.end is not None and episode.end.final_observation is not None
    return [step.observation.text_tree for step in episode.steps] + [episode.end.final_observation.text_tree]


async def test_screens_are_observed_with_trees_for_a_policy_that_reads_them(stub: SimpleNamespace) -> None:
    click = (Click(x=10, y=10),)
    episode, sandbox = await played(stub, (Wait(seconds=0), Wait(seconds=0)), (), click)
    # once for each screen: not between two actions of a turn, nor again after a turn that did nothing
    assert trees(episode) == ['text "0"', 'text "2"', 'text "2"', 'text "3"', 'text "4"']
    assert sandbox.looks == 4 and episode.end is not None and episode.end.failure is None
    assert [step.timings.settle_ms for step in episode.steps] == [9.0, 0.0, 6.0, 6.0]


@pytest.mark.parametrize(("reads", "able"), [(False, True), (True, False)])
async def test_nothing_is_observed_twice_without_need(stub: SimpleNamespace, reads: bool, able: bool) -> None:
    episode, sandbox = await played(stub, reads=reads, able=able)
    assert set(trees(episode)) == {None} and sandbox.looks == 0


async def test_a_policy_reads_trees_by_its_memory_whatever_is_around_it(stub: SimpleNamespace) -> None:
    policies = [
        OpenAIPolicy(model="m", base_url="http://127.0.0.1:1", memory={"screens": screens})
        for screens in ("tree", "tree_and_picture", "both")
    ]
    assert [reads_tree(policy) for policy in policies] == [True, True, False]
    nobody: Any = stub
    for policy in policies:
        for around in (
            ReviewedPolicy(policy, nobody, wait_s=1),
            SteeredPolicy(policy, nobody, person_s=1),
            ManySamples(policy, samples=2, choose=by_majority(8)),
        ):
            assert reads_tree(around) == reads_tree(policy)
        await policy.close()
    assert not reads_tree(stub.Policy())
