"""Early experience (Zhang et al., arXiv 2510.08558) as samples, beside those of imitation.

Implicit world modelling: shown a screen and an action, the model says what came of it. Self-reflection: shown
a screen, it says why what an episode that succeeded did there is better than what one that failed did, and
does it. The words are the flywheel's (`deskhand_flywheel.exchange.experience`), made by rule of what was seen
to happen, where the paper has a model write its reflections. Actions in them are in the model's own grammar
and frame; the prompts are the agent's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import prompt_of, tokenise_reply
from deskhand_agent.prompt import reply_of, told_by
from deskhand_agent.trees import shortened
from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.exchange.experience import Comparison, Turn, came_of, turns_of, why
from deskhand_sandbox.types import Observation
from deskhand_trainer.sft.demonstrations import context_of, sample_of, writable
from deskhand_trainer.starts import start_name
from deskhand_trainer.types import TrainingSample

FORETELL = "Do not act. Say what comes of doing this:"
"""What a next state is asked for with; the action follows."""
NEW = "New there:"
"""What stands before lines of text that were not on the screen before."""
MOST_NEW_BYTES = 512

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """A turn that teaches something."""

    turn: Turn
    thought: str | None = None
    """Why it was better than another one; None: what came of it is told."""


class ExperienceSeen:
    """What episodes of some tasks show, read one after another without their pictures."""

    def __init__(self, coordinates: CoordinateSystem) -> None:
        self._coordinates = coordinates
        self._comparison = Comparison()
        self._turns: dict[str, dict[tuple[str, str, str], Turn]] = {}
        """By task; one for each screen, action and screen that came of it."""

    def add(self, trajectory: Trajectory) -> None:
        """One more."""
        turns = turns_of(trajectory, self._written)
        self._comparison.add(trajectory, turns)
        known = self._turns.setdefault(trajectory.start.task.id, {})
        for turn in turns:
            if turn.after is not None:
                known.setdefault((turn.before, turn.action, turn.after), turn)

    def next_states(self, most: int, *, seed: int) -> list[Lesson]:
        """Of each task so many turns, drawn by the seed."""
        rows = {task: [Lesson(turn=turn) for turn in known.values()] for task, known in self._turns.items()}
        return [each for task in sorted(rows) for each in _drawn(rows[task], most, f"{seed}/{task}/next")]

    def reflections(self, most: int, *, seed: int) -> list[Lesson]:
        """The same of turns that a failure did otherwise."""
        rows: dict[str, list[Lesson]] = {}
        for task, _, better, worse in self._comparison.reflections():
            rows.setdefault(task, []).append(Lesson(turn=better, thought=why(better, worse)))
        return [each for task in sorted(rows) for each in _drawn(rows[task], most, f"{seed}/{task}/why")]

    def _written(self, step: Step) -> str:
        (own,) = writable([step], self._coordinates)
        return reply_of(own, self._coordinates)


def experience_samples(
    trajectory: Trajectory,
    lessons: Iterable[Lesson],
    bundle: ModelBundle,
    memory: WindowMemory | None = None,
) -> list[TrainingSample]:
    """A sample for each lesson of an episode whose reply has no more tokens than the model takes.

    Args:
        trajectory: with image data.
        memory: the one rollouts will use; None: the bundle's.
    """
    memory = memory or bundle.memory
    task = trajectory.start.task
    steps = writable(trajectory.steps, bundle.coordinates)
    found: list[TrainingSample] = []
    for lesson in lessons:
        step = steps[lesson.turn.index]
        asking = f"{FORETELL}\n{reply_of(step, bundle.coordinates)}" if lesson.thought is None else ""
        context = context_of(trajectory, steps, step)
        prompt = prompt_of(
            bundle, context, memory=memory, thoughts=memory.strategy == "constant", asking=asking
        )
        if lesson.thought is None:
            after = _observations(trajectory)[step.index + 1]
            text = _foretold(lesson.turn, step.observation, after, bundle, memory)
        else:
            thinking = replace(step, decision=replace(step.decision, thought=lesson.thought))
            text = reply_of(thinking, bundle.coordinates, form=bundle.form, thoughts=True)
        reply = tokenise_reply(bundle, text)
        if len(reply) <= bundle.longest:
            made = sample_of(trajectory, step, prompt_ids=prompt.ids, images=prompt.images, reply_ids=reply)
            found.append(replace(made, start=start_name(task.id, task.seed)))
    return found


def _foretold(
    turn: Turn, before: Observation, after: Observation, bundle: ModelBundle, memory: WindowMemory
) -> str:
    """What came of it, and what then stood there that had not, as far as the model is shown text."""
    known, now = (told_by(each, memory, bundle.coordinates).splitlines() for each in (before, after))
    new = "\n".join(line for line in now if line not in known)
    said = f"It {came_of(turn)}."
    return f"{said}\n{NEW}\n{shortened(new, MOST_NEW_BYTES)}" if new else said


def _observations(trajectory: Trajectory) -> list[Observation]:
    end = trajectory.end
    last = [] if end is None or end.final_observation is None else [end.final_observation]
    return [*(step.observation for step in trajectory.steps), *last]


def _drawn(items: Sequence[Item], most: int, seed: str) -> list[Item]:
    return random.Random(seed).sample(items, min(most, len(items)))
