"""Oracle trajectories as training samples, in exactly the ids a rollout would show.

A scripted policy clicks where it likes and writes no ids. Its actions are first rounded to what the model can
write, in every turn, so that the history a demonstration shows looks like the history the model will make.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import told_again
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import prompt_of, tokenise_reply
from deskhand_agent.prompt import SUMMARISE, reply_of
from deskhand_agent.types import Context, Step, Trajectory
from deskhand_trainer.starts import start_name
from deskhand_trainer.types import TrainingSample


def samples_from_trajectories(
    trajectories: Iterable[Trajectory],
    bundle: ModelBundle,
    memory: WindowMemory | None = None,
    *,
    thoughts: bool = False,
) -> list[TrainingSample]:
    """One sample per turn that did something.

    A turn whose decision carries ids made by this very processor, of a reply that needed no mending, keeps
    them; any other is written in the model's grammar and frame. Turns without an action or a summary are left
    out, and those whose reply has more tokens than the model takes, as a person may type or an import may
    bring; memory bounds prompts.

    Args:
        trajectories: with image data.
        memory: the one rollouts will use; None: the bundle's.
        thoughts: replies keep the demonstrator's thoughts; those of a constant memory, which is made of them,
            always do.
    """
    memory = memory or bundle.memory
    thoughts = thoughts or memory.strategy == "constant"
    samples: list[TrainingSample] = []
    for trajectory in trajectories:
        steps = writable(trajectory.steps, bundle.coordinates)
        attempt, task = 0, trajectory.start.task
        start = start_name(task.id, task.seed)
        for step in steps:
            if not step.decision.void:
                told = _sampled(trajectory, step, bundle)
                told = told or _written(trajectory, steps, step, bundle, memory, thoughts=thoughts)
                if len(told.reply_ids) <= bundle.longest:
                    samples.append(replace(told, attempt=attempt, start=start))
            attempt += told_again(step)
    return samples


def _sampled(trajectory: Trajectory, step: Step, bundle: ModelBundle) -> TrainingSample | None:
    request, completion = step.decision.request, step.decision.completion
    if not step.decision.trainable or request is None or completion is None:
        return None
    if step.decision.repairs:  # it is shown how it should have said it
        return None
    if request.processor_hash != bundle.processor_hash:
        return None
    return sample_of(
        trajectory, step, prompt_ids=request.prompt_ids, images=request.images, reply_ids=completion.ids
    )


def _written(
    trajectory: Trajectory,
    steps: tuple[Step, ...],
    step: Step,
    bundle: ModelBundle,
    memory: WindowMemory,
    *,
    thoughts: bool,
) -> TrainingSample:
    context = context_of(trajectory, steps, step)
    summary = step.decision.summary
    asking = "" if summary is None else SUMMARISE
    prompt = prompt_of(bundle, context, memory=memory, thoughts=thoughts, asking=asking)
    acted = reply_of(step, bundle.coordinates, form=bundle.form, thoughts=thoughts)
    text = acted if summary is None else summary
    return sample_of(
        trajectory,
        step,
        prompt_ids=prompt.ids,
        images=prompt.images,
        reply_ids=tokenise_reply(bundle, text),
    )


def context_of(trajectory: Trajectory, steps: tuple[Step, ...], step: Step) -> Context:
    """What a turn was decided by, of an episode whose steps are written as the model writes."""
    return Context(
        task=trajectory.start.task,
        instruction=trajectory.start.instruction,
        notes=trajectory.start.notes,
        steps=steps[: step.index],
        observation=step.observation,
    )


def sample_of(trajectory: Trajectory, step: Step, **ids: object) -> TrainingSample:
    """A turn of these ids, as it is imitated."""
    reply = ids["reply_ids"]
    assert isinstance(reply, tuple)
    return TrainingSample(
        trajectory_id=trajectory.id,
        turn_index=step.index,
        behaviour_logprobs=(0.0,) * len(reply),
        reward=step.reward,
        last=step is trajectory.steps[-1] or step.index == len(trajectory.steps) - 1,
        **ids,  # type: ignore[arg-type]
    )


def writable(steps: Iterable[Step], coordinates: CoordinateSystem) -> tuple[Step, ...]:
    """Steps with every position moved to the nearest the model can write."""
    return tuple(_rounded(step, coordinates) for step in steps)


def _rounded(step: Step, coordinates: CoordinateSystem) -> Step:
    if step.decision.trainable:
        return step
    frame = coordinates.frame(step.observation.size_px)
    actions = tuple(frame.action_to_screen(frame.action_to_model(a)) for a in step.decision.actions)
    return replace(step, decision=replace(step.decision, actions=actions))
