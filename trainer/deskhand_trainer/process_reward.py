"""What a process reward model says of an iteration's episodes, in the form that the reward takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.types import StepScore
from deskhand_trainer.batches import reward_rule
from deskhand_trainer.choices import NOT_STORED, ProcessForm
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.types import Episode


def judged(model: ProcessRewardModel, episodes: Sequence[Episode], form: ProcessForm) -> list[Episode]:
    """The episodes with a score for every turn ("centred"), or with the value of every state ("potential").

    Raises:
        RewardModelError: values were asked of a model that knows none.
        InferenceError: a picture is unreadable.
    """
    samples = [s for e in episodes for s in e.samples]
    if form == "centred":
        scores = iter(model.turn_scores(samples))
        return [replace(e, process_scores=tuple(next(scores) for _ in e.samples)) for e in episodes]
    after = [e.after for e in episodes if e.after is not None]
    values = model.turn_values([*samples, *after])
    states, beyond = iter(values[: len(samples)]), iter(values[len(samples) :])
    done: list[Episode] = []
    for episode in episodes:
        last = 0.0 if episode.after is None else next(beyond)
        done.append(replace(episode, potentials=(*(next(states) for _ in episode.samples), last)))
    return done


async def keep_scores(told: PpoSetting, episodes: Sequence[Episode]) -> None:
    """What the reward model said of turns stands with their steps, where the store holds them.

    What it contradicts is queued for review by `score_store` alone: of practice there is too much.
    """
    model = told.reward_model
    if model is None or told.config.rollouts in NOT_STORED:
        return
    scored = [e for e in episodes if e.process_scores]
    await told.store.add_scores(
        StepScore(trajectory_id=e.trajectory_id, step_index=s.turn_index, score=score, scorer=model.scorer)
        for e in scored
        for s, score in zip(e.samples, e.process_scores, strict=True)
    )


def refuse_unpayable(config: PpoConfig, model: ProcessRewardModel | None, *, of_round: bool = False) -> None:
    """
    Args:
        of_round: it is a round that runs it, which may have no model yet.

    Raises:
        RunRefused: the config's reward would pay for loops, has a price that imitation would not see, or
            asks for scores that no model gives, or for what the model does not know.
    """
    try:
        reward_rule(config)
    except ValueError as error:
        raise RunRefused(f"the reward: {error}") from error
    if config.shaping.format > 0 and (config.self_imitation or config.algorithm == "rejection"):
        raise RunRefused(
            "field 'shaping.format': above 0 rollouts act on replies that had to be mended, and who imitates "
            "successes would learn to write them so: set shaping.format=0, or leave imitation out"
        )
    if config.process_weight > 0 and model is None and not of_round:
        raise RunRefused(
            "field 'process_weight': it pays by a process reward model, and the run has none: give one with "
            "--reward-model (`train score` makes one), or set process_weight=0"
        )
    if config.process_form == "potential" and model is not None and not model.knows_values:
        raise RunRefused(
            f"field 'process_form': {model.scorer} knows of no state how good it is; train one on labels "
            "from monte-carlo or outcome"
        )
