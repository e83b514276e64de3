"""Steps as a process reward model reads them: prompt and reply as ids, pictures, and a label where known.

Ids that were sampled under the same processor are taken as they are. Other turns (scripted demonstrations,
endpoints, another model's) are written out anew from their records: a judge may re-tokenise what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deskhand_agent.grammar import format_reply
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.prompt import build_prompt
from deskhand_agent.types import Context, Step, Trajectory
from deskhand_flywheel.prm.labels import labels_of
from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadStep:
    """One step to be scored."""

    trajectory_id: str
    step_index: int
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    """At least the end token."""
    images: tuple[Image, ...]
    """With bytes, in the order of their placeholder runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrmExample:
    """One step with what it is to be scored."""

    sample: ReadStep
    label: float
    """0 to 1, see `labels`."""


def read_steps(
    trajectory: Trajectory, bundle: ModelBundle, *, memory: WindowMemory | None = None
) -> tuple[ReadStep, ...]:
    """Every step of a trajectory (read with images) as the model takes it."""
    memory = memory or WindowMemory()
    return tuple(
        _read(trajectory, place, step, bundle, memory) for place, step in enumerate(trajectory.steps)
    )


def examples_from(
    trajectories: Iterable[Trajectory],
    bundle: ModelBundle,
    *,
    discount: float = 0.95,
    memory: WindowMemory | None = None,
) -> list[PrmExample]:
    """Labelled steps of the trajectories that have a verdict, in order.

    Args:
        trajectories: read with `images=True`.
        bundle: the model that is to read them.
        discount: see `labels.labels_of`.
    """
    examples: list[PrmExample] = []
    for trajectory in trajectories:
        labels = labels_of(trajectory, discount=discount)
        if labels:
            read = read_steps(trajectory, bundle, memory=memory)
            examples += [
                PrmExample(sample=step, label=label.label) for step, label in zip(read, labels, strict=True)
            ]
    return examples


def _read(
    trajectory: Trajectory, place: int, step: Step, bundle: ModelBundle, memory: WindowMemory
) -> ReadStep:
    decision = step.decision
    request, completion = decision.request, decision.completion
    if request and completion and request.processor_hash == bundle.processor_hash and completion.ids:
        prompt_ids, images, reply_ids = request.prompt_ids, request.images, completion.ids
    else:
        context = Context(
            task=trajectory.start.task,
            instruction=trajectory.start.instruction,
            notes=trajectory.start.notes,
            steps=trajectory.steps[:place],
            observation=step.observation,
        )
        messages = build_prompt(context, memory=memory, coordinates=bundle.coordinates)
        prompt = tokenise_prompt(bundle, messages)
        prompt_ids, images = prompt.ids, prompt.images
        reply_ids = tokenise_reply(bundle, _reply_text(step, bundle))
    return ReadStep(
        trajectory_id=trajectory.id,
        step_index=step.index,
        prompt_ids=prompt_ids,
        reply_ids=reply_ids,
        images=images,
    )


def _reply_text(step: Step, bundle: ModelBundle) -> str:
    decision = step.decision
    if not decision.actions:
        return decision.text
    frame = bundle.coordinates.frame(step.observation.size_px)
    return format_reply(decision.thought, tuple(frame.action_to_model(action) for action in decision.actions))
