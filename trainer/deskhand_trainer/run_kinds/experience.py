"""Early experience of the store, as a run that imitates learns it beside what it imitates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskhand_agent.models.bundle import ModelBundle
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import Split
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.experience import ExperienceSeen, Lesson, experience_samples
from deskhand_trainer.types import TrainingSample

_PLAY = "`deskhand train collect --policy ID --set policy=local --set tries=8` plays some; collect them first"
_NONE = {
    "next_states": f"no turn that did something, with the screen that came of it ({_PLAY})",
    "reflections": "no screen on which an episode that succeeded did one thing and one that failed another, "
    f"from the same start ({_PLAY})",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyExperience:
    """What there is of it."""

    samples: Mapping[str, list[TrainingSample]] = field(default_factory=dict[str, list[TrainingSample]])
    """By the setting that asks for them."""
    episodes: tuple[str, ...] = ()
    """Ids of those that taught."""
    left_out: int = 0
    """Turns whose reply is longer than the model takes."""


async def early_experience(context: RunContext, config: SftConfig, bundle: ModelBundle) -> EarlyExperience:
    """Of anybody's episodes of the run's tasks on train seeds, failures too; only those that teach are read
    with their pictures.

    Raises:
        RunRefused: it is asked for, and there is none; or see `RunContext.episodes` and `RunContext.read`.
    """
    if not config.next_states and not config.reflections:
        return EarlyExperience()
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, ended=True, min_steps=1)
    seen, damaged = ExperienceSeen(bundle.coordinates), dict[str, str]()
    ids = await context.settled_episodes(chosen)
    found = context.store.each_trajectory(
        ids, on_damaged=lambda each, error: damaged.update({each: str(error)})
    )
    async for trajectory in found:
        seen.add(trajectory)
    await context.reporter.unreadable(damaged)
    lessons: dict[str, list[Lesson]] = {}
    if config.next_states:
        lessons["next_states"] = seen.next_states(config.next_states, seed=config.seed)
    if config.reflections:
        lessons["reflections"] = seen.reflections(config.reflections, seed=config.seed)
    for name, own in lessons.items():
        if not own:
            raise RunRefused(
                f"field '{name}': the store holds no early experience of {', '.join(config.tasks)}: "
                f"{_NONE[name]}",
                name,
            )
    of_episode: dict[str, dict[str, list[Lesson]]] = {}
    for name, own in lessons.items():
        for lesson in own:
            of_episode.setdefault(lesson.turn.trajectory_id, {}).setdefault(name, []).append(lesson)
    samples: dict[str, list[TrainingSample]] = {name: [] for name in lessons}
    async for trajectory in context.read(of_episode):
        for name, own in of_episode[trajectory.id].items():
            samples[name] += experience_samples(trajectory, own, bundle)
    total = sum(map(len, lessons.values()))
    made = [each for own in samples.values() for each in own]
    return EarlyExperience(
        samples=samples,
        episodes=tuple(dict.fromkeys(each.trajectory_id for each in made)),
        left_out=total - len(made),
    )
