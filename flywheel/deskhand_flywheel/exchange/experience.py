"""Early experience (Zhang et al., arXiv 2510.08558): what actions lead to, learned without a reward.

    FOLDER/next_states.jsonl   a turn: the screen, the action, and the screen that came of it
    FOLDER/reflections.jsonl   a screen on which an episode that succeeded did one thing, and one that failed
                               another, from the same start: both, what came of each, and why the one
    FOLDER/images/DIGEST.png   the screens

Next states come from successes and failures alike (implicit world modelling). A reflection's words are made
by rule of what was seen to happen (self-reflection): nothing is said that no episode shows. An attempt after
which the start state came again counts as an episode that failed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TextIO

from deskhand_agent.episode import told_again
from deskhand_agent.grammar import write_action
from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.exchange.pictures import data_of, file_name, screens_of
from deskhand_flywheel.exchange.types import Add, Format, Recorded
from deskhand_sandbox.types import Image, JsonValue

NEXT_STATES, REFLECTIONS, IMAGES = "next_states.jsonl", "reflections.jsonl", "images"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What an episode did on a screen, and what it saw next."""

    trajectory_id: str
    index: int
    action: str
    """Its calls, one a line."""
    refused: str | None
    """What the computer said against it."""
    before: str
    """File of the screen it was done on."""
    after: str | None
    """File of the one that came of it; None where nothing was seen any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Episode:
    succeeded: bool
    turns: tuple[Turn, ...]


def in_pixels(step: Step) -> str:
    """What a turn did, in pixels of its screen."""
    return "\n".join(map(write_action, step.decision.actions))


def turns_of(trajectory: Trajectory, written: Callable[[Step], str] = in_pixels) -> tuple[Turn, ...]:
    """Its turns that did something, in order.

    Args:
        written: what such a turn did.
    """
    steps, screens = trajectory.steps, screens_of(trajectory)
    return tuple(
        Turn(
            trajectory_id=trajectory.id,
            index=step.index,
            action=written(step),
            refused=step.action_error,
            before=file_name(step.observation.screenshot),
            after=None if after is None or told_again(step) else file_name(after),
        )
        for step, after in zip_longest(steps, screens[1 : len(steps) + 1])
        if step.decision.actions
    )


def reflections(
    succeeded: Sequence[Turn], failed: Sequence[Turn], told: set[tuple[str, str, str]]
) -> Iterator[tuple[Turn, Turn]]:
    """Turns on one screen, of a success and of a failure from the same start, of which the second was no use.

    An action that leads to a screen which the success came by too is another way, and no mistake.

    Args:
        told: screens, each with what was better and what was worse, that are not to come again; those that
            come are added.
    """
    reached = {turn.after for turn in succeeded}
    taken = {turn.before: turn for turn in reversed(succeeded)}
    for turn in failed:
        better = taken.get(turn.before)
        if better is None or turn.action == better.action:
            continue
        said = turn.before, better.action, turn.action
        if said not in told and turn.after is not None and turn.after not in reached - {turn.before}:
            told.add(said)
            yield better, turn


def came_of(turn: Turn) -> str:
    """In words, what it did; its action is the subject."""
    if turn.refused is not None:
        return f"is refused: {turn.refused}"
    if turn.after == turn.before:
        return "changes nothing on this screen"
    return "leads to another screen"


def why(better: Turn, worse: Turn) -> str:
    """In words, what speaks for one action and against the other."""
    led_away = worse.refused is None and worse.after != worse.before
    against = came_of(worse) + (", from which the task was not done" if led_away else "")
    return f"{worse.action} {against}. {better.action} is on the way on which the task was done."


class Comparison:
    """Episodes of each start: what failed is held against what succeeded once all are there."""

    def __init__(self) -> None:
        self._episodes: defaultdict[tuple[str, int, str], list[_Episode]] = defaultdict(list)

    def add(self, trajectory: Trajectory, turns: Sequence[Turn]) -> None:
        """One with its turns; without a verdict it shows nothing here."""
        start, end = trajectory.start, trajectory.end
        if end is None or end.outcome is None:
            return
        began = max((step.index + 1 for step in trajectory.steps if told_again(step)), default=0)
        before, last = (tuple(t for t in turns if (t.index < began) is each) for each in (True, False))
        self._episodes[start.task.id, start.task.seed, start.instruction] += [
            _Episode(succeeded=False, turns=before),
            _Episode(succeeded=end.outcome.success, turns=last),
        ]

    def reflections(self) -> Iterator[tuple[str, str, Turn, Turn]]:
        """Id of the task, instruction, and as `reflections`, each once for a start."""
        for (task_id, _, instruction), episodes in self._episodes.items():
            told: set[tuple[str, str, str]] = set()
            for good in (each for each in episodes if each.succeeded):
                for bad in (each for each in episodes if not each.succeeded):
                    for better, worse in reflections(good.turns, bad.turns, told):
                        yield task_id, instruction, better, worse


@contextmanager
def write(folder: Path) -> Generator[Add]:
    """Next states as episodes come, reflections when all have."""
    (folder / IMAGES).mkdir()
    with ExitStack() as stack:
        files = [
            stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))
            for name in (NEXT_STATES, REFLECTIONS)
        ]
        experience = _Experience(folder / IMAGES, *files)
        yield experience.add
        experience.reflect()


class _Experience:
    def __init__(self, images: Path, next_states: TextIO, reflected: TextIO) -> None:
        self._images, self._next_states, self._reflected = images, next_states, reflected
        self._known: set[str] = set()
        self._comparison = Comparison()

    def add(self, recorded: Recorded) -> None:
        trajectory = recorded.trajectory
        start, turns = trajectory.start, turns_of(trajectory)
        for screen in screens_of(trajectory):
            self._keep(screen)
        common: dict[str, JsonValue] = {"task_id": start.task.id, "instruction": start.instruction}
        for turn in turns:
            if turn.after is not None:
                _line(
                    self._next_states,
                    {
                        **common,
                        "trajectory_id": turn.trajectory_id,
                        "step": turn.index,
                        "image": f"{IMAGES}/{turn.before}",
                        "action": turn.action,
                        "refused": turn.refused,
                        "next_image": f"{IMAGES}/{turn.after}",
                        "changed": turn.after != turn.before,
                    },
                )
        self._comparison.add(trajectory, turns)

    def reflect(self) -> None:
        for task_id, instruction, better, worse in self._comparison.reflections():
            _line(
                self._reflected,
                {
                    "task_id": task_id,
                    "instruction": instruction,
                    "image": f"{IMAGES}/{better.before}",
                    "thought": why(better, worse),
                    "action": better.action,
                    "trajectory_id": better.trajectory_id,
                    "step": better.index,
                    "rejected": worse.action,
                    "rejected_trajectory_id": worse.trajectory_id,
                    "rejected_step": worse.index,
                    "rejected_image": f"{IMAGES}/{worse.after}",
                },
            )

    def _keep(self, image: Image) -> None:
        if image.digest not in self._known:
            self._known.add(image.digest)
            (self._images / file_name(image)).write_bytes(data_of(image))


def _line(file: TextIO, values: dict[str, JsonValue]) -> None:
    file.write(json.dumps(values) + "\n")


FORMAT = Format(
    name="experience",
    write=write,
    growing=lambda folder: (folder / NEXT_STATES, folder / REFLECTIONS),
)
