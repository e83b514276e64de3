"""Steps as a process reward model reads them: prompt and reply as ids, pictures, and a label where known.

Ids that were sampled under the same processor are taken as they are. Other turns (scripted demonstrations,
endpoints, another model's) are written out anew from their records: a judge may re-tokenise what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import (
    encode_text,
    footer,
    message_header,
    prompt_of,
    tokenise_reply,
)
from deskhand_agent.prompt import SUMMARISE, reply_of
from deskhand_agent.types import Context, Step, Trajectory
from deskhand_flywheel.prm.targets import StepTarget, Targets
from deskhand_sandbox.types import Image

WHY = "Did this step help? Say why."
"""What rationales answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadStep:
    """One step to be scored."""

    trajectory_id: str
    step_index: int
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    """At least the end token; of one longer than the model takes, the beginning and the end token."""
    images: tuple[Image, ...]
    """With bytes, in the order of their placeholder runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrmExample:
    """One step with what it is to be scored."""

    sample: ReadStep
    target: StepTarget
    why_ids: tuple[int, ...] = ()
    """Ids that ask for the target's rationale after the reply; empty where it has none."""
    rationale_ids: tuple[int, ...] = ()
    """The rationale, end token included."""

    @property
    def label(self) -> float:
        """0 (harms) to 1 (helps)."""
        return self.target.label


def read_steps(
    trajectory: Trajectory, bundle: ModelBundle, *, memory: WindowMemory | None = None
) -> tuple[ReadStep, ...]:
    """Every step of a trajectory (read with images) as the model takes it.

    Args:
        memory: what of the past is written out for turns whose ids are not known; None: the model's.
    """
    return tuple(
        read_step(trajectory, place, bundle, memory=memory) for place in range(len(trajectory.steps))
    )


def examples_from(
    trajectories: Iterable[Trajectory],
    bundle: ModelBundle,
    targets: Targets,
    *,
    memory: WindowMemory | None = None,
) -> list[PrmExample]:
    """The steps that have a target, in order; a rationale longer than the model takes is left out.

    Args:
        trajectories: read with `images=True`.
        bundle: the model that is to read them.
        memory: as of `read_steps`.
    """
    why_ids = _why(bundle)
    examples: list[PrmExample] = []
    for trajectory in trajectories:
        found = {step.index: targets.get((trajectory.id, step.index)) for step in trajectory.steps}
        if not any(found.values()):
            continue
        for step in read_steps(trajectory, bundle, memory=memory):
            target = found[step.step_index]
            if target is not None and target.rationale:
                rationale_ids = tokenise_reply(bundle, target.rationale)
                if len(rationale_ids) <= bundle.longest:
                    examples.append(
                        PrmExample(sample=step, target=target, why_ids=why_ids, rationale_ids=rationale_ids)
                    )
                    continue
            if target is not None:
                examples.append(PrmExample(sample=step, target=target))
    return examples


def _why(bundle: ModelBundle) -> tuple[int, ...]:
    """The question after a reply, which closed itself; up to the header of the answer."""
    asked = message_header(bundle, "user") + encode_text(bundle, WHY) + footer(bundle)
    return (*encode_text(bundle, "\n"), *asked, *message_header(bundle, "assistant"))


def read_step(
    trajectory: Trajectory, place: int, bundle: ModelBundle, *, memory: WindowMemory | None = None
) -> ReadStep:
    """One step of a trajectory, by its place; see `read_steps`."""
    step = trajectory.steps[place]
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
        asking = "" if decision.summary is None else SUMMARISE
        prompt = prompt_of(bundle, context, memory=memory, asking=asking)
        prompt_ids, images = prompt.ids, prompt.images
        reply_ids = tokenise_reply(bundle, _reply_text(step, bundle))
    if len(reply_ids) > bundle.longest:  # a person typed it, or an import brought it; memory bounds prompts
        reply_ids = (*reply_ids[: bundle.longest - 1], reply_ids[-1])
    return ReadStep(
        trajectory_id=trajectory.id,
        step_index=step.index,
        prompt_ids=prompt_ids,
        reply_ids=reply_ids,
        images=images,
    )


def _reply_text(step: Step, bundle: ModelBundle) -> str:
    if step.decision.summary is not None:
        return step.decision.summary
    if not step.decision.actions:
        return step.decision.text
    return reply_of(step, bundle.coordinates, form=bundle.form, thoughts=True)
